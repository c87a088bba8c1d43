//===- FloatOps.cpp - f32 and f64 arithmetic of PTX -----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// "PTX ISA", section "Floating-Point Instructions".
//
//===----------------------------------------------------------------------===//

#include "test/gpu/ptx/Floats.h"
#include "test/gpu/ptx/Op.h"

namespace meshc::ptx {
namespace {

/// What a result is changed to.
template <bool flushes, bool saturates, class T> T finish(T value) {
  if constexpr (saturates)
    return value > 0 ? std::fmin(value, T(1)) : T(0); // NaN becomes 0
  if constexpr (flushes)
    value = flush(value);
  return canonical(value);
}
template <bool flushes, class T> T take(T value) {
  return flushes ? flush(value) : value;
}

float lower(uint64_t pair) { return get<float>(pair); }
float upper(uint64_t pair) { return get<float>(pair >> 32); }
uint32_t toBits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

template <class T, Round mode, bool flushes, bool saturates> T add(T a, T b) {
  a = take<flushes>(a);
  b = take<flushes>(b);
  T result = mode == Round::Nearest ? a + b : addIn(mode, a, b);
  return finish<flushes, saturates>(result);
}
template <class T, Round mode, bool flushes, bool saturates> T sub(T a, T b) {
  return add<T, mode, flushes, saturates>(a, -b);
}
template <class T, Round mode, bool flushes, bool saturates> T mul(T a, T b) {
  a = take<flushes>(a);
  b = take<flushes>(b);
  T result = mode == Round::Nearest ? a * b : multiplyIn(mode, a, b);
  return finish<flushes, saturates>(result);
}
template <class T, Round mode, bool flushes, bool saturates>
T fma(T a, T b, T c) {
  a = take<flushes>(a);
  b = take<flushes>(b);
  c = take<flushes>(c);
  T result =
      mode == Round::Nearest ? std::fma(a, b, c) : multiplyAddIn(mode, a, b, c);
  return finish<flushes, saturates>(result);
}
template <class T, Round mode, bool flushes> T divide(T a, T b) {
  a = take<flushes>(a);
  b = take<flushes>(b);
  T result = mode == Round::Nearest ? a / b : divideIn(mode, a, b);
  return finish<flushes, false>(result);
}
template <class T, Round mode, bool flushes> T reciprocal(T a) {
  return divide<T, mode, flushes>(T(1), a);
}
template <class T, Round mode, bool flushes> T root(T a) {
  a = take<flushes>(a);
  T result = mode == Round::Nearest ? std::sqrt(a) : rootIn(mode, a);
  return finish<flushes, false>(result);
}

/// An operation on both floats of 64 bits.
template <auto function> uint64_t twice(uint64_t a, uint64_t b) {
  return uint64_t(toBits(function(upper(a), upper(b)))) << 32 |
         toBits(function(lower(a), lower(b)));
}
template <auto function>
uint64_t twiceOfThree(uint64_t a, uint64_t b, uint64_t c) {
  return uint64_t(toBits(function(upper(a), upper(b), upper(c)))) << 32 |
         toBits(function(lower(a), lower(b), lower(c)));
}

template <class T> T negate(T a) { return -a; }
template <class T> T absolute(T a) { return std::abs(a); }
template <class T> T flushedNegate(T a) { return flush(-a); }
template <class T> T flushedAbsolute(T a) { return flush(std::abs(a)); }
/// The sign of a, and the magnitude of b.
template <class T> T copySign(T a, T b) { return std::copysign(b, a); }

/// -0 is less than +0. Without .NaN, a number wins against NaN.
template <class T, bool isMaximum, bool keepsNan, bool flushes>
T extreme(T a, T b) {
  a = take<flushes>(a);
  b = take<flushes>(b);
  if (a != a || b != b) {
    if (keepsNan || (a != a && b != b))
      return canonicalNan(a);
    return a != a ? b : a;
  }
  if (a == b)
    return std::signbit(a) == isMaximum ? b : a;
  return (a < b) == isMaximum ? b : a;
}

template <int category> Predicate test(float a) {
  switch (category) {
  case FP_INFINITE:
    return {std::isinf(a)};
  case FP_NAN:
    return {std::isnan(a)};
  case FP_NORMAL:
    return {std::isnormal(a)};
  case FP_SUBNORMAL:
    return {std::fpclassify(a) == FP_SUBNORMAL};
  default:
    return {std::isfinite(a)};
  }
}

//===----------------------------------------------------------------------===//
// Approximations, computed in f64
//===----------------------------------------------------------------------===//

using Exact = double (*)(double);
double exp2Exact(double a) { return std::exp2(a); }
double log2Exact(double a) { return std::log2(a); }
double sinExact(double a) { return std::sin(a); }
double cosExact(double a) { return std::cos(a); }
double tanhExact(double a) { return std::tanh(a); }
double rootExact(double a) { return std::sqrt(a); }
double inverseRootExact(double a) { return 1 / std::sqrt(a); }
double reciprocalExact(double a) { return 1 / a; }

template <Exact function, bool flushes> float approximate(float a) {
  auto result = static_cast<float>(function(double(take<flushes>(a))));
  return finish<flushes, false>(result);
}

template <Exact function>
void addApproximation(Opcodes &all, const std::string &name) {
  all[name + ".f32"] = makeOpcode<&approximate<function, false>>();
  all[name + ".ftz.f32"] = makeOpcode<&approximate<function, true>>();
}

//===----------------------------------------------------------------------===//
// Opcodes
//===----------------------------------------------------------------------===//

template <class T, Round mode, bool flushes, bool saturates>
void addSums(Opcodes &all, const std::string &suffix, bool isDefault) {
  const char *names[] = {".rn", ".rz", ".rm", ".rp"};
  std::string full = names[int(mode)] + suffix;
  all["add" + full] = makeOpcode<&add<T, mode, flushes, saturates>>();
  all["sub" + full] = makeOpcode<&sub<T, mode, flushes, saturates>>();
  all["mul" + full] = makeOpcode<&mul<T, mode, flushes, saturates>>();
  all["fma" + full] = makeOpcode<&fma<T, mode, flushes, saturates>>();
  all["mad" + full] = all["fma" + full];
  if (!saturates) {
    all["div" + full] = makeOpcode<&divide<T, mode, flushes>>();
    all["rcp" + full] = makeOpcode<&reciprocal<T, mode, flushes>>();
    all["sqrt" + full] = makeOpcode<&root<T, mode, flushes>>();
  }
  if (isDefault) // round to nearest where nothing is written
    for (const char *name : {"add", "sub", "mul"})
      all[name + suffix] = all[name + full];
}

template <class T, bool flushes, bool saturates>
void addModes(Opcodes &all, const std::string &suffix) {
  addSums<T, Round::Nearest, flushes, saturates>(all, suffix, true);
  addSums<T, Round::Zero, flushes, saturates>(all, suffix, false);
  addSums<T, Round::Down, flushes, saturates>(all, suffix, false);
  addSums<T, Round::Up, flushes, saturates>(all, suffix, false);
}

/// Those of two floats at once, which newer chips have.
template <Round mode, bool flushes>
void addPairs(Opcodes &all, const std::string &rounding) {
  std::string suffix = rounding + (flushes ? ".ftz.f32x2" : ".f32x2");
  all["add" + suffix] = makeOpcode<&twice<&add<float, mode, flushes, false>>>();
  all["sub" + suffix] = makeOpcode<&twice<&sub<float, mode, flushes, false>>>();
  all["mul" + suffix] = makeOpcode<&twice<&mul<float, mode, flushes, false>>>();
  all["fma" + suffix] =
      makeOpcode<&twiceOfThree<&fma<float, mode, flushes, false>>>();
}

template <class T, bool flushes>
void addExtremes(Opcodes &all, const std::string &suffix) {
  all["min" + suffix] = makeOpcode<&extreme<T, false, false, flushes>>();
  all["max" + suffix] = makeOpcode<&extreme<T, true, false, flushes>>();
}

template <class T> void addSigns(Opcodes &all, const std::string &type) {
  all["neg." + type] = makeOpcode<&negate<T>>();
  all["abs." + type] = makeOpcode<&absolute<T>>();
  all["copysign." + type] = makeOpcode<&copySign<T>>();
}

} // namespace

void addFloatOpcodes(Opcodes &all) {
  addModes<float, false, false>(all, ".f32");
  addModes<float, true, false>(all, ".ftz.f32");
  addModes<float, false, true>(all, ".sat.f32");
  addModes<float, true, true>(all, ".ftz.sat.f32");
  addModes<double, false, false>(all, ".f64");
  addPairs<Round::Nearest, false>(all, ".rn");
  addPairs<Round::Nearest, true>(all, ".rn");
  addPairs<Round::Zero, false>(all, ".rz");
  addPairs<Round::Down, false>(all, ".rm");
  addPairs<Round::Up, false>(all, ".rp");
  addExtremes<float, false>(all, ".f32");
  addExtremes<float, true>(all, ".ftz.f32");
  addExtremes<double, false>(all, ".f64");
  all["min.NaN.f32"] = makeOpcode<&extreme<float, false, true, false>>();
  all["max.NaN.f32"] = makeOpcode<&extreme<float, true, true, false>>();
  all["min.ftz.NaN.f32"] = makeOpcode<&extreme<float, false, true, true>>();
  all["max.ftz.NaN.f32"] = makeOpcode<&extreme<float, true, true, true>>();
  addSigns<float>(all, "f32");
  addSigns<double>(all, "f64");
  all["neg.ftz.f32"] = makeOpcode<&flushedNegate<float>>();
  all["abs.ftz.f32"] = makeOpcode<&flushedAbsolute<float>>();
  all["testp.finite.f32"] = makeOpcode<&test<-1>>();
  all["testp.infinite.f32"] = makeOpcode<&test<FP_INFINITE>>();
  all["testp.notanumber.f32"] = makeOpcode<&test<FP_NAN>>();
  all["testp.normal.f32"] = makeOpcode<&test<FP_NORMAL>>();
  all["testp.subnormal.f32"] = makeOpcode<&test<FP_SUBNORMAL>>();
  addApproximation<exp2Exact>(all, "ex2.approx");
  addApproximation<log2Exact>(all, "lg2.approx");
  addApproximation<sinExact>(all, "sin.approx");
  addApproximation<cosExact>(all, "cos.approx");
  addApproximation<rootExact>(all, "sqrt.approx");
  addApproximation<inverseRootExact>(all, "rsqrt.approx");
  addApproximation<reciprocalExact>(all, "rcp.approx");
  all["tanh.approx.f32"] = makeOpcode<&approximate<tanhExact, false>>();
  for (const char *name : {"div.approx", "div.full"}) {
    all[std::string(name) + ".f32"] =
        makeOpcode<&divide<float, Round::Nearest, false>>();
    all[std::string(name) + ".ftz.f32"] =
        makeOpcode<&divide<float, Round::Nearest, true>>();
  }
}

} // namespace meshc::ptx
