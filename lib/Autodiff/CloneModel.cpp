//===- CloneModel.cpp - the ops of a model in a step ----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Autodiff/CloneModel.h"
#include "dialects/Nd/Ops/ModelOps.h"
#include "dialects/Nd/Ops/PointwiseOps.h"
#include "dialects/Nd/Ops/ValueBuilder.h"

using namespace mlir;

namespace meshc::autodiff {

/// The value in the place of the op.
static Value makeChosen(OpBuilder &builder, nd::InGenerationOp op,
                        Value chosen) {
  return nd::ValueBuilder(builder, op.getLoc())
      .broadcastTo(chosen, op.getType());
}

void cloneModel(OpBuilder &builder, func::FuncOp model, IRMapping &mapping,
                bool inGeneration) {
  for (Operation &op : model.getBody().front().without_terminator()) {
    if (isa<nd::ParameterOp>(op))
      continue;
    if (auto forms = dyn_cast<nd::InGenerationOp>(op)) {
      Value chosen = mapping.lookup(forms.choose(inGeneration));
      mapping.map(forms.getResult(), makeChosen(builder, forms, chosen));
      continue;
    }
    builder.clone(op, mapping)->walk([&](nd::InGenerationOp inner) {
      OpBuilder inside(inner);
      Value chosen = inner.choose(inGeneration);
      inner.replaceAllUsesWith(makeChosen(inside, inner, chosen));
      inner.erase();
    });
  }
}

} // namespace meshc::autodiff
