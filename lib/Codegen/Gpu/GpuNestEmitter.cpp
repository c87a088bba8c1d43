//===- GpuNestEmitter.cpp - the loop nest of one kernel on a GPU ----------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/Gpu/GpuNestEmitter.h"
#include "dialects/Nd/NdInterfaces.h"
#include "lib/Codegen/Reductions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace meshc::codegen {

GpuNestEmitter::GpuNestEmitter(exec::KernelOp kernel, const LoopNest &nest,
                               const GpuMapping &map, KernelElements &emitter,
                               GpuGroup &group)
    : LoopEmitter(emitter), kernel(kernel),
      yield(cast<exec::YieldOp>(kernel.getBody().front().getTerminator())),
      nest(nest), map(map), group(group) {
  int64_t round = map.getWorkers() * map.unroll;
  loopSteps = map.steps <= round ? 0 : map.steps / round * round;
}

//===----------------------------------------------------------------------===//
// Points and steps
//===----------------------------------------------------------------------===//

static Value emitLess(OpBuilder &builder, Location loc, Value a, Value b) {
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, a, b);
}

/// `a` and `b`; null stands for true.
static Value emitAnd(OpBuilder &builder, Location loc, Value a, Value b) {
  if (!a || !b)
    return a ? a : b;
  return arith::AndIOp::create(builder, loc, a, b);
}

void GpuNestEmitter::emit() {
  Value number = group.getPoint();
  OpBuilder::InsertionGuard guard(builder);
  if (map.points % map.pointsPerBlock != 0) {
    isPoint =
        emitLess(builder, loc, number, emitter.getIndexConstant(map.points));
    if (map.getWorkers() > 1) {
      // Threads without a point do as those of the last one, and store
      // nothing: the others wait for them.
      Value last = emitter.getIndexConstant(map.points - 1);
      number = arith::MinUIOp::create(builder, loc, number, last);
    } else {
      auto branch =
          scf::IfOp::create(builder, loc, isPoint, /*withElse=*/false);
      builder.setInsertionPointToStart(branch.thenBlock());
      isPoint = {};
    }
  }
  setIndices(point, nest.parallel, number, nest.lanes == LanesIn::Parallel);
  if (loopSteps == 0)
    rest = makeSteps(group.getWorker(), 0, map.steps);
  for (unsigned walk = 0; walk < nest.stages.size(); ++walk)
    emitWalk(walk);
  if (nest.needsLastWalk())
    emitWalk(nest.stages.size());
  finish();
}

