//===- ExpandFallbacks.cpp - primitive ops where no library helps ---------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/Library.h"
#include "dialects/Nd/NdInterfaces.h"
#include "dialects/Nd/Ops/LoopOps.h"
#include "dialects/Nd/TensorAttributes.h"
#include "lib/Kernels/Passes.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace meshc::kernels {

#define GEN_PASS_DEF_EXPANDFALLBACKS
#include "lib/Kernels/Passes.h.inc"

namespace {

/// Gives the ops that an op becomes the types of one rank's blocks.
class LocalTypes {
public:
  /// An op's dims of one name are cut alike.
  explicit LocalTypes(Operation *op) : mesh(nd::MeshAttr::of(op)) {
    for (Value value : llvm::concat<Value>(llvm::to_vector(op->getOperands()),
                                           llvm::to_vector(op->getResults())))
      for (nd::DimAttr dim : nd::getTensorType(value).getDims())
        dims[dim.getName()] = dim;
  }

  void apply(Operation &made) const {
    for (OpResult result : made.getResults())
      result.setType(getType(made, nd::getTensorType(result)));
  }

private:
  /// Partial over what operands are, and over the axes of summed dims, in the
  /// order of the mesh.
  nd::TensorType getType(Operation &made, nd::TensorType type) const {
    llvm::SmallVector<nd::DimAttr> own;
    for (nd::DimAttr dim : type.getDims())
      own.push_back(dims.lookup(dim.getName()));
    llvm::SmallVector<StringAttr> axes;
    auto addAxes = [&](ArrayRef<StringAttr> more) {
      for (StringAttr axis : more)
        if (!llvm::is_contained(axes, axis))
          axes.push_back(axis);
    };
    for (Value operand : made.getOperands()) {
      nd::TensorType from = nd::getTensorType(operand);
      addAxes(from.getPartialAxes());
      for (nd::DimAttr dim : from.getDims())
        if (!type.hasDim(dim.getName().getValue()))
          addAxes(dim.getAxes());
    }
    llvm::sort(axes, [&](StringAttr a, StringAttr b) {
      return mesh.getAxisIndex(a) < mesh.getAxisIndex(b);
    });
    return nd::TensorType::get(type.getElementType(), own,
                               nd::ReductionKind::Sum, axes);
  }

  nd::MeshAttr mesh;
  llvm::DenseMap<StringAttr, nd::DimAttr> dims;
};

struct ExpandFallbacks : impl::ExpandFallbacksBase<ExpandFallbacks> {
  void runOnOperation() override {
    llvm::SmallVector<Operation *> worklist;
    getOperation().walk([&](nd::FallbackOpInterface op) {
      if (!exec::isComputedByLibrary(op))
        worklist.push_back(op);
    });
    for (Operation *op : worklist)
      if (failed(expand(op)))
        return signalPassFailure();
  }

  static LogicalResult expand(Operation *op) {
    LocalTypes local(op);
    OpBuilder builder(op);
    Operation *before = op->getPrevNode();
    SmallVector<Value> values =
        cast<nd::FallbackOpInterface>(op).decompose(builder);
    for (Operation *made = before ? before->getNextNode()
                                  : &op->getBlock()->front();
         made != op; made = made->getNextNode()) {
      local.apply(*made);
      nd::copyClass(op, made);
    }
    if (ValueRange(values).getTypes() != op->getResultTypes())
      return op->emitOpError("decomposes into values of other types (a defect "
                             "of the op)");
    for (Value value : values)
      if (Operation *made = value.getDefiningOp())
        nd::copyName(op, made);
    op->replaceAllUsesWith(values);
    op->erase();
    return success();
  }
};

} // namespace

} // namespace meshc::kernels
