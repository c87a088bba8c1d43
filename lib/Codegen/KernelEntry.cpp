//===- KernelEntry.cpp - a kernel's function around its code -----------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/KernelEntry.h"
#include "lib/Codegen/LoopNest.h"
#include "llvm/ADT/bit.h"

using namespace mlir;

namespace meshc::codegen {

LogicalResult emitKernelFunction(
    exec::KernelOp kernel, ModuleOp module, int64_t lanes,
    llvm::function_ref<KernelEntry(OpBuilder &)> open,
    llvm::function_ref<void(KernelElements &, KernelEntry)> code) {
  size_t before = module.getBody()->getOperations().size();
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  KernelEntry entry = open(builder);
  KernelElements emitter(builder, kernel, entry.context, entry.buffers, lanes,
                         getInPlacePairs(kernel));
  emitter.setStreams(entry.streams);
  code(emitter, entry);
  LLVM::ReturnOp::create(builder, kernel.getLoc(), ValueRange());
  if (!emitter.withoutLanes && !emitter.withoutElement)
    return success();
  // The function, and globals that its code made.
  auto appended = llvm::drop_begin(*module.getBody(), before);
  for (Operation &op : llvm::make_early_inc_range(appended))
    op.erase();
  if (emitter.withoutLanes && lanes > 1)
    return emitKernelFunction(kernel, module, 1, open, code);
  Operation *op =
      emitter.withoutLanes ? emitter.withoutLanes : emitter.withoutElement;
  return op->emitOpError() << "has no element at the place where kernel '"
                           << kernel.getSymName() << "' needs one";
}

int64_t chooseLanes(exec::KernelOp kernel, int64_t lanes) {
  lanes = static_cast<int64_t>(llvm::bit_floor<uint64_t>(lanes));
  while (lanes > 1 && !supportsLanes(kernel, lanes))
    lanes /= 2;
  return lanes;
}

} // namespace meshc::codegen
