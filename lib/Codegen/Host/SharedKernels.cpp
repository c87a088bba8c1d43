//===- SharedKernels.cpp - one function for equal kernels -----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/Host/SharedKernels.h"
#include "dialects/Nd/Ops/Philox.h"

using namespace mlir;

namespace meshc::codegen {

SharedKernels::SharedKernels(ModuleOp program, ModuleOp code, int64_t lanes)
    : code(code), lanes(lanes) {
  for (exec::KernelOp kernel : program.getOps<exec::KernelOp>()) {
    KernelKey key = KernelKey::of(kernel);
    ++shared[key.text].users;
    keys[kernel] = std::move(key);
  }
}

/// Appends the kernel's own function: a call of the shared one.
static void emitCall(exec::KernelOp kernel, LLVM::LLVMFuncOp callee,
                     ArrayRef<StringAttr> streams, ModuleOp code) {
  OpBuilder builder = OpBuilder::atBlockEnd(code.getBody());
  KernelEntry entry = openHostKernel(kernel, builder, kernel.getSymName());
  SmallVector<Value> arguments(entry.function.getArguments());
  for (StringAttr stream : streams)
    arguments.push_back(LLVM::ConstantOp::create(
        builder, kernel.getLoc(), builder.getI32Type(),
        static_cast<int32_t>(nd::hashStream(stream.getValue()))));
  LLVM::CallOp::create(builder, kernel.getLoc(), callee, arguments);
  LLVM::ReturnOp::create(builder, kernel.getLoc(), ValueRange());
}

FailureOr<KernelLaunch> SharedKernels::emit(exec::KernelOp kernel) {
  const KernelKey &key = keys.find(kernel)->second;
  Shared &entry = shared[key.text];
  if (entry.users == 1)
    return emitHostKernel(kernel, code, lanes);
  if (!entry.function) {
    std::string name = (kernel.getSymName() + ".shared").str();
    FailureOr<KernelLaunch> launch =
        emitHostKernel(kernel, code, lanes, name, key.streams);
    if (failed(launch))
      return failure();
    entry.launch = *launch;
    entry.function = code.lookupSymbol<LLVM::LLVMFuncOp>(name);
    entry.function.setNoInline(true);
  }
  emitCall(kernel, entry.function, key.streams, code);
  return entry.launch;
}

} // namespace meshc::codegen
