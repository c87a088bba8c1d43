//===- LoopCopies.cpp - what loops keep for later ones --------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Partition/LoopCopies.h"
#include "lib/Partition/BuildOp.h"
#include "lib/Partition/FactorChoice.h"

using namespace mlir;

namespace meshc::partition {

using spmd::StepKind;

namespace {
/// Numbers values of both bodies, and of the block around them: equal values
/// have one number.
class Numbering {
public:
  unsigned get(Value value) { return get(numbers, value); }
  /// Gives the value the number of `other`.
  void unite(Value value, Value other) { set(value, get(other)); }
  /// Gives the argument the number of the entry of the operand, or that of the
  /// whole operand.
  void addArgument(const nd::Tie &tie);
  /// Gives the results the numbers of those of an equal op that was added
  /// before.
  void add(Operation &op);

private:
  using Numbers = llvm::DenseMap<Value, unsigned>;

  unsigned get(Numbers &of, Value value) {
    auto [it, isNew] = of.try_emplace(value, next);
    next += isNew;
    return it->second;
  }
  void set(Value value, unsigned number) { numbers[value] = number; }
  /// Their attributes, operands and types of results are equal. Attributes that
  /// are not the op's own, such as names, do not count.
  bool areEqual(Operation *a, Operation *b);

  unsigned next = 0;
  Numbers numbers, entries; ///< of values, and of entries of stacks
  llvm::DenseMap<size_t, llvm::SmallVector<Operation *, 1>> ops; ///< by hashes
};
} // namespace

void Numbering::addArgument(const nd::Tie &tie) {
  set(tie.argument,
      get(tie.kind == nd::TieKind::StackedOperand ? entries : numbers,
          tie.operand));
}

bool Numbering::areEqual(Operation *a, Operation *b) {
  return OperationEquivalence::isEquivalentTo(
      a, b, [&](Value x, Value y) { return success(get(x) == get(y)); },
      /*markEquivalent=*/nullptr,
      OperationEquivalence::IgnoreLocations |
          OperationEquivalence::IgnoreDiscardableAttrs);
}

void Numbering::add(Operation &op) {
  if (op.getNumRegions() != 0 || !isMemoryEffectFree(&op))
    return;
  size_t hash = OperationEquivalence::computeHash(
      &op, [&](Value value) { return llvm::hash_value(get(value)); },
      OperationEquivalence::ignoreHashValue,
      OperationEquivalence::IgnoreLocations |
          OperationEquivalence::IgnoreDiscardableAttrs);
  auto &alike = ops[hash];
  auto known = llvm::find_if(
      alike, [&](Operation *other) { return areEqual(&op, other); });
  if (known == alike.end())
    alike.push_back(&op);
  else
    for (auto [result, other] :
         llvm::zip(op.getResults(), (*known)->getResults()))
      unite(result, other);
}

static bool isEntryOrWhole(const nd::Tie &tie) {
  return tie.kind == nd::TieKind::StackedOperand ||
         tie.kind == nd::TieKind::Whole;
}

/// The value that `earlier` stacks, if the argument is an entry of that stack;
/// otherwise null.
static Value getYielded(nd::ScanOp earlier, const nd::Tie &tie) {
  auto stack = dyn_cast<OpResult>(tie.operand);
  if (!stack || stack.getOwner() != earlier ||
      tie.kind != nd::TieKind::StackedOperand)
    return {};
  nd::Tie made = earlier.getTie(stack);
  return made.kind == nd::TieKind::StackedResult ? made.yielded : Value();
}

static bool mayHaveTwins(nd::ScanOp earlier, nd::ScanOp later) {
  return earlier.getDim() == later.getDim() &&
         earlier.getSize() == later.getSize() && !earlier.getConditional();
}

llvm::MapVector<Value, Value> findLoopTwins(nd::ScanOp earlier,
                                            nd::ScanOp later) {
  llvm::MapVector<Value, Value> twins;
  if (!mayHaveTwins(earlier, later))
    return twins;
  Numbering numbering;
  llvm::DenseMap<unsigned, Value> inEarlier; // by number
  auto enter = [&](Value value) {
    inEarlier.try_emplace(numbering.get(value), value);
  };
  auto find = [&](Value value) {
    if (Value twin = inEarlier.lookup(numbering.get(value)))
      twins[value] = twin;
  };
  for (const nd::Tie &tie : earlier.getTies()) {
    if (isEntryOrWhole(tie))
      numbering.addArgument(tie);
    if (tie.argument)
      enter(tie.argument);
  }
  for (Operation &op : earlier.getBlock().without_terminator()) {
    numbering.add(op);
    llvm::for_each(op.getResults(), enter);
  }
  for (const nd::Tie &tie : later.getTies()) {
    if (!isEntryOrWhole(tie))
      continue;
    if (Value yielded = getYielded(earlier, tie))
      numbering.unite(tie.argument, yielded);
    else
      numbering.addArgument(tie);
    find(tie.argument);
  }
  for (Operation &op : later.getBlock().without_terminator()) {
    numbering.add(op);
    llvm::for_each(op.getResults(), find);
  }
  return twins;
}

bool isFollowed(nd::ScanOp loop) {
  for (Operation *later = loop->getNextNode(); later;
       later = later->getNextNode())
    if (auto other = dyn_cast<nd::ScanOp>(later);
        other && mayHaveTwins(loop, other))
      return true;
  return false;
}

double getMostForCopies(FunctionPlans plans, reshard::ReshardPlanner &planner,
                        nd::MeshAttr mesh) {
  double most = 0;
  auto look = [&](nd::ScanOp loop, const BlockPlan &body, const BlockPlan &) {
    if (!isFollowed(loop))
      return;
    const auto runs = static_cast<double>(nd::countRuns(loop));
    for (const PlanStep &step : body.steps) {
      if (step.kind != StepKind::Move || step.operands[0].isPartial())
        continue;
      nd::TensorType to = step.results[0];
      most = std::max(most, planner.getCost(step.operands[0], to) * runs /
                                static_cast<double>(to.getLocalBytes(mesh)));
    }
  };
  for (const FunctionPlan &each : plans)
    forEachLoop(*each.plan, look);
  return most;
}

/// Whether a step makes its forms by ops that each copy or compute elements,
/// without a product or an exchange between ranks.
static bool isCheap(const PlanStep &step, nd::MeshAttr mesh) {
  if (step.kind == StepKind::Repeat || step.kind == StepKind::Return ||
      step.kind == StepKind::Same)
    return true;
  return step.kind == StepKind::Make && !hasMostPoints(step.op) &&
         !isExchanged(*step.op, step.axes, mesh);
}

FormSet findMoved(const BlockPlan &body, reshard::ReshardPlanner &planner,
                  nd::MeshAttr mesh) {
  FormSet moved;
  for (const PlanStep &step : body.steps) {
    bool isMoved = false;
    if (step.kind == StepKind::Move)
      isMoved = !step.operands[0].isPartial() &&
                (moved.contains({step.value, step.operands[0]}) ||
                 planner.getCost(step.operands[0], step.results[0]) > 0);
    else if (step.kind == StepKind::Same)
      isMoved = moved.contains({step.op->getOperand(0), step.results[0]});
    else if (isCheap(step, mesh))
      isMoved = llvm::any_of(step.getUsed(), [&](const Form &form) {
        return moved.contains(form);
      });
    if (isMoved)
      moved.insert_range(step.getMade());
  }
  return moved;
}

void keepTaken(LoopCopies copies, BlockPlan &plan) {
  FormSet taken;
  auto takes = [&](const PlanStep &step) {
    return step.kind == StepKind::Take && step.loop == copies.loop;
  };
  for (PlanStep &step : plan.steps) {
    if (step.kind != StepKind::Loop || llvm::none_of(step.body->steps, takes))
      continue;
    // What the loop would compute from what it takes may be of no use any more.
    step.body->dropUnused(cast<nd::ScanOp>(step.op).getYield());
    for (const PlanStep &inside : step.body->steps)
      if (takes(inside))
        taken.insert({inside.source, inside.results[0]});
  }
  auto loop = llvm::find_if(
      plan.steps, [&](const PlanStep &step) { return step.op == copies.loop; });
  for (const Form &form : copies.offered)
    if (taken.contains(form)) {
      PlanStep keep{StepKind::Keep, /*op=*/nullptr, form.value};
      keep.results = {form.type};
      loop->body->add(std::move(keep));
    }
  loop->body->dropUnused(copies.loop.getYield());
}

} // namespace meshc::partition
