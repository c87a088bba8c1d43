//===- ScatterShape.cpp - the loops of kernels that scatter ---------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/ScatterShape.h"

using namespace mlir;

namespace meshc::codegen {

nd::ScatterOpInterface getScatter(exec::KernelOp kernel) {
  auto ops = kernel.getBody().front().getOps<nd::ScatterOpInterface>();
  return ops.empty() ? nd::ScatterOpInterface() : *ops.begin();
}

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

FailureOr<ScatterShape> ScatterShape::of(exec::KernelOp kernel) {
  ScatterShape shape;
  shape.op = getScatter(kernel);
  if (failed(verifyStandsAlone(kernel, shape.op)))
    return failure();
  nd::MeshAttr mesh = nd::MeshAttr::of(kernel);
  auto getLocalSize = [&](Value tensor, StringAttr dim) {
    nd::TensorType type = nd::getTensorType(tensor);
    return type.getLocalSize(type.getDimIndex(dim.getValue()), mesh);
  };
  shape.dim = shape.op.getDimAttr();
  shape.entries = getLocalSize(shape.op->getResult(0), shape.dim);
  nd::TensorType indices = nd::getTensorType(shape.op.getIndices());
  StringAttr lanes = kernel.getPlan().getLanes();
  std::optional<Loop> last;
  Value updates = shape.op.getUpdates();
  for (nd::DimAttr attr : nd::getTensorType(updates).getDims()) {
    StringAttr name = attr.getName();
    Loop loop{{name}, getLocalSize(updates, name)};
    if (indices.hasDim(name.getValue()))
      shape.outer.push_back(loop);
    else if (name == lanes)
      last = loop;
    else
      shape.inner.push_back(loop);
  }
  if (last) {
    shape.inner.push_back(*last);
    shape.laneExtent = last->size;
  }
  return shape;
}

} // namespace meshc::codegen
