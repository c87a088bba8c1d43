//===- SinkUpdates.cpp - updates in the loop that computes the gradient ---===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/Alignment.h"
#include "dialects/Exec/ArenaAttributes.h"
#include "dialects/Nd/Ops/DimNames.h"
#include "dialects/Nd/Ops/LoopEdit.h"
#include "dialects/Nd/Ops/SourceOps.h"
#include "dialects/Nd/TensorAttributes.h"
#include "dialects/Spmd/SpmdOps.h"
#include "lib/Kernels/Passes.h"
#include "lib/Kernels/SettledOrders.h"
#include "lib/Reshard/CallCosts.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace meshc::kernels {

#define GEN_PASS_DEF_SINKUPDATES
#include "lib/Kernels/Passes.h.inc"

/// On targets where a launch takes microseconds, the bytes of a gradient's
/// entry from which on its update takes no less.
static constexpr int64_t leastBytesOfLaunch = 1 << 20;

/// Whether the body of a loop can have the value without taking it from
/// outside.
static bool isKnownEverywhere(Value value) {
  return isa_and_nonnull<nd::ConstantOp, nd::SettingValueOp>(
      value.getDefiningOp());
}

namespace {
/// Moves the ops that only stacked results of one loop need into its body.
class UpdateSinker {
public:
  UpdateSinker(nd::ScanOp scan, IRRewriter &rewriter)
      : scan(scan), dim(scan.getDimAttr()), rewriter(rewriter),
        mesh(nd::MeshAttr::of(scan)) {}

  /// Returns the loop that replaces the given one.
  nd::ScanOp run();

private:
  /// The ops to move, and the values that they leave for the terminator.
  struct Cone {
    llvm::SetVector<Operation *> ops;
    llvm::SetVector<Value> left;
    /// Values without the loop's dim that are computed behind the loop.
    llvm::SetVector<Value> outer;
  };

  bool isWorthwhile(OpResult gradient);
  std::optional<Cone> findCone(OpResult gradient);
  bool addUsers(Value value, Cone &cone) const;
  bool addOperands(Operation *op, Cone &cone);
  bool isPointwise(Operation *op) const;
  bool movesEntries(Operation *op) const;
  bool isMovable(Operation *op) const {
    return isPointwise(op) || movesEntries(op);
  }
  bool hasDim(Value value) const {
    return llvm::is_contained(exec::getDims(value), dim);
  }
  bool isStackedInMemory(Value value) const;
  bool isBeforeLoop(Value value) const;
  bool dependsOnLoop(Value value) const;
  void hoist(Value value);
  Value getInside(Value value);
  void move(const Cone &cone, IRMapping &mapping);

  nd::ScanOp scan;
  StringAttr dim; ///< of the loop
  IRRewriter &rewriter;
  nd::MeshAttr mesh;
};
} // namespace

bool UpdateSinker::isBeforeLoop(Value value) const {
  Operation *op = value.getDefiningOp();
  return !op || op->isBeforeInBlock(scan);
}

bool UpdateSinker::dependsOnLoop(Value value) const {
  SmallVector<Value> stack = {value};
  llvm::DenseSet<Value> seen;
  while (!stack.empty()) {
    Value next = stack.pop_back_val();
    if (isBeforeLoop(next) || !seen.insert(next).second)
      continue;
    Operation *op = next.getDefiningOp();
    if (op == scan || op->getNumRegions() > 0)
      return true;
    llvm::append_range(stack, op->getOperands());
  }
  return false;
}

/// Whether an element along the loop's dim depends on operands' elements of the
/// same entry alone, and the op is the same without that dim.
bool UpdateSinker::isPointwise(Operation *op) const {
  auto element = dyn_cast<nd::ElementOpInterface>(op);
  if (!element || op->getNumResults() != 1 || !hasDim(op->getResult(0)))
    return false;
  bool hasOperand = false;
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    if (!hasDim(operand))
      continue;
    hasOperand = true;
    if (!exec::isAligned(element, index, dim, mesh))
      return false;
  }
  return hasOperand && !nd::namesDim(op, dim);
}

/// Whether the op is a collective that moves each entry by itself. Where ranks
/// compute during collectives, an iteration would wait for it.
bool UpdateSinker::movesEntries(Operation *op) const {
  if (!isa<spmd::CollectiveOpInterface>(op) || op->getNumOperands() != 1 ||
      op->getNumResults() != 1 || reshard::CallCosts::of(scan).overlap > 0)
    return false;
  auto hasWhole = [&](Value value) {
    return hasDim(value) &&
           spmd::getAxesOf(nd::getTensorType(value), dim).empty();
  };
  return !nd::namesDim(op, dim) && hasWhole(op->getOperand(0)) &&
         hasWhole(op->getResult(0));
}

/// Whether the tensor's entries are dense, because of what the function
/// declares.
bool UpdateSinker::isStackedInMemory(Value value) const {
  std::optional<exec::Order> order = getSettledOrder(value);
  return order && !order->empty() && order->front() == dim;
}

/// The users of a value of the cone belong to the cone, or are the terminator.
bool UpdateSinker::addUsers(Value value, Cone &cone) const {
  for (Operation *user : value.getUsers()) {
    if (user == scan->getBlock()->getTerminator()) {
      if (!isStackedInMemory(value))
        return false;
      cone.left.insert(value);
    } else if (user->getBlock() != scan->getBlock() || !isMovable(user)) {
      return false;
    } else {
      cone.ops.insert(user);
    }
  }
  return true;
}

