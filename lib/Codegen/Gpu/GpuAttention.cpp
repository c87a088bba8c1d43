//===- GpuAttention.cpp - attention that stores no scores, on GPUs --------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/Order.h"
#include "dialects/Nd/Ops/AttentionOps.h"
#include "lib/Codegen/Gpu/AttentionEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace mlir;

namespace meshc::codegen {

using exec::AttentionTiles;

static constexpr double infinity = std::numeric_limits<double>::infinity();

//===----------------------------------------------------------------------===//
// The plan
//===----------------------------------------------------------------------===//

bool AttentionPlan::isGradient() const {
  return isa<nd::AttentionGradientOp>(op);
}

static int64_t getProduct(ArrayRef<int64_t> sizes) {
  int64_t product = 1;
  for (int64_t size : sizes)
    product *= size;
  return product;
}

int64_t AttentionPlan::getRowBlocks() const {
  return getProduct(ArrayRef(call.outerSizes, call.outerCount)) *
         llvm::divideCeil(call.rows, tiles.getHeldEntries());
}

int64_t AttentionPlan::getMemoryBlocks() const {
  if (!isGradient())
    return 0;
  return getProduct(ArrayRef(call.outerSizes, call.sharedCount)) *
         llvm::divideCeil(call.memory, tiles.getHeldEntries());
}

int64_t AttentionPlan::getBiasBlocks() const {
  if (!call.hasBiasGradient)
    return 0;
  return getProduct(ArrayRef(call.outerSizes, call.outerCount)) *
         llvm::divideCeil(call.lastRow + call.memory, getBlockDistances());
}

GpuMapping AttentionPlan::getMapping() const {
  GpuMapping map;
  map.points = getRowBlocks() + getMemoryBlocks() + getBiasBlocks();
  map.members = AttentionTiles::threads;
  map.membersAreNeighbours = true;
  return map;
}

/// Whether each entry of the tensors that the kernel copies begins at a
/// multiple of four elements, and what is at such a place is aligned.
static bool allowsVectors(const MeshcAttention &call, exec::KernelOp kernel) {
  if (call.keys % 4 != 0 || call.values % 4 != 0)
    return false;
  for (const MeshcAttentionStrides *strides :
       {&call.query, &call.key, &call.value, &call.output}) {
    for (int64_t dim = 0; dim < call.outerCount; ++dim)
      if (strides->outer[dim] % 4 != 0)
        return false;
    if (strides->row % 4 != 0 || strides->memory % 4 != 0)
      return false;
  }
  constexpr int64_t bytes = 16;
  size_t count =
      kernel.getInputOrders().size() + kernel.getOutputOrders().size();
  for (size_t buffer = 0; buffer < count; ++buffer)
    if (kernel.getAlignment(buffer) < bytes)
      return false;
  return true;
}

FailureOr<AttentionPlan> AttentionPlan::of(exec::KernelOp kernel) {
  Operation *op = exec::getAttention(kernel);
  auto tiles = AttentionTiles::of(op);
  if (!tiles)
    return op->emitOpError("is not one that a GPU's kernel computes in tiles");
  auto ordersOf = [](ArrayAttr attributes) {
    return llvm::map_to_vector(
        attributes.getAsRange<ArrayAttr>(),
        [](ArrayAttr order) { return exec::getOrder(order); });
  };
  AttentionPlan plan{
      op, kernel,
      exec::describeAttention(op, ordersOf(kernel.getInputOrders()),
                              ordersOf(kernel.getOutputOrders())),
      *tiles, 1};
  if (allowsVectors(plan.call, kernel))
    plan.lanes = 4;
  return plan;
}

//===----------------------------------------------------------------------===//
// The code
//===----------------------------------------------------------------------===//

AttentionEmitter::AttentionEmitter(const AttentionPlan &plan,
                                   KernelElements &emitter, GpuGroup &group,
                                   ValueRange buffers)
    : TileEmitter(emitter, group, plan.tiles, plan.lanes), plan(plan),
      call(plan.call) {
  size_t next = 0;
  auto take = [&](AttentionTensor &tensor, Value value,
                  const MeshcAttentionStrides &strides) {
    tensor = {buffers[next++], nd::getTensorType(value).getElementType(),
              &strides};
  };
  Operation *op = plan.op;
  auto parts = nd::AttentionScores::of(op);
  take(query, parts.query, call.query);
  take(keys, parts.keys, call.key);
  take(values, parts.values, call.value);
  if (parts.mask)
    take(mask, parts.mask, call.mask);
  if (parts.bias)
    take(bias, parts.bias, call.bias);
  predicate = parts.predicate;
  if (predicate) {
    take(rowLabels, parts.rowLabels, call.rowLabels);
    take(memoryLabels, parts.memoryLabels, call.memoryLabels);
  }
  if (auto backward = dyn_cast<nd::AttentionGradientOp>(op)) {
    take(output, backward.getOutput(), call.output);
    take(logSums, backward.getLogSums(), call.logSums);
    take(gradient, backward.getGradient(), call.output);
    take(ofQuery, op->getResult(0), call.query);
    take(ofKeys, op->getResult(1), call.key);
    take(ofValues, op->getResult(2), call.value);
    if (call.hasBiasGradient)
      take(ofBias, op->getResult(3), call.biasGradient);
  } else {
    take(output, op->getResult(0), call.output);
    take(logSums, op->getResult(1), call.logSums);
  }
  firstRow = index(0);
  if (parts.position)
    firstRow = emitter.getGlobalOffset(nd::getTensorType(parts.query),
                                       parts.position.getValue());
  countEntries();
  bool isGradient = plan.isGradient();
  heldKeys = allocateTile(tiles.getHeldEntries(), call.keys);
  if (isGradient)
    heldValues = allocateTile(tiles.getHeldEntries(), call.values);
  streamedKeys = allocateTile(tiles.getStreamedEntries(), call.keys);
  streamedValues = allocateTile(tiles.getStreamedEntries(), call.values);
  scores = allocateScores();
  if (isGradient) {
    int64_t entries =
        std::max(tiles.getHeldEntries(), tiles.getStreamedEntries());
    numbers = {group.allocate(4 * entries), group.allocate(4 * entries)};
  }
}

Value AttentionEmitter::exp(Value x) {
  return math::ExpOp::create(builder, loc, x);
}

//===----------------------------------------------------------------------===//
// What exists
//===----------------------------------------------------------------------===//

void AttentionEmitter::countEntries() {
  exec::AttentionLoops loops = *exec::AttentionLoops::of(plan.op);
  nd::TensorType type =
      nd::getTensorType(nd::AttentionScores::of(plan.op).query);
  auto count = [&](StringAttr dim) {
    bool isFull = !dim || type.isEven(type.getDimIndex(dim.getValue()),
                                      emitter.getMesh());
    return isFull ? Value() : emitter.getEntryCount(type, dim.getValue());
  };
  existingRows = count(loops.row);
  existingOuter = llvm::map_to_vector(loops.outer, count);
}

Value AttentionEmitter::getRowCount() {
  return existingRows ? existingRows : index(call.rows);
}

/// Whether the first of the held entries exists; null: always. The same on all
/// threads of a block.
Value AttentionEmitter::doesExist(const Held &held) {
  Value exists;
  if (held.isRows && existingRows)
    exists = isLess(held.first, existingRows);
  for (auto [at, count] : llvm::zip_equal(held.outer, existingOuter))
    if (at && count)
      exists = both(exists, isLess(at, count));
  return exists;
}

/// The end of a loop that has no turns for padding.
Value AttentionEmitter::getEndIfExists(const Held &held, Value end) {
  Value exists = doesExist(held);
  return exists ? select(exists, end, index(0)) : end;
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

/// The indices of the outer dims in [begin, end), the last one fastest.
AttentionEmitter::Outer AttentionEmitter::split(Value number, int64_t begin,
                                                int64_t end) {
  Outer outer(call.outerCount);
  for (int64_t dim = end; dim-- > begin;)
    outer[dim] = takeOff(number, call.outerSizes[dim]);
  return outer;
}

Value AttentionEmitter::getPlace(const AttentionTensor &tensor,
                                 const Outer &outer) {
  Value place = index(0);
  for (auto [at, stride] : llvm::zip_first(outer, tensor.strides->outer))
    if (at && stride != 0)
      place = plus(place, times(at, stride));
  return place;
}

/// The entries from `first` on, along the rows or along the memory.
GlobalEntries AttentionEmitter::getEntries(const AttentionTensor &tensor,
                                           const Outer &outer, Value first,
                                           bool areRows) {
  int64_t stride = areRows ? tensor.strides->row : tensor.strides->memory;
  Value count = areRows ? getRowCount() : index(call.memory);
  return {tensor.pointer, tensor.elementType,
          plus(getPlace(tensor, outer), times(first, stride)), stride,
          minus(count, first)};
}

AttentionEmitter::Held AttentionEmitter::takeHeld(Value block, bool isRows) {
  int64_t entries = tiles.getHeldEntries();
  int64_t count = llvm::divideCeil(isRows ? call.rows : call.memory, entries);
  Held held;
  held.isRows = isRows;
  held.first = times(takeOff(block, count), entries);
  held.outer = split(block, 0, isRows ? call.outerCount : call.sharedCount);
  return held;
}

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

/// Whether the local row and entry of the memory exist and are in the band;
/// null: always.
Value AttentionEmitter::isAllowed(Value row, Value entry) {
  Value allowed;
  int64_t rows = plan.isGradient() ? std::lcm(tiles.getHeldEntries(),
                                              tiles.getStreamedEntries())
                                   : tiles.getHeldEntries();
  int64_t memory = plan.isGradient() ? rows : tiles.getStreamedEntries();
  if (existingRows || call.rows % rows != 0)
    allowed = both(allowed, isLess(row, getRowCount()));
  if (call.memory % memory != 0)
    allowed = both(allowed, isLess(entry, index(call.memory)));
  Value distance = minus(entry, plus(firstRow, row));
  if (call.lowest != std::numeric_limits<int64_t>::min())
    allowed = both(allowed, isLess(index(call.lowest - 1), distance));
  if (call.highest != std::numeric_limits<int64_t>::max())
    allowed = both(allowed, isLess(distance, index(call.highest + 1)));
  return allowed;
}

/// The scores, -inf where `allowed`, which becomes one value for each of them,
/// is not true.
TileEmitter::Values
AttentionEmitter::finishScores(ArrayRef<Value> products, const Held &held,
                               Value streamedFirst,
                               SmallVectorImpl<Value> &allowed) {
  auto limit = [&](Value entry, int64_t count) {
    return smaller(entry, index(count - 1));
  };
  Value scale = number(call.scale);
  Values scores;
  for (auto [n, product] : llvm::enumerate(products)) {
    auto at = static_cast<int64_t>(n);
    Value row = plus(held.first, getHeld(at / tiles.streamed));
    Value entry = plus(streamedFirst, getStreamed(at % tiles.streamed));
    if (!held.isRows)
      std::swap(row, entry);
    Value is = isAllowed(row, entry);
    Value score = times(product, scale);
    auto place = [&](const AttentionTensor &tensor) {
      Value first = getPlace(tensor, held.outer);
      if (call.biasByDistance && &tensor == &bias) {
        // Rows behind the last one are padding.
        Value before = minus(index(call.lastRow), plus(firstRow, row));
        Value distance = larger(before, index(0));
        return plus(first, times(plus(distance, limit(entry, call.memory)),
                                 tensor.strides->memory));
      }
      first = plus(first, times(limit(row, call.rows), tensor.strides->row));
      return plus(first,
                  times(limit(entry, call.memory), tensor.strides->memory));
    };
    if (bias.pointer)
      score =
          plus(score, loadGlobal(bias.pointer, bias.elementType, place(bias)));
    if (mask.pointer)
      is = both(is, loadGlobal(mask.pointer, mask.elementType, place(mask)));
    if (predicate)
      is = both(is, compareLabels(
                        getLabel(false, held.outer, limit(entry, call.memory)),
                        getLabel(true, held.outer, limit(row, call.rows))));
    allowed.push_back(is);
    scores.push_back(is ? select(is, score, number(-infinity)) : score);
  }
  return scores;
}

//===----------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------===//

/// The probabilities of a tile before the division by their sums. `carried`:
/// for each held row the largest score and the sum so far, which are replaced.
/// `factors`: what the rows' earlier sums are multiplied by.
TileEmitter::Values
AttentionEmitter::emitSoftmax(ArrayRef<Value> scores, ArrayRef<Value> carried,
                              SmallVectorImpl<Value> &factors) {
  Values next, probabilities;
  Values sums;
  auto larger = [&](Value a, Value b) -> Value {
    return arith::MaxNumFOp::create(builder, loc, a, b);
  };
  for (int64_t i = 0; i < tiles.held; ++i) {
    auto row = scores.slice(i * tiles.streamed, tiles.streamed);
    Value largest = row.front();
    for (Value score : row.drop_front())
      largest = larger(largest, score);
    largest = larger(carried[i], combineRow(largest, larger));
    // Without an allowed entry so far, -inf - -inf would be NaN.
    Value isNone = arith::CmpFOp::create(
        builder, loc, arith::CmpFPredicate::OEQ, largest, number(-infinity));
    Value base = select(isNone, number(0), largest);
    Value factor = exp(minus(carried[i], base));
    Value sum = times(carried[tiles.held + i], factor);
    for (Value score : row) {
      probabilities.push_back(exp(minus(score, base)));
      sum = plus(sum, probabilities.back());
    }
    factors.push_back(factor);
    next.push_back(largest);
    sums.push_back(sum);
  }
  llvm::append_range(next, sums);
  llvm::append_range(next, probabilities);
  return next;
}

void AttentionEmitter::emitForward() {
  Held held = takeHeld(group.getPoint(), true);
  load(heldKeys, getEntries(query, held.outer, held.first, true));
  auto [begin, end] = getStreamedTiles(held);
  int64_t rowValues = 2 * tiles.held;
  Values carried(tiles.held, number(-infinity));
  carried.append(tiles.held, number(0));
  llvm::append_range(carried, makeSums(streamedValues));
  carried =
      emitFor(begin, end, 1, carried, [&](Value turn, ArrayRef<Value> values) {
        Value first = times(turn, tiles.getStreamedEntries());
        group.emitBarrier(); // the tile before has been read
        load(streamedKeys, getEntries(keys, held.outer, first, false));
        load(streamedValues,
             getEntries(this->values, held.outer, first, false));
        group.emitBarrier();
        SmallVector<Value> allowed, factors;
        Values products = multiply(heldKeys, streamedKeys);
        Values all = emitSoftmax(finishScores(products, held, first, allowed),
                                 values, factors);
        storeScores(scores, ArrayRef(all).drop_front(rowValues));
        group.emitBarrier();
        Values next(ArrayRef(all).take_front(rowValues));
        llvm::append_range(
            next,
            addProducts(scores, streamedValues,
                        scaleSums(values.drop_front(rowValues), factors)));
        return next;
      });
  storeRows(carried, held);
}

void AttentionEmitter::storeRows(ArrayRef<Value> carried, const Held &held) {
  SmallVector<Value> inverses;
  GlobalEntries to = getEntries(logSums, held.outer, held.first, true);
  for (int64_t i = 0; i < tiles.held; ++i) {
    Value sum = combineRow(carried[tiles.held + i],
                           [&](Value a, Value b) { return plus(a, b); });
    Value isNone = arith::CmpFOp::create(
        builder, loc, arith::CmpFPredicate::OEQ, sum, number(0));
    Value inverse = arith::DivFOp::create(builder, loc, number(1), sum);
    inverses.push_back(select(isNone, number(0), inverse));
    Value logarithm = math::LogOp::create(builder, loc, sum);
    Value logSum =
        select(isNone, number(infinity), plus(carried[i], logarithm));
    Value entry = getHeld(i);
    emitIf(both(isFirstOfRow(), isLess(entry, to.count)), [&] {
      storeGlobal(to.pointer, to.elementType,
                  plus(to.first, times(entry, to.stride)), logSum);
    });
  }
  Values sums = scaleSums(carried.drop_front(2 * tiles.held), inverses);
  storeSums(sums, getEntries(output, held.outer, held.first, true),
            call.values);
}

void emitAttention(const AttentionPlan &plan, KernelElements &emitter,
                   GpuGroup &group, ValueRange buffers) {
  AttentionEmitter attention(plan, emitter, group, buffers);
  if (plan.isGradient())
    attention.emitGradient();
  else
    attention.emitForward();
}

} // namespace meshc::codegen
