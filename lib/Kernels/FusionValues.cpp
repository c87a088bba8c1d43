//===- FusionValues.cpp - what kernels are chosen by ----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Kernels/FusionValues.h"
#include "dialects/Nd/Ops/ContractionOps.h"
#include "dialects/Nd/Ops/IndexingOps.h"
#include "dialects/Spmd/SpmdOps.h"

using namespace mlir;

namespace meshc::kernels {

/// A transcendental function counts as ten additions.
static constexpr double transcendentalWork = 10;
/// Ops that an element is computed through at most: code is emitted by
/// recursion over them.
static constexpr unsigned deepest = 500;
/// A kernel of fewer rows than this and more entries in each is better two: one
/// that reduces and one that runs over all entries in parallel.
static constexpr double fewRows = 8;
static constexpr double longRow = 16384;
/// A kernel has at most this many reductions in a chain, where each depends on
/// the one before it. Each reduction reads its row again and recomputes the
/// elements that it needs, so the work grows with the square of the chain's
/// length.
static constexpr unsigned mostStages = 4;

bool isKernelOp(Operation *op) {
  return isa<nd::NamedOpInterface>(op) &&
         !isa<spmd::CollectiveOpInterface, exec::LibraryOpInterface,
              exec::FusionOp>(op);
}

bool isAlone(Operation *op) {
  return !isa<nd::ElementOpInterface, nd::ReduceOpInterface>(op);
}

FusionValues::FusionValues(Block &block, const DimOrder &dimOrder)
    : block(block), mesh(nd::MeshAttr::of(block.getParentOp())),
      dimOrder(dimOrder) {
  measureWork();
  chooseCuts();
  limitStages();
}

void FusionValues::measureWork() {
  for (Operation &op : block) {
    auto element = dyn_cast<nd::ElementOpInterface>(op);
    if (!element)
      continue;
    nd::OpCost cost = cast<nd::NamedOpInterface>(op).getCost();
    double own = (cost.flops + transcendentalWork * cost.transcendentals) /
                 getElements(op.getResult(0));
    unsigned depth = 1;
    for (Value operand : op.getOperands()) {
      own += work.lookup(operand);
      depth = std::max(depth, depths.lookup(operand) + 1);
    }
    work[op.getResult(0)] = own;
    if (depth == deepest)
      cuts.insert(op.getResult(0));
    else
      depths[op.getResult(0)] = depth;
  }
}

/// A reduction of what depends on other reductions, over other loops, needs
/// these or its operand stored; the operand where that is no more.
void FusionValues::chooseCuts() {
  // Ends of long chains are in memory; what is behind them is not looked at.
  const llvm::DenseSet<Value> ends = cuts;
  // The loops of the reductions that each value is computed from in place, as
  // bits. They keep the search below from paths that lead nowhere.
  constexpr size_t mostKinds = 63;
  constexpr uint64_t manyKinds = uint64_t(1) << mostKinds;
  SmallVector<LoopDims> kinds;
  llvm::DenseMap<Value, uint64_t> inner;
  auto getKind = [&](Operation *reduction) {
    LoopDims loops = getLoops(reduction);
    size_t index = llvm::find(kinds, loops) - kinds.begin();
    if (index == kinds.size() && index < mostKinds)
      kinds.push_back(loops);
    return uint64_t(1) << index;
  };
  for (Operation &op : block) {
    uint64_t kind = 0;
    if (isa<nd::ReduceOpInterface>(op)) {
      kind = getKind(&op);
      uint64_t others = kind == manyKinds ? kind : ~kind;
      if (isSmallerThanInner(&op, [&](Value value) {
            return (inner.lookup(value) & others) != 0;
          }))
        cuts.insert(op.getOperand(0));
    } else if (isa<nd::ElementOpInterface>(op)) {
      for (Value operand : op.getOperands())
        kind |= inner.lookup(operand);
    }
    if (kind != 0 && !needsMemory(op.getResult(0)) &&
        !ends.contains(op.getResult(0)))
      inner[op.getResult(0)] = kind;
  }
}

/// Whether the reduction's operand is computed, and is no larger than all
/// reductions over other loops that it is computed from in place. `leadsThere`
/// says which values are computed from such a reduction.
bool FusionValues::isSmallerThanInner(
    Operation *op, function_ref<bool(Value)> leadsThere) const {
  Value operand = op->getOperand(0);
  if (!operand.getDefiningOp<nd::ElementOpInterface>())
    return false;
  LoopDims loops = getLoops(op);
  double bytes = nd::getTensorType(operand).getLocalBytes(mesh);
  llvm::SmallDenseSet<Value> seen;
  SmallVector<Value> stack = {operand};
  while (!stack.empty()) {
    Value value = stack.pop_back_val();
    if (!leadsThere(value) || !seen.insert(value).second)
      continue;
    Operation *producer = value.getDefiningOp();
    if (isa<nd::ElementOpInterface>(producer))
      llvm::append_range(stack, producer->getOperands());
    else if (!(getLoops(producer) == loops))
      bytes -= nd::getTensorType(value).getLocalBytes(mesh);
    if (bytes <= 0)
      return true;
  }
  return false;
}

/// Cuts chains of dependent reductions that are too long for one kernel, as in
/// a network of normalizations: a value between two of them is stored.
void FusionValues::limitStages() {
  // The length of the chain of reductions from memory to each value.
  llvm::DenseMap<Value, unsigned> stages;
  auto count = [&](Operation *op) {
    unsigned most = 0;
    for (Value operand : op->getOperands())
      most = std::max(most, stages.lookup(operand));
    return most + (isa<nd::ReduceOpInterface>(op) ? 1 : 0);
  };
  // The only operand of an element that is at the limit, if it is as large as
  // the element's tensor; null otherwise.
  auto findFull = [&](Value value) {
    Value found;
    auto *producer =
        value.getDefiningOp<nd::ElementOpInterface>().getOperation();
    for (Value operand : producer ? producer->getOperands() : ValueRange()) {
      if (stages.lookup(operand) < mostStages)
        continue;
      if (found || getElements(operand) < getElements(value))
        return Value();
      found = operand;
    }
    return found;
  };
  for (Operation &op : block) {
    if (!isa<nd::ElementOpInterface, nd::ReduceOpInterface>(op))
      continue;
    if (count(&op) > mostStages) {
      // Of `square(t)`, t is stored: others are likely to read it too.
      SmallVector<Value> path = {op.getOperand(0)};
      while (Value next = findFull(path.back()))
        path.push_back(next);
      cuts.insert(path.back());
      stages.erase(path.pop_back_val());
      for (Value value : llvm::reverse(path))
        stages[value] = count(value.getDefiningOp());
    }
    if (!cuts.contains(op.getResult(0)))
      stages[op.getResult(0)] = count(&op);
  }
}

/// A sort reads each entry many times, and so needs what is computed. What an
/// op adds to is stored by its own kernel, so that the op may write over it.
bool FusionValues::needsMemory(Value value) const {
  bool isComputed = work.lookup(value) > 0;
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    if (!isKernelOp(user))
      return true;
    return isComputed && (isa<nd::SortOpInterface>(user) ||
                          (isa<nd::ScatterOpInterface>(user) &&
                           nd::getChangedTable(user) == value));
  });
}

