//===- ScheduleOps.cpp - the order of execution ---------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/ArenaAttributes.h"
#include "dialects/Nd/NdInterfaces.h"
#include "dialects/Spmd/SpmdOps.h"
#include "lib/Schedule/LiveBytes.h"
#include "lib/Schedule/Passes.h"
#include "lib/Schedule/Residence.h"
#include <deque>

using namespace mlir;

namespace meshc::schedule {

#define GEN_PASS_DEF_SCHEDULEOPS
#include "lib/Schedule/Passes.h.inc"

/// What an op may allocate and still run as early as possible: the memory of a
/// scalar. Updates of parameters need scalars that depend on nothing (bias
/// corrections); an update that waits for these keeps its gradient.
static constexpr int64_t freeGrowth = exec::arenaAlignment;
/// On GPUs, updates wait for others, to share their launch, until they keep so
/// many bytes of gradients. An update of so many takes several times as long as
/// a launch.
static constexpr int64_t heldBytesLimit = 32 << 20;

namespace {
/// The ops of a block, without its terminator.
using Order = SmallVector<Operation *>;

/// What an order of ops is to achieve.
struct Aims {
  /// What reads a reduced gradient waits until the next reduction begins, so
  /// that other ops run beside a reduction.
  bool overlap;
  /// Gradients are computed early: what counts is the memory that remains when
  /// their reduction has ended.
  bool reduceEarly;
};

/// List scheduling of one block.
class OpScheduler {
public:
  OpScheduler(Block &block, Aims aims)
      : block(block), mesh(nd::MeshAttr::of(block.getParentOp())), aims(aims),
        holdsUpdates(
            exec::isForGpus(block.getParentOp()->getParentOfType<ModuleOp>())) {
  }

  /// Fails, with an error, if there is no order.
  FailureOr<Order> run();

private:
  void addEdge(Operation *before, Operation *after);
  void connect();
  Operation *takeNext();
  void makeReady(Operation *op);
  void hold(exec::FusionOp update);
  void releaseHeld();
  int64_t getLastingBytes(Value value);
  int64_t getGrowth(Operation *op);
  bool canWait(exec::FusionOp fusion) const;
  void finish(Operation *op);

