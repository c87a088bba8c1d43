//===- HostNestEmitter.cpp - the loop nest of one kernel on a CPU ---------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/Host/HostNestEmitter.h"
#include "dialects/Nd/NdInterfaces.h"
#include "lib/Codegen/Reductions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace meshc::codegen {

/// Units beyond which more of them do not help to fill the threads evenly.
static constexpr int64_t enoughUnits = 64;
/// Entries along the lanes in a unit that also has an outer index to compute.
static constexpr int64_t laneBlockSize = 1024;

/// Points whose sum one accumulator takes before it is taken in by another. In
/// f32 a sum of ones stands still at 2^24; sums of sums go as far as it
/// matters (N. Higham, The accuracy of floating point summation, 1993).
static constexpr int64_t stripPoints = 16384;

HostGrid chooseGrid(const LoopNest &nest, int64_t block) {
  HostGrid grid;
  bool lanesAreParallel = nest.lanes == LanesIn::Parallel;
  unsigned outer = nest.parallel.size() - (lanesAreParallel ? 1 : 0);
  while (grid.loopCount < outer && grid.extent < enoughUnits)
    grid.extent *= nest.parallel[grid.loopCount++].size;
  if (lanesAreParallel && grid.loopCount == outer &&
      grid.extent < enoughUnits) {
    grid.laneBlock = outer == 0 ? block : llvm::alignTo(laneBlockSize, block);
    grid.extent *= llvm::divideCeil(nest.parallel.back().size, grid.laneBlock);
  }
  return grid;
}

HostNestEmitter::HostNestEmitter(exec::KernelOp kernel, const LoopNest &nest,
                                 const HostGrid &grid, KernelElements &emitter,
                                 int64_t unroll)
    : LoopEmitter(emitter),
      yield(cast<exec::YieldOp>(kernel.getBody().front().getTerminator())),
      nest(nest), grid(grid), unroll(unroll) {}

//===----------------------------------------------------------------------===//
// Parallel loops
//===----------------------------------------------------------------------===//

void HostNestEmitter::emit(Value begin, Value end) {
  if (nest.parallel.empty())
    return emitParallel(0, {});
  if (grid.loopCount == 0 && grid.laneBlock != 0) {
    Value block = emitter.getIndexConstant(grid.laneBlock);
    Value size = emitter.getIndexConstant(nest.parallel.back().size);
    Value low = arith::MulIOp::create(builder, loc, begin, block);
    Value high = arith::MulIOp::create(builder, loc, end, block);
    if (nest.parallel.back().size % grid.laneBlock != 0)
      high = arith::MinUIOp::create(builder, loc, high, size);
    return emitLaneRange(low, high, {});
  }
  emitFor(begin, end, 1, {}, [&](Value unit, ArrayRef<Value>) {
    emitUnit(unit, {});
    return Values();
  });
}

/// Takes the unit's number apart, the last loop fastest.
void HostNestEmitter::emitUnit(Value unit, nd::ElementIndex index) {
  Value block;
  if (grid.laneBlock != 0)
    block = takeOff(
        unit, llvm::divideCeil(nest.parallel.back().size, grid.laneBlock));
  for (unsigned loop = grid.loopCount; loop-- > 0;)
    setIndex(index, nest.parallel[loop],
             loop == 0 ? unit : takeOff(unit, nest.parallel[loop].size), false);
  if (!block)
    return emitParallel(grid.loopCount, index);
  Value width = emitter.getIndexConstant(grid.laneBlock);
  Value low = arith::MulIOp::create(builder, loc, block, width);
  Value high = arith::AddIOp::create(builder, loc, low, width);
  if (nest.parallel.back().size % grid.laneBlock != 0)
    high = arith::MinUIOp::create(
        builder, loc, high,
        emitter.getIndexConstant(nest.parallel.back().size));
  emitLaneRange(low, high, index);
}

