//===- LoopNest.cpp - the loops and stages of a kernel -----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/LoopNest.h"
#include "dialects/Exec/Alignment.h"
#include "dialects/Nd/NdInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace meshc::codegen {

using DimPair = std::pair<StringAttr, StringAttr>;

static bool hasDim(Value value, StringAttr dim) {
  nd::TensorType type = nd::getTensorType(value);
  return type && type.hasDim(dim.getValue());
}

/// Whether every order that has the dims has them side by side, major first.
static bool areNeighbours(ArrayAttr orders, DimPair pair) {
  return llvm::all_of(orders.getAsRange<ArrayAttr>(), [&](ArrayAttr order) {
    const auto *major = llvm::find(order, pair.first);
    if (major == order.end())
      return !llvm::is_contained(order, pair.second);
    return major + 1 != order.end() && *(major + 1) == pair.second;
  });
}

/// Whether the op treats the two dims of its result alike: it asks for each
/// operand at its own indices along both of them, or at one place whatever they
/// are.
static bool isBlindTo(nd::ElementOpInterface op, DimPair pair,
                      nd::MeshAttr mesh) {
  bool inResult = hasDim(op->getResult(0), pair.first);
  if (op->hasTrait<nd::ReadsPosition>() && inResult)
    return false;
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    if (!inResult) {
      if (hasDim(operand, pair.first) || hasDim(operand, pair.second))
        return false;
      continue;
    }
    auto isUnused = [&](StringAttr dim) {
      return op.getOperandDim(index, dim.getValue()).relation ==
             nd::OperandDim::None;
    };
    if (isUnused(pair.first) && isUnused(pair.second))
      continue;
    for (StringAttr dim : {pair.first, pair.second})
      if (!exec::isAligned(op, index, dim, mesh))
        return false;
  }
  return true;
}

/// Whether blocks of the tensor have padding along one of the dims.
static bool isUneven(Value tensor, DimPair pair, nd::MeshAttr mesh) {
  nd::TensorType type = nd::getTensorType(tensor);
  return llvm::any_of(
      std::initializer_list<StringAttr>{pair.first, pair.second},
      [&](StringAttr dim) {
        return !type.isEven(type.getDimIndex(dim.getValue()), mesh);
      });
}

/// Whether the kernel treats (i, j) of the two dims like (0, i·size of the
/// second + j).
static bool canCollapse(exec::KernelOp kernel, DimPair pair) {
  nd::MeshAttr mesh = nd::MeshAttr::of(kernel);
  if (!areNeighbours(kernel.getInputOrders(), pair) ||
      !areNeighbours(kernel.getOutputOrders(), pair))
    return false;
  for (Operation &op : kernel.getBody().front()) {
    for (Value result : op.getResults())
      if (hasDim(result, pair.first) != hasDim(result, pair.second))
        return false;
    if (auto reduce = dyn_cast<nd::ReduceOpInterface>(op)) {
      auto dims = reduce.getReducedDims();
      bool isReduced = llvm::is_contained(dims, pair.first);
      if (isReduced != llvm::is_contained(dims, pair.second))
        return false;
      // Padding is told by the index along its own dim.
      if (isReduced && isUneven(op.getOperand(0), pair, mesh))
        return false;
    } else if (auto element = dyn_cast<nd::ElementOpInterface>(op)) {
      if (!isBlindTo(element, pair, mesh))
        return false;
    } else if (!isa<exec::YieldOp>(op)) {
      return false;
    }
  }
  return true;
}

/// The loops over `dims`, neighbours collapsed where they can be.
static SmallVector<Loop, 4> makeLoops(exec::KernelOp kernel,
                                      ArrayRef<StringAttr> dims,
                                      ArrayRef<int64_t> sizes) {
  SmallVector<Loop, 4> loops;
  for (auto [dim, size] : llvm::zip(dims, sizes)) {
    if (!loops.empty() &&
        canCollapse(kernel, {loops.back().dims.back(), dim})) {
      loops.back().dims.push_back(dim);
      loops.back().size *= size;
      continue;
    }
    loops.push_back({{dim}, size});
  }
  return loops;
}

