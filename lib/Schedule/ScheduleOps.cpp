//===- ScheduleOps.cpp - the order of execution ---------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/ArenaAttributes.h"
#include "dialects/Nd/NdInterfaces.h"
#include "dialects/Spmd/SpmdOps.h"
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
/// List scheduling of one block.
class OpScheduler {
public:
  explicit OpScheduler(Block &block)
      : block(block), mesh(nd::MeshAttr::of(block.getParentOp())),
        holdsUpdates(
            exec::isForGpus(block.getParentOp()->getParentOfType<ModuleOp>())) {
  }

  LogicalResult run();

private:
  void addEdge(Operation *before, Operation *after);
  void connect();
  Operation *takeNext();
  void makeReady(Operation *op);
  void hold(exec::FusionOp update);
  void releaseHeld();
  int64_t getGrowth(Operation *op) const;
  void finish(Operation *op);

  Block &block;
  nd::MeshAttr mesh;
  DenseMap<Operation *, size_t> places; ///< in the program
  DenseMap<Operation *, llvm::SetVector<Operation *>> successors;
  DenseMap<Operation *, size_t> waitsFor;
  DenseMap<Value, llvm::SmallDenseSet<Operation *, 4>> readers; ///< to come
  SmallVector<Operation *> ready; ///< in program order
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

/// Bytes that the op would allocate now, minus those that it frees. Persistent
/// results and arguments have their own memory and do not count.
int64_t OpScheduler::getGrowth(Operation *op) const {
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
      growth += bytesOf(result);
  llvm::SmallDenseSet<Value> seen;
  for (Value operand : op->getOperands())
    if (!stays(operand) && seen.insert(operand).second &&
        readers.find(operand)->second.size() == 1)
      growth -= bytesOf(operand);
  return growth;
}

/// Adds the op to those that are ready, or to the updates that wait for others.
void OpScheduler::makeReady(Operation *op) {
  auto fusion = dyn_cast<exec::FusionOp>(op);
  if (holdsUpdates && fusion && isUpdate(fusion))
    return hold(fusion);
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
  if (ready.empty())
    releaseHeld();
  if (!released.empty()) {
    Operation *op = released.front();
    released.pop_front();
    return op;
  }
  auto *best = llvm::find_if(ready, [](Operation *op) {
    return isa<spmd::CollectiveOpInterface>(op);
  });
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

LogicalResult OpScheduler::run() {
  connect();
  Operation *terminator = block.getTerminator();
  for (Operation &op : block.without_terminator())
    if (waitsFor.lookup(&op) == 0)
      makeReady(&op);
  size_t count = 0;
  while (!ready.empty() || !held.empty() || !released.empty()) {
    Operation *op = takeNext();
    if (op == terminator)
      continue;
    op->moveBefore(terminator);
    ++count;
    finish(op);
  }
  if (count + 1 == places.size())
    return success();
  Operation *parent = block.getParentOp();
  auto function = dyn_cast<func::FuncOp>(parent);
  return parent->emitError()
         << (function ? "'" + function.getName() + "'" : Twine("the loop"))
         << " cannot be scheduled: results replace arguments in a cycle";
}

namespace {
struct ScheduleOps : impl::ScheduleOpsBase<ScheduleOps> {
  void runOnOperation() override {
    if (getOperation().isDeclaration())
      return;
    SmallVector<Block *> blocks = {&getOperation().getBody().front()};
    getOperation().walk(
        [&](nd::ScanOp scan) { blocks.push_back(&scan.getBlock()); });
    for (Block *block : blocks)
      if (failed(OpScheduler(*block).run()))
        return signalPassFailure();
  }
};
} // namespace

} // namespace meshc::schedule
