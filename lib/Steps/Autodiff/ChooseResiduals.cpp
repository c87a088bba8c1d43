//===- ChooseResiduals.cpp - what loops store for their gradients ---------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/NdInterfaces.h"
#include "dialects/Nd/Ops/LoopEdit.h"
#include "dialects/Nd/Ops/ModelOps.h"
#include "dialects/Nd/Ops/ShapeOps.h"
#include "dialects/Nd/Ops/SourceOps.h"
#include "dialects/Nd/RecomputeBlock.h"
#include "lib/Steps/Autodiff/LoopPair.h"
#include "lib/Steps/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"
#include <functional>

using namespace mlir;

namespace meshc::steps {

#define GEN_PASS_DEF_CHOOSERESIDUALS
#include "lib/Steps/Passes.h.inc"

namespace {
/// Builds values of the producer's body in that of the consumer.
class Recomputation {
public:
  Recomputation(LoopPair pair, const llvm::DenseSet<Value> &recomputed)
      : pair(pair), recomputed(recomputed),
        builder(OpBuilder::atBlockBegin(&pair.consumer.getBlock())) {}

  Value get(Value value);

private:
  LoopPair pair;
  const llvm::DenseSet<Value> &recomputed;
  OpBuilder builder;
  IRMapping mapping;
};

/// An entry of a stacked result that loops alone read.
struct Candidate {
  OpResult value;
  SmallVector<EntryReader> readers;

  /// Whether the producer can store more for the readers: they are in its
  /// block.
  bool isNearby() {
    return llvm::none_of(readers, [](EntryReader &reader) {
      return reader.pair.getOuter().has_value();
    });
  }
};

/// Chooses which stacked results of one loop are stored. The others are
/// recomputed by their readers.
class ResidualChoice {
public:
  ResidualChoice(nd::ScanOp producer, Recompute policy);

  /// Changes the loops. Returns the producer, which may be another op.
  nd::ScanOp run();

private:
  void choose();
  void chooseBlocks();
  void chooseInvariant();
  void chooseNone();
  void chooseCheap();
  void chooseAll();
  void takeDecided();
  void store(ValueRange values);
  bool isCheap(Operation *op);
  bool isInvariant(Operation *op);
  bool isAvailable(Value value);
  double getBytes(Value value) const;
  llvm::SetVector<Value> findBlockLeaves(ArrayRef<Value> values,
                                         bool areNearby);
  bool mustStore(Value leaf);
  llvm::SetVector<Value> findCarriedLeaves();