static InFlightDiagnostic reportPlan(exec::KernelOp kernel) {
  return kernel.emitOpError() << "plan does not fit its body: ";
}

/// Finds the stage of each reduction, and for each value the first walk in
/// which it can be computed.
static LogicalResult findStages(exec::KernelOp kernel, LoopNest &nest,
                                DenseMap<Value, unsigned> &walks) {
  exec::PlanAttr plan = kernel.getPlan();
  for (Operation &op : kernel.getBody().front().without_terminator()) {
    unsigned walk = 0;
    for (Value operand : op.getOperands())
      walk = std::max(walk, walks.lookup(operand));
    if (auto reduce = dyn_cast<nd::ReduceOpInterface>(op)) {
      auto dims = reduce.getReducedDims();
      if (dims.size() != plan.getReduce().size() ||
          !llvm::all_of(dims, [&](StringAttr dim) {
            return llvm::is_contained(plan.getReduce(), dim);
          }))
        return reportPlan(kernel)
               << '\'' << op.getName() << "' must reduce over all reduce dims";
      nest.stages.resize(std::max<size_t>(nest.stages.size(), walk + 1));
      nest.stages[walk].push_back(&op);
      ++walk;
    } else if (!isa<nd::ElementOpInterface>(op)) {
      return reportPlan(kernel) << '\'' << op.getName()
                                << "' has no code for one element; it must be "
                                   "decomposed or stand alone";
    }
    for (Value result : op.getResults())
      walks[result] = walk;
  }
  return success();
}

/// The last walk that reads each input; `stages.size()` is the last of all.
static DenseMap<Value, unsigned> findLastUses(exec::KernelOp kernel,
                                              const LoopNest &nest,
                                              ArrayRef<unsigned> storeWalks) {
  DenseMap<Value, unsigned> last;
  auto use = [&](Value value, unsigned walk) {
    auto [entry, isNew] = last.try_emplace(value, walk);
    entry->second = std::max(entry->second, walk);
  };
  auto yield = cast<exec::YieldOp>(kernel.getBody().front().getTerminator());
  for (auto [value, walk] : llvm::zip(yield.getValues(), storeWalks))
    use(value, walk);
  for (auto [stage, reductions] : llvm::enumerate(nest.stages))
    for (Operation *reduction : reductions)
      use(reduction->getOperand(0), stage);
  for (Operation &op :
       llvm::reverse(kernel.getBody().front().without_terminator())) {
    if (isa<nd::ReduceOpInterface>(op))
      continue;
    for (Value result : op.getResults())
      if (auto entry = last.find(result); entry != last.end())
        for (unsigned walk = entry->second; Value operand : op.getOperands())
          use(operand, walk);
  }
  return last;
}

/// Moves stores over inputs to the inputs' last uses. An output that is stored
/// later also reads its own inputs later, so this goes on until nothing moves.
static void deferStores(exec::KernelOp kernel, const LoopNest &nest,
                        ArrayRef<std::pair<unsigned, unsigned>> inPlace,
                        ArrayRef<bool> isPoint,
                        MutableArrayRef<unsigned> storeWalks) {
  for (bool hasMoved = true; hasMoved;) {
    hasMoved = false;
    DenseMap<Value, unsigned> last = findLastUses(kernel, nest, storeWalks);
    for (auto [input, output] : inPlace) {
      unsigned walk = last.lookup(kernel.getBody().getArgument(input));
      if (isPoint[output] || storeWalks[output] >= walk)
        continue;
      storeWalks[output] = walk;
      hasMoved = true;
    }
  }
}