void HostNestEmitter::emitParallel(unsigned loop, nd::ElementIndex index) {
  if (loop == nest.parallel.size())
    return emitPoints(index);
  const Loop &walked = nest.parallel[loop];
  Value low = emitter.getIndexConstant(0);
  Value high = emitter.getIndexConstant(walked.size);
  if (nest.lanes == LanesIn::Parallel && loop + 1 == nest.parallel.size())
    return emitLaneRange(low, high, index);
  emitFor(low, high, 1, {}, [&](Value base, ArrayRef<Value>) {
    setIndex(index, walked, base, false);
    emitParallel(loop + 1, index);
    return Values();
  });
}

void HostNestEmitter::emitLaneRange(Value low, Value high,
                                    const nd::ElementIndex &index) {
  const Loop &walked = nest.parallel.back();
  emitLanes(low, high, walked.size, unroll, {},
            [&](ArrayRef<Value> bases, bool isVector, ArrayRef<Value>) {
              Indices points(bases.size(), index);
              for (auto [point, base] : llvm::zip(points, bases))
                setIndex(point, walked, base, isVector);
              emitPoints(points);
              return Values();
            });
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

void HostNestEmitter::emitPoints(ArrayRef<nd::ElementIndex> points) {
  for (unsigned walk = 0; walk < nest.stages.size(); ++walk)
    emitWalk(walk, points);
  if (nest.needsLastWalk())
    emitWalk(nest.stages.size(), points);
  storeOutputs(nest.pointOutputs, points);
}

/// All elements are computed before the first is stored: an output may be the
/// buffer of an input.
void HostNestEmitter::storeOutputs(ArrayRef<unsigned> outputs,
                                   ArrayRef<nd::ElementIndex> indices) {
  Values elements;
  for (const nd::ElementIndex &index : indices)
    for (unsigned output : outputs)
      elements.push_back(emitter.getElement(yield.getValues()[output], index));
  for (auto [copy, index] : llvm::enumerate(indices))
    for (auto [number, output] : llvm::enumerate(outputs))
      emitter.store(output, elements[copy * outputs.size() + number], index);
}

void HostNestEmitter::emitWalk(unsigned walk,
                               ArrayRef<nd::ElementIndex> points) {
  bool lanesAreReduced = nest.lanes == LanesIn::Reduce;
  ArrayRef<Operation *> reductions;
  if (walk < nest.stages.size())
    reductions = nest.stages[walk];
  // Accumulators: one for each point, or one for each vector along the lanes
  // and a scalar one for what is left of them.
  slotCount = lanesAreReduced ? unroll + 1 : points.size();
  Values identities;
  for (Operation *reduction : reductions)
    for (unsigned slot = 0; slot < slotCount; ++slot)
      identities.push_back(getIdentity(
          emitter, reduction,
          lanesAreReduced ? slot < unroll
                          : hasLanes(reduction->getResult(0), points[slot])));
  Values sums = emitReduceLoops(walk, 0, points, identities, identities);
  for (auto [number, reduction] : llvm::enumerate(reductions)) {
    ArrayRef<Value> slots = ArrayRef(sums).slice(number * slotCount, slotCount);
    Value result = reduction->getResult(0);
    if (lanesAreReduced)
      emitter.setElement(result, points[0], combineSlots(reduction, slots));
    else
      for (auto [point, slot] : llvm::zip(points, slots))
        emitter.setElement(result, point, slot);
  }
}

/// The loops from `loop` on, in strips of so few points that a sum in f32 keeps
/// its digits: each strip has accumulators of its own, which `carried` takes in
/// at its end.
HostNestEmitter::Values HostNestEmitter::emitReduceLoops(
    unsigned walk, unsigned loop, ArrayRef<nd::ElementIndex> indices,
    ArrayRef<Value> carried, ArrayRef<Value> identities) {
  if (loop == nest.reduce.size())
    return emitWalkBody(walk, indices, carried, 0);
  const Loop &walked = nest.reduce[loop];
  int64_t inner = 1;
  for (const Loop &other : ArrayRef(nest.reduce).drop_front(loop + 1))
    inner = std::min(inner * other.size, stripPoints);
  int64_t strip = stripPoints / inner;
  Value low = emitter.getIndexConstant(0);
  Value high = emitter.getIndexConstant(walked.size);
  if (carried.empty() || walked.size <= strip)
    return emitReduceLoop(walk, loop, low, high, indices, carried, identities);
  return emitFor(
      low, high, strip, carried, [&](Value first, ArrayRef<Value> arguments) {
        Value end = arith::AddIOp::create(builder, loc, first,
                                          emitter.getIndexConstant(strip));
        if (walked.size % strip != 0)
          end = arith::MinUIOp::create(builder, loc, end, high);
        Values sums = emitReduceLoop(walk, loop, first, end, indices,
                                     identities, identities);
        unsigned number = 0;
        for (auto [sum, argument] : llvm::zip(sums, arguments))
          sum = combine(emitter, nest.stages[walk][number++ / slotCount],
                        argument, sum);
        return sums;
      });
}

HostNestEmitter::Values
HostNestEmitter::emitReduceLoop(unsigned walk, unsigned loop, Value low,
                                Value high, ArrayRef<nd::ElementIndex> indices,
                                ArrayRef<Value> carried,
                                ArrayRef<Value> identities) {
  const Loop &walked = nest.reduce[loop];
  if (nest.lanes == LanesIn::Reduce && loop + 1 == nest.reduce.size())
    return emitLanes(
        low, high, walked.size, unroll, carried,
        [&](ArrayRef<Value> bases, bool isVector, ArrayRef<Value> arguments) {
          Indices copies(bases.size(), indices[0]);
          for (auto [copy, base] : llvm::zip(copies, bases))
            setIndex(copy, walked, base, isVector);
          return emitWalkBody(walk, copies, arguments, isVector ? 0 : unroll);
        });
  return emitFor(
      low, high, 1, carried, [&](Value base, ArrayRef<Value> arguments) {
        Indices copies(indices);
        for (nd::ElementIndex &copy : copies)
          setIndex(copy, walked, base, false);
        return emitReduceLoops(walk, loop + 1, copies, arguments, identities);
      });
}

/// Combines the elements at the indices into the accumulators from `firstSlot`
/// on, and stores the outputs of this walk.
HostNestEmitter::Values
HostNestEmitter::emitWalkBody(unsigned walk, ArrayRef<nd::ElementIndex> indices,
                              ArrayRef<Value> carried, unsigned firstSlot) {
  Values next(carried);
  loadKept(walk, indices);
  if (walk < nest.stages.size())
    for (auto [number, reduction] : llvm::enumerate(nest.stages[walk]))
      for (auto [copy, index] : llvm::enumerate(indices)) {
        Value &slot = next[number * slotCount + firstSlot + copy];
        slot = combine(emitter, reduction, slot,
                       getTerm(emitter, reduction, index));
      }
  storeOutputs(nest.walkOutputs[walk], indices);
  storeKept(walk, indices);
  return next;
}

void HostNestEmitter::loadKept(unsigned walk,
                               ArrayRef<nd::ElementIndex> indices) {
  for (const KeptValue &kept : nest.kept)
    if (walk > kept.walk)
      for (const nd::ElementIndex &index : indices)
        emitter.setElement(kept.value, index,
                           emitter.load(emitter.getOutput(kept.output), index));
}

void HostNestEmitter::storeKept(unsigned walk,
                                ArrayRef<nd::ElementIndex> indices) {
  for (const KeptValue &kept : nest.kept)
    if (walk == kept.walk)
      for (const nd::ElementIndex &index : indices)
        emitter.store(kept.output, emitter.getElement(kept.value, index),
                      index);
}

/// The vectors' accumulators pairwise, then their lanes, then the scalar one.
Value HostNestEmitter::combineSlots(Operation *reduction,
                                    ArrayRef<Value> slots) {
  SmallVector<Value> vectors(slots.drop_back());
  for (size_t count = vectors.size(); count > 1; count = (count + 1) / 2)
    for (size_t pair = 0; pair < count / 2; ++pair)
      vectors[pair] = combine(emitter, reduction, vectors[pair],
                              vectors[pair + (count + 1) / 2]);
  Value result = combineLanes(emitter, reduction, vectors[0]);
  if (nest.reduce.back().size % emitter.getLanes() != 0)
    result = combine(emitter, reduction, result, slots.back());
  return result;
}

} // namespace meshc::codegen