void GpuNestEmitter::finish() {
  if (partials.empty())
    return storePoint();
  auto branch = scf::IfOp::create(builder, loc, group.emitIsLastBlock(),
                                  /*withElse=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  KernelElements::Scope scope(emitter);
  Values sums;
  SmallVector<Operation *> reductions;
  for (const Partial &value : partials) {
    reductions.push_back(value.reduction);
    sums.push_back(
        group.combinePartials(value.reduction, value.type, value.place));
  }
  group.combineMembers(reductions, sums);
  for (auto [reduction, sum] : llvm::zip(reductions, sums))
    emitter.setElement(reduction->getResult(0), point, sum);
  storePoint();
}

/// This thread's steps of [begin, begin + count); `first` is its number among
/// the point's workers, `begin` added.
GpuNestEmitter::Steps GpuNestEmitter::makeSteps(Value first, int64_t begin,
                                                int64_t count) {
  Steps steps;
  for (int64_t done = 0; done < count; done += map.getWorkers()) {
    Value number = first;
    if (done != 0)
      number = arith::AddIOp::create(builder, loc, first,
                                     emitter.getIndexConstant(done));
    Step step{point, {}};
    if (count - done < map.getWorkers()) {
      // Clamp out-of-range steps to the last one and mask their results.
      Value end = emitter.getIndexConstant(begin + count);
      Value last = emitter.getIndexConstant(begin + count - 1);
      step.isValid = emitLess(builder, loc, number, end);
      number = arith::MinUIOp::create(builder, loc, number, last);
    }
    setIndices(step.index, nest.reduce, number, nest.lanes == LanesIn::Reduce);
    steps.push_back(step);
  }
  return steps;
}

//===----------------------------------------------------------------------===//
// Walks
//===----------------------------------------------------------------------===//

void GpuNestEmitter::emitWalk(unsigned walk) {
  ArrayRef<Operation *> reductions;
  if (walk < nest.stages.size())
    reductions = nest.stages[walk];
  bool lanesAreReduced =
      nest.lanes == LanesIn::Reduce && emitter.getLanes() > 1;
  Values sums;
  for (Operation *reduction : reductions)
    sums.push_back(getIdentity(emitter, reduction,
                               lanesAreReduced ||
                                   hasLanes(reduction->getResult(0), point)));
  if (loopSteps == 0) {
    sums = emitSteps(walk, rest, sums);
  } else {
    int64_t round = map.getWorkers() * map.unroll;
    sums = emitFor(
        emitter.getIndexConstant(0), emitter.getIndexConstant(loopSteps), round,
        sums, [&](Value base, ArrayRef<Value> carried) {
          Value first =
              arith::AddIOp::create(builder, loc, base, group.getWorker());
          return emitSteps(walk, makeSteps(first, 0, round), carried);
        });
    KernelElements::Scope scope(emitter);
    Value first = arith::AddIOp::create(builder, loc, group.getWorker(),
                                        emitter.getIndexConstant(loopSteps));
    sums = emitSteps(walk, makeSteps(first, loopSteps, map.steps - loopSteps),
                     sums);
  }
  if (lanesAreReduced)
    for (auto [reduction, sum] : llvm::zip(reductions, sums))
      sum = combineLanes(emitter, reduction, sum);
  group.combineMembers(reductions, sums);
  for (auto [reduction, sum] : llvm::zip(reductions, sums)) {
    if (map.sharers > 1)
      partials.push_back({reduction, sum.getType(), group.storePartial(sum)});
    else
      emitter.setElement(reduction->getResult(0), point, sum);
  }
}

/// Combines the elements at the steps into the carried values, and stores the
/// outputs of this walk.
GpuNestEmitter::Values GpuNestEmitter::emitSteps(unsigned walk,
                                                 ArrayRef<Step> steps,
                                                 ArrayRef<Value> carried) {
  Values next(carried);
  if (walk < nest.stages.size())
    for (auto [reduction, sum] : llvm::zip(nest.stages[walk], next))
      for (const Step &step : steps)
        sum = combineStep(reduction, sum, step);
  storeOutputs(nest.walkOutputs[walk], steps, isPoint);
  return next;
}

void GpuNestEmitter::setNeeds(Value isNeededPoint, Value isValid) {
  emitter.needsElements = [=, this](nd::TensorType type) {
    bool hasSteps = llvm::any_of(nest.reduce, [&](const Loop &loop) {
      return llvm::any_of(loop.dims, [&](StringAttr dim) {
        return type.hasDim(dim.getValue());
      });
    });
    return hasSteps ? emitAnd(builder, loc, isNeededPoint, isValid)
                    : isNeededPoint;
  };
}

Value GpuNestEmitter::combineStep(Operation *reduction, Value sum,
                                  const Step &step) {
  setNeeds(isPoint, step.isValid);
  Value element = getTerm(emitter, reduction, step.index);
  if (step.isValid) {
    Value identity =
        getIdentity(emitter, reduction, isa<VectorType>(element.getType()));
    element =
        arith::SelectOp::create(builder, loc, step.isValid, element, identity);
  }
  return combine(emitter, reduction, sum, element);
}

/// All elements are computed before the first is stored: an output may be the
/// buffer of an input.
void GpuNestEmitter::storeOutputs(ArrayRef<unsigned> outputs,
                                  ArrayRef<Step> steps, Value isNeededPoint) {
  Values elements;
  for (const Step &step : steps) {
    setNeeds(isNeededPoint, step.isValid);
    for (unsigned output : outputs)
      elements.push_back(
          emitter.getElement(yield.getValues()[output], step.index));
  }
  for (auto [number, step] : llvm::enumerate(steps)) {
    if (outputs.empty())
      continue;
    auto stored =
        ArrayRef(elements).slice(number * outputs.size(), outputs.size());
    OpBuilder::InsertionGuard guard(builder);
    if (Value isWanted = emitAnd(builder, loc, isPoint, step.isValid)) {
      auto branch =
          scf::IfOp::create(builder, loc, isWanted, /*withElse=*/false);
      builder.setInsertionPointToStart(branch.thenBlock());
    }
    for (auto [output, element] : llvm::zip(outputs, stored))
      emitter.store(output, element, step.index);
  }
}

/// The first member stores what has no reduce dims.
void GpuNestEmitter::storePoint() {
  if (nest.pointOutputs.empty())
    return;
  bool isInPlace = llvm::any_of(getInPlacePairs(kernel), [&](auto pair) {
    return llvm::is_contained(nest.pointOutputs, pair.second);
  });
  Step step{point, {}};
  if (map.members > 1) {
    // Others may still read an input that this replaces.
    if (isInPlace)
      group.emitBarrier();
    step.isValid =
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                              group.getMember(), emitter.getIndexConstant(0));
  }
  storeOutputs(nest.pointOutputs, step,
               emitAnd(builder, loc, isPoint, step.isValid));
}

} // namespace meshc::codegen
