//===- SoleOp.cpp - kernels of one op that is neither element nor sum -----===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/SoleOp.h"

using namespace mlir;

namespace meshc::codegen {

LogicalResult verifyStandsAlone(exec::KernelOp kernel, Operation *op) {
  Operation *yield = kernel.getBody().front().getTerminator();
  if (yield->getNumOperands() != 1 || yield->getOperand(0) != op->getResult(0))
    return kernel.emitOpError()
           << "must give the result of '" << op->getName() << "' alone";
  for (Operation &inner : kernel.getBody().front().without_terminator())
    if (&inner != op && !isa<nd::ElementOpInterface>(inner))
      return kernel.emitOpError() << "cannot hold '" << inner.getName()
                                  << "' beside '" << op->getName() << "'";
  return success();
}

int64_t getLocalSize(Value tensor, StringAttr dim, nd::MeshAttr mesh) {
  nd::TensorType type = nd::getTensorType(tensor);
  return type.getLocalSize(type.getDimIndex(dim.getValue()), mesh);
}

} // namespace meshc::codegen
