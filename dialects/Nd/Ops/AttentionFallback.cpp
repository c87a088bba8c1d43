//===- AttentionFallback.cpp - attention as primitive ops -----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Ops/AttentionParts.h"
#include "dialects/Nd/Ops/ContractionOps.h"
#include "dialects/Nd/Ops/IndexingOps.h"
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

/// The indices along a dim of `like`.
Value AttentionParts::getNumbers(Value like, StringAttr dim) {
  DimAttr of = getTensorType(like).getDim(dim);
  return build.make<IotaOp>(TensorType::get(builder.getI32Type(), {of}));
}

/// [position, memory], i32: which entry of a bias by distance counts.
Value AttentionParts::getDistances() {
  Value memory = getNumbers(scores.keys, scores.memory);
  Value position = getNumbers(scores.query, scores.position);
  Value last =
      build.scalar(position, static_cast<double>(scores.getLastPosition()));
  return build.make<AddOp>(memory, build.make<SubOp>(last, position));
}

/// [position, memory], i1.
Value AttentionParts::makeBand() {
  Value memory = getNumbers(scores.keys, scores.memory);
  Value position = getNumbers(scores.query, scores.position);
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
  auto restrict = [&](Value condition) {
    allowed = allowed ? build.make<AndOp>(allowed, condition) : condition;
  };
  if (scores.predicate)
    restrict(build.compare(*scores.predicate, scores.memoryLabels,
                           scores.rowLabels));
  if (scores.lowest || scores.highest)
    restrict(makeBand());
  return allowed;
}

Value AttentionParts::getScores() {
  Value product =
      build.make<EinsumOp>(ValueRange{toF32(scores.query), toF32(scores.keys)},
                           builder.getArrayAttr({scores.key}));
  Value result = scale(product);
  if (Value bias = scores.bias) {
    if (scores.distance)
      bias = build.make<GatherOp>(bias, getDistances(), scores.distance);
    result = build.make<AddOp>(result, toF32(bias));
  }
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

// Entries of one distance have one bias, so its gradient is the sum of theirs.
Value AttentionParts::getBiasGradient(Value output, Value logSums,
                                      Value gradient) {
  Value slopes = getScoreGradient(output, logSums, gradient);
  auto type =
      TensorType::get(builder.getF32Type(), scores.getBiasGradientDims());
  return build.make<ScatterAddOp>(type, slopes, getDistances(),
                                  scores.distance);
}

SmallVector<Value> AttentionParts::getGradients(Value output, Value logSums,
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
  SmallVector<Value> gradients =
      parts.getGradients(getOutput(), getLogSums(), getGradient());
  if (getOfBias())
    gradients.push_back(
        parts.getBiasGradient(getOutput(), getLogSums(), getGradient()));
  for (auto [value, result] : llvm::zip_equal(gradients, getResults()))
    value = build.castTo(value, getTensorType(result).getElementType());
  return gradients;
}

} // namespace meshc::nd
