//===- DecomposeComposites.cpp - primitive ops for composite ones ---------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/NdInterfaces.h"
#include "dialects/Nd/TensorAttributes.h"
#include "lib/Layout/Passes.h"

using namespace mlir;

namespace meshc::layout {

#define GEN_PASS_DEF_DECOMPOSECOMPOSITES
#include "lib/Layout/Passes.h.inc"

namespace {

/// Remembers the ops that a decomposition builds.
struct CreatedOps : OpBuilder::Listener {
  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) override {
    ops.push_back(op);
  }
  llvm::SmallVector<Operation *> ops;
};

struct DecomposeComposites
    : impl::DecomposeCompositesBase<DecomposeComposites> {
  void runOnOperation() override {
    llvm::SmallVector<Operation *> worklist;
    getOperation().walk([&](nd::CompositeOpInterface op) {
      worklist.push_back(op.getOperation());
    });
    while (!worklist.empty()) {
      Operation *op = worklist.pop_back_val();
      if (failed(decompose(op, worklist)))
        return signalPassFailure();
    }
  }

  /// Replaces `op`; composites among the new ops go to the worklist.
  LogicalResult decompose(Operation *op,
                          llvm::SmallVectorImpl<Operation *> &worklist) {
    CreatedOps created;
    OpBuilder builder(op, &created);
    llvm::SmallVector<Value> values =
        cast<nd::CompositeOpInterface>(op).decompose(builder);
    if (values.size() != op->getNumResults() ||
        !nd::haveSameGlobalTypes(ValueRange(values).getTypes(),
                                 op->getResultTypes()))
      return op->emitOpError("decomposes into values of other types "
                             "(a defect of the op)");
    for (Operation *inner : created.ops) {
      if (inner->getNumResults() == 0)
        return op->emitOpError("decomposes into an op without results "
                               "(a defect of the op)");
      nd::copyClass(op, inner);
      if (isa<nd::CompositeOpInterface>(inner))
        worklist.push_back(inner);
    }
    if (isa<nd::OptimizerOpInterface>(op))
      nameUpdate(op, values, created.ops);
    else
      for (Value value : values)
        if (Operation *inner = value.getDefiningOp();
            llvm::is_contained(created.ops, inner)) {
          nd::copyName(op, inner);
          nd::copyParameter(op, inner);
        }
    op->replaceAllUsesWith(values);
    op->erase();
    return success();
  }

  /// The ops of an update have the sharding of the optimizer's slots; the op
  /// that computes the parameter's new value has class "parameter". Scalars
  /// cannot be sharded and get no name, so that several updates share them.
  void nameUpdate(Operation *op, ArrayRef<Value> values,
                  ArrayRef<Operation *> created) {
    StringAttr name = nd::TensorAttributes::of(op).getName();
    auto makeName = [&](StringRef part) {
      return StringAttr::get(op->getContext(), name.getValue() + "." + part);
    };
    for (Operation *inner : created) {
      auto type = nd::getTensorType(inner->getResult(0));
      nd::removeClass(inner);
      if (!type || type.getRank() == 0)
        continue;
      nd::setClass(inner, nd::TensorClass::Optimizer);
      nd::copyParameter(op, inner);
      if (name)
        nd::setName(inner, makeName("update"));
    }
    auto slots = cast<nd::OptimizerOpInterface>(op).getSlots();
    for (auto [index, value] : llvm::enumerate(values)) {
      Operation *inner = value.getDefiningOp();
      if (!llvm::is_contained(created, inner))
        continue;
      if (index == 0) {
        nd::setClass(inner, nd::TensorClass::Parameter);
        nd::removeParameter(inner);
        nd::copyName(op, inner);
      } else if (name && index <= slots.size())
        nd::setName(inner, makeName(slots[index - 1].name));
    }
  }
};

} // namespace

} // namespace meshc::layout
