//===- LoopPatterns.cpp - simpler loops with the same meaning -------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The canonical form of nd.scan: no dead ties, no duplicates, and nothing
/// carried, stacked or computed in the body that is the same in each iteration.
///
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Ops/LoopEdit.h"
#include "dialects/Nd/Ops/ShapeOps.h"
#include "dialects/Nd/Ops/SourceOps.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace meshc::nd {

//===----------------------------------------------------------------------===//
// Dead ties
//===----------------------------------------------------------------------===//

namespace {
/// What of a loop is needed after it, directly or through other iterations.
class Liveness {
public:
  explicit Liveness(ScanOp scan) : scan(scan) {
    for (Operation &op : scan.getBlock().without_terminator())
      if (!isMemoryEffectFree(&op))
        addOp(&op);
    for (OpResult result : scan->getResults())
      if (!result.use_empty())
        add(scan.getYield().getOperand(result.getResultNumber()));
    if (Value condition = scan.getCondition())
      add(condition);
    while (!worklist.empty())
      visit(worklist.pop_back_val());
  }

  llvm::BitVector getArguments() const {
    llvm::BitVector live(scan->getNumOperands());
    for (BlockArgument argument : scan.getBlock().getArguments())
      live[argument.getArgNumber()] =
          values.contains(argument) || isUsedCarried(argument.getArgNumber());
    return live;
  }
  llvm::BitVector getResults() const {
    llvm::BitVector live = getArguments();
    live.resize(scan.getCarriedCount());
    live.resize(scan->getNumResults());
    for (unsigned i = scan.getCarriedCount(); i < live.size(); ++i)
      live[i] = !scan->getResult(i).use_empty();
    return live;
  }

private:
  bool isUsedCarried(unsigned index) const {
    bool isCondition = index == 0 && scan.getConditional();
    return isCondition || (index < scan.getCarriedCount() &&
                           !scan->getResult(index).use_empty());
  }
  void add(Value value) {
    if (value.getParentBlock() == &scan.getBlock() &&
        values.insert(value).second)
      worklist.push_back(value);
  }
  void addOp(Operation *op) {
    if (ops.insert(op).second)
      op->walk([&](Operation *inner) {
        llvm::for_each(inner->getOperands(), [&](Value v) { add(v); });
      });
  }
  void visit(Value value) {
    if (Operation *op = value.getDefiningOp())
      return addOp(op);
    unsigned index = cast<BlockArgument>(value).getArgNumber();
    if (index < scan.getCarriedCount())
      add(scan.getYield().getOperand(index));
  }

  mutable ScanOp scan;
  llvm::DenseSet<Value> values;
  llvm::DenseSet<Operation *> ops;
  SmallVector<Value> worklist;
};

/// Drops unused stacked results, unused operands, and carried values that only
/// they themselves need, alone or several together.
struct DropDeadTies : OpRewritePattern<ScanOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ScanOp scan,
                                PatternRewriter &rewriter) const override {
    Liveness liveness(scan);
    llvm::BitVector arguments = liveness.getArguments();
    llvm::BitVector results = liveness.getResults();
    if (arguments.all() && results.all())
      return failure();
    keepTies(rewriter, scan, arguments, results);
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Duplicates
//===----------------------------------------------------------------------===//

/// One argument for operands that are equal, and one stacked result for entries
/// that are. DropDeadTies drops the others.
struct MergeDuplicates : OpRewritePattern<ScanOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ScanOp scan,
                                PatternRewriter &rewriter) const override {
    bool changed = mergeArguments(scan, rewriter);
    changed |= mergeResults(scan, rewriter);
    return success(changed);
  }

