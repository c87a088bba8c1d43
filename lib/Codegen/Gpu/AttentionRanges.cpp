//===- AttentionRanges.cpp - which tiles of scores attention computes -----===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Ops/Predicates.h"
#include "lib/Codegen/Gpu/AttentionEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace mlir;

namespace meshc::codegen {

/// The label of a row or of an entry of the memory.
Value AttentionEmitter::getLabel(bool isRow, const Outer &outer, Value entry) {
  const AttentionTensor &labels = isRow ? rowLabels : memoryLabels;
  int64_t stride = isRow ? labels.strides->row : labels.strides->memory;
  return loadGlobal(labels.pointer, labels.elementType,
                    plus(getPlace(labels, outer), times(entry, stride)));
}

Value AttentionEmitter::compareLabels(Value ofMemory, Value ofRow) {
  return arith::CmpIOp::create(
      builder, loc, nd::getIntegerPredicate(*predicate), ofMemory, ofRow);
}

/// Combines a word with those of the threads of the warp.
Value AttentionEmitter::combineWarp(Value word,
                                    function_ref<Value(Value, Value)> combine) {
  return combineRow(word, combine, warpSize);
}

/// Whether a mask that the held rows share says which tiles have nothing for
/// all of them.
bool AttentionEmitter::trimsByMask(const Held &held) const {
  return held.isRows && mask.pointer && mask.strides->row == 0;
}

/// Whether labels say so.
bool AttentionEmitter::trimsByLabels() const {
  return predicate && *predicate != nd::Predicate::Ne;
}

/// The least and the largest label of the held entries.
std::pair<Value, Value> AttentionEmitter::getHeldLabels(const Held &held,
                                                        Value lane) {
  int64_t count = held.isRows ? call.rows : call.memory;
  Value least, largest;
  for (int64_t first = 0; first < tiles.getHeldEntries(); first += warpSize) {
    // Behind the last one, this is looked at once more.
    Value entry = plus(held.first, smaller(plus(lane, index(first)),
                                           index(tiles.getHeldEntries() - 1)));
    Value label =
        getLabel(held.isRows, held.outer, smaller(entry, index(count - 1)));
    least = least ? smaller(least, label) : label;
    largest = largest ? larger(largest, label) : label;
  }
  return {combineWarp(least, [&](Value a, Value b) { return smaller(a, b); }),
          combineWarp(largest, [&](Value a, Value b) { return larger(a, b); })};
}

/// Whether a streamed label allows an entry for any held label within these two
/// bounds, as far as they say.
Value AttentionEmitter::mayAllow(Value label, bool isRow,
                                 std::pair<Value, Value> held) {
  nd::Predicate asks = isRow ? nd::flip(*predicate) : *predicate;
  auto compare = [&](nd::Predicate asks, Value bound) -> Value {
    return arith::CmpIOp::create(builder, loc, nd::getIntegerPredicate(asks),
                                 label, bound);
  };
  switch (asks) {
  case nd::Predicate::Eq:
    return both(compare(nd::Predicate::Ge, held.first),
                compare(nd::Predicate::Le, held.second));
  case nd::Predicate::Lt:
  case nd::Predicate::Le:
    return compare(asks, held.second);
  case nd::Predicate::Gt:
  case nd::Predicate::Ge:
    return compare(asks, held.first);
  case nd::Predicate::Ne:
    break;
  }
  llvm_unreachable("different labels forbid no whole tile");
}

/// The first streamed entry that is allowed to any held entry, and that after
/// the last one; all entries and 0 without any. After a position that is
/// generated, a mask allows those so far; labels allow those of some documents.
/// Each warp looks through all entries, so that all threads know it without a
/// barrier.
std::pair<Value, Value> AttentionEmitter::getAllowedEntries(const Held &held) {
  int64_t count = held.isRows ? call.memory : call.rows;
  Value thread = getThread();
  Value lane = takeOff(thread, warpSize);
  std::pair<Value, Value> heldLabels;
  if (trimsByLabels())
    heldLabels = getHeldLabels(held, lane);
  Values ends = emitFor(
      index(0), index(llvm::divideCeil(count, warpSize)), 1,
      {index(count), index(0)}, [&](Value turn, ArrayRef<Value> ends) {
        // Threads beyond the last entry look at it once more.
        Value entry =
            smaller(plus(times(turn, warpSize), lane), index(count - 1));
        Value isAllowed;
        if (trimsByMask(held)) {
          Value at = plus(getPlace(mask, held.outer),
                          times(entry, mask.strides->memory));
          isAllowed = loadGlobal(mask.pointer, mask.elementType, at);
        }
        if (trimsByLabels())
          isAllowed = both(isAllowed,
                           mayAllow(getLabel(!held.isRows, held.outer, entry),
                                    !held.isRows, heldLabels));
        return Values{
            select(isAllowed, smaller(ends[0], entry), ends[0]),
            select(isAllowed, larger(ends[1], plus(entry, index(1))), ends[1])};
      });
  // Shuffles move words.
  auto combine = [&](Value end, auto function) -> Value {
    Value word =
        arith::IndexCastOp::create(builder, loc, builder.getI32Type(), end);
    return arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                      combineWarp(word, function));
  };
  return {combine(ends[0], [&](Value a, Value b) { return smaller(a, b); }),
          combine(ends[1], [&](Value a, Value b) { return larger(a, b); })};
}

/// The numbers of the streamed tiles, begin and end, that have entries within
/// the band, and that labels or a mask allow which all rows share. For held
/// entries that do not exist there are none.
std::pair<Value, Value> AttentionEmitter::getStreamedTiles(const Held &held) {
  constexpr int64_t none = std::numeric_limits<int64_t>::min();
  constexpr int64_t all = std::numeric_limits<int64_t>::max();
  Value count = held.isRows ? index(call.memory) : getRowCount();
  int64_t entries = tiles.getStreamedEntries();
  int64_t last = tiles.getHeldEntries() - 1;
  Value begin = index(0), end = count;
  // In a band, memory m and the global row r have lowest ≤ m - r ≤ highest.
  Value first =
      held.isRows ? plus(firstRow, held.first) : minus(held.first, firstRow);
  if (held.isRows) {
    if (call.lowest != none)
      begin = clamp(plus(first, index(call.lowest)), count);
    if (call.highest != all)
      end = clamp(plus(first, index(call.highest + last + 1)), count);
  } else {
    if (call.highest != all)
      begin = clamp(minus(first, index(call.highest)), count);
    if (call.lowest != none)
      end = clamp(minus(first, index(call.lowest - last - 1)), count);
  }
  if (trimsByMask(held) || trimsByLabels()) {
    auto [firstAllowed, lastAllowed] = getAllowedEntries(held);
    begin = larger(begin, firstAllowed);
    end = smaller(end, lastAllowed);
  }
  end = getEndIfExists(held, end);
  begin = arith::DivUIOp::create(builder, loc, begin, index(entries));
  end = arith::DivUIOp::create(builder, loc, plus(end, index(entries - 1)),
                               index(entries));
  return {begin, end};
}

} // namespace meshc::codegen
