//===- HalfOps.cpp - f16 and bf16 arithmetic of PTX -----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// "PTX ISA", section "Half Precision Floating-Point Instructions". Sums and
// products of numbers of 16 bits are exact in f64, or as good as exact, and are
// rounded once.
//
//===----------------------------------------------------------------------===//

#include "test/gpu/ptx/Comparisons.h"
#include "test/gpu/ptx/Halves.h"

namespace meshc::ptx {
namespace {

template <class H> H add(H a, H b) {
  return narrow<H>(multiplyAddToOdd(widen(a), 1, widen(b)));
}
template <class H> H sub(H a, H b) {
  return narrow<H>(multiplyAddToOdd(widen(a), 1, -widen(b)));
}
template <class H> H mul(H a, H b) { return narrow<H>(widen(a) * widen(b)); }
template <class H> H fma(H a, H b, H c) {
  return narrow<H>(multiplyAddToOdd(widen(a), widen(b), widen(c)));
}
template <class H> H fmaRelu(H a, H b, H c) {
  H result = fma(a, b, c);
  return widen(result) < 0 ? H{0} : result;
}
template <class H> H negate(H a) { return {uint16_t(a.bits ^ 0x8000)}; }
template <class H> H absolute(H a) { return {uint16_t(a.bits & 0x7fff)}; }

template <class H, bool isMaximum, bool keepsNan> H extreme(H a, H b) {
  double x = widen(a), y = widen(b);
  if (x != x || y != y) {
    if (keepsNan || (x != x && y != y))
      return {0x7fff};
    return x != x ? b : a;
  }
  if (x == y)
    return std::signbit(x) == isMaximum ? b : a;
  return (x < y) == isMaximum ? b : a;
}

template <class H> H exp2Approximate(H a) {
  return narrow<H>(std::exp2(widen(a)));
}
template <class H> H tanhApproximate(H a) {
  return narrow<H>(std::tanh(widen(a)));
}

template <class H, Compare how> Predicate set(H a, H b) {
  return {compare<how>(widen(a), widen(b))};
}

//===----------------------------------------------------------------------===//
// f32 results of 16-bit operands ("Mixed Precision" instructions)
//===----------------------------------------------------------------------===//

template <class H> float toFloat(H half) {
  return static_cast<float>(widen(half));
}
template <class H> float addMixed(H a, float c) {
  return canonical(toFloat(a) + c);
}
template <class H> float subMixed(H a, float c) {
  return canonical(toFloat(a) - c);
}
template <class H> float fmaMixed(H a, H b, float c) {
  return canonical(std::fma(toFloat(a), toFloat(b), c));
}

template <class H> void addMixedOnes(Opcodes &all, const std::string &type) {
  all["add.rn.f32." + type] = makeOpcode<&addMixed<H>>();
  all["sub.rn.f32." + type] = makeOpcode<&subMixed<H>>();
  all["fma.rn.f32." + type] = makeOpcode<&fmaMixed<H>>();
}

//===----------------------------------------------------------------------===//
// Opcodes
//===----------------------------------------------------------------------===//

/// An operation on both halves of 32 bits.
template <class H, auto function> uint32_t twice(uint32_t a) {
  return join(function(lower<H>(a)), function(upper<H>(a)));
}
template <class H, auto function> uint32_t twiceOfTwo(uint32_t a, uint32_t b) {
  return join(function(lower<H>(a), lower<H>(b)),
              function(upper<H>(a), upper<H>(b)));
}
template <class H, auto function>
uint32_t twiceOfThree(uint32_t a, uint32_t b, uint32_t c) {
  return join(function(lower<H>(a), lower<H>(b), lower<H>(c)),
              function(upper<H>(a), upper<H>(b), upper<H>(c)));
}

template <class H, auto function>
void addUnary(Opcodes &all, const std::string &name, const std::string &type) {
  all[name + "." + type] = makeOpcode<function>();
  all[name + "." + type + "x2"] = makeOpcode<&twice<H, function>>();
}
template <class H, auto function>
void addBinary(Opcodes &all, const std::string &name, const std::string &type) {
  all[name + "." + type] = makeOpcode<function>();
  all[name + "." + type + "x2"] = makeOpcode<&twiceOfTwo<H, function>>();
}
template <class H, auto function>
void addTernary(Opcodes &all, const std::string &name,
                const std::string &type) {
  all[name + "." + type] = makeOpcode<function>();
  all[name + "." + type + "x2"] = makeOpcode<&twiceOfThree<H, function>>();
}

template <class H, Compare how>
void addComparison(Opcodes &all, const std::string &name,
                   const std::string &type) {
  all["setp." + name + "." + type] = makeOpcode<&set<H, how>>();
}

template <class H> void addComparisons(Opcodes &all, const std::string &type) {
  addComparison<H, Compare::Eq>(all, "eq", type);
  addComparison<H, Compare::Ne>(all, "ne", type);
  addComparison<H, Compare::Lt>(all, "lt", type);
  addComparison<H, Compare::Le>(all, "le", type);
  addComparison<H, Compare::Gt>(all, "gt", type);
  addComparison<H, Compare::Ge>(all, "ge", type);
  addComparison<H, Compare::Equ>(all, "equ", type);
  addComparison<H, Compare::Neu>(all, "neu", type);
  addComparison<H, Compare::Ltu>(all, "ltu", type);
  addComparison<H, Compare::Leu>(all, "leu", type);
  addComparison<H, Compare::Gtu>(all, "gtu", type);
  addComparison<H, Compare::Geu>(all, "geu", type);
  addComparison<H, Compare::Num>(all, "num", type);
  addComparison<H, Compare::Nan>(all, "nan", type);
}

template <class H> void addHalf(Opcodes &all, const std::string &type) {
  for (const char *rounding : {"", ".rn"}) {
    addBinary<H, &add<H>>(all, std::string("add") + rounding, type);
    addBinary<H, &sub<H>>(all, std::string("sub") + rounding, type);
    addBinary<H, &mul<H>>(all, std::string("mul") + rounding, type);
  }
  addTernary<H, &fma<H>>(all, "fma.rn", type);
  addTernary<H, &fmaRelu<H>>(all, "fma.rn.relu", type);
  addUnary<H, &negate<H>>(all, "neg", type);
  addUnary<H, &absolute<H>>(all, "abs", type);
  addBinary<H, &extreme<H, false, false>>(all, "min", type);
  addBinary<H, &extreme<H, true, false>>(all, "max", type);
  addBinary<H, &extreme<H, false, true>>(all, "min.NaN", type);
  addBinary<H, &extreme<H, true, true>>(all, "max.NaN", type);
  addUnary<H, &tanhApproximate<H>>(all, "tanh.approx", type);
  addComparisons<H>(all, type);
  addMixedOnes<H>(all, type);
}

} // namespace

void addHalfOpcodes(Opcodes &all) {
  addHalf<F16>(all, "f16");
  addHalf<Bf16>(all, "bf16");
  addUnary<F16, &exp2Approximate<F16>>(all, "ex2.approx", "f16");
  addUnary<Bf16, &exp2Approximate<Bf16>>(all, "ex2.approx.ftz", "bf16");
}

} // namespace meshc::ptx