private:
  static bool mergeArguments(ScanOp scan, PatternRewriter &rewriter) {
    bool changed = false;
    llvm::DenseMap<Value, BlockArgument> firstWhole, firstStacked;
    for (BlockArgument argument :
         scan.getBlock().getArguments().drop_front(scan.getCarriedCount())) {
      Tie tie = scan.getTie(argument);
      auto &first = tie.kind == TieKind::Whole ? firstWhole : firstStacked;
      BlockArgument kept =
          first.try_emplace(tie.operand, argument).first->second;
      if (kept == argument || argument.use_empty())
        continue;
      rewriter.replaceAllUsesWith(argument, kept);
      changed = true;
    }
    return changed;
  }

  /// A result with a name of its own stays: rules may refer to it.
  static bool mergeResults(ScanOp scan, PatternRewriter &rewriter) {
    bool changed = false;
    llvm::DenseMap<Value, OpResult> first;
    for (OpResult result :
         scan->getResults().drop_front(scan.getCarriedCount())) {
      OpResult kept =
          first.try_emplace(scan.getTie(result).yielded, result).first->second;
      if (kept == result || result.use_empty())
        continue;
      DictionaryAttr known = scan.getResultAttributes(kept.getResultNumber());
      DictionaryAttr other = scan.getResultAttributes(result.getResultNumber());
      bool hasOwn = other && !other.empty();
      if (hasOwn && known && !known.empty() && known != other)
        continue;
      if (hasOwn)
        scan.setResultAttributes(kept.getResultNumber(), other);
      rewriter.replaceAllUsesWith(result, kept);
      changed = true;
    }
    return changed;
  }
};

//===----------------------------------------------------------------------===//
// Values that do not change
//===----------------------------------------------------------------------===//

/// A carried value that is yielded as it came becomes a whole operand.
struct CarriedToWhole : OpRewritePattern<ScanOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ScanOp scan,
                                PatternRewriter &rewriter) const override {
    bool changed = false;
    for (unsigned index = 0; index < scan.getCarriedCount(); ++index) {
      BlockArgument argument = scan.getBlock().getArgument(index);
      Tie tie = scan.getTie(argument);
      // With no use but the yield, DropDeadTies drops it.
      if (tie.yielded != argument ||
          (argument.hasOneUse() && tie.result.use_empty()))
        continue;
      BlockArgument whole;
      rewriter.modifyOpInPlace(
          scan, [&] { whole = getWholeArgument(scan, tie.operand); });
      rewriter.replaceAllUsesExcept(argument, whole, scan.getYield());
      rewriter.replaceAllUsesWith(tie.result, tie.operand);
      replaceStacked(scan, argument, whole, rewriter);
      changed = true;
    }
    return success(changed);
  }

private:
  /// Of the yielded values, the carried one stays.
  static void replaceStacked(ScanOp scan, BlockArgument argument, Value whole,
                             PatternRewriter &rewriter) {
    rewriter.modifyOpInPlace(scan.getYield(), [&] {
      for (OpOperand &operand : scan.getYield()->getOpOperands())
        if (operand.get() == argument &&
            operand.getOperandNumber() != argument.getArgNumber())
          operand.set(whole);
    });
  }
};

/// A stacked result with a whole operand in all of its entries is a broadcast
/// of that. Loops that read it take the operand whole (SinkInvariants).
struct WholeToBroadcast : OpRewritePattern<ScanOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ScanOp scan,
                                PatternRewriter &rewriter) const override {
    bool changed = false;
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointAfter(scan);
    for (OpResult result :
         scan->getResults().drop_front(scan.getCarriedCount())) {
      OpOperand *whole = getWholeOperand(scan.getTie(result).yielded);
      if (!whole || whole->getOwner() != scan || result.use_empty())
        continue;
      rewriter.replaceAllUsesWith(
          result, BroadcastOp::create(rewriter, scan.getLoc(), result.getType(),
                                      whole->get()));
      changed = true;
    }
    return success(changed);
  }
};

/// A constant, or a broadcast along the loop's dim, comes to be inside the
/// body: the entries of such a stacked operand are all equal.
struct SinkInvariants : OpRewritePattern<ScanOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ScanOp scan,
                                PatternRewriter &rewriter) const override {
    bool changed = false;
    for (BlockArgument argument :
         SmallVector<BlockArgument>(scan.getBlock().getArguments().drop_front(
             scan.getCarriedCount()))) {
      if (argument.use_empty())
        continue;
      if (Value inside = sink(scan, argument, rewriter)) {
        rewriter.replaceAllUsesWith(argument, inside);
        changed = true;
      }
    }
    return success(changed);
  }

