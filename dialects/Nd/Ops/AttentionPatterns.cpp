//===- AttentionPatterns.cpp - canonical forms of attention ---------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Of a mask, what compares positions becomes a band, and what compares data
/// becomes labels. A mask that allows everything goes, and so does a bias of 0.
/// A bias of another constant stays: the logarithms of the sums have it. A mask
/// may be a whole operand of the loops around the attention.
///
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Ops/AttentionMasks.h"
#include "dialects/Nd/Ops/ValueBuilder.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;

namespace meshc::nd {

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
    if (!op.getBias() || hasBiasGradient(op) || !isConstantOf(op.getBias(), 0))
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
        op.getMask(), op.getBias(), op.getRowLabels(), op.getMemoryLabels(),
        op.getOutput(), op.getLogSums(), op.getGradient(), op.getKeyAttr(),
        op.getMemoryAttr(), op.getPositionAttr(), op.getLowestAttr(),
        op.getHighestAttr(), op.getDistanceAttr(), op.getPredicateAttr(),
        UnitAttr());
    rewriter.replaceAllUsesWith(op.getResults().take_front(3),
                                without.getResults());
    rewriter.eraseOp(op);
    return success();
  }
};

/// A mask that compares positions becomes a band. Kernels do not read it from
/// memory and skip what lies outside.
template <typename Op> struct MaskToBand : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    AttentionScores scores = AttentionScores::of(op);
    if (!scores.mask)
      return failure();
    MaskSearch search;
    Value part = search.find(scores.mask, [&](Value mask) {
      return getBand(mask, scores).has_value();
    });
    if (!part)
      return failure();
    return restrict(op, *getBand(part, scores), search.makeRest(rewriter),
                    rewriter);
  }

  static LogicalResult restrict(Op op, const MaskBand &band, Value mask,
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

/// A mask that compares labels of rows and memory becomes these labels, so that
/// nothing has the scores' size.
template <typename Op> struct MaskToLabels : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    AttentionScores scores = AttentionScores::of(op);
    if (!scores.mask || scores.predicate)
      return failure();
    MaskSearch search;
    Value part = search.find(
        scores.mask, [&](Value mask) { return comparesLabels(mask, scores); });
    if (!part)
      return failure();
    MaskLabels labels = makeLabels(part, scores, rewriter);
    Value rows = search.carryIn(labels.rows, rewriter);
    Value memory = search.carryIn(labels.memory, rewriter);
    Value rest = search.makeRest(rewriter);
    rewriter.modifyOpInPlace(op, [&] {
      op.getRowLabelsMutable().assign(rows);
      op.getMemoryLabelsMutable().assign(memory);
      op.setPredicate(labels.predicate);
      if (rest)
        op.getMaskMutable().assign(rest);
      else
        op.getMaskMutable().clear();
    });
    return success();
  }
};
} // namespace

void AttentionOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                              MLIRContext *context) {
  patterns.add<MaskToBand<AttentionOp>, MaskToLabels<AttentionOp>,
               DropMask<AttentionOp>, DropBias<AttentionOp>>(context);
}

void AttentionGradientOp::getCanonicalizationPatterns(
    RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<MaskToBand<AttentionGradientOp>,
               MaskToLabels<AttentionGradientOp>, DropMask<AttentionGradientOp>,
               DropBias<AttentionGradientOp>, DropBiasGradient>(context);
}

} // namespace meshc::nd
