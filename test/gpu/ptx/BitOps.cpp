//===- BitOps.cpp - logic, shifts and bit fields of PTX -------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// "PTX ISA", sections "Logic and Shift Instructions", "Integer Arithmetic
// Instructions" (popc, clz, bfind, brev, bfe, bfi) and "prmt".
//
//===----------------------------------------------------------------------===//

#include "test/gpu/ptx/Op.h"

#include <algorithm>

namespace meshc::ptx {
namespace {

template <class T> constexpr uint32_t bitsOf = 8 * sizeof(T);

template <class T> T bitAnd(T a, T b) { return static_cast<T>(a & b); }
template <class T> T bitOr(T a, T b) { return static_cast<T>(a | b); }
template <class T> T bitXor(T a, T b) { return static_cast<T>(a ^ b); }
template <class T> T bitNot(T a) { return static_cast<T>(~a); }
template <class T> T logicalNot(T a) { return a == 0; }

Predicate bothOf(Predicate a, Predicate b) { return {a.value && b.value}; }
Predicate eitherOf(Predicate a, Predicate b) { return {a.value || b.value}; }
Predicate oneOf(Predicate a, Predicate b) { return {a.value != b.value}; }
Predicate notOf(Predicate a) { return {!a.value}; }

/// Shifts by more than the width count as by the width.
template <class T> T shiftLeft(T a, uint32_t by) {
  return by >= bitsOf<T> ? T(0) : static_cast<T>(uint64_t(a) << by);
}
template <class T> T shiftRight(T a, uint32_t by) {
  if (by >= bitsOf<T>)
    return a < 0 ? T(-1) : T(0);
  return static_cast<T>(a >> by);
}

/// The upper or lower word of the pair (b, a), shifted by c.
template <bool left, bool wraps>
uint32_t funnel(uint32_t a, uint32_t b, uint32_t c) {
  uint32_t by = wraps ? c & 31 : std::min<uint32_t>(c, 32);
  uint64_t pair = uint64_t(b) << 32 | a;
  return static_cast<uint32_t>(left ? (pair << by) >> 32 : pair >> by);
}

template <class T> uint32_t population(T a) {
  return static_cast<uint32_t>(__builtin_popcountll(a));
}
template <class T> uint32_t leadingZeros(T a) {
  return a == 0 ? bitsOf<T>
                : static_cast<uint32_t>(__builtin_clzll(a)) - (64 - bitsOf<T>);
}
template <class T> T reverse(T a) {
  T result = 0;
  for (uint32_t bit = 0; bit < bitsOf<T>; ++bit)
    result |= T(a >> bit & 1) << (bitsOf<T> - 1 - bit);
  return result;
}
/// The position of the most significant bit that is not the sign's.
template <class T, bool asShift> uint32_t findBit(T a) {
  using U = std::make_unsigned_t<T>;
  U bits = static_cast<U>(a < 0 ? ~a : a);
  if (bits == 0)
    return UINT32_MAX;
  uint32_t position = bitsOf<T> - 1 - leadingZeros<U>(bits);
  return asShift ? bitsOf<T> - 1 - position : position;
}

/// c bits of a from bit b on; signed fields are sign-extended.
template <class T> T extractField(T a, uint32_t b, uint32_t c) {
  using U = std::make_unsigned_t<T>;
  uint32_t position = b & 0xff, length = c & 0xff;
  if (length == 0)
    return 0;
  uint32_t last = std::min(position + length, bitsOf<T>) - 1;
  U sign = 0;
  if (std::is_signed_v<T>)
    sign = static_cast<U>(a) >> std::min(last, bitsOf<T> - 1) & 1;
  U result = 0;
  for (uint32_t bit = 0; bit < bitsOf<T>; ++bit) {
    U value = bit < length && position + bit < bitsOf<T>
                  ? static_cast<U>(a) >> (position + bit) & 1
                  : sign;
    result |= value << bit;
  }
  return static_cast<T>(result);
}

/// b with d bits of a in place of its own from bit c on.
template <class T> T insertField(T a, T b, uint32_t c, uint32_t d) {
  uint32_t position = c & 0xff, length = d & 0xff;
  for (uint32_t bit = 0; bit < length && position + bit < bitsOf<T>; ++bit) {
    T mask = T(1) << (position + bit);
    b = (a >> bit & 1) ? b | mask : b & ~mask;
  }
  return b;
}

/// Each bit by the table d, whose index is made of the bits of a, b and c.
uint32_t lookUp(uint32_t a, uint32_t b, uint32_t c, uint32_t table) {
  uint32_t result = 0;
  for (uint32_t index = 0; index < 8; ++index)
    if (table >> index & 1)
      result |=
          (index & 4 ? a : ~a) & (index & 2 ? b : ~b) & (index & 1 ? c : ~c);
  return result;
}

/// Four of the eight bytes of (b, a), each chosen by four bits of c.
uint32_t permute(uint32_t a, uint32_t b, uint32_t c) {
  uint64_t bytes = uint64_t(b) << 32 | a;
  uint32_t result = 0;
  for (uint32_t i = 0; i < 4; ++i) {
    uint32_t selector = c >> (4 * i) & 0xf;
    auto byte = static_cast<uint8_t>(bytes >> (8 * (selector & 7)));
    if (selector & 8) // its sign only
      byte = byte & 0x80 ? 0xff : 0;
    result |= uint32_t(byte) << (8 * i);
  }
  return result;
}

template <class T> T select(T a, T b, Predicate p) { return p.value ? a : b; }
/// a if c ≥ 0, else b.
template <class T> T selectBySign(T a, T b, int32_t c) {
  return c >= 0 ? a : b;
}

template <class T> void addLogic(Opcodes &all, const std::string &type) {
  all["and." + type] = makeOpcode<&bitAnd<T>>();
  all["or." + type] = makeOpcode<&bitOr<T>>();
  all["xor." + type] = makeOpcode<&bitXor<T>>();
  all["not." + type] = makeOpcode<&bitNot<T>>();
  all["cnot." + type] = makeOpcode<&logicalNot<T>>();
}

template <class S> void addShifts(Opcodes &all, const std::string &bits) {
  using U = std::make_unsigned_t<S>;
  all["shl.b" + bits] = makeOpcode<&shiftLeft<U>>();
  all["shr.b" + bits] = makeOpcode<&shiftRight<U>>();
  all["shr.u" + bits] = makeOpcode<&shiftRight<U>>();
  all["shr.s" + bits] = makeOpcode<&shiftRight<S>>();
}

template <class S> void addFields(Opcodes &all, const std::string &bits) {
  using U = std::make_unsigned_t<S>;
  all["popc.b" + bits] = makeOpcode<&population<U>>();
  all["clz.b" + bits] = makeOpcode<&leadingZeros<U>>();
  all["brev.b" + bits] = makeOpcode<&reverse<U>>();
  all["bfind.u" + bits] = makeOpcode<&findBit<U, false>>();
  all["bfind.s" + bits] = makeOpcode<&findBit<S, false>>();
  all["bfind.shiftamt.u" + bits] = makeOpcode<&findBit<U, true>>();
  all["bfind.shiftamt.s" + bits] = makeOpcode<&findBit<S, true>>();
  all["bfe.u" + bits] = makeOpcode<&extractField<U>>();
  all["bfe.s" + bits] = makeOpcode<&extractField<S>>();
  all["bfi.b" + bits] = makeOpcode<&insertField<U>>();
}

template <class T>
void addSelections(Opcodes &all, const std::string &bits,
                   std::initializer_list<const char *> letters) {
  for (const char *letter : letters) {
    all["selp." + (letter + bits)] = makeOpcode<&select<T>>();
    all["slct." + (letter + bits) + ".s32"] = makeOpcode<&selectBySign<T>>();
  }
}

} // namespace

void addBitOpcodes(Opcodes &all) {
  addLogic<uint16_t>(all, "b16");
  addLogic<uint32_t>(all, "b32");
  addLogic<uint64_t>(all, "b64");
  all["and.pred"] = makeOpcode<&bothOf>();
  all["or.pred"] = makeOpcode<&eitherOf>();
  all["xor.pred"] = makeOpcode<&oneOf>();
  all["not.pred"] = makeOpcode<&notOf>();
  addShifts<int16_t>(all, "16");
  addShifts<int32_t>(all, "32");
  addShifts<int64_t>(all, "64");
  addFields<int32_t>(all, "32");
  addFields<int64_t>(all, "64");
  all["shf.l.wrap.b32"] = makeOpcode<&funnel<true, true>>();
  all["shf.l.clamp.b32"] = makeOpcode<&funnel<true, false>>();
  all["shf.r.wrap.b32"] = makeOpcode<&funnel<false, true>>();
  all["shf.r.clamp.b32"] = makeOpcode<&funnel<false, false>>();
  all["lop3.b32"] = makeOpcode<&lookUp>();
  all["prmt.b32"] = makeOpcode<&permute>();
  addSelections<uint16_t>(all, "16", {"b", "s", "u"});
  addSelections<uint32_t>(all, "32", {"b", "s", "u", "f"});
  addSelections<uint64_t>(all, "64", {"b", "s", "u", "f"});
}

} // namespace meshc::ptx