/// Of a reduction: kept and reduced dims. Of an element op: the result's dims.
/// Of any other: by its partition rule.
LoopDims FusionValues::getLoops(Operation *op) const {
  LoopDims loops;
  loops.parallel = exec::getDims(op->getResult(0));
  if (auto reduce = dyn_cast<nd::ReduceOpInterface>(op)) {
    auto dims = reduce.getReducedDims();
    loops.reduce = exec::unite(dims, {});
    llvm::sort(loops.reduce, [](StringAttr a, StringAttr b) {
      return a.getValue() < b.getValue();
    });
  } else if (isAlone(op)) {
    exec::DimSet parallel, reduce;
    for (const nd::Factor &factor :
         cast<nd::NamedOpInterface>(op).getPartitionRule().factors) {
      if (factor.isLocal() && factor.resultDims[0])
        parallel.push_back(factor.resultDims[0]);
      if (factor.effect != nd::FactorEffect::Reduce)
        continue;
      for (StringAttr dim : factor.operandDims)
        if (dim && !llvm::is_contained(reduce, dim))
          reduce.push_back(dim);
    }
    loops.parallel = exec::unite({}, parallel);
    loops.reduce = exec::unite({}, reduce);
  }
  addSizes(loops, op->getResult(0));
  for (Value operand : op->getOperands())
    addSizes(loops, operand);
  return loops;
}

/// How the value will lie in memory, before orders are assigned: as the result
/// of the library op from which it is computed element by element; else as
/// declared.
exec::Order FusionValues::getExpectedOrder(Value value) const {
  constexpr unsigned farthest = 32;
  exec::DimSet dims = exec::getDims(value);
  SmallVector<Value> stack = {value};
  for (unsigned steps = 0; !stack.empty() && steps < farthest; ++steps) {
    Value next = stack.pop_back_val();
    Operation *producer = next.getDefiningOp();
    if (auto library = dyn_cast_or_null<exec::LibraryOpInterface>(producer))
      return library.getExpectedOrder(
          cast<OpResult>(next).getResultNumber(),
          [&](StringAttr a, StringAttr b) { return dimOrder.isBefore(a, b); });
    if (isa_and_nonnull<nd::ElementOpInterface>(producer))
      for (Value operand : producer->getOperands())
        if (exec::getDims(operand) == dims)
          stack.push_back(operand);
  }
  return dimOrder.sort(value);
}

bool FusionValues::isRowLike(Operation *reduction) const {
  Value operand = reduction->getOperand(0);
  LoopDims loops = getLoops(reduction);
  nd::TensorType type = nd::getTensorType(operand);
  exec::Order order = getExpectedOrder(operand);
  double rows = getElements(reduction->getResult(0));
  if (rows < fewRows && getElements(operand) / rows > longRow)
    return false;
  for (StringAttr dim : llvm::reverse(order))
    if (type.getLocalSize(type.getDimIndex(dim.getValue()), mesh) > 1)
      return llvm::is_contained(loops.reduce, dim);
  return true;
}

double FusionValues::getElements(Value value) const {
  return nd::getTensorType(value).getLocalElementCount(mesh);
}

double FusionValues::getPoints(Operation *op) const {
  double points = getElements(op->getResult(0));
  for (Value operand : op->getOperands())
    if (!isa<nd::ElementOpInterface>(op))
      points = std::max(points, getElements(operand));
  return points;
}

/// Adds the local size of each loop that is a dim of the value.
void FusionValues::addSizes(LoopDims &loops, Value value) const {
  nd::TensorType type = nd::getTensorType(value);
  for (auto [index, dim] : llvm::enumerate(type.getDims()))
    if (llvm::is_contained(loops.parallel, dim.getName()) ||
        llvm::is_contained(loops.reduce, dim.getName()))
      loops.sizes.try_emplace(dim.getName(), type.getLocalSize(index, mesh));
}

} // namespace meshc::kernels