  Block &block;
  nd::MeshAttr mesh;
  DenseMap<Operation *, size_t> places; ///< in the program
  DenseMap<Operation *, llvm::SetVector<Operation *>> successors;
  DenseMap<Operation *, size_t> waitsFor;
  DenseMap<Value, llvm::SmallDenseSet<Operation *, 4>> readers; ///< to come
  SmallVector<Operation *> ready; ///< in program order
  DenseMap<Value, int64_t> lastingBytes;
  Aims aims;
  SmallVector<Operation *> patient; ///< until the next reduction begins
  bool holdsUpdates;
  SmallVector<Operation *> held; ///< updates that wait for others
  int64_t heldBytes = 0;
  std::deque<Operation *> released; ///< those that run next
};
} // namespace

void OpScheduler::addEdge(Operation *before, Operation *after) {
  if (before && before != after && before->getBlock() == &block &&
      successors[before].insert(after))
    ++waitsFor[after];
}

void OpScheduler::connect() {
  for (Operation &op : block) {
    places[&op] = places.size();
    waitsFor.try_emplace(&op, 0);
    for (Value operand : op.getOperands()) {
      addEdge(operand.getDefiningOp(), &op);
      readers[operand].insert(&op);
    }
    for (Value value : getTakenOver(&op))
      for (Operation *reader : getReadersBefore(cast<nd::ScanOp>(op), value))
        addEdge(reader, &op);
  }
  Operation *terminator = block.getTerminator();
  for (unsigned index = 0; index < terminator->getNumOperands(); ++index)
    for (Operation *reader : getReadersBefore(block, index))
      addEdge(reader, terminator->getOperand(index).getDefiningOp());
}

static bool isUpdateOp(Operation *op) {
  auto fusion = dyn_cast<exec::FusionOp>(op);
  return fusion && isUpdate(fusion);
}

/// The bytes of a value, or of what is left of it once it has been reduced
/// and, if that is all that it is for, has updated a parameter.
int64_t OpScheduler::getLastingBytes(Value value) {
  auto [known, isNew] = lastingBytes.try_emplace(value, 0);
  if (!isNew)
    return known->second;
  Value lasting = value;
  if (aims.reduceEarly && value.hasOneUse()) {
    OpOperand &use = *value.use_begin();
    auto collective = dyn_cast<spmd::CollectiveOpInterface>(use.getOwner());
    if (collective && collective.getGroupReduction())
      lasting = collective->getResult(use.getOperandNumber());
  }
  if (lasting == value || !llvm::all_of(lasting.getUsers(), isUpdateOp))
    known->second = nd::getTensorType(lasting).getLocalBytes(mesh);
  return known->second;
}

/// Bytes that the op would allocate now, minus those that it frees. Persistent
/// results and arguments have their own memory and do not count.
int64_t OpScheduler::getGrowth(Operation *op) {
  int64_t growth = 0;
  auto bytesOf = [&](Value value) {
    return nd::getTensorType(value).getLocalBytes(mesh);
  };
  Operation *terminator = block.getTerminator();
  auto stays = [&](Value value) {
    return isa<BlockArgument>(value) ||
           llvm::is_contained(terminator->getOperands(), value);
  };
  for (Value result : op->getResults())
    if (!stays(result))
      growth += getLastingBytes(result);
  llvm::SmallDenseSet<Value> seen;
  for (Value operand : op->getOperands())
    if (!stays(operand) && seen.insert(operand).second &&
        readers.find(operand)->second.size() == 1)
      growth -= bytesOf(operand);
  return growth;
}

/// Whether the fusion reads what a collective of the block receives, and what
/// it computes is not urgent: it updates a parameter, or computes scalars, as
/// the norm of a gradient.
bool OpScheduler::canWait(exec::FusionOp fusion) const {
  bool reads = llvm::any_of(fusion.getInputs(), [](Value input) {
    return isa_and_nonnull<spmd::CollectiveOpInterface>(input.getDefiningOp());
  });
  return reads && (isUpdate(fusion) ||
                   llvm::all_of(fusion.getResults(), [](Value result) {
                     return nd::getTensorType(result).getDims().empty();
                   }));
}

/// Adds the op to those that are ready, or to those that wait for others.
void OpScheduler::makeReady(Operation *op) {
  auto fusion = dyn_cast<exec::FusionOp>(op);
  if (holdsUpdates && fusion && isUpdate(fusion))
    return hold(fusion);
  if (aims.overlap && fusion && canWait(fusion))
    return patient.push_back(op);
  auto *place = llvm::upper_bound(ready, op, [&](Operation *a, Operation *b) {
    return places.lookup(a) < places.lookup(b);
  });
  ready.insert(place, op);
}

void OpScheduler::hold(exec::FusionOp update) {
  held.push_back(update);
  for (Value input : update.getInputs())
    if (!isa<BlockArgument>(input))
      heldBytes += nd::getTensorType(input).getLocalBytes(mesh);
  if (heldBytes >= heldBytesLimit)
    releaseHeld();
}

void OpScheduler::releaseHeld() {
  llvm::append_range(released, held);
  held.clear();
  heldBytes = 0;
}

Operation *OpScheduler::takeNext() {
  if (ready.empty()) {
    releaseHeld();
    llvm::append_range(released, patient);
    patient.clear();
  }
  if (!released.empty()) {
    Operation *op = released.front();
    released.pop_front();
    return op;
  }
  auto *best = llvm::find_if(ready, [](Operation *op) {
    return isa<spmd::CollectiveOpInterface>(op);
  });
  if (best != ready.end() &&
      cast<spmd::CollectiveOpInterface>(*best).getGroupReduction()) {
    // Those that waited for it run behind it.
    llvm::append_range(released, patient);
    patient.clear();
  }
  if (best == ready.end())
    best = llvm::find_if(
        ready, [&](Operation *op) { return getGrowth(op) <= freeGrowth; });
  if (best == ready.end())
    best = ready.begin();
  Operation *op = *best;
  ready.erase(best);
  return op;
}

void OpScheduler::finish(Operation *op) {
  for (Value operand : op->getOperands())
    readers[operand].erase(op);
  for (Operation *successor : successors[op])
    if (--waitsFor[successor] == 0)
      makeReady(successor);
}

FailureOr<Order> OpScheduler::run() {
  connect();
  Operation *terminator = block.getTerminator();
  for (Operation &op : block.without_terminator())
    if (waitsFor.lookup(&op) == 0)
      makeReady(&op);
  Order order;
  while (!ready.empty() || !held.empty() || !released.empty() ||
         !patient.empty()) {
    Operation *op = takeNext();
    if (op == terminator)
      continue;
    order.push_back(op);
    finish(op);
  }
  if (order.size() + 1 == places.size())
    return order;
  Operation *parent = block.getParentOp();
  auto function = dyn_cast<func::FuncOp>(parent);
  return parent->emitError()
         << (function ? "'" + function.getName() + "'" : Twine("the loop"))
         << " cannot be scheduled: results replace arguments in a cycle";
}

namespace {
struct ScheduleOps : impl::ScheduleOpsBase<ScheduleOps> {
  void runOnOperation() override {
    // Inner loops first: what they need counts for the blocks around them.
    SmallVector<Block *> blocks = nd::getBlocks(getOperation());
    for (Block *block : llvm::reverse(blocks))
      if (failed(schedule(*block)))
        return signalPassFailure();
  }

  LogicalResult schedule(Block &block) {
    if (block.without_terminator().empty())
      return success();
    // Without a reduction, all of them give one order.
    bool reduces = llvm::any_of(
        block.getOps<spmd::CollectiveOpInterface>(),
        [](auto collective) { return bool(collective.getGroupReduction()); });
    constexpr Aims choices[] = {
        {true, true}, {true, false}, {false, true}, {false, false}};
    std::optional<Order> order;
    int64_t peak = 0;
    for (Aims aims : llvm::ArrayRef(choices).take_back(reduces ? 4 : 1)) {
      FailureOr<Order> next = OpScheduler(block, aims).run();
      if (failed(next))
        return failure();
      int64_t nextPeak = *llvm::max_element(countLiveBytes(*next, peaks));
      if (!order || nextPeak < peak) {
        order = std::move(*next);
        peak = nextPeak;
      }
    }
    for (Operation *op : *order)
      op->moveBefore(block.getTerminator());
    peaks[block.getParentOp()] = peak;
    return success();
  }

  DenseMap<Operation *, int64_t> peaks; ///< of loops
};
} // namespace

} // namespace meshc::schedule