/// The operands of an op of the cone are entries of tensors that exist before
/// the loop or that the loop computes, are computed in the cone too, or do not
/// have the loop's dim.
bool UpdateSinker::addOperands(Operation *op, Cone &cone) {
  for (Value operand : op->getOperands()) {
    Operation *producer = operand.getDefiningOp();
    if (!hasDim(operand)) {
      if (dependsOnLoop(operand))
        return false;
      if (!isKnownEverywhere(operand))
        cone.outer.insert(operand);
    } else if (producer == scan) {
      if (cast<OpResult>(operand).getResultNumber() < scan.getCarriedCount())
        return false;
    } else if (isBeforeLoop(operand)) {
      if (!isStackedInMemory(operand))
        return false;
    } else if (isMovable(producer)) {
      cone.ops.insert(producer);
    } else {
      return false;
    }
  }
  return true;
}

std::optional<UpdateSinker::Cone> UpdateSinker::findCone(OpResult gradient) {
  Cone cone;
  if (!addUsers(gradient, cone) || !cone.left.empty())
    return std::nullopt;
  for (unsigned i = 0; i < cone.ops.size(); ++i)
    if (!addOperands(cone.ops[i], cone) ||
        !addUsers(cone.ops[i]->getResult(0), cone))
      return std::nullopt;
  return cone;
}

/// Where ranks compute during collectives, a gradient that is reduced in the
/// loop is not: its collective goes on while the next iteration runs, and an
/// update would have to wait for it.
bool UpdateSinker::isWorthwhile(OpResult gradient) {
  nd::Tie tie = scan.getTie(gradient);
  Operation *producer = tie.yielded.getDefiningOp();
  if (!producer || gradient.use_empty() ||
      (isa<spmd::CollectiveOpInterface>(producer) &&
       reshard::CallCosts::of(scan).overlap > 0))
    return false;
  bool launchesAreDear = exec::isForGpus(scan->getParentOfType<ModuleOp>());
  return !launchesAreDear ||
         nd::getTensorType(tie.yielded).getLocalBytes(mesh) >=
             leastBytesOfLaunch;
}

/// Moves what computes the value before the loop.
void UpdateSinker::hoist(Value value) {
  if (isBeforeLoop(value))
    return;
  Operation *op = value.getDefiningOp();
  for (Value operand : op->getOperands())
    hoist(operand);
  rewriter.moveOpBefore(op, scan);
}

/// What the body has for a value outside: its entry, if it has the loop's dim.
Value UpdateSinker::getInside(Value value) {
  if (value.getDefiningOp() == scan)
    return scan.getTie(cast<OpResult>(value)).yielded;
  if (hasDim(value))
    return nd::getStackedArgument(scan, value);
  if (isKnownEverywhere(value))
    return rewriter.clone(*value.getDefiningOp())->getResult(0);
  return nd::getWholeArgument(scan, value);
}

/// Ops of one block, in the order of the program.
static SmallVector<Operation *> inOrder(ArrayRef<Operation *> ops) {
  SmallVector<Operation *> sorted(ops);
  llvm::sort(sorted,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return sorted;
}

/// Clones the cone's ops at the end of the body.
void UpdateSinker::move(const Cone &cone, IRMapping &mapping) {
  for (Value value : cone.outer)
    hoist(value);
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(scan.getYield());
  for (Operation *op : inOrder(cone.ops.getArrayRef())) {
    if (mapping.contains(op->getResult(0)))
      continue;
    for (Value operand : op->getOperands())
      if (!mapping.contains(operand))
        mapping.map(operand, getInside(operand));
    Operation *clone = rewriter.clone(*op, mapping);
    clone->getResult(0).setType(
        nd::getEntryType(nd::getTensorType(op->getResult(0)), dim));
  }
}

nd::ScanOp UpdateSinker::run() {
  // Not all of its iterations run, and an update is one of all entries.
  if (scan.getConditional())
    return scan;
  IRMapping mapping;
  llvm::SetVector<Value> left;
  llvm::SetVector<Operation *> moved;
  SmallVector<unsigned> gone;
  for (OpResult result :
       scan->getResults().drop_front(scan.getCarriedCount())) {
    if (!isWorthwhile(result))
      continue;
    std::optional<Cone> cone = findCone(result);
    if (!cone)
      continue;
    move(*cone, mapping);
    left.insert(cone->left.begin(), cone->left.end());
    moved.insert(cone->ops.begin(), cone->ops.end());
    gone.push_back(result.getResultNumber());
  }
  if (gone.empty())
    return scan;
  SmallVector<Value> entries;
  for (Value value : left)
    entries.push_back(mapping.lookup(value));
  unsigned known = scan->getNumResults();
  scan = nd::addStackedResults(rewriter, scan, entries);
  for (auto [value, result] :
       llvm::zip(left, scan->getResults().drop_front(known)))
    rewriter.replaceAllUsesWith(value, result);
  SmallVector<Operation *> dead = inOrder(moved.getArrayRef());
  for (Operation *op : llvm::reverse(dead))
    if (op->use_empty())
      rewriter.eraseOp(op);
  llvm::BitVector arguments(scan.getBlock().getNumArguments(), true);
  llvm::BitVector results(scan->getNumResults(), true);
  for (unsigned index : gone)
    if (scan->getResult(index).use_empty())
      results.reset(index);
  return nd::keepTies(rewriter, scan, arguments, results);
}

namespace {
struct SinkUpdates : impl::SinkUpdatesBase<SinkUpdates> {
  /// Outer loops first: what moves into a loop may move on into one in its
  /// body.
  static void sink(Block &block, IRRewriter &rewriter) {
    for (auto scan : llvm::to_vector(block.getOps<nd::ScanOp>()))
      sink(UpdateSinker(scan, rewriter).run().getBlock(), rewriter);
  }

  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    if (!getOperation().isDeclaration())
      sink(getOperation().getBody().front(), rewriter);
  }
};
} // namespace

} // namespace meshc::kernels
