//===- BlockPlanner.cpp - places for the values of a block ----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Schedule/BlockPlanner.h"
#include "dialects/Exec/ArenaAttributes.h"
#include "dialects/Exec/Library.h"
#include "lib/Schedule/Residence.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "meshc-plan-arena"

using namespace mlir;

namespace meshc::schedule {

exec::ArenaPlace BlockPlanner::Spot::resolve() const {
  exec::ArenaPlace resolved = place;
  if (storage)
    resolved.offset += storage->offset;
  return resolved;
}

BlockPlanner::Spot BlockPlanner::Spot::inLoop(int64_t stride) const {
  Spot inside = *this;
  inside.place.strides.push_back(stride);
  if (!inside.place.alternates.empty())
    inside.place.alternates.push_back(0);
  return inside;
}

/// What a loop carries has one place, from the initial value on.
void BlockPlanner::place(Value value, Spot spot) {
  spots[value] = spot;
  auto result = dyn_cast<OpResult>(value);
  if (!result)
    return;
  ValueRange carried = getTakenOver(result.getOwner());
  if (result.getResultNumber() < carried.size())
    place(carried[result.getResultNumber()], spot);
}

Storage &BlockPlanner::addStorage(int64_t bytes, Operation *op) {
  storages.push_back({bytes, times[op], times[op], storages.size(), 0});
  return storages.back();
}

/// The storage holds the value until its last reader.
void BlockPlanner::extend(Storage &storage, Value value) {
  storage.end = std::max(storage.end, times[value.getDefiningOp()]);
  for (Operation *user : value.getUsers())
    storage.end = std::max(storage.end, times[user]);
}

void BlockPlanner::placeTemporary(OpResult result, Storage &storage) {
  storage.bytes = std::max<int64_t>(
      storage.bytes, nd::getTensorType(result).getLocalBytes(mesh));
  extend(storage, result);
  storageOf[result] = &storage;
  spots[result] = {&storage, {0, SmallVector<int64_t, 2>(depth, 0)}};
}

/// The storage is in use in all of the block.
void BlockPlanner::keep(Storage &storage) {
  storage.begin = 0;
  storage.end = times.size();
}

/// Received in the iteration before the one that reads it, while that one
/// reads its own.
void BlockPlanner::placeAhead(OpResult result) {
  int64_t bytes = alignInArena(nd::getTensorType(result).getLocalBytes(mesh));
  Storage &storage = addStorage(2 * bytes, result.getOwner());
  keep(storage);
  SmallVector<int64_t, 2> still(depth, 0), alternates(depth, 0);
  alternates.back() = bytes;
  spots[result] = {&storage, {0, still, alternates}};
}

/// Gives the operand of an all_reduce the place of the entry of a stacked
/// result that it is reduced to: so it may go on while the next iteration
/// computes its own.
bool BlockPlanner::placeWithReduced(OpResult result) {
  if (!result.hasOneUse())
    return false;
  OpOperand &use = *result.use_begin();
  auto collective = dyn_cast<spmd::CollectiveOpInterface>(use.getOwner());
  unsigned number = use.getOperandNumber();
  if (!collective || !canGoOn(collective) ||
      !canWriteOver(collective, number, number))
    return false;
  spots[result] = spots.lookup(collective->getResult(number));
  return true;
}

/// A temporary operand that dies at the op and may be overwritten.
Storage *BlockPlanner::findDying(Operation *op, unsigned result,
                                 ArrayRef<Storage *> taken) {
  for (OpOperand &operand : op->getOpOperands()) {
    Storage *storage = storageOf.lookup(operand.get());
    if (!storage || llvm::is_contained(taken, storage))
      continue;
    bool dies = llvm::all_of(operand.get().getUsers(), [&](Operation *user) {
      return times.lookup(user) <= times.lookup(op);
    });
    if (dies && canWriteOver(op, operand.getOperandNumber(), result))
      return storage;
  }
  return nullptr;
}

void BlockPlanner::collect(Operation &op) {
  if (int64_t bytes = exec::getScratchBytes(&op))
    scratchOf[&op] = &addStorage(bytes, &op);
  SmallVector<Storage *> taken;
  auto collective = dyn_cast<spmd::CollectiveOpInterface>(op);
  // What the next iteration computes must not overwrite what is being sent.
  if (collective && canGoOn(collective))
    for (Value operand : op.getOperands())
      if (Storage *storage = storageOf.lookup(operand)) {
        keep(*storage);
        storageOf.erase(operand);
      }
  for (OpResult result : op.getResults()) {
    if (spots.contains(result) || placeWithReduced(result))
      continue;
    if (collective && canBeginAhead(collective)) {
      placeAhead(result);
      continue;
    }
    Storage *storage = findDying(&op, result.getResultNumber(), taken);
    if (!storage)
      storage = &addStorage(0, &op);
    taken.push_back(storage);
    placeTemporary(result, *storage);
  }
}

/// The body's arguments and yielded values have places outside of it.
void BlockPlanner::placeTies(nd::ScanOp scan, BlockPlanner &body) {
  for (const nd::Tie &tie : scan.getTies()) {
    switch (tie.kind) {
    case nd::TieKind::Carried:
      body.place(tie.argument, spots.lookup(tie.result).inLoop(0));
      if (tie.yielded != tie.argument)
        body.place(tie.yielded, spots.lookup(tie.result).inLoop(0));
      break;
    case nd::TieKind::StackedOperand:
      body.place(
          tie.argument,
          spots.lookup(tie.operand)
              .inLoop(nd::getTensorType(tie.argument).getLocalBytes(mesh)));
      break;
    case nd::TieKind::Whole:
      body.place(tie.argument, spots.lookup(tie.operand).inLoop(0));
      break;
    case nd::TieKind::StackedResult:
      body.place(
          tie.yielded,
          spots.lookup(tie.result)
              .inLoop(nd::getTensorType(tie.yielded).getLocalBytes(mesh)));
      break;
    }
  }
}

void BlockPlanner::collectLoop(nd::ScanOp scan) {
  for (OpResult result : scan->getResults()) {
    if (result.getResultNumber() >= scan.getCarriedCount()) {
      if (!spots.contains(result))
        placeTemporary(result, addStorage(0, scan));
      continue;
    }
    Value initial = scan.getCarried()[result.getResultNumber()];
    spots[result] = spots.lookup(initial);
    if (Storage *storage = storageOf.lookup(initial)) {
      extend(*storage, result);
      storageOf[result] = storage;
    }
  }
  Loop &loop = loops[scan];
  loop.body = std::make_unique<BlockPlanner>(scan.getBlock(), depth + 1);
  placeTies(scan, *loop.body);
  int64_t bytes = loop.body->plan();
  loop.temporaries = bytes > 0 ? &addStorage(bytes, scan) : nullptr;
}

int64_t BlockPlanner::plan() {
  for (Operation &op : block) {
    times[&op] = opAt.size();
    opAt.push_back(&op);
  }
  for (Operation &op : block.without_terminator())
    if (auto scan = dyn_cast<nd::ScanOp>(op))
      collectLoop(scan);
    else
      collect(op);
  collectRanges();
  return packWithOverlap();
}

/// When the collective may run as far as the values are concerned.
CollectiveRange BlockPlanner::getRange(Operation *op) {
  size_t time = times[op];
  CollectiveRange range = {op, time, time, time, {}, {}, time};
  auto add = [&](SmallVector<Storage *> &list, Value value) {
    Storage *storage = storageOf.lookup(value);
    if (storage && !llvm::is_contained(list, storage))
      list.push_back(storage);
  };
  for (Value operand : op->getOperands())
    add(range.sent, operand);
  if (!isa<spmd::AllGatherOp>(op) || canBeginAhead(cast<spmd::AllGatherOp>(op)))
    return range;
  range.earliest = 0;
  for (Value operand : op->getOperands())
    if (Operation *definition = operand.getDefiningOp())
      range.earliest = std::max(range.earliest, times[definition] + 1);
  for (Value result : op->getResults())
    add(range.received, result);
  // Results of the block have their memory anyway: so the gather stands where
  // it can begin.
  if (range.received.size() < op->getNumResults())
    range.earliest = time;
  return range;
}

/// A gather may begin when what the one before received is used, and not
/// earlier: those before it run first in any case. What a collective sends
/// stays until the one after the next begins.
void BlockPlanner::collectRanges() {
  size_t used = 0, nextUsed = 0;
  for (Operation &op : block) {
    if (!isa<spmd::CollectiveOpInterface>(op))
      continue;
    CollectiveRange range = getRange(&op);
    if (isa<spmd::AllGatherOp>(op)) {
      size_t first = times.size();
      for (Operation *user : op.getUsers())
        first = std::min(first, times[user]);
      if (first != nextUsed) {
        used = nextUsed;
        nextUsed = first;
      }
      range.earliest = std::min(std::max(range.earliest, used), range.time);
    }
    collectives.push_back(std::move(range));
  }
  for (auto [index, range] : llvm::enumerate(collectives))
    range.latest = index + 2 < collectives.size() ? collectives[index + 2].time
                                                  : times.size();
}

/// Moves the collectives that begin early.
void BlockPlanner::moveToBegins() {
  llvm::SmallDenseSet<Operation *> moved;
  for (const CollectiveRange &range : collectives) {
    size_t begin = range.begin;
    while (begin < range.time && moved.contains(opAt[begin]))
      ++begin;
    if (begin == range.time)
      continue;
    range.op->moveBefore(opAt[begin]);
    moved.insert(range.op);
  }
}

/// Gives collectives time to run beside other ops, as far as this costs no
/// memory.
int64_t BlockPlanner::packWithOverlap() {
  int64_t least = pack();
  if (collectives.empty())
    return least;
  std::deque<Storage> exact = storages;
  auto restore = [&] {
    for (auto [storage, before] : llvm::zip(storages, exact))
      storage = before;
  };
  constexpr std::pair<bool, bool> choices[] = {
      {true, true}, {true, false}, {false, true}};
  for (auto [received, sent] : choices) {
    stretchRanges(collectives, storages, times.size(), received, sent);
    if (pack() <= least) {
      moveToBegins();
      return least;
    }
    restore();
  }
  return least;
}

/// Places the largest first, each at the lowest offset without overlap with
/// values that live at the same time. Returns the bytes of all together.
int64_t BlockPlanner::pack() {
  SmallVector<Storage *> bySize;
  for (Storage &storage : storages)
    bySize.push_back(&storage);
  // Of one size, those that were made first.
  llvm::sort(bySize, [](const Storage *a, const Storage *b) {
    return std::tie(b->bytes, a->number) < std::tie(a->bytes, b->number);
  });
  SmallVector<Storage *> placed; ///< by offset
  int64_t end = 0;
  for (Storage *storage : bySize) {
    int64_t offset = 0;
    for (const Storage *other : placed) {
      if (!storage->meets(*other))
        continue;
      if (offset + storage->bytes <= other->offset)
        break;
      offset = std::max(offset, alignInArena(other->offset + other->bytes));
    }
    storage->offset = offset;
    auto *place = llvm::upper_bound(placed, storage,
                                    [](const Storage *a, const Storage *b) {
                                      return a->offset < b->offset;
                                    });
    placed.insert(place, storage);
    end = std::max(end, alignInArena(offset + storage->bytes));
    LDBG() << storage->bytes << " bytes at " << offset << " for ops "
           << storage->begin << " to " << storage->end << " of "
           << block.getParentOp()->getName() << " at "
           << block.getParentOp()->getLoc();
  }
  return end;
}

void BlockPlanner::annotate(int64_t base) {
  for (Storage &storage : storages)
    storage.offset += base;
  for (Operation &op : block.without_terminator()) {
    SmallVector<exec::ArenaPlace> places;
    for (Value result : op.getResults())
      places.push_back(spots.lookup(result).resolve());
    if (Storage *scratch = scratchOf.lookup(&op))
      exec::setScratchPlace(&op, {scratch->offset, scratch->bytes});
    if (auto loop = loops.find(&op); loop != loops.end()) {
      auto &[body, temporaries] = loop->second;
      for (Value argument : body->block.getArguments())
        places.push_back(body->spots.lookup(argument).resolve());
      body->annotate(temporaries ? temporaries->offset : 0);
    }
    exec::setPlaces(&op, places);
  }
}

} // namespace meshc::schedule