private:
  /// The argument's value, computed in the body; null if it is something else.
  static Value sink(ScanOp scan, BlockArgument argument,
                    PatternRewriter &rewriter) {
    Tie tie = scan.getTie(argument);
    Operation *op = tie.operand.getDefiningOp();
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointToStart(&scan.getBlock());
    if (auto constant = dyn_cast_or_null<ConstantOp>(op))
      return ConstantOp::create(rewriter, op->getLoc(), argument.getType(),
                                constant.getValue());
    auto broadcast = dyn_cast_or_null<BroadcastOp>(op);
    if (!broadcast || tie.kind != TieKind::StackedOperand ||
        broadcast.getInput().getType().hasDim(scan.getDim()))
      return {};
    BlockArgument whole;
    rewriter.modifyOpInPlace(
        scan, [&] { whole = getWholeArgument(scan, broadcast.getInput()); });
    if (whole.getType() == argument.getType())
      return whole;
    return BroadcastOp::create(rewriter, op->getLoc(), argument.getType(),
                               whole);
  }
};

/// Moves ops out of the loop that compute the same in each iteration. They
/// read whole operands and constants. A pointwise op whose result is larger
/// than what it reads stays: it costs less than loading its result.
struct HoistInvariants : OpRewritePattern<ScanOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ScanOp scan,
                                PatternRewriter &rewriter) const override {
    bool changed = false;
    for (Operation &op :
         llvm::make_early_inc_range(scan.getBlock().without_terminator()))
      if (isInvariant(scan, op) && isWorthwhile(scan, op)) {
        hoist(scan, op, rewriter);
        changed = true;
      }
    return success(changed);
  }

private:
  static bool isWhole(ScanOp scan, Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument && argument.getOwner() == &scan.getBlock() &&
           scan.getTie(argument).kind == TieKind::Whole;
  }
  /// Ops without a whole operand are constants or numbered by iterations.
  static bool isInvariant(ScanOp scan, Operation &op) {
    return isMemoryEffectFree(&op) && !op.use_empty() &&
           llvm::any_of(op.getOperands(),
                        [&](Value value) { return isWhole(scan, value); }) &&
           llvm::all_of(op.getOperands(), [&](Value value) {
             return isWhole(scan, value) ||
                    isa_and_nonnull<ConstantOp>(value.getDefiningOp());
           });
  }
  static double getBytes(Value value) {
    return getTensorType(value).getLocalBytes(
        MeshAttr::of(value.getParentBlock()->getParentOp()));
  }
  static bool isWorthwhile(ScanOp scan, Operation &op) {
    if (!isa<ElementOpInterface>(op))
      return true;
    double largest = 0;
    for (Value operand : op.getOperands())
      if (isWhole(scan, operand))
        largest = std::max(largest, getBytes(operand));
    return getBytes(op.getResult(0)) <= largest;
  }
  static void hoist(ScanOp scan, Operation &op, PatternRewriter &rewriter) {
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPoint(scan);
    IRMapping mapping;
    for (Value operand : op.getOperands()) {
      if (mapping.contains(operand))
        continue;
      if (Operation *constant = operand.getDefiningOp())
        mapping.map(operand, rewriter.clone(*constant)->getResult(0));
      else
        mapping.map(operand, scan.getTie(cast<BlockArgument>(operand)).operand);
    }
    Operation *outside = rewriter.clone(op, mapping);
    SmallVector<Value> inside;
    rewriter.modifyOpInPlace(scan, [&] {
      for (Value result : outside->getResults())
        inside.push_back(getWholeArgument(scan, result));
    });
    rewriter.replaceOp(&op, inside);
  }
};
} // namespace

void ScanOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                         MLIRContext *context) {
  patterns.add<DropDeadTies, MergeDuplicates, CarriedToWhole, WholeToBroadcast,
               SinkInvariants, HoistInvariants>(context);
}

} // namespace meshc::nd
