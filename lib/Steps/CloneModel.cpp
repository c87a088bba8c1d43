//===- CloneModel.cpp - the ops of a model in a step ----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Steps/CloneModel.h"
#include "dialects/Nd/Ops/LoopOps.h"
#include "dialects/Nd/Ops/ModelOps.h"
#include "dialects/Nd/Ops/PointwiseOps.h"
#include "dialects/Nd/Ops/ValueBuilder.h"
#include "dialects/Nd/TensorAttributes.h"

using namespace mlir;

namespace meshc::steps {

/// The value in the place of the op. It has the op's name, unless it has one.
static Value makeChosen(OpBuilder &builder, nd::InGenerationOp op,
                        Value chosen) {
  Value value =
      nd::ValueBuilder(builder, op.getLoc()).broadcastTo(chosen, op.getType());
  Operation *maker = value.getDefiningOp();
  if (maker && !isa<nd::ScanOp>(maker) &&
      !nd::TensorAttributes::of(value).getName())
    nd::copyName(op, maker);
  return value;
}

void cloneModelOp(OpBuilder &builder, Operation &op, IRMapping &mapping,
                  bool inGeneration) {
  if (auto forms = dyn_cast<nd::InGenerationOp>(op)) {
    Value chosen = mapping.lookup(forms.choose(inGeneration));
    mapping.map(forms.getResult(), makeChosen(builder, forms, chosen));
    return;
  }
  builder.clone(op, mapping)->walk([&](nd::InGenerationOp inner) {
    OpBuilder inside(inner);
    Value chosen = inner.choose(inGeneration);
    inner.replaceAllUsesWith(makeChosen(inside, inner, chosen));
    inner.erase();
  });
}

void cloneModel(OpBuilder &builder, func::FuncOp model, IRMapping &mapping,
                bool inGeneration) {
  for (Operation &op : model.getBody().front().without_terminator())
    if (!isa<nd::ParameterOp>(op))
      cloneModelOp(builder, op, mapping, inGeneration);
}

} // namespace meshc::steps
