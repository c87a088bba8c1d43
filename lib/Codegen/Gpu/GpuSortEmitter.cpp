//===- GpuSortEmitter.cpp - long rows sorted by digits, on a GPU ----------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/Gpu/GpuSortEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace meshc::codegen {

/// Bits of a digit, its values, and digits of a number of 32 bits.
static constexpr int64_t digitBits = 4, digitValues = 16, digitCount = 8;
/// Threads of a block: as many as have counts of all values in its memory.
static constexpr int64_t sortingThreads = 512;

bool GpuSortEmitter::isBetterFor(const SortShape &shape) {
  constexpr int64_t longRow = 1024, mostEntries = int64_t(1) << 20;
  int64_t all = shape.entries;
  for (const Loop &loop : shape.rows)
    all *= loop.size;
  return shape.entries > longRow && all <= mostEntries;
}

GpuSortEmitter::GpuSortEmitter(const SortShape &shape, KernelElements &emitter)
    : SortEmitter(shape, emitter) {
  map.points = getRows();
  map.steps = shape.entries;
  map.members = sortingThreads;
  map.membersAreNeighbours = true;
}

void GpuSortEmitter::emit(GpuGroup &threads) {
  group = &threads;
  Value number = group->getPoint();
  first = arith::MulIOp::create(builder, loc, number,
                                emitter.getIndexConstant(shape.entries));
  row = makeRow(shape.rows, number);
  constexpr int64_t wordBytes = 4;
  for (unsigned side : {0U, 1U})
    entries[side] =
        group->allocateGlobal("entries_" + std::to_string(side),
                              getRows() * shape.entries * wordBytes);
  counts = group->allocate(digitValues * sortingThreads * wordBytes);
  sums = group->allocate(sortingThreads * wordBytes);
  for (int64_t digit = 0; digit < digitCount; ++digit)
    emitPass(digit);
}

void GpuSortEmitter::emitPass(int64_t digit) {
  KernelElements::Scope scope(emitter);
  countDigits(digit);
  group->emitBarrier();
  sumCounts();
  group->emitBarrier();
  moveEntries(digit);
  group->emitBarrier();
}

Value GpuSortEmitter::loadCount(Value place) {
  return group->load(counts, builder.getI32Type(), place);
}

void GpuSortEmitter::storeCount(Value count, Value place) {
  group->store(counts, count, place);
}

/// Runs over the thread's piece of the row as the passes before have left it.
void GpuSortEmitter::forOwnEntries(int64_t digit, EntryBody body) {
  int64_t length = llvm::divideCeil(shape.entries, sortingThreads);
  Value all = emitter.getIndexConstant(shape.entries);
  Value begin = arith::MulIOp::create(builder, loc, group->getMember(),
                                      emitter.getIndexConstant(length));
  begin = arith::MinUIOp::create(builder, loc, begin, all);
  Value end = arith::MinUIOp::create(builder, loc, add(begin, length), all);
  emitFor(begin, end, 1, {}, [&](Value slot, ArrayRef<Value>) {
    Value entry = slot;
    if (digit > 0)
      entry = arith::IndexCastOp::create(
          builder, loc, builder.getIndexType(),
          group->load(entries[(digit - 1) % 2], builder.getI32Type(),
                      arith::AddIOp::create(builder, loc, first, slot)));
    body(entry);
    return Values();
  });
}

/// The place of the thread's count of the entry's digit: all threads' counts of
/// a value come before those of the next one.
Value GpuSortEmitter::getDigitCount(Value entry, int64_t digit) {
  Type i32 = builder.getI32Type();
  Value number = arith::XOrIOp::create(builder, loc, getOrdered(entry),
                                       constant(i32, INT32_MIN));
  number = arith::ShRUIOp::create(builder, loc, number,
                                  constant(i32, digit * digitBits));
  number = arith::AndIOp::create(builder, loc, number,
                                 constant(i32, digitValues - 1));
  Value value = arith::IndexCastUIOp::create(builder, loc,
                                             builder.getIndexType(), number);
  value = arith::MulIOp::create(builder, loc, value,
                                emitter.getIndexConstant(sortingThreads));
  return arith::AddIOp::create(builder, loc, value, group->getMember());
}

void GpuSortEmitter::countDigits(int64_t digit) {
  Type i32 = builder.getI32Type();
  emitFor(emitter.getIndexConstant(0), emitter.getIndexConstant(digitValues), 1,
          {}, [&](Value value, ArrayRef<Value>) {
            Value place = arith::MulIOp::create(
                builder, loc, value, emitter.getIndexConstant(sortingThreads));
            storeCount(
                constant(i32, 0),
                arith::AddIOp::create(builder, loc, place, group->getMember()));
            return Values();
          });
  forOwnEntries(digit, [&](Value entry) {
    Value place = getDigitCount(entry, digit);
    storeCount(
        arith::AddIOp::create(builder, loc, loadCount(place), constant(i32, 1)),
        place);
  });
}

/// Replaces each count by the sum of those before it: each thread sums as many
/// as there are values, and then all sums are added up by doubling distances.
void GpuSortEmitter::sumCounts() {
  Type i32 = builder.getI32Type();
  Value member = group->getMember();
  Value begin = arith::MulIOp::create(builder, loc, member,
                                      emitter.getIndexConstant(digitValues));
  auto forCounts = [&](Value carried,
                       llvm::function_ref<Value(Value, Value)> code) {
    return emitFor(
        emitter.getIndexConstant(0), emitter.getIndexConstant(digitValues), 1,
        carried, [&](Value number, ArrayRef<Value> sum) -> Values {
          return {
              code(arith::AddIOp::create(builder, loc, begin, number), sum[0])};
        })[0];
  };
  auto plus = [&](Value a, Value b) -> Value {
    return arith::AddIOp::create(builder, loc, a, b);
  };
  Value own = forCounts(constant(i32, 0), [&](Value place, Value sum) {
    return plus(sum, loadCount(place));
  });
  Value sum = own;
  for (int64_t distance = 1; distance < sortingThreads; distance *= 2) {
    group->store(sums, sum, member);
    group->emitBarrier();
    Value down = emitter.getIndexConstant(distance);
    Value isLow = isBelow(member, down);
    Value other = arith::SelectOp::create(
        builder, loc, isLow, member,
        arith::SubIOp::create(builder, loc, member, down));
    Value before = arith::SelectOp::create(
        builder, loc, isLow, constant(i32, 0), group->load(sums, i32, other));
    group->emitBarrier();
    sum = plus(sum, before);
  }
  forCounts(arith::SubIOp::create(builder, loc, sum, own),
            [&](Value place, Value start) {
              Value count = loadCount(place);
              storeCount(start, place);
              return plus(start, count);
            });
}

/// Entries go to the places that the counts give, the last time into the
/// result.
void GpuSortEmitter::moveEntries(int64_t digit) {
  Type i32 = builder.getI32Type();
  forOwnEntries(digit, [&](Value entry) {
    Value count = getDigitCount(entry, digit), place = loadCount(count);
    storeCount(arith::AddIOp::create(builder, loc, place, constant(i32, 1)),
               count);
    place =
        arith::IndexCastOp::create(builder, loc, builder.getIndexType(), place);
    if (digit + 1 == digitCount)
      return emitIf(isBelow(place, emitter.getIndexConstant(shape.chosen)),
                    [&] { storeEntry(place, entry); });
    group->store(entries[digit % 2],
                 arith::IndexCastOp::create(builder, loc, i32, entry),
                 arith::AddIOp::create(builder, loc, first, place));
  });
}

} // namespace meshc::codegen
