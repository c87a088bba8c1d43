//===- Launch.cpp - a call of a kernel ------------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/Alignment.h"
#include "dialects/Exec/Exec.h"

using namespace mlir;

namespace meshc::exec {

LogicalResult LaunchOp::verify() {
  return verifyKernelUse(*this, getKernelUse());
}

KernelUse LaunchOp::getKernelUse() {
  return {getKernelAttr(), getInputs(), getOutputs()};
}

Accesses LaunchOp::getAccesses() {
  Accesses accesses;
  llvm::append_range(accesses.reads, getInputs());
  llvm::append_range(accesses.writes, getOutputs());
  if (Value scratch = getScratch())
    accesses.scratch.push_back(scratch);
  return accesses;
}

bool LaunchOp::mayWriteOver(unsigned read, unsigned write) {
  return canWriteOver(*this, getKernelUse(), read, write);
}

void LaunchOp::emitCall(CallEmitter &emitter) {
  SmallVector<Value> buffers(getInputs());
  llvm::append_range(buffers, getOutputs());
  if (Value scratch = getScratch())
    buffers.push_back(scratch);
  emitter.call("meshc_launch",
               {emitter.getKernel(getKernel()), emitter.fillArray(0, buffers)});
}

void LaunchOp::run(Arenas &arenas) {
  auto spoilScratch = [&] {
    if (Value scratch = getScratch())
      arenas.spoil(ArenaPiece::of(scratch, arenas.getContext().mesh));
  };
  spoilScratch();
  arenas.runKernel(getKernelUse());
  spoilScratch();
}

CallDescription LaunchOp::describe() {
  CallDescription description{"kernel", getKernel().str(), {}};
  if (auto kernel = SymbolTable::lookupNearestSymbolFrom<KernelOp>(
          *this, getKernelAttr()))
    for (Value result : kernel.getBody().front().getTerminator()->getOperands())
      description.locations.push_back(result.getLoc());
  description.locations.push_back(getLoc());
  return description;
}

} // namespace meshc::exec
