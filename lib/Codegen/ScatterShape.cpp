//===- ScatterShape.cpp - the loops of kernels that scatter ---------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/ScatterShape.h"
#include "lib/Codegen/SoleOp.h"

using namespace mlir;

namespace meshc::codegen {

FailureOr<ScatterShape> ScatterShape::of(exec::KernelOp kernel) {
  ScatterShape shape;
  shape.op = getSoleOp<nd::ScatterAddOp>(kernel);
  if (failed(verifyStandsAlone(kernel, shape.op)))
    return failure();
  nd::MeshAttr mesh = nd::MeshAttr::of(kernel);
  shape.dim = shape.op.getDimAttr();
  nd::TensorType result = nd::getTensorType(shape.op->getResult(0));
  shape.entries = getLocalSize(shape.op.getResult(), shape.dim, mesh);
  if (auto table = dyn_cast_or_null<BlockArgument>(shape.op.getTable()))
    shape.tableInput = table.getArgNumber();
  nd::TensorType indices = nd::getTensorType(shape.op.getIndices());
  nd::TensorType updates = nd::getTensorType(shape.op.getUpdates());
  StringAttr lanes = kernel.getPlan().getLanes();
  std::optional<Loop> last;
  for (auto [number, attr] : llvm::enumerate(updates.getDims())) {
    StringAttr name = attr.getName();
    Loop loop{{name}, updates.getLocalSize(number, mesh)};
    if (!indices.hasDim(name.getValue()) && name == lanes)
      last = loop;
    else if (!indices.hasDim(name.getValue()))
      shape.inner.push_back(loop);
    else if (result.hasDim(name.getValue()))
      shape.kept.push_back(loop);
    else
      shape.summed.push_back(loop);
  }
  if (last) {
    shape.inner.push_back(*last);
    shape.laneExtent = last->size;
  }
  return shape;
}

} // namespace meshc::codegen
