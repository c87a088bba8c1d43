//===- OrderScatters.cpp - sorts the indices of scatters ------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/ArenaAttributes.h"
#include "dialects/Nd/Ops/IndexingOps.h"
#include "dialects/Nd/Ops/ShapeOps.h"
#include "dialects/Nd/Ops/SortingOps.h"
#include "dialects/Spmd/SpmdOps.h"
#include "lib/Kernels/Passes.h"

using namespace mlir;

namespace meshc::kernels {

#define GEN_PASS_DEF_ORDERSCATTERS
#include "lib/Kernels/Passes.h.inc"

/// A name that no dim of the op's values has.
static StringAttr findFreeName(Operation *op) {
  auto isTaken = [&](const std::string &name) {
    auto hasIt = [&](Value value) {
      return nd::getTensorType(value).hasDim(name);
    };
    return llvm::any_of(op->getOperands(), hasIt) ||
           llvm::any_of(op->getResults(), hasIt);
  };
  std::string name = "place";
  while (isTaken(name))
    name += "_";
  return StringAttr::get(op->getContext(), name);
}

/// The indices with all dims that the result lacks, row-major, as one dim. On a
/// rank, this is a view of its block, with its padding.
static Value mergeSummed(OpBuilder &builder, nd::ScatterAddOp scatter,
                         ArrayRef<nd::DimAttr> summed, StringAttr into) {
  nd::TensorType indices = scatter.getIndices().getType();
  nd::MeshAttr mesh = nd::MeshAttr::of(scatter);
  SmallVector<StringAttr> dims;
  bool isEven = true;
  for (nd::DimAttr dim : summed) {
    dims.push_back(dim.getName());
    isEven &=
        indices.isEven(indices.getDimIndex(dim.getName().getValue()), mesh);
  }
  nd::TensorType type =
      spmd::FlattenOp::getFlattened(indices, dims, into, mesh);
  SmallVector<Attribute> names(dims.begin(), dims.end());
  if (isEven)
    return nd::MergeDimsOp::create(builder, scatter.getLoc(), type,
                                   scatter.getIndices(),
                                   builder.getArrayAttr(names), into);
  return spmd::FlattenOp::create(builder, scatter.getLoc(), type,
                                 builder.getArrayAttr(names), into,
                                 scatter.getIndices());
}

static void addOrder(nd::ScatterAddOp scatter) {
  nd::TensorType indices = scatter.getIndices().getType();
  SmallVector<nd::DimAttr> summed;
  for (nd::DimAttr dim : indices.getDims())
    if (!scatter.getType().hasDim(dim.getName().getValue()))
      summed.push_back(dim);
  if (summed.empty() || scatter.getOrder())
    return;
  OpBuilder builder(scatter);
  StringAttr name = findFreeName(scatter);
  Value merged = mergeSummed(builder, scatter, summed, name);
  nd::TensorType type = nd::getTensorType(merged);
  Value order = nd::ArgsortOp::create(
      builder, scatter.getLoc(), type, merged, name, name,
      builder.getI64IntegerAttr(type.getSize(name.getValue())),
      /*descending=*/UnitAttr());
  scatter.getOrderMutable().assign(order);
}

namespace {
struct OrderScatters : impl::OrderScattersBase<OrderScatters> {
  void runOnOperation() override {
    if (exec::isForGpus(getOperation()->getParentOfType<ModuleOp>()))
      getOperation().walk(addOrder);
  }
};
} // namespace

} // namespace meshc::kernels
