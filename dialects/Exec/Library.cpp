//===- Library.cpp - ops that become calls of a library -------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/Library.h"
#include "dialects/Exec/ArenaAttributes.h"
#include "dialects/Exec/Order.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace meshc::exec {

/// The library ops by the name of the op that each of them holds.
static llvm::StringMap<OperationName> findLibraryOps(MLIRContext *context) {
  llvm::StringMap<OperationName> holders;
  for (RegisteredOperationName name : context->getRegisteredOperations())
    if (auto *library = name.getInterface<LibraryOpInterface>())
      holders.try_emplace(library->getHeldName(), name);
  return holders;
}

bool isComputedByLibrary(Operation *op) {
  Library target = isForGpus(op->getParentOfType<ModuleOp>()) ? Library::Cuda
                                                              : Library::Host;
  llvm::StringMap<OperationName> holders = findLibraryOps(op->getContext());
  auto holder = holders.find(op->getName().getStringRef());
  return holder != holders.end() &&
         holder->second.getInterface<LibraryOpInterface>()->computes(op,
                                                                     target);
}

/// The holder of an op, which replaces it.
static void hold(Operation *op, OperationName holderName) {
  OpBuilder builder(op);
  OperationState state(op->getLoc(), holderName, op->getOperands(),
                       op->getResultTypes(), {});
  state.addRegion();
  Operation *holder = builder.create(state);
  op->replaceAllUsesWith(holder);
  Block &body = holder->getRegion(0).emplaceBlock();
  for (OpOperand &operand : op->getOpOperands())
    operand.set(
        body.addArgument(operand.get().getType(), operand.get().getLoc()));
  op->moveBefore(&body, body.end());
  builder.setInsertionPointToEnd(&body);
  YieldOp::create(builder, op->getLoc(), op->getResults());
}

void formLibraryOps(Block &block) {
  llvm::StringMap<OperationName> holders =
      findLibraryOps(block.getParentOp()->getContext());
  for (Operation &op : llvm::make_early_inc_range(block))
    if (auto holder = holders.find(op.getName().getStringRef());
        holder != holders.end())
      hold(&op, holder->second);
}

Operation *getHeldOp(LibraryOpInterface op) {
  for (Operation &inner : op->getRegion(0).front())
    if (inner.getName().getStringRef() == op.getHeldName())
      return &inner;
  return nullptr;
}

LogicalResult verifyHeldOps(LibraryOpInterface op) {
  for (Operation &inner : op->getRegion(0).front().without_terminator()) {
    auto fusion = dyn_cast<FusionOp>(inner);
    if (failed(verifyOrders(&inner)) ||
        (fusion && failed(fusion.verifyReady())))
      return failure();
  }
  return op.verifyCall();
}

int64_t getScratchBytes(Operation *op) {
  auto library = dyn_cast<LibraryOpInterface>(op);
  if (!library)
    return 0;
  int64_t bytes = 0;
  for (const LibraryImplementation &implementation :
       library.getImplementations(getLibrary(op->getParentOfType<ModuleOp>())))
    if (implementation.accepts)
      bytes = std::max(bytes, implementation.scratchBytes);
  return bytes;
}

} // namespace meshc::exec
