//===- Comparisons.cpp - setp and set of PTX ------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// "PTX ISA", section "Comparison and Selection Instructions". Those of bf16 and
// f16 are in HalfOps.cpp.
//
//===----------------------------------------------------------------------===//

#include "test/gpu/ptx/Comparisons.h"

namespace meshc::ptx {
namespace {

template <class T, Compare how, bool flushes> bool holds(T a, T b) {
  if constexpr (flushes) {
    a = flush(a);
    b = flush(b);
  }
  return compare<how>(a, b);
}

template <class T, Compare how, bool flushes> Predicate set(T a, T b) {
  return {holds<T, how, flushes>(a, b)};
}
template <class T, Compare how, Combine with, bool flushes>
Predicate setCombined(T a, T b, Predicate c) {
  bool value = holds<T, how, flushes>(a, b);
  return {with == Combine::And  ? value && c.value
          : with == Combine::Or ? value || c.value
                                : value != c.value};
}
template <class T, Compare how, bool flushes> uint32_t setMask(T a, T b) {
  return holds<T, how, flushes>(a, b) ? UINT32_MAX : 0;
}

template <class T, Compare how, bool flushes>
void addOne(Opcodes &all, const char *name, const char *type) {
  const char *suffix = flushes ? ".ftz." : ".";
  auto addCombined = [&](const char *with, Opcode opcode) {
    addOpcode(all, {"setp.", name, with, suffix, type}, opcode);
  };
  addCombined("", makeOpcode<&set<T, how, flushes>>());
  addCombined(".and",
              makeOpcode<&setCombined<T, how, Combine::And, flushes>>());
  addCombined(".or", makeOpcode<&setCombined<T, how, Combine::Or, flushes>>());
  addCombined(".xor",
              makeOpcode<&setCombined<T, how, Combine::Xor, flushes>>());
  addOpcode(all, {"set.", name, flushes ? ".ftz" : "", ".u32.", type},
            makeOpcode<&setMask<T, how, flushes>>());
}

template <class T, bool flushes = false>
void addOrdered(Opcodes &all, const char *type) {
  addOne<T, Compare::Eq, flushes>(all, "eq", type);
  addOne<T, Compare::Ne, flushes>(all, "ne", type);
  addOne<T, Compare::Lt, flushes>(all, "lt", type);
  addOne<T, Compare::Le, flushes>(all, "le", type);
  addOne<T, Compare::Gt, flushes>(all, "gt", type);
  addOne<T, Compare::Ge, flushes>(all, "ge", type);
}

template <class T, bool flushes = false>
void addFloat(Opcodes &all, const char *type) {
  addOrdered<T, flushes>(all, type);
  addOne<T, Compare::Equ, flushes>(all, "equ", type);
  addOne<T, Compare::Neu, flushes>(all, "neu", type);
  addOne<T, Compare::Ltu, flushes>(all, "ltu", type);
  addOne<T, Compare::Leu, flushes>(all, "leu", type);
  addOne<T, Compare::Gtu, flushes>(all, "gtu", type);
  addOne<T, Compare::Geu, flushes>(all, "geu", type);
  addOne<T, Compare::Num, flushes>(all, "num", type);
  addOne<T, Compare::Nan, flushes>(all, "nan", type);
}

/// `.lo`, `.ls`, `.hi` and `.hs` are the names for unsigned numbers.
template <class T> void addUnsigned(Opcodes &all, const char *type) {
  addOrdered<T>(all, type);
  addOne<T, Compare::Lt, false>(all, "lo", type);
  addOne<T, Compare::Le, false>(all, "ls", type);
  addOne<T, Compare::Gt, false>(all, "hi", type);
  addOne<T, Compare::Ge, false>(all, "hs", type);
}

template <class T> void addBits(Opcodes &all, const char *type) {
  addOne<T, Compare::Eq, false>(all, "eq", type);
  addOne<T, Compare::Ne, false>(all, "ne", type);
}

} // namespace

void addComparisonOpcodes(Opcodes &all) {
  addBits<uint16_t>(all, "b16");
  addBits<uint32_t>(all, "b32");
  addBits<uint64_t>(all, "b64");
  addUnsigned<uint16_t>(all, "u16");
  addUnsigned<uint32_t>(all, "u32");
  addUnsigned<uint64_t>(all, "u64");
  addOrdered<int16_t>(all, "s16");
  addOrdered<int32_t>(all, "s32");
  addOrdered<int64_t>(all, "s64");
  addFloat<float>(all, "f32");
  addFloat<float, true>(all, "f32");
  addFloat<double>(all, "f64");
}

} // namespace meshc::ptx
