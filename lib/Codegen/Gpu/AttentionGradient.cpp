//===- AttentionGradient.cpp - the gradient of attention on GPUs ----------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/Gpu/AttentionEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace meshc::codegen {

using exec::AttentionTiles;

/// For `entries` rows from `first` on: the logarithms of sums, and the sums of
/// output · gradient over the values. Several threads share a row.
void AttentionEmitter::loadRowNumbers(const RowNumbers &numbers,
                                      const Outer &outer, Value first,
                                      int64_t entries) {
  int64_t sharers = AttentionTiles::threads / entries;
  Value entry = getThread();
  Value part = takeOff(entry, sharers);
  GlobalEntries sums = getEntries(logSums, outer, first, true);
  GlobalEntries results = getEntries(output, outer, first, true);
  Value exists = isLess(entry, results.count);
  Value at = plus(results.first, times(entry, results.stride));
  Value high = select(exists, index(call.values), index(0));
  Value product =
      emitFor(part, high, sharers, {number(0)},
              [&](Value element, ArrayRef<Value> sum) {
                Value place = plus(at, element);
                Value a = loadGlobal(output.pointer, output.elementType, place);
                Value b =
                    loadGlobal(gradient.pointer, gradient.elementType, place);
                return Values{plus(sum[0], times(a, b))};
              })
          .front();
  product = combineRow(
      product, [&](Value a, Value b) { return plus(a, b); }, sharers);
  Value isFirst = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                        part, index(0));
  emitIf(both(exists, isFirst), [&] {
    Value place = plus(sums.first, times(entry, sums.stride));
    storeLocal(numbers.logSums, entry,
               loadGlobal(sums.pointer, sums.elementType, place));
    storeLocal(numbers.products, entry, product);
  });
}

/// The softmax of the scores, 0 where they are not allowed.
TileEmitter::Values AttentionEmitter::getProbabilities(
    ArrayRef<Value> scores, ArrayRef<Value> allowed, const RowNumbers &numbers,
    bool rowsAreHeld) {
  Values results;
  for (auto [n, score] : llvm::enumerate(scores)) {
    auto at = static_cast<int64_t>(n);
    Value row = rowsAreHeld ? getHeld(at / tiles.streamed)
                            : getStreamed(at % tiles.streamed);
    Value value = exp(minus(score, loadLocal(numbers.logSums, row)));
    results.push_back(allowed[n] ? select(allowed[n], value, number(0))
                                 : value);
  }
  return results;
}

/// Of the products of query and keys: probability · (gradient of the output ·
/// values - output · gradient) · scale.
TileEmitter::Values AttentionEmitter::getScoreGradients(
    ArrayRef<Value> probabilities, ArrayRef<Value> products,
    ArrayRef<Value> allowed, const RowNumbers &numbers, bool rowsAreHeld) {
  Values results;
  for (auto [n, product] : llvm::enumerate(products)) {
    auto at = static_cast<int64_t>(n);
    Value row = rowsAreHeld ? getHeld(at / tiles.streamed)
                            : getStreamed(at % tiles.streamed);
    Value value = minus(product, loadLocal(numbers.products, row));
    value = times(times(probabilities[n], value), number(call.scale));
    results.push_back(allowed[n] ? select(allowed[n], value, number(0))
                                 : value);
  }
  return results;
}

/// Replaces the tile of scores by their gradients, of held rows and the memory
/// from `first` on, which is in the streamed tiles then.
void AttentionEmitter::storeHeldSlopes(const Held &held, Value first) {
  group.emitBarrier(); // the tile before has been read
  load(streamedKeys, getEntries(keys, held.outer, first, false));
  load(streamedValues, getEntries(values, held.outer, first, false));
  group.emitBarrier();
  SmallVector<Value> allowed;
  Values probabilities = getProbabilities(
      finishScores(multiply(heldKeys, streamedKeys), held, first, allowed),
      allowed, numbers, true);
  storeScores(scores, getScoreGradients(probabilities,
                                        multiply(heldValues, streamedValues),
                                        allowed, numbers, true));
  group.emitBarrier();
}