/// Decides when each output is stored.
static LogicalResult
placeOutputs(exec::KernelOp kernel, LoopNest &nest,
             DenseMap<Value, unsigned> &walks,
             ArrayRef<std::pair<unsigned, unsigned>> inPlace) {
  exec::PlanAttr plan = kernel.getPlan();
  auto yield = cast<exec::YieldOp>(kernel.getBody().front().getTerminator());
  unsigned lastWalk = nest.stages.size();
  SmallVector<unsigned> storeWalks;
  SmallVector<bool> isPoint;
  for (Value output : yield.getValues()) {
    unsigned reduceDims = llvm::count_if(
        plan.getReduce(), [&](StringAttr dim) { return hasDim(output, dim); });
    if (!llvm::all_of(plan.getParallel(),
                      [&](StringAttr dim) { return hasDim(output, dim); }) ||
        (reduceDims != 0 && reduceDims != plan.getReduce().size()))
      return reportPlan(kernel) << "an output of type " << output.getType()
                                << " must have all parallel dims, and all "
                                   "reduce dims or none";
    isPoint.push_back(reduceDims == 0);
    storeWalks.push_back(reduceDims == 0 ? lastWalk : walks.lookup(output));
  }
  deferStores(kernel, nest, inPlace, isPoint, storeWalks);
  nest.walkOutputs.resize(lastWalk + 1);
  for (unsigned output = 0; output < storeWalks.size(); ++output)
    if (isPoint[output])
      nest.pointOutputs.push_back(output);
    else
      nest.walkOutputs[storeWalks[output]].push_back(output);
  return success();
}

/// Adds the values that computing `value` needs in the same walk, itself
/// included, to `slice`; does not go beyond reductions' results and `leaf`.
static void addSlice(Value value, Value leaf, llvm::SetVector<Value> &slice) {
  if (!slice.insert(value) || value == leaf)
    return;
  Operation *op = value.getDefiningOp();
  if (op && !isa<nd::ReduceOpInterface>(op))
    for (Value operand : op->getOperands())
      addSlice(operand, leaf, slice);
}

/// What the walks from `first` to before `end` compute.
static llvm::SetVector<Value> getSlice(exec::KernelOp kernel,
                                       const LoopNest &nest, unsigned first,
                                       unsigned end, Value leaf = {}) {
  Operation *yield = kernel.getBody().front().getTerminator();
  llvm::SetVector<Value> slice;
  for (unsigned walk = first; walk < end; ++walk) {
    if (walk < nest.stages.size())
      for (Operation *reduction : nest.stages[walk])
        addSlice(reduction->getOperand(0), leaf, slice);
    for (unsigned output : nest.walkOutputs[walk])
      addSlice(yield->getOperand(output), leaf, slice);
  }
  return slice;
}

static bool isCostly(Value value) {
  auto op = value.getDefiningOp<nd::NamedOpInterface>();
  return op && isa<nd::ElementOpInterface>(*op) &&
         op.getCost().transcendentals > 0;
}

/// Finds, for each output of the last walk, a costly value of an earlier walk
/// that it needs, and whose place no one else wants to read meanwhile. The
/// value lies in the output's buffer: it has the kernel's loops as dims, and
/// all its uses are at their indices.
static void keepValues(exec::KernelOp kernel, LoopNest &nest,
                       ArrayRef<std::pair<unsigned, unsigned>> inPlace) {
  Block &body = kernel.getBody().front();
  exec::PlanAttr plan = kernel.getPlan();
  unsigned lastWalk = nest.stages.size();
  auto alignment = exec::getAlignment(body, nd::MeshAttr::of(kernel));
  exec::DimSet loops = exec::unite(plan.getParallel(), plan.getReduce());
  auto canKeep = [&](Value value, unsigned output, unsigned walk) {
    nd::TensorType type = nd::getTensorType(value);
    if (!isCostly(value) || !type.getElementType().isF32() ||
        exec::getDims(value) != loops || alignment.lookup(value) != loops)
      return false;
    auto later = getSlice(kernel, nest, walk + 1, lastWalk + 1, value);
    return llvm::none_of(inPlace, [&](auto pair) {
      return pair.second == output &&
             later.contains(body.getArgument(pair.first));
    });
  };
  for (unsigned output : nest.walkOutputs[lastWalk]) {
    Value result = body.getTerminator()->getOperand(output);
    if (!nd::getTensorType(result).getElementType().isF32())
      continue;
    llvm::SetVector<Value> needed;
    addSlice(result, {}, needed);
    for (unsigned walk = 0; walk < lastWalk; ++walk) {
      auto computed = getSlice(kernel, nest, walk, walk + 1);
      const auto *value = llvm::find_if(needed, [&](Value candidate) {
        return candidate != result && computed.contains(candidate) &&
               canKeep(candidate, output, walk);
      });
      if (value == needed.end())
        continue;
      nest.kept.push_back({*value, walk, output});
      break;
    }
  }
}

