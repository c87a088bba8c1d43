//===- FloatConversions.cpp - cvt between floats --------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// "PTX ISA", "cvt".
//
//===----------------------------------------------------------------------===//

#include "test/gpu/ptx/Halves.h"
#include "test/gpu/ptx/Op.h"

namespace meshc::ptx {
namespace {

template <class H> float halfToFloat(H a) {
  return canonical(static_cast<float>(widen(a)));
}
template <class H> double halfToDouble(H a) { return widen(a); }

/// bf16 is the upper half of f32: the common case in few instructions.
Bf16 roundToBf16(float a) {
  if (a != a)
    return {0x7fff};
  uint32_t bits;
  std::memcpy(&bits, &a, sizeof(bits));
  return {static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}

template <class H, Round mode> H floatToHalf(float a) {
  if constexpr (std::is_same_v<H, Bf16> && mode == Round::Nearest)
    return roundToBf16(a);
  else
    return narrow<H>(a, mode);
}
template <class H, Round mode> H doubleToHalf(double a) {
  return narrow<H>(a, mode);
}
template <class H, Round mode> H floatToHalfRelu(float a) {
  return a < 0 ? H{0} : floatToHalf<H, mode>(a);
}
/// The first operand becomes the upper half.
template <class H, Round mode> uint32_t floatsToHalves(float a, float b) {
  return join(floatToHalf<H, mode>(b), floatToHalf<H, mode>(a));
}
template <class H, Round mode> uint32_t floatsToHalvesRelu(float a, float b) {
  return join(floatToHalfRelu<H, mode>(b), floatToHalfRelu<H, mode>(a));
}

template <bool flushes> double floatToDouble(float a) {
  return double(flushes ? flush(a) : a);
}
template <Round mode, bool flushes> float doubleToFloat(double a) {
  float result = mode == Round::Nearest ? static_cast<float>(a)
                                        : convertIn<float>(mode, a);
  return canonical(flushes ? flush(result) : result);
}

/// To a whole number of the same type.
template <class T, Round mode, bool flushes> T toWhole(T a) {
  if (flushes)
    a = flush(a);
  T result = mode == Round::Nearest ? std::nearbyint(a)
             : mode == Round::Zero  ? std::trunc(a)
             : mode == Round::Down  ? std::floor(a)
                                    : std::ceil(a);
  return canonical(flushes ? flush(result) : result);
}

template <bool flushes> float saturate(float a) {
  if (flushes)
    a = flush(a);
  return a > 0 ? std::fmin(a, 1.0f) : 0.0f;
}
template <bool flushes> float same(float a) { return flushes ? flush(a) : a; }

template <auto function> void add(Opcodes &all, const std::string &name) {
  Opcode opcode = makeOpcode<function>();
  opcode.takesWider = true;
  all[name] = opcode;
}

template <class H, Round mode>
void addHalfMode(Opcodes &all, const std::string &rounding,
                 const std::string &type) {
  std::string name = "cvt" + rounding;
  add<&floatToHalf<H, mode>>(all, name + "." + type + ".f32");
  add<&floatToHalfRelu<H, mode>>(all, name + ".relu." + type + ".f32");
  add<&doubleToHalf<H, mode>>(all, name + "." + type + ".f64");
  add<&floatsToHalves<H, mode>>(all, name + "." + type + "x2.f32");
  add<&floatsToHalvesRelu<H, mode>>(all, name + ".relu." + type + "x2.f32");
}

template <class H> void addHalf(Opcodes &all, const std::string &type) {
  add<&halfToFloat<H>>(all, "cvt.f32." + type);
  add<&halfToDouble<H>>(all, "cvt.f64." + type);
  addHalfMode<H, Round::Nearest>(all, ".rn", type);
  addHalfMode<H, Round::Zero>(all, ".rz", type);
}

template <Round mode> void addMode(Opcodes &all, const std::string &rounding) {
  std::string name = "cvt" + rounding;
  add<&doubleToFloat<mode, false>>(all, name + ".f32.f64");
  add<&doubleToFloat<mode, true>>(all, name + ".ftz.f32.f64");
  add<&toWhole<float, mode, false>>(all, name + "i.f32.f32");
  add<&toWhole<float, mode, true>>(all, name + "i.ftz.f32.f32");
  add<&toWhole<double, mode, false>>(all, name + "i.f64.f64");
}

} // namespace

void addFloatConversions(Opcodes &all) {
  addHalf<F16>(all, "f16");
  addHalf<Bf16>(all, "bf16");
  // f16 alone has the directions.
  add<&floatToHalf<F16, Round::Down>>(all, "cvt.rm.f16.f32");
  add<&floatToHalf<F16, Round::Up>>(all, "cvt.rp.f16.f32");
  addMode<Round::Nearest>(all, ".rn");
  addMode<Round::Zero>(all, ".rz");
  addMode<Round::Down>(all, ".rm");
  addMode<Round::Up>(all, ".rp");
  add<&floatToDouble<false>>(all, "cvt.f64.f32");
  add<&floatToDouble<true>>(all, "cvt.ftz.f64.f32");
  add<&same<false>>(all, "cvt.f32.f32");
  add<&same<true>>(all, "cvt.ftz.f32.f32");
  add<&saturate<false>>(all, "cvt.sat.f32.f32");
  add<&saturate<true>>(all, "cvt.ftz.sat.f32.f32");
}

} // namespace meshc::ptx
