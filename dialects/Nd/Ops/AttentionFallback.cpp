//===- AttentionFallback.cpp - attention as primitive ops -----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Ops/AttentionParts.h"
#include "dialects/Nd/Ops/ContractionOps.h"
#include "dialects/Nd/Ops/Pointwise.h"
#include "dialects/Nd/Ops/PointwiseOps.h"
#include "dialects/Nd/Ops/ReductionOps.h"
#include "dialects/Nd/Ops/SourceOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
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

//===----------------------------------------------------------------------===//
// The band of a mask
//===----------------------------------------------------------------------===//

namespace {
/// iota(dim) + offset.
struct ShiftedIota {
  StringAttr dim;
  int64_t offset = 0;

  static std::optional<ShiftedIota> of(Value value);
};

/// A band that a mask is, or is besides other conditions.
struct Band {
  StringAttr position;
  std::optional<int64_t> lowest, highest;
};
} // namespace

static std::optional<int64_t> getWholeConstant(Value value) {
  Attribute attr;
  if (!matchPattern(value, m_Constant(&attr)))
    return std::nullopt;
  std::optional<double> number = getConstantNumber(attr);
  if (!number)
    return std::nullopt;
  return static_cast<int64_t>(*number);
}

std::optional<ShiftedIota> ShiftedIota::of(Value value) {
  TensorType type = getTensorType(value);
  if (!type || !type.getElementType().isInteger(32) || type.getRank() != 1)
    return std::nullopt;
  if (value.getDefiningOp<IotaOp>())
    return ShiftedIota{type.getDims().front().getName()};
  // Sums wrap beyond i32, where the band would not.
  auto shift = [&](Value base, Value by,
                   int64_t sign) -> std::optional<ShiftedIota> {
    std::optional<ShiftedIota> iota = of(base);
    std::optional<int64_t> number = getWholeConstant(by);
    constexpr int64_t most = std::numeric_limits<int32_t>::max();
    if (!iota || !number)
      return std::nullopt;
    iota->offset += sign * *number;
    if (iota->offset < -most ||
        iota->offset + type.getDims().front().getSize() > most)
      return std::nullopt;
    return iota;
  };
  if (auto add = value.getDefiningOp<AddOp>()) {
    if (auto shifted = shift(add.getLhs(), add.getRhs(), 1))
      return shifted;
    return shift(add.getRhs(), add.getLhs(), 1);
  }
  if (auto sub = value.getDefiningOp<SubOp>())
    return shift(sub.getLhs(), sub.getRhs(), -1);
  return std::nullopt;
}

static Predicate flip(Predicate predicate) {
  switch (predicate) {
  case Predicate::Lt:
    return Predicate::Gt;
  case Predicate::Le:
    return Predicate::Ge;
  case Predicate::Gt:
    return Predicate::Lt;
  case Predicate::Ge:
    return Predicate::Le;
  default:
    return predicate;
  }
}

/// The band that a comparison of `memory` with a dim of the rows is.
static std::optional<Band> getBand(Value mask, const AttentionScores &scores) {
  auto compare = mask.getDefiningOp<CompareOp>();
  if (!compare)
    return std::nullopt;
  std::optional<ShiftedIota> left = ShiftedIota::of(compare.getLhs()),
                             right = ShiftedIota::of(compare.getRhs());
  if (!left || !right)
    return std::nullopt;
  Predicate predicate = compare.getPredicate();
  if (left->dim != scores.memory) {
    std::swap(left, right);
    predicate = flip(predicate);
  }
  if (left->dim != scores.memory || !scores.isRow(right->dim) ||
      (scores.position && scores.position != right->dim))
    return std::nullopt;
  int64_t difference = right->offset - left->offset;
  Band band{right->dim, {}, {}};
  switch (predicate) {
  case Predicate::Lt:
    band.highest = difference - 1;
    break;
  case Predicate::Le:
    band.highest = difference;
    break;
  case Predicate::Gt:
    band.lowest = difference + 1;
    break;
  case Predicate::Ge:
    band.lowest = difference;
    break;
  case Predicate::Eq:
    band.lowest = band.highest = difference;
    break;
  case Predicate::Ne:
    return std::nullopt;
  }
  return band;
}

namespace {
/// A mask that compares iotas becomes a band. Kernels do not read it from
/// memory and skip what lies outside.
template <typename Op> struct MaskToBand : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    AttentionScores scores = AttentionScores::of(op);
    if (!scores.mask)
      return failure();
    if (std::optional<Band> band = getBand(scores.mask, scores))
      return restrict(op, *band, {}, rewriter);
    auto both = scores.mask.getDefiningOp<AndOp>();
    if (!both)
      return failure();
    for (auto [one, other] : {std::pair(both.getLhs(), both.getRhs()),
                              std::pair(both.getRhs(), both.getLhs())})
      if (std::optional<Band> band = getBand(one, scores))
        return restrict(op, *band, other, rewriter);
    return failure();
  }

  static LogicalResult restrict(Op op, const Band &band, Value mask,
                                PatternRewriter &rewriter) {
    AttentionScores scores = AttentionScores::of(op);
    auto bound = [&](std::optional<int64_t> old, std::optional<int64_t> given,
                     bool larger) {
      std::optional<int64_t> value = old ? old : given;
      if (old && given)
        value = larger ? std::max(*old, *given) : std::min(*old, *given);
      return value ? rewriter.getI64IntegerAttr(*value) : IntegerAttr();
    };
    rewriter.modifyOpInPlace(op, [&] {
      op.setPositionAttr(band.position);
      op.setLowestAttr(bound(scores.lowest, band.lowest, true));
      op.setHighestAttr(bound(scores.highest, band.highest, false));
      if (mask)
        op.getMaskMutable().assign(mask);
      else
        op.getMaskMutable().clear();
    });
    return success();
  }
};
} // namespace

void AttentionOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                              MLIRContext *context) {
  patterns.add<MaskToBand<AttentionOp>>(context);
}

void AttentionGradientOp::getCanonicalizationPatterns(
    RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<MaskToBand<AttentionGradientOp>>(context);
}

} // namespace meshc::nd
