//===- AttentionPatterns.cpp - canonical forms of attention ---------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A mask that compares positions becomes a band, a mask that allows everything
/// goes, and so does a bias of 0. A bias of another constant stays: the
/// logarithms of the sums have it.
///
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Ops/AttentionOps.h"
#include "dialects/Nd/Ops/Pointwise.h"
#include "dialects/Nd/Ops/PointwiseOps.h"
#include "dialects/Nd/Ops/ShapeOps.h"
#include "dialects/Nd/Ops/SourceOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include <limits>

using namespace mlir;

namespace meshc::nd {

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

static std::optional<double> getNumber(Value value) {
  Attribute attr;
  return matchPattern(value, m_Constant(&attr)) ? getConstantNumber(attr)
                                                : std::nullopt;
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
    std::optional<double> number = getNumber(by);
    constexpr int64_t most = std::numeric_limits<int32_t>::max();
    if (!iota || !number)
      return std::nullopt;
    iota->offset += sign * static_cast<int64_t>(*number);
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
  while (auto broadcast = mask.getDefiningOp<BroadcastOp>())
    mask = broadcast.getInput();
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

/// Whether iota + offset `predicate` bound holds for all of `size` entries.
static bool alwaysHolds(Predicate predicate, int64_t offset, int64_t size,
                        double bound) {
  double least = offset, most = offset + size - 1;
  switch (predicate) {
  case Predicate::Lt:
    return most < bound;
  case Predicate::Le:
    return most <= bound;
  case Predicate::Gt:
    return least > bound;
  case Predicate::Ge:
    return least >= bound;
  case Predicate::Ne:
    return bound < least || bound > most;
  case Predicate::Eq:
    return least == bound && most == bound;
  }
  llvm_unreachable("all predicates are above");
}

/// Whether the mask compares positions with a number and is true everywhere.
static bool allowsAll(Value mask) {
  auto compare = mask.getDefiningOp<CompareOp>();
  if (!compare)
    return false;
  Value iota = compare.getLhs(), other = compare.getRhs();
  Predicate predicate = compare.getPredicate();
  if (getNumber(iota)) {
    std::swap(iota, other);
    predicate = flip(predicate);
  }
  std::optional<ShiftedIota> shifted = ShiftedIota::of(iota);
  std::optional<double> bound = getNumber(other);
  return shifted && bound &&
         alwaysHolds(predicate, shifted->offset,
                     getTensorType(iota).getDims().front().getSize(), *bound);
}

/// Whether the op has a result for the bias.
static bool hasBiasGradient(AttentionOp) { return false; }
static bool hasBiasGradient(AttentionGradientOp op) { return op.getOfBias(); }

namespace {
/// A mask such as `iota(memory) >= 0`, which is true everywhere, goes.
template <typename Op> struct DropMask : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    if (!op.getMask() || !allowsAll(op.getMask()))
      return failure();
    rewriter.modifyOpInPlace(op, [&] { op.getMaskMutable().clear(); });
    return success();
  }
};

/// A bias of 0 changes nothing.
template <typename Op> struct DropBias : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    if (!op.getBias() || hasBiasGradient(op) || getNumber(op.getBias()) != 0.0)
      return failure();
    rewriter.modifyOpInPlace(op, [&] {
      op.getBiasMutable().clear();
      op.removeDistanceAttr();
      if (!op.getLowest() && !op.getHighest())
        op.removePositionAttr();
    });
    return success();
  }
};

/// Kernels compute the gradient of the bias only if something uses it.
struct DropBiasGradient : OpRewritePattern<AttentionGradientOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(AttentionGradientOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.getOfBias() || !op.getBiasGradient().use_empty())
      return failure();
    auto without = AttentionGradientOp::create(
        rewriter, op.getLoc(), op.getQuery(), op.getKeys(), op.getValues(),
        op.getMask(), op.getBias(), op.getOutput(), op.getLogSums(),
        op.getGradient(), op.getKeyAttr(), op.getMemoryAttr(),
        op.getPositionAttr(), op.getLowestAttr(), op.getHighestAttr(),
        op.getDistanceAttr(), UnitAttr());
    rewriter.replaceAllUsesWith(op.getResults().take_front(3),
                                without.getResults());
    rewriter.eraseOp(op);
    return success();
  }
};

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
    Value mask = scores.mask;
    while (auto broadcast = mask.getDefiningOp<BroadcastOp>())
      mask = broadcast.getInput();
    auto both = mask.getDefiningOp<AndOp>();
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
  patterns.add<MaskToBand<AttentionOp>, DropMask<AttentionOp>,
               DropBias<AttentionOp>>(context);
}

void AttentionGradientOp::getCanonicalizationPatterns(
    RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<MaskToBand<AttentionGradientOp>, DropMask<AttentionGradientOp>,
               DropBias<AttentionGradientOp>, DropBiasGradient>(context);
}

} // namespace meshc::nd