  nd::ScanOp producer;
  nd::MeshAttr mesh;
  Recompute policy;
  SmallVector<Candidate> candidates; ///< undecided, in the order of the body
  SmallVector<Candidate> chosen;     ///< to be recomputed
  /// Values of the body that are stacked in any case, or chosen to be.
  llvm::DenseSet<Value> stored;
  llvm::DenseSet<Value> recomputed; ///< those of `chosen`
  /// Those of `recomputed` that only nearby readers can compute.
  llvm::DenseSet<Value> recomputedNearby;
};
} // namespace

Value Recomputation::get(Value value) {
  if (Value known = mapping.lookupOrNull(value))
    return known;
  if (!recomputed.contains(value) && pair.canLoad(value)) {
    mapping.map(value, pair.load(value));
    return mapping.lookup(value);
  }
  Operation *op = value.getDefiningOp();
  for (Value operand : op->getOperands())
    get(operand);
  builder.clone(*op, mapping);
  return mapping.lookup(value);
}

ResidualChoice::ResidualChoice(nd::ScanOp producer, Recompute policy)
    : producer(producer), mesh(nd::MeshAttr::of(producer)), policy(policy) {
  for (OpResult result :
       producer->getResults().drop_front(producer.getCarriedCount())) {
    auto value = dyn_cast<OpResult>(producer.getTie(result).yielded);
    auto readers = findReaders(result);
    if (value && readers && !readers->empty())
      candidates.push_back({value, std::move(*readers)});
    else if (!result.use_empty())
      stored.insert(producer.getTie(result).yielded);
  }
  llvm::sort(candidates, [](const Candidate &a, const Candidate &b) {
    Operation *first = a.value.getOwner(), *second = b.value.getOwner();
    if (first != second)
      return first->isBeforeInBlock(second);
    return a.value.getResultNumber() < b.value.getResultNumber();
  });
}

double ResidualChoice::getBytes(Value value) const {
  return nd::getTensorType(value).getLocalBytes(mesh);
}

/// Whether all readers can have the value without computing more.
bool ResidualChoice::isAvailable(Value value) {
  if (recomputed.contains(value))
    return !recomputedNearby.contains(value) ||
           llvm::all_of(candidates, std::mem_fn(&Candidate::isNearby));
  return llvm::all_of(candidates, [&](Candidate &candidate) {
    return llvm::all_of(candidate.readers, [&](EntryReader &reader) {
      return reader.pair.canLoad(value);
    });
  });
}

/// The layout's rules for the dim, as pairs of scope and axes.
static llvm::DenseSet<std::pair<Attribute, Attribute>> getRules(ModuleOp module,
                                                                Attribute dim) {
  llvm::DenseSet<std::pair<Attribute, Attribute>> rules;
  for (auto rule : module.getOps<nd::RuleOp>())
    if (rule.getDimAttr() == dim)
      rules.insert({rule.getScopeAttr(), rule.getAxesAttr()});
  return rules;
}

/// Whether the layout may cut the new dims of a rename otherwise than the old
/// ones: then it moves the tensor between ranks. New dims without a rule are
/// open, and lie as the old ones.
static bool mayMove(Operation *op) {
  auto rename = dyn_cast<nd::RenameOp>(op);
  if (!rename)
    return false;
  auto module = op->getParentOfType<ModuleOp>();
  return llvm::any_of(
      llvm::zip(rename.getFrom(), rename.getTo()), [&](auto names) {
        auto [from, to] = names;
        auto rules = getRules(module, to);
        return !rules.empty() && rules != getRules(module, from);
      });
}

/// Whether the op's result costs less to recompute than to store and load. All
/// ops between available values and the result must be pointwise, and leave
/// elements on their ranks.
bool ResidualChoice::isCheap(Operation *op) {
  llvm::SetVector<Operation *> ops;
  ops.insert(op);
  nd::OpCost work;
  for (size_t i = 0; i < ops.size(); ++i) {
    if (!isa<nd::ElementOpInterface>(ops[i]) || mayMove(ops[i]))
      return false;
    nd::OpCost cost = cast<nd::NamedOpInterface>(ops[i]).getCost();
    work.flops += cost.flops;
    work.transcendentals += cost.transcendentals;
    for (Value operand : ops[i]->getOperands()) {
      if (isAvailable(operand))
        continue;
      if (isa<BlockArgument>(operand))
        return false;
      ops.insert(operand.getDefiningOp());
    }
  }
  return nd::isCheaperThanMemory(work, getBytes(op->getResult(0)));
}

/// Whether the result is the same in each iteration: pointwise ops compute it
/// from indices, constants, and operands that the loop takes whole.
bool ResidualChoice::isInvariant(Operation *op) {
  llvm::SetVector<Operation *> ops;
  ops.insert(op);
  for (size_t i = 0; i < ops.size(); ++i) {
    if (!isa<nd::ElementOpInterface>(ops[i]) || mayMove(ops[i]) ||
        (ops[i]->getNumOperands() == 0 &&
         !isa<nd::IotaOp, nd::ConstantOp>(ops[i])))
      return false;
    for (Value operand : ops[i]->getOperands()) {
      if (Operation *before = operand.getDefiningOp()) {
        ops.insert(before);
        continue;
      }
      nd::Tie tie = producer.getTie(cast<BlockArgument>(operand));
      if (tie.kind != nd::TieKind::Whole || !isAvailable(operand))
        return false;
    }
  }
  return true;
}

/// To store each iteration's copy of one value would only take memory, whatever
/// the policy: the mask of an attention, which is then known to be a band.
void ResidualChoice::chooseInvariant() {
  for (const Candidate &candidate : candidates)
    if (isInvariant(candidate.value.getOwner()))
      recomputed.insert(candidate.value);
}

/// Makes values of the body stacked results that stay.
void ResidualChoice::store(ValueRange values) {
  SmallVector<Value> added;
  for (Value value : values)
    if (!nd::findStackedResult(producer, value))
      added.push_back(value);
  if (!added.empty()) {
    IRRewriter rewriter(producer.getContext());
    producer = nd::addStackedResults(rewriter, producer, added);
    for (auto *list : {&candidates, &chosen})
      for (Candidate &candidate : *list)
        for (EntryReader &reader : candidate.readers)
          reader.pair.producer = producer;
  }
  stored.insert(values.begin(), values.end());
}

/// Where the blocks `recompute { … }` that compute `values` begin: at what they
/// use of the body around each of them, and at values of theirs that the
/// readers can load, as they are stored anyway.
llvm::SetVector<Value> ResidualChoice::findBlockLeaves(ArrayRef<Value> values,
                                                       bool areNearby) {
  llvm::SetVector<Value> reached, leaves;
  reached.insert(values.begin(), values.end());
  for (size_t i = 0; i < reached.size(); ++i) {
    Operation *op = reached[i].getDefiningOp();
    for (Value operand : op->getOperands()) {
      Operation *before = operand.getDefiningOp();
      bool isSameBlock =
          before && nd::getRecomputeBlock(before) == nd::getRecomputeBlock(op);
      bool isLoaded =
          stored.contains(operand) && (areNearby || isAvailable(operand));
      (isSameBlock && !isLoaded ? reached : leaves).insert(operand);
    }
  }
  return leaves;
}

/// Whether nearby readers can have the leaf only if the producer stores it: it
/// is neither stored yet, nor an operand of the loop or a constant.
bool ResidualChoice::mustStore(Value leaf) {
  if (stored.contains(leaf))
    return false;
  if (auto argument = dyn_cast<BlockArgument>(leaf))
    return producer.getTie(argument).kind == nd::TieKind::Carried;
  return leaf.getDefiningOp()->getNumOperands() != 0;
}

/// The text's blocks `recompute { … }`: their inputs are stored, and what they
/// compute is not, whatever the policy. For readers in other blocks only if all
/// leaves reach them already.
void ResidualChoice::chooseBlocks() {
  SmallVector<Value> near, far, nearOnly;
  bool allNearby = llvm::all_of(candidates, std::mem_fn(&Candidate::isNearby));
  for (Candidate &candidate : candidates) {
    Value value = candidate.value;
    if (!nd::getRecomputeBlock(candidate.value.getOwner()))
      continue;
    bool isForAll = allNearby ||
                    llvm::all_of(findBlockLeaves(value, /*areNearby=*/false),
                                 [&](Value leaf) { return isAvailable(leaf); });
    if (candidate.isNearby())
      (isForAll ? near : nearOnly).push_back(value);
    else if (isForAll)
      far.push_back(value);
  }
  near.append(nearOnly);
  llvm::SetVector<Value> inputs = findBlockLeaves(near, /*areNearby=*/true);
  inputs.insert_range(findBlockLeaves(far, /*areNearby=*/false));
  inputs.remove_if([&](Value leaf) { return !mustStore(leaf); });
  // A value with the loop's dim cannot be stored for each iteration.
  if (llvm::any_of(inputs, [&](Value value) {
        return nd::getTensorType(value).hasDim(producer.getDim());
      }))
    return;
  store(inputs.getArrayRef());
  for (Value value : llvm::concat<Value>(near, far))
    if (!stored.contains(value))
      recomputed.insert(value);
  recomputedNearby.insert(nearOnly.begin(), nearOnly.end());
}

void ResidualChoice::chooseNone() {
  for (const Candidate &candidate : candidates)
    stored.insert(candidate.value);
}

void ResidualChoice::chooseCheap() {
  for (const Candidate &candidate : candidates)
    (isCheap(candidate.value.getOwner()) ? recomputed : stored)
        .insert(candidate.value);
}

/// Carried values that must be stored to recompute all candidates.
llvm::SetVector<Value> ResidualChoice::findCarriedLeaves() {
  llvm::SetVector<Value> reached, carried;
  for (const Candidate &candidate : candidates)
    reached.insert(candidate.value);
  for (size_t i = 0; i < reached.size(); ++i) {
    Value value = reached[i];
    if (stored.contains(value))
      continue;
    if (Operation *op = value.getDefiningOp())
      reached.insert(op->operand_begin(), op->operand_end());
    else if (producer.getTie(cast<BlockArgument>(value)).kind ==
             nd::TieKind::Carried)
      carried.insert(value);
  }
  return carried;
}

/// Recomputes all candidates unless the carried values that this needs are
/// larger. In a loop around that was not repeated, they are not stored.
void ResidualChoice::chooseAll() {
  llvm::erase_if(candidates,
                 [](Candidate &candidate) { return !candidate.isNearby(); });
  llvm::SetVector<Value> carried = findCarriedLeaves();
  double less = 0, more = 0;
  for (const Candidate &candidate : candidates)
    less += getBytes(candidate.value);
  for (Value value : carried)
    more += getBytes(value);
  if (less <= more)
    return chooseNone();
  for (const Candidate &candidate : candidates)
    recomputed.insert(candidate.value);
  store(carried.getArrayRef());
}

/// Removes the candidates that were decided on.
void ResidualChoice::takeDecided() {
  for (const Candidate &candidate : candidates)
    if (recomputed.contains(candidate.value))
      chosen.push_back(candidate);
  llvm::erase_if(candidates, [&](const Candidate &candidate) {
    return recomputed.contains(candidate.value) ||
           stored.contains(candidate.value);
  });
}

void ResidualChoice::choose() {
  chooseBlocks();
  takeDecided();
  chooseInvariant();
  takeDecided();
  switch (policy) {
  case Recompute::None:
    chooseNone();
    break;
  case Recompute::Cheap:
    chooseCheap();
    break;
  case Recompute::Full:
    chooseAll();
    break;
  }
  takeDecided();
}

nd::ScanOp ResidualChoice::run() {
  choose();
  llvm::MapVector<Operation *, Recomputation> recomputations;
  for (Candidate &candidate : chosen)
    for (EntryReader &reader : candidate.readers) {
      Recomputation &recomputation =
          recomputations
              .try_emplace(reader.pair.consumer, reader.pair, recomputed)
              .first->second;
      reader.entry.replaceAllUsesWith(recomputation.get(candidate.value));
    }
  return producer;
}

namespace {
struct ChooseResiduals : impl::ChooseResidualsBase<ChooseResiduals> {
  using ChooseResidualsBase::ChooseResidualsBase;

  void runOnOperation() override {
    if (getOperation().isDeclaration())
      return;
    visit(getOperation().getBody().front());
    getOperation().walk(nd::removeRecomputeBlock);
  }

  /// `full` begins with outer loops. What it repeats in a later loop contains
  /// producers again. `cheap` begins with inner loops, which may load further
  /// values from outer ones.
  void visit(Block &block) {
    for (Operation &op : llvm::make_early_inc_range(block)) {
      auto scan = dyn_cast<nd::ScanOp>(op);
      if (!scan)
        continue;
      if (policy == Recompute::Full)
        scan = ResidualChoice(scan, policy).run();
      visit(scan.getBlock());
      if (policy != Recompute::Full)
        ResidualChoice(scan, policy).run();
    }
  }
};
} // namespace

} // namespace meshc::steps
