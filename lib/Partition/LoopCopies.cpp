//===- LoopCopies.cpp - what loops keep for later ones --------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Partition/LoopCopies.h"
#include "dialects/Nd/Ops/LoopEdit.h"
#include "dialects/Spmd/ReshardPlan.h"
#include "dialects/Spmd/SpmdOps.h"

using namespace mlir;

namespace meshc::partition {

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

llvm::MapVector<Value, Value> findLoopTwins(nd::ScanOp earlier,
                                            nd::ScanOp later) {
  llvm::MapVector<Value, Value> twins;
  if (earlier.getDim() != later.getDim() ||
      earlier.getSize() != later.getSize() || earlier.getConditional())
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

static bool movesValues(nd::ScanOp loop, double keptByteCost) {
  auto planner = spmd::ReshardPlanner::of(loop->getParentOfType<ModuleOp>());
  auto mesh = nd::MeshAttr::of(loop);
  double costPerByte = keptByteCost / double(nd::countRuns(loop));
  return llvm::any_of(
      loop.getBlock().getOps<spmd::ReshardOp>(), [&](spmd::ReshardOp op) {
        nd::TensorType from = nd::getTensorType(op.getOperand()),
                       to = nd::getTensorType(op.getResult());
        return !from.isPartial() &&
               planner.getCost(from, to) >
                   costPerByte * double(to.getLocalBytes(mesh));
      });
}

bool mayKeepCopies(ModuleOp partitioned, double keptByteCost) {
  auto mayKeep = [&](nd::ScanOp loop) {
    for (Operation *later = loop->getNextNode(); later;
         later = later->getNextNode())
      if (auto other = dyn_cast<nd::ScanOp>(later);
          other && other.getDim() == loop.getDim() &&
          movesValues(loop, keptByteCost))
        return WalkResult::interrupt();
    return WalkResult::advance();
  };
  return partitioned.walk(mayKeep).wasInterrupted();
}

/// Erases what nothing uses in loops that read the stack, and their entries of
/// the stack if these are not used then.
static void dropUnusedEntries(OpResult stack) {
  for (Operation *user : llvm::to_vector(stack.getUsers())) {
    auto loop = dyn_cast<nd::ScanOp>(user);
    if (!loop)
      continue;
    for (Operation &op :
         llvm::make_early_inc_range(llvm::reverse(loop.getBlock())))
      if (isOpTriviallyDead(&op))
        op.erase();
    for (const nd::Tie &tie : loop.getTies())
      if (tie.kind == nd::TieKind::StackedOperand && tie.operand == stack &&
          tie.argument.use_empty()) {
        unsigned index = tie.argument.getArgNumber();
        loop.getStackedMutable().erase(index - loop.getCarriedCount());
        loop.getBlock().eraseArgument(index);
        break;
      }
  }
}

void dropUnused(const LoopCopies &copies) {
  nd::ScanOp loop;
  llvm::SmallVector<unsigned> unused;
  for (const auto &[value, stacks] : copies.stacks)
    for (OpResult stack : stacks) {
      loop = cast<nd::ScanOp>(stack.getOwner());
      dropUnusedEntries(stack);
      if (stack.use_empty())
        unused.push_back(stack.getResultNumber());
    }
  if (unused.empty())
    return;
  llvm::BitVector arguments(loop.getBlock().getNumArguments(), true);
  llvm::BitVector results(loop.getNumResults(), true);
  for (unsigned result : unused)
    results.reset(result);
  IRRewriter rewriter(loop.getContext());
  nd::keepTies(rewriter, loop, arguments, results);
}

} // namespace meshc::partition
