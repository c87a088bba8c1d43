//===- AttentionMasks.cpp - what a mask of attention says -----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Ops/AttentionMasks.h"
#include "dialects/Nd/Interfaces/AffineIndex.h"
#include "dialects/Nd/Ops/LoopEdit.h"
#include "dialects/Nd/Ops/PointwiseOps.h"
#include "dialects/Nd/Ops/Predicates.h"
#include "dialects/Nd/Ops/ShapeOps.h"
#include "dialects/Nd/Ops/SourceOps.h"
#include "dialects/Nd/Ops/ValueBuilder.h"

using namespace mlir;

namespace meshc::nd {

//===----------------------------------------------------------------------===//
// Comparisons and bands
//===----------------------------------------------------------------------===//

namespace {
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
static std::optional<MaskBand> getSymmetricBand(Value mask,
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
  return MaskBand{row, -most - ahead.constant, most - ahead.constant};
}

std::optional<MaskBand> getBand(Value mask, const AttentionScores &scores) {
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
  MaskBand band{row, {}, {}};
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

bool allowsAll(Value mask) {
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

//===----------------------------------------------------------------------===//
// Labels
//===----------------------------------------------------------------------===//

static bool areOfKeys(Value labels, const AttentionScores &scores) {
  return llvm::all_of(getTensorType(labels).getDims(), [&](DimAttr dim) {
    return getTensorType(scores.keys).hasDim(dim.getName().getValue());
  });
}

static Value skipBroadcasts(Value value) {
  while (auto broadcast = value.getDefiningOp<BroadcastOp>())
    value = broadcast.getInput();
  return value;
}

/// The comparison of i32 as labels; nothing unless exactly one side has
/// `memory`, and otherwise only dims of the keys.
static std::optional<MaskLabels> getSides(Value mask,
                                          const AttentionScores &scores) {
  std::optional<Comparison> compare = Comparison::of(mask);
  if (!compare ||
      !compare->op.getLhs().getType().getElementType().isSignlessInteger(32))
    return std::nullopt;
  MaskLabels labels{skipBroadcasts(compare->op.getRhs()),
                    skipBroadcasts(compare->op.getLhs()), compare->predicate};
  auto hasMemory = [&](Value side) {
    return getTensorType(side).hasDim(scores.memory.getValue());
  };
  if (hasMemory(labels.rows)) {
    std::swap(labels.rows, labels.memory);
    labels.predicate = flip(labels.predicate);
  }
  if (hasMemory(labels.rows) || !hasMemory(labels.memory) ||
      !areOfKeys(labels.memory, scores))
    return std::nullopt;
  return labels;
}

/// Whether a dim of the row labels, which the keys lack, makes the mask larger
/// than a mask of the keys.
static bool isRowwise(Value rowLabels, const AttentionScores &scores) {
  return !areOfKeys(rowLabels, scores);
}

namespace {
/// The index along `memory` is at most `value` + `offset`, or at least.
struct Bound {
  Value value;
  int64_t offset;
};

/// Upper bounds of the index, or lower ones. An entry is allowed if any of them
/// holds.
class Bounds {
public:
  Bounds(const AttentionScores &scores, bool areUpper)
      : scores(scores), areUpper(areUpper) {}

  /// Adds those of the mask; false if it is something else.
  bool add(Value mask);
  bool areRowwise() const;
  MaskLabels make(OpBuilder &builder, Location loc) const;

private:
  Value makeRowLabel(const Bound &bound, ValueBuilder &build) const;

  const AttentionScores &scores;
  bool areUpper;
  SmallVector<Bound> list;
  unsigned left = 64; ///< how many more values may be visited
};
} // namespace

/// Numbers up to this can be added in i32.
static constexpr int64_t mostAdded = int64_t{1} << 29;

bool Bounds::add(Value mask) {
  if (left == 0)
    return false;
  --left;
  mask = skipBroadcasts(mask);
  if (auto either = mask.getDefiningOp<OrOp>())
    return add(either.getLhs()) && add(either.getRhs());
  std::optional<MaskLabels> sides = getSides(mask, scores);
  std::optional<AffineIndex> index;
  if (sides)
    index = findAffineIndex(sides->memory);
  if (!index || index->steps.size() != 1 || index->getStep(scores.memory) != 1)
    return false;
  // index + constant PREDICATE value
  int64_t offset = -index->constant;
  switch (sides->predicate) {
  case Predicate::Lt:
    --offset;
    break;
  case Predicate::Gt:
    ++offset;
    break;
  case Predicate::Le:
  case Predicate::Ge:
    break;
  default:
    return false;
  }
  bool isUpper =
      sides->predicate == Predicate::Lt || sides->predicate == Predicate::Le;
  if (isUpper != areUpper || std::abs(offset) > mostAdded)
    return false;
  list.push_back({sides->rows, offset});
  return true;
}

bool Bounds::areRowwise() const {
  return llvm::any_of(
      list, [&](const Bound &bound) { return isRowwise(bound.value, scores); });
}

/// The bound, in i32. No sum wraps: beyond the indices along `memory`, one
/// bound is as good as another.
Value Bounds::makeRowLabel(const Bound &bound, ValueBuilder &build) const {
  if (bound.offset == 0)
    return bound.value;
  int64_t size = getTensorType(scores.keys).getSize(scores.memory.getValue());
  auto number = [&](int64_t value) {
    return build.scalar(bound.value, static_cast<double>(value));
  };
  Value low = build.make<MaximumOp>(bound.value, number(-1 - bound.offset));
  Value inside = build.make<MinimumOp>(low, number(size - bound.offset));
  return build.make<AddOp>(inside, number(bound.offset));
}

MaskLabels Bounds::make(OpBuilder &builder, Location loc) const {
  ValueBuilder build(builder, loc);
  Value rows;
  for (const Bound &bound : list) {
    Value label = makeRowLabel(bound, build);
    if (!rows)
      rows = label;
    else if (areUpper)
      rows = build.make<MaximumOp>(rows, label);
    else
      rows = build.make<MinimumOp>(rows, label);
  }
  auto type = TensorType::get(
      builder.getI32Type(), {getTensorType(scores.keys).getDim(scores.memory)});
  return {rows, build.make<IotaOp>(type),
          areUpper ? Predicate::Le : Predicate::Ge};
}

/// The bounds if the mask is several that `or` joins.
static std::optional<Bounds> getBounds(Value mask,
                                       const AttentionScores &scores) {
  if (!mask.getDefiningOp<OrOp>() ||
      getTensorType(scores.keys).getSize(scores.memory.getValue()) > mostAdded)
    return std::nullopt;
  for (bool areUpper : {true, false}) {
    Bounds bounds(scores, areUpper);
    if (bounds.add(mask) && bounds.areRowwise())
      return bounds;
  }
  return std::nullopt;
}

bool comparesLabels(Value mask, const AttentionScores &scores) {
  if (std::optional<MaskLabels> sides = getSides(mask, scores))
    return isRowwise(sides->rows, scores) && !getBand(mask, scores);
  return getBounds(mask, scores).has_value();
}

MaskLabels makeLabels(Value mask, const AttentionScores &scores,
                      PatternRewriter &rewriter) {
  if (std::optional<MaskLabels> sides = getSides(mask, scores))
    return *sides;
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(mask.getDefiningOp());
  return getBounds(mask, scores)->make(rewriter, mask.getLoc());
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

/// The operands that must all be true where the mask is.
MutableArrayRef<OpOperand> MaskSearch::getParts(Value mask) {
  if (OpOperand *whole = getWholeOperand(mask))
    return *whole;
  Operation *op = mask.getDefiningOp();
  if (isa_and_nonnull<BroadcastOp, AndOp>(op))
    return op->getOpOperands();
  return {};
}

Value MaskSearch::find(Value mask, Test isWanted) {
  if (left == 0)
    return {};
  --left;
  if (isWanted(mask))
    return mask;
  for (OpOperand &part : getParts(mask)) {
    path.push_back({part.getOwner(), part.getOperandNumber()});
    if (Value found = find(part.get(), isWanted))
      return found;
    path.pop_back();
  }
  return {};
}

Value MaskSearch::makeRest(PatternRewriter &rewriter) const {
  OpBuilder::InsertionGuard guard(rewriter);
  Value rest;
  for (const Step &step : llvm::reverse(path)) {
    if (auto both = dyn_cast<AndOp>(step.op)) {
      Value other = step.operand == 0 ? both.getRhs() : both.getLhs();
      rewriter.setInsertionPoint(both);
      rest =
          rest ? ValueBuilder(rewriter, both.getLoc()).make<AndOp>(rest, other)
               : other;
    } else if (auto scan = dyn_cast<ScanOp>(step.op); scan && rest) {
      rewriter.modifyOpInPlace(scan,
                               [&] { rest = getWholeArgument(scan, rest); });
    }
  }
  return rest;
}

Value MaskSearch::carryIn(Value value, PatternRewriter &rewriter) const {
  for (const Step &step : llvm::reverse(path))
    if (auto scan = dyn_cast<ScanOp>(step.op))
      rewriter.modifyOpInPlace(scan,
                               [&] { value = getWholeArgument(scan, value); });
  return value;
}

} // namespace meshc::nd