int64_t LoopNest::getLaneExtent() const {
  switch (lanes) {
  case LanesIn::Nothing:
    return 1;
  case LanesIn::Parallel:
    return parallel.back().size;
  case LanesIn::Reduce:
    return reduce.back().size;
  }
  llvm_unreachable("all groups are above");
}

unsigned LoopNest::countOps(exec::KernelOp kernel, unsigned walk) const {
  return llvm::count_if(getSlice(kernel, *this, walk, walk + 1),
                        [](Value value) {
                          Operation *op = value.getDefiningOp();
                          return op && op->getNumOperands() != 0 &&
                                 !isa<nd::ReduceOpInterface>(op);
                        });
}

bool LoopNest::usesInWalk(exec::KernelOp kernel, unsigned walk,
                          Value value) const {
  return getSlice(kernel, *this, walk, walk + 1).contains(value);
}

FailureOr<LoopNest>
LoopNest::of(exec::KernelOp kernel,
             ArrayRef<std::pair<unsigned, unsigned>> inPlace) {
  exec::PlanAttr plan = kernel.getPlan();
  LoopNest nest;
  size_t parallelCount = plan.getParallel().size();
  nest.parallel = makeLoops(kernel, plan.getParallel(),
                            plan.getSizes().take_front(parallelCount));
  nest.reduce = makeLoops(kernel, plan.getReduce(),
                          plan.getSizes().drop_front(parallelCount));
  StringAttr lanes = plan.getLanes();
  if (!lanes.empty()) {
    if (!plan.getReduce().empty() && plan.getReduce().back() == lanes)
      nest.lanes = LanesIn::Reduce;
    else if (parallelCount > 0 && plan.getParallel().back() == lanes)
      nest.lanes = LanesIn::Parallel;
    else
      return reportPlan(kernel) << "lanes run along '" << lanes.getValue()
                                << "', which is not the innermost dim of "
                                   "the parallel or the reduce dims";
  }
  DenseMap<Value, unsigned> walks;
  if (failed(findStages(kernel, nest, walks)) ||
      failed(placeOutputs(kernel, nest, walks, inPlace)))
    return failure();
  keepValues(kernel, nest, inPlace);
  return nest;
}

SmallVector<std::pair<unsigned, unsigned>>
getInPlacePairs(exec::KernelOp kernel) {
  SmallVector<std::pair<unsigned, unsigned>> pairs;
  auto placeOf = [](Value buffer) {
    return buffer.getDefiningOp<exec::PieceOpInterface>().getPlace();
  };
  auto add = [&](const exec::KernelUse &use) {
    for (auto [input, in] : llvm::enumerate(use.inputs))
      for (auto [output, out] : llvm::enumerate(use.outputs))
        if (placeOf(in) == placeOf(out))
          pairs.push_back({input, output});
  };
  auto module = kernel->getParentOfType<ModuleOp>();
  for (auto function : module.getOps<exec::FuncOp>())
    function.walk([&](exec::StepOpInterface step) {
      if (exec::KernelUse use = step.getKernelUse();
          use.kernel && use.kernel.getAttr() == kernel.getSymNameAttr())
        add(use);
    });
  llvm::sort(pairs);
  pairs.erase(llvm::unique(pairs), pairs.end());
  return pairs;
}

} // namespace meshc::codegen
