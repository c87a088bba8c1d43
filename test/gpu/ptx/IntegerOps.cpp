//===- IntegerOps.cpp - integer arithmetic of PTX -------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// "PTX ISA", sections "Integer Arithmetic Instructions" and "Extended-Precision
// Integer Arithmetic Instructions".
//
//===----------------------------------------------------------------------===//

#include "test/gpu/ptx/Thread.h"

#include <algorithm>
#include <limits>

namespace meshc::ptx {
namespace {

template <class T> using Unsigned = std::make_unsigned_t<T>;

/// Arithmetic modulo 2^n, without the overflow of signed types and the
/// promotion of short ones.
template <class T> T add(T a, T b) {
  return static_cast<T>(uint64_t(a) + uint64_t(b));
}
template <class T> T sub(T a, T b) {
  return static_cast<T>(uint64_t(a) - uint64_t(b));
}
template <class T> T mulLow(T a, T b) {
  return static_cast<T>(uint64_t(a) * uint64_t(b));
}
template <class T> T mulHigh(T a, T b) {
  using Wide =
      std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
  return static_cast<T>((Wide(a) * Wide(b)) >> (8 * sizeof(T)));
}
template <class T, class Wide> Wide mulWide(T a, T b) {
  return static_cast<Wide>(uint64_t(a) * uint64_t(b));
}
template <class T> T madLow(T a, T b, T c) { return add(mulLow(a, b), c); }
template <class T> T madHigh(T a, T b, T c) { return add(mulHigh(a, b), c); }
template <class T, class Wide> Wide madWide(T a, T b, Wide c) {
  return add(mulWide<T, Wide>(a, b), c);
}

template <class T> T divide(const Op *op, Thread &thread, T a, T b) {
  if (b == 0)
    fail(op, thread, "divides by zero");
  if constexpr (std::is_signed_v<T>)
    if (b == -1)
      return sub<T>(0, a);
  return static_cast<T>(a / b);
}
template <class T> T remainder(const Op *op, Thread &thread, T a, T b) {
  if (b == 0)
    fail(op, thread, "divides by zero");
  if constexpr (std::is_signed_v<T>)
    if (b == -1)
      return 0;
  return static_cast<T>(a % b);
}

template <class T> T absolute(T a) { return a < 0 ? sub<T>(0, a) : a; }
template <class T> T negate(T a) { return sub<T>(0, a); }
template <class T> T minimum(T a, T b) { return std::min(a, b); }
template <class T> T maximum(T a, T b) { return std::max(a, b); }
/// .relu: negative results become 0.
template <class T> T minimumOrZero(T a, T b) {
  return std::max<T>(std::min(a, b), 0);
}
template <class T> T maximumOrZero(T a, T b) {
  return std::max<T>(std::max(a, b), 0);
}
/// |a - b| + c.
template <class T> T sumOfDifference(T a, T b, T c) {
  return add(c, a < b ? sub(b, a) : sub(a, b));
}

int32_t clampToInt(int64_t value) {
  return static_cast<int32_t>(
      std::clamp<int64_t>(value, std::numeric_limits<int32_t>::min(),
                          std::numeric_limits<int32_t>::max()));
}
int32_t addSaturated(int32_t a, int32_t b) {
  return clampToInt(int64_t(a) + b);
}
int32_t subSaturated(int32_t a, int32_t b) {
  return clampToInt(int64_t(a) - b);
}

//===----------------------------------------------------------------------===//
// With the carry flag
//===----------------------------------------------------------------------===//

/// a + b, with the flag if `reads`; sets it if `writes`.
template <class T, bool reads, bool writes>
T addCarry(const Op *, Thread &thread, T a, T b) {
  auto sum = static_cast<unsigned __int128>(a) + b + (reads && thread.carry);
  if (writes)
    thread.carry = sum >> (8 * sizeof(T)) != 0;
  return static_cast<T>(sum);
}
/// a - b; the flag is a borrow.
template <class T, bool reads, bool writes>
T subBorrow(const Op *, Thread &thread, T a, T b) {
  auto subtrahend = static_cast<unsigned __int128>(b) + (reads && thread.carry);
  if (writes)
    thread.carry = subtrahend > a;
  return static_cast<T>(a - subtrahend);
}
/// The low or high half of a · b, plus c.
template <class T, bool high, bool reads, bool writes>
Unsigned<T> madCarry(const Op *op, Thread &thread, T a, T b, Unsigned<T> c) {
  T product = high ? mulHigh(a, b) : mulLow(a, b);
  return addCarry<Unsigned<T>, reads, writes>(
      op, thread, static_cast<Unsigned<T>>(product), c);
}

template <class T> void addCarryOpcodes(Opcodes &all, const std::string &type) {
  all["add.cc." + type] = makeOpcode<&addCarry<T, false, true>>();
  all["addc." + type] = makeOpcode<&addCarry<T, true, false>>();
  all["addc.cc." + type] = makeOpcode<&addCarry<T, true, true>>();
  all["sub.cc." + type] = makeOpcode<&subBorrow<T, false, true>>();
  all["subc." + type] = makeOpcode<&subBorrow<T, true, false>>();
  all["subc.cc." + type] = makeOpcode<&subBorrow<T, true, true>>();
}

template <class T>
void addCarryProducts(Opcodes &all, const std::string &type) {
  all["mad.lo.cc." + type] = makeOpcode<&madCarry<T, false, false, true>>();
  all["mad.hi.cc." + type] = makeOpcode<&madCarry<T, true, false, true>>();
  all["madc.lo." + type] = makeOpcode<&madCarry<T, false, true, false>>();
  all["madc.hi." + type] = makeOpcode<&madCarry<T, true, true, false>>();
  all["madc.lo.cc." + type] = makeOpcode<&madCarry<T, false, true, true>>();
  all["madc.hi.cc." + type] = makeOpcode<&madCarry<T, true, true, true>>();
}

//===----------------------------------------------------------------------===//
// Opcodes of a type
//===----------------------------------------------------------------------===//

template <class T> void addArithmetic(Opcodes &all, const std::string &type) {
  all["add." + type] = makeOpcode<&add<T>>();
  all["sub." + type] = makeOpcode<&sub<T>>();
  all["mul.lo." + type] = makeOpcode<&mulLow<T>>();
  all["mul.hi." + type] = makeOpcode<&mulHigh<T>>();
  all["mad.lo." + type] = makeOpcode<&madLow<T>>();
  all["mad.hi." + type] = makeOpcode<&madHigh<T>>();
  all["div." + type] = makeOpcode<&divide<T>>();
  all["rem." + type] = makeOpcode<&remainder<T>>();
  all["min." + type] = makeOpcode<&minimum<T>>();
  all["max." + type] = makeOpcode<&maximum<T>>();
  all["sad." + type] = makeOpcode<&sumOfDifference<T>>();
  if constexpr (std::is_signed_v<T>) {
    all["abs." + type] = makeOpcode<&absolute<T>>();
    all["neg." + type] = makeOpcode<&negate<T>>();
  }
}

template <class T, class Wide>
void addWide(Opcodes &all, const std::string &type) {
  all["mul.wide." + type] = makeOpcode<&mulWide<T, Wide>>();
  all["mad.wide." + type] = makeOpcode<&madWide<T, Wide>>();
}

} // namespace

void addIntegerOpcodes(Opcodes &all) {
  addArithmetic<int16_t>(all, "s16");
  addArithmetic<uint16_t>(all, "u16");
  addArithmetic<int32_t>(all, "s32");
  addArithmetic<uint32_t>(all, "u32");
  addArithmetic<int64_t>(all, "s64");
  addArithmetic<uint64_t>(all, "u64");
  addWide<int16_t, int32_t>(all, "s16");
  addWide<uint16_t, uint32_t>(all, "u16");
  addWide<int32_t, int64_t>(all, "s32");
  addWide<uint32_t, uint64_t>(all, "u32");
  all["min.relu.s32"] = makeOpcode<&minimumOrZero<int32_t>>();
  all["max.relu.s32"] = makeOpcode<&maximumOrZero<int32_t>>();
  all["add.sat.s32"] = makeOpcode<&addSaturated>();
  all["sub.sat.s32"] = makeOpcode<&subSaturated>();
  // The flag is that of unsigned numbers for both.
  addCarryOpcodes<uint32_t>(all, "u32");
  addCarryOpcodes<uint32_t>(all, "s32");
  addCarryOpcodes<uint64_t>(all, "u64");
  addCarryOpcodes<uint64_t>(all, "s64");
  addCarryProducts<uint32_t>(all, "u32");
  addCarryProducts<int32_t>(all, "s32");
  addCarryProducts<uint64_t>(all, "u64");
  addCarryProducts<int64_t>(all, "s64");
}

} // namespace meshc::ptx