void AttentionEmitter::emitQueryGradient(Value block) {
  Held held = takeHeld(block, true);
  load(heldKeys, getEntries(query, held.outer, held.first, true));
  load(heldValues, getEntries(gradient, held.outer, held.first, true));
  loadRowNumbers(numbers, held.outer, held.first, tiles.getHeldEntries());
  auto [begin, end] = getStreamedTiles(held);
  Values sums = emitFor(begin, end, 1, makeSums(streamedKeys),
                        [&](Value turn, ArrayRef<Value> carried) {
                          Value first = times(turn, tiles.getStreamedEntries());
                          storeHeldSlopes(held, first);
                          return addProducts(scores, streamedKeys, carried);
                        });
  storeSums(sums, getEntries(ofQuery, held.outer, held.first, true), call.keys);
}

/// Whether the tensor differs between rows that have the same keys.
bool AttentionEmitter::variesBeyondShared(const AttentionTensor &tensor) const {
  if (!tensor.pointer)
    return false;
  return llvm::any_of(
      llvm::seq<int64_t>(call.sharedCount, call.outerCount),
      [&](int64_t dim) { return tensor.strides->outer[dim] != 0; });
}

void AttentionEmitter::emitMemoryGradients(Value block) {
  Held held = takeHeld(block, false);
  load(heldKeys, getEntries(keys, held.outer, held.first, false));
  load(heldValues, getEntries(values, held.outer, held.first, false));
  auto [begin, end] = getStreamedTiles(held);
  Values zeros = makeSums(streamedKeys);
  size_t keySums = zeros.size();
  llvm::append_range(zeros, makeSums(streamedValues));
  auto add = [&](const Held &held, Value turn, ArrayRef<Value> carried) {
    Value first = times(turn, tiles.getStreamedEntries());
    group.emitBarrier(); // the tile before has been read
    load(streamedKeys, getEntries(query, held.outer, first, true));
    load(streamedValues, getEntries(gradient, held.outer, first, true));
    loadRowNumbers(numbers, held.outer, first, tiles.getStreamedEntries());
    group.emitBarrier();
    SmallVector<Value> allowed;
    Values probabilities = getProbabilities(
        finishScores(multiply(heldKeys, streamedKeys), held, first, allowed),
        allowed, numbers, false);
    Values gradients =
        getScoreGradients(probabilities, multiply(heldValues, streamedValues),
                          allowed, numbers, false);
    storeScores(scores, probabilities);
    group.emitBarrier();
    Values ofValues =
        addProducts(scores, streamedValues, carried.drop_front(keySums));
    group.emitBarrier(); // the probabilities have been read
    storeScores(scores, gradients);
    group.emitBarrier();
    Values next =
        addProducts(scores, streamedKeys, carried.take_front(keySums));
    llvm::append_range(next, ofValues);
    return next;
  };
  // All rows that have these keys and values.
  int64_t others = 1;
  for (int64_t dim = call.sharedCount; dim < call.outerCount; ++dim)
    others *= call.outerSizes[dim];
  Values sums = emitFor(
      index(0), index(others), 1, zeros,
      [&, begin = begin, end = end](Value other, ArrayRef<Value> carried) {
        Held each = held;
        Outer outer = split(other, call.sharedCount, call.outerCount);
        for (auto [all, more] : llvm::zip(each.outer, outer))
          all = all ? all : more;
        auto [first, last] = variesBeyondShared(rowLabels)
                                 ? getStreamedTiles(each)
                                 : std::pair(begin, getEndIfExists(each, end));
        return emitFor(first, last, 1, carried,
                       [&](Value turn, ArrayRef<Value> values) {
                         return add(each, turn, values);
                       });
      });
  ArrayRef<Value> all(sums);
  storeSums(all.take_front(keySums),
            getEntries(ofKeys, held.outer, held.first, false), call.keys);
  storeSums(all.drop_front(keySums),
            getEntries(ofValues, held.outer, held.first, false), call.values);
}

/// Adds to this thread's distances, from `distance` on and a block's threads
/// apart, the numbers of the tile of scores; its first streamed entry is
/// `first`.
TileEmitter::Values AttentionEmitter::addDistances(const Held &held,
                                                   Value first, Value distance,
                                                   ArrayRef<Value> carried) {
  // The place in the tile's first row of the entry with the first distance.
  Value start = minus(plus(distance, plus(firstRow, held.first)),
                      plus(first, index(call.lastRow)));
  return emitFor(
      index(0), index(tiles.getHeldEntries()), 1, carried,
      [&](Value row, ArrayRef<Value> sums) {
        Value line = times(row, scores.stride);
        Values next;
        for (auto [n, sum] : llvm::enumerate(sums)) {
          Value at = plus(plus(start, row),
                          index(int64_t(n) * AttentionTiles::threads));
          Value isInside = both(isLess(index(-1), at),
                                isLess(at, index(tiles.getStreamedEntries())));
          Value place = select(isInside, at, index(0));
          Value number = loadLocal(scores.memory, plus(line, place));
          next.push_back(plus(sum, select(isInside, number, this->number(0))));
        }
        return next;
      });
}

