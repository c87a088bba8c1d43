//===- ClipGradients.cpp - a bound for the norm of all gradients ----------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The norm is an expression of whole tensors. Partitioning sums the squares of
// a cut gradient over the axes that cut it, and counts a whole one once. What
// is computed of a gradient has the sharding of the optimizer's state for the
// parameter, as the update has, so that the gradient is resharded once.
//
//===----------------------------------------------------------------------===//

#include "lib/Steps/ClipGradients.h"
#include "dialects/Nd/Ops/PointwiseOps.h"
#include "dialects/Nd/Ops/ReductionOps.h"
#include "dialects/Nd/Ops/ValueBuilder.h"
#include "lib/Steps/StepValues.h"

using namespace mlir;

namespace meshc::steps {

static Value nameGradient(Value value, StringAttr parameter, StringRef what) {
  markOptimizerValue(
      value,
      StringAttr::get(value.getContext(),
                      what + " gradient of " + parameter.getValue()),
      parameter);
  return value;
}

Value clipGradients(OpBuilder &builder, Location loc,
                    MutableArrayRef<Value> gradients,
                    ArrayRef<StringAttr> parameters, Value bound) {
  nd::ValueBuilder build(builder, loc);
  Type f32 = builder.getF32Type();
  Value total;
  for (auto [gradient, parameter] : llvm::zip(gradients, parameters)) {
    if (!gradient)
      continue;
    if (Value wide = build.castTo(gradient, f32); wide != gradient)
      gradient = nameGradient(wide, parameter, "wide");
    Value square =
        nameGradient(build.make<nd::SquareOp>(gradient), parameter, "squared");
    Value sum = build.sumTo(square, bound.getType());
    total = total ? build.make<nd::AddOp>(total, sum) : sum;
  }
  Value norm = build.make<nd::SqrtOp>(total);
  Value ratio = build.make<nd::DivOp>(
      bound, build.make<nd::AddOp>(norm, build.scalar(f32, 1e-6)));
  Value factor = build.make<nd::MinimumOp>(ratio, build.scalar(f32, 1.0));
  for (auto [gradient, parameter] : llvm::zip(gradients, parameters))
    if (gradient)
      gradient = nameGradient(build.make<nd::MulOp>(gradient, factor),
                              parameter, "clipped");
  return norm;
}

} // namespace meshc::steps
