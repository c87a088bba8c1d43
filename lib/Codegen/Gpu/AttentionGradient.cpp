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

void AttentionEmitter::emitQueryGradient(Value block) {
  Held held = takeHeld(block, true);
  load(heldKeys, getEntries(query, held.outer, held.first, true));
  load(heldValues, getEntries(gradient, held.outer, held.first, true));
  loadRowNumbers(numbers, held.outer, held.first, tiles.getHeldEntries());
  auto [begin, end] = getStreamedTiles(held);
  Values sums = emitFor(
      begin, end, 1, makeSums(streamedKeys),
      [&](Value turn, ArrayRef<Value> carried) {
        Value first = times(turn, tiles.getStreamedEntries());
        group.emitBarrier(); // the tile before has been read
        load(streamedKeys, getEntries(keys, held.outer, first, false));
        load(streamedValues, getEntries(values, held.outer, first, false));
        group.emitBarrier();
        SmallVector<Value> allowed;
        Values probabilities =
            getProbabilities(finishScores(multiply(heldKeys, streamedKeys),
                                          held, first, allowed),
                             allowed, numbers, true);
        storeScores(scores,
                    getScoreGradients(probabilities,
                                      multiply(heldValues, streamedValues),
                                      allowed, numbers, true));
        group.emitBarrier();
        return addProducts(scores, streamedKeys, carried);
      });
  storeSums(sums, getEntries(ofQuery, held.outer, held.first, true), call.keys);
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
        return emitFor(begin, getEndIfExists(each, end), 1, carried,
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

void AttentionEmitter::emitGradient() {
  Value block = group.getPoint();
  Value rowBlocks = index(plan.getRowBlocks());
  auto branch = scf::IfOp::create(builder, loc, isLess(block, rowBlocks), true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  emitQueryGradient(block);
  builder.setInsertionPointToStart(branch.elseBlock());
  emitMemoryGradients(minus(block, rowBlocks));
}

} // namespace meshc::codegen