/// One block has distances of one bias, and goes through all tiles of scores
/// that have any of them.
void AttentionEmitter::emitBiasGradient(Value block) {
  int64_t count = call.lastRow + call.memory, size = plan.getBlockDistances();
  int64_t rows = tiles.getHeldEntries(), entries = tiles.getStreamedEntries();
  Value low = times(takeOff(block, llvm::divideCeil(count, size)), size);
  Value distance = plus(low, getThread());
  Outer outer = split(block, 0, call.outerCount);
  // Row r and memory m have distance m - r + last.
  Value last = minus(index(call.lastRow), firstRow);
  Value beginRow =
      clamp(minus(last, plus(low, index(size - 1))), getRowCount());
  Value endRow =
      clamp(plus(minus(last, low), index(call.memory)), getRowCount());
  auto getTiles = [&](Value begin, Value end, int64_t tile) {
    return std::pair<Value, Value>(
        arith::DivUIOp::create(builder, loc, begin, index(tile)),
        arith::DivUIOp::create(builder, loc, plus(end, index(tile - 1)),
                               index(tile)));
  };
  auto [beginTile, endTile] = getTiles(beginRow, endRow, rows);
  Held all{true, index(0), outer};
  Values zeros(size / AttentionTiles::threads, number(0));
  Values sums = emitFor(
      beginTile, getEndIfExists(all, endTile), 1, zeros,
      [&](Value tile, ArrayRef<Value> carried) {
        Held held{true, times(tile, rows), outer};
        group.emitBarrier(); // the rows before have been read
        load(heldKeys, getEntries(query, outer, held.first, true));
        load(heldValues, getEntries(gradient, outer, held.first, true));
        loadRowNumbers(numbers, outer, held.first, rows);
        Value first = minus(plus(held.first, low), last);
        auto [begin, end] = getTiles(
            clamp(first, index(call.memory)),
            clamp(plus(first, index(size + rows - 1)), index(call.memory)),
            entries);
        auto [beginBand, endBand] = getStreamedTiles(held);
        begin = larger(begin, beginBand);
        end = smaller(end, endBand);
        return emitFor(begin, end, 1, carried,
                       [&](Value turn, ArrayRef<Value> carried) {
                         Value first = times(turn, entries);
                         storeHeldSlopes(held, first);
                         return addDistances(held, first, distance, carried);
                       });
      });
  Value place = plus(getPlace(ofBias, outer), distance);
  for (auto [n, sum] : llvm::enumerate(sums)) {
    int64_t more = int64_t(n) * AttentionTiles::threads;
    emitIf(isLess(plus(distance, index(more)), index(count)), [&] {
      storeGlobal(ofBias.pointer, ofBias.elementType, plus(place, index(more)),
                  times(sum, number(1 / call.scale)));
    });
  }
}

/// Emits `first` for blocks less than `count`, `others` for the others, with
/// their numbers less `count`.
void AttentionEmitter::emitForBlocks(Value block, int64_t count,
                                     function_ref<void(Value)> first,
                                     function_ref<void(Value)> others) {
  auto branch =
      scf::IfOp::create(builder, loc, isLess(block, index(count)), true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  first(block);
  builder.setInsertionPointToStart(branch.elseBlock());
  others(minus(block, index(count)));
}

void AttentionEmitter::emitGradient() {
  emitForBlocks(
      group.getPoint(), plan.getRowBlocks(),
      [&](Value block) { emitQueryGradient(block); },
      [&](Value block) {
        if (!call.hasBiasGradient)
          return emitMemoryGradients(block);
        emitForBlocks(
            block, plan.getMemoryBlocks(),
            [&](Value block) { emitMemoryGradients(block); },
            [&](Value block) { emitBiasGradient(block); });
      });
}

} // namespace meshc::codegen
