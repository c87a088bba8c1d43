//===- AttentionFallback.cpp - attention as primitive ops -----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Ops/AttentionParts.h"
#include "dialects/Nd/Ops/ContractionOps.h"
#include "dialects/Nd/Ops/PointwiseOps.h"
#include "dialects/Nd/Ops/ReductionOps.h"
#include "dialects/Nd/Ops/SourceOps.h"
#include <cmath>
#include <limits>

using namespace mlir;

namespace meshc::nd {

constexpr double infinity = std::numeric_limits<double>::infinity();

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

Value AttentionParts::toF32(Value value) {
  return build.castTo(value, builder.getF32Type());
}

Value AttentionParts::productLike(Value a, Value b, Value like) {
  SmallVector<Attribute> reduced;
  for (Value factor : {a, b})
    for (DimAttr dim : getTensorType(factor).getDims())
      if (!getTensorType(like).hasDim(dim.getName().getValue()) &&
          !llvm::is_contained(reduced, Attribute(dim.getName())))
        reduced.push_back(dim.getName());
  return build.make<EinsumOp>(ValueRange{a, b}, builder.getArrayAttr(reduced));
}

Value AttentionParts::scale(Value value) {
  return build.make<MulOp>(value, build.scalar(value, scores.getScale()));
}

/// [position, memory], i1.
Value AttentionParts::makeBand() {
  auto number = [&](Value like, StringAttr dim) {
    DimAttr of = getTensorType(like).getDim(dim);
    return build.make<IotaOp>(TensorType::get(builder.getI32Type(), {of}));
  };
  Value memory = number(scores.keys, scores.memory);
  Value position = number(scores.query, scores.position);
  Value band;
  auto restrict = [&](std::optional<int64_t> bound, Predicate predicate) {
    if (!bound)
      return;
    // Beyond i32, a bound is as good as the largest index.
    constexpr int64_t most = std::numeric_limits<int32_t>::max();
    double clamped = std::clamp(*bound, -most, most);
    Value difference = build.make<SubOp>(memory, position);
    Value inside =
        build.compare(predicate, difference, build.scalar(difference, clamped));
    band = band ? build.make<AndOp>(band, inside) : inside;
  };
  restrict(scores.lowest, Predicate::Ge);
  restrict(scores.highest, Predicate::Le);
  return band;
}

/// Where entries are allowed, or null.
Value AttentionParts::makeAllowed() {
  Value allowed = scores.mask;
  if (scores.position) {
    Value band = makeBand();
    allowed = allowed ? build.make<AndOp>(allowed, band) : band;
  }
  return allowed;
}

Value AttentionParts::getScores() {
  Value product =
      build.make<EinsumOp>(ValueRange{toF32(scores.query), toF32(scores.keys)},
                           builder.getArrayAttr({scores.key}));
  Value result = scale(product);
  if (scores.bias)
    result = build.make<AddOp>(result, toF32(scores.bias));
  if (Value allowed = makeAllowed())
    result =
        build.make<SelectOp>(allowed, result, build.scalar(result, -infinity));
  return result;
}

std::pair<Value, Value> AttentionParts::getOutputs() {
  Value all = getScores();
  Value largest = build.make<ReduceMaxOp>(all, getMemory());
  Value isEmpty =
      build.compare(Predicate::Eq, largest, build.scalar(largest, -infinity));
  Value shift =
      build.make<SelectOp>(isEmpty, build.scalar(largest, 0), largest);
  Value exponentials = build.make<ExpOp>(build.make<SubOp>(all, shift));
  Value sums = build.make<ReduceSumOp>(exponentials, getMemory());
  Value divisors = build.make<SelectOp>(isEmpty, build.scalar(sums, 1), sums);
  Value product = build.make<EinsumOp>(
      ValueRange{exponentials, toF32(scores.values)}, getMemory());
  Value output = build.make<MulOp>(product, build.make<ReciprocalOp>(divisors));
  Value logSums = build.make<SelectOp>(
      isEmpty, build.scalar(sums, infinity),
      build.make<AddOp>(shift, build.make<LogOp>(divisors)));
  return {output, logSums};
}

Value AttentionParts::getProbabilities(Value logSums) {
  return build.make<ExpOp>(build.make<SubOp>(getScores(), logSums));
}

ArrayAttr AttentionParts::getValueNames() {
  SmallVector<Attribute> names;
  for (DimAttr dim : scores.getValueDims())
    names.push_back(dim.getName());
  return builder.getArrayAttr(names);
}

// With the gradient dP = dot(gradient, values) of the probabilities P:
// P · (dP - sum(P · dP over memory)), where the sum is sum(gradient · output).
Value AttentionParts::getScoreGradient(Value output, Value logSums,
                                       Value gradient) {
  Value g = toF32(gradient);
  Value ofProbabilities = build.make<EinsumOp>(
      ValueRange{g, toF32(scores.values)}, getValueNames());
  Value products = build.make<MulOp>(g, toF32(output));
  ArrayAttr names = getValueNames();
  Value sums =
      names.empty() ? products : build.make<ReduceSumOp>(products, names);
  return build.make<MulOp>(getProbabilities(logSums),
                           build.make<SubOp>(ofProbabilities, sums));
}

SmallVector<Value, 3> AttentionParts::getGradients(Value output, Value logSums,
                                                   Value gradient) {
  Value slopes = scale(getScoreGradient(output, logSums, gradient));
  Value query = toF32(scores.query), keys = toF32(scores.keys);
  Value ofValues =
      productLike(getProbabilities(logSums), toF32(gradient), scores.values);
  return {productLike(slopes, keys, scores.query),
          productLike(slopes, query, scores.keys), ofValues};
}

//===----------------------------------------------------------------------===//
// Fallback
//===----------------------------------------------------------------------===//

SmallVector<Value> AttentionOp::decompose(OpBuilder &builder) {
  AttentionParts parts(builder, getLoc(), AttentionScores::of(*this));
  auto [output, logSums] = parts.getOutputs();
  ValueBuilder build(builder, getLoc());
  return {build.castTo(output, getTensorType(getOutput()).getElementType()),
          logSums};
}

SmallVector<Value> AttentionGradientOp::decompose(OpBuilder &builder) {
  AttentionParts parts(builder, getLoc(), AttentionScores::of(*this));
  ValueBuilder build(builder, getLoc());
  SmallVector<Value> gradients;
  for (auto [value, result] :
       llvm::zip(parts.getGradients(getOutput(), getLogSums(), getGradient()),
                 getResults()))
    gradients.push_back(
        build.castTo(value, getTensorType(result).getElementType()));
  return gradients;
}

} // namespace meshc::nd
