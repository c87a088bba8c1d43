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
/// logarithms of the sums have it. A mask may be a whole operand of the loops
/// around the attention.
///
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Interfaces/AffineIndex.h"
#include "dialects/Nd/Ops/AttentionOps.h"
#include "dialects/Nd/Ops/LoopEdit.h"
#include "dialects/Nd/Ops/Pointwise.h"
#include "dialects/Nd/Ops/PointwiseOps.h"
#include "dialects/Nd/Ops/ShapeOps.h"
#include "dialects/Nd/Ops/ValueBuilder.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;

namespace meshc::nd {

namespace {
/// A band that a mask is, or is besides other conditions.
struct Band {
  StringAttr position;
  std::optional<int64_t> lowest, highest;
};

/// A comparison, negated or not: lhs `predicate` rhs.
struct Comparison {
  CompareOp op;
  Predicate predicate;

  static std::optional<Comparison> of(Value mask);
};

/// A comparison of indices: index `predicate` 0, where `type` has the dims of
/// the index.
struct Condition {
  Predicate predicate;
  AffineIndex index;
  TensorType type;

  static std::optional<Condition> of(Value mask);
  void negate();
};
} // namespace

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

static Predicate invert(Predicate predicate) {
  switch (predicate) {
  case Predicate::Lt:
    return Predicate::Ge;
  case Predicate::Le:
    return Predicate::Gt;
  case Predicate::Gt:
    return Predicate::Le;
  case Predicate::Ge:
    return Predicate::Lt;
  case Predicate::Eq:
    return Predicate::Ne;
  case Predicate::Ne:
    return Predicate::Eq;
  }
  llvm_unreachable("all predicates are above");
}

/// Of floats, only without a negation: NaN is neither less nor not less.
std::optional<Comparison> Comparison::of(Value mask) {
  auto negation = mask.getDefiningOp<NotOp>();
  auto op = (negation ? negation.getInput() : mask).getDefiningOp<CompareOp>();
  if (!op ||
      (negation && isa<FloatType>(op.getLhs().getType().getElementType())))
    return std::nullopt;
  Predicate predicate = op.getPredicate();
  return Comparison{op, negation ? invert(predicate) : predicate};
}

/// Nothing where an index wraps beyond i32, as the condition then would.
std::optional<Condition> Condition::of(Value mask) {
  std::optional<Comparison> compare = Comparison::of(mask);
  if (!compare)
    return std::nullopt;
  std::optional<AffineIndex> left = findAffineIndex(compare->op.getLhs()),
                             right = findAffineIndex(compare->op.getRhs());
  if (!left || !right || !left->add(*right, -1))
    return std::nullopt;
  return Condition{compare->predicate, *left, compare->op.getType()};
}

/// The same condition with the negative index.
void Condition::negate() {
  AffineIndex negative;
  negative.add(index, -1);
  index = negative;
  predicate = flip(predicate);
}

/// The dim of the rows whose position `index` subtracts from that of the
/// memory; null if it is another index.
static StringAttr getRow(const AffineIndex &index,
                         const AttentionScores &scores) {
  if (index.steps.size() != 2)
    return {};
  StringAttr row =
      index.steps[index.steps[0].first == scores.memory ? 1 : 0].first;
  bool isBand = index.getStep(scores.memory) == 1 && index.getStep(row) == -1 &&
                scores.isRow(row) &&
                (!scores.position || scores.position == row);
  return isBand ? row : StringAttr();
}

/// The band of a distance below a bound, as in
/// `abs(iota(memory) - iota(row)) < 64`.
static std::optional<Band> getSymmetricBand(Value mask,
                                            const AttentionScores &scores) {
  std::optional<Comparison> compare = Comparison::of(mask);
  if (!compare)
    return std::nullopt;
  Predicate predicate = compare->predicate;
  Value distance = compare->op.getLhs(), bound = compare->op.getRhs();
  if (bound.getDefiningOp<AbsOp>()) {
    std::swap(distance, bound);
    predicate = flip(predicate);
  }
  auto absolute = distance.getDefiningOp<AbsOp>();
  std::optional<AffineIndex> limit = findAffineIndex(bound);
  if (!absolute || !limit || !limit->steps.empty() ||
      (predicate != Predicate::Lt && predicate != Predicate::Le))
    return std::nullopt;
  std::optional<AffineIndex> index = findAffineIndex(absolute.getInput());
  AffineIndex ahead;
  if (!index || !ahead.add(*index, index->getStep(scores.memory) < 0 ? -1 : 1))
    return std::nullopt;
  StringAttr row = getRow(ahead, scores);
  if (!row)
    return std::nullopt;
  int64_t most = limit->constant - (predicate == Predicate::Lt ? 1 : 0);
  return Band{row, -most - ahead.constant, most - ahead.constant};
}

/// The band that a comparison of `memory` with a dim of the rows is.
static std::optional<Band> getBand(Value mask, const AttentionScores &scores) {
  std::optional<Condition> condition = Condition::of(mask);
  if (!condition)
    return getSymmetricBand(mask, scores);
  if (condition->index.getStep(scores.memory) < 0)
    condition->negate();
  StringAttr row = getRow(condition->index, scores);
  if (!row)
    return std::nullopt;
  // The difference memory - row is compared with this.
  int64_t difference = -condition->index.constant;
  Band band{row, {}, {}};
  switch (condition->predicate) {
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

/// Whether the mask is true everywhere.
static bool allowsAll(Value mask) {
  std::optional<Condition> condition = Condition::of(getOutsideLoops(mask));
  auto range = condition ? getRange(condition->index, condition->type)
                         : std::optional<IndexRange>();
  if (!range)
    return false;
  switch (condition->predicate) {
  case Predicate::Lt:
    return range->greatest < 0;
  case Predicate::Le:
    return range->greatest <= 0;
  case Predicate::Gt:
    return range->least > 0;
  case Predicate::Ge:
    return range->least >= 0;
  case Predicate::Ne:
    return range->greatest < 0 || range->least > 0;
  case Predicate::Eq:
    return range->least == 0 && range->greatest == 0;
  }
  llvm_unreachable("all predicates are above");
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

/// A band in a mask, and the operands on the way to it: the first one is of the
/// op that makes the mask. The mask may be computed outside of loops.
class BandSearch {
public:
  explicit BandSearch(const AttentionScores &scores) : scores(scores) {}

  std::optional<Band> find(Value mask);
  /// The mask without the band that was found; null if nothing is left. What
  /// was computed outside of a loop still is.
  Value makeRest(PatternRewriter &rewriter) const;

private:
  static MutableArrayRef<OpOperand> getParts(Value mask);

  const AttentionScores &scores;
  SmallVector<OpOperand *> path;
  unsigned left = 64; ///< how many more values may be visited
};

/// The operands that must all be true where the mask is.
MutableArrayRef<OpOperand> BandSearch::getParts(Value mask) {
  if (OpOperand *whole = getWholeOperand(mask))
    return *whole;
  Operation *op = mask.getDefiningOp();
  if (isa_and_nonnull<BroadcastOp, AndOp>(op))
    return op->getOpOperands();
  return {};
}

std::optional<Band> BandSearch::find(Value mask) {
  if (left == 0)
    return std::nullopt;
  --left;
  if (std::optional<Band> band = getBand(mask, scores))
    return band;
  for (OpOperand &part : getParts(mask)) {
    path.push_back(&part);
    if (std::optional<Band> band = find(part.get()))
      return band;
    path.pop_back();
  }
  return std::nullopt;
}

Value BandSearch::makeRest(PatternRewriter &rewriter) const {
  OpBuilder::InsertionGuard guard(rewriter);
  Value rest;
  for (OpOperand *part : llvm::reverse(path)) {
    Operation *op = part->getOwner();
    if (auto both = dyn_cast<AndOp>(op)) {
      Value other =
          part->getOperandNumber() == 0 ? both.getRhs() : both.getLhs();
      rewriter.setInsertionPoint(both);
      rest =
          rest ? ValueBuilder(rewriter, both.getLoc()).make<AndOp>(rest, other)
               : other;
    } else if (auto scan = dyn_cast<ScanOp>(op); scan && rest) {
      rewriter.modifyOpInPlace(scan,
                               [&] { rest = getWholeArgument(scan, rest); });
    }
  }
  return rest;
}

/// A mask that compares positions becomes a band. Kernels do not read it from
/// memory and skip what lies outside.
template <typename Op> struct MaskToBand : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    AttentionScores scores = AttentionScores::of(op);
    if (!scores.mask)
      return failure();
    BandSearch search(scores);
    std::optional<Band> band = search.find(scores.mask);
    if (!band)
      return failure();
    return restrict(op, *band, search.makeRest(rewriter), rewriter);
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
