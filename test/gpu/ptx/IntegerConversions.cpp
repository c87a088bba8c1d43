//===- IntegerConversions.cpp - cvt to and from integers ------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// "PTX ISA", "cvt". Floats become integers that are clamped to the range of
// their type; NaN becomes 0, or the sign bit alone where a type has 64 bits.
//
//===----------------------------------------------------------------------===//

#include "test/gpu/ptx/Halves.h"
#include "test/gpu/ptx/Op.h"

#include <algorithm>

namespace meshc::ptx {
namespace {

template <class T> constexpr T least = std::numeric_limits<T>::min();
template <class T> constexpr T most = std::numeric_limits<T>::max();

template <class To, class From> To wrap(From a) { return static_cast<To>(a); }

template <class To, class From> To clamp(From a) {
  auto value = static_cast<__int128>(a);
  return static_cast<To>(std::clamp<__int128>(value, least<To>, most<To>));
}

template <Round mode> double roundToWhole(double a) {
  switch (mode) {
  case Round::Nearest:
    return std::nearbyint(a);
  case Round::Zero:
    return std::trunc(a);
  case Round::Down:
    return std::floor(a);
  case Round::Up:
    return std::ceil(a);
  }
  return a;
}

template <class From> double toDouble(From a) {
  if constexpr (std::is_class_v<From>)
    return widen(a);
  else
    return double(a);
}

template <class To, class From, Round mode, bool flushes> To toInteger(From a) {
  if constexpr (flushes)
    a = flush(a);
  double value = roundToWhole<mode>(toDouble(a));
  if (value != value) {
    bool isLong = sizeof(To) == 8 || sizeof(From) == 8;
    return isLong ? static_cast<To>(uint64_t(1) << (8 * sizeof(To) - 1))
                  : To(0);
  }
  if (value <= double(least<To>))
    return least<To>;
  // The largest long integers are no f64: the next one is.
  if (value >= std::ldexp(1.0, std::is_signed_v<To> ? 8 * int(sizeof(To)) - 1
                                                    : 8 * int(sizeof(To))))
    return most<To>;
  return static_cast<To>(value);
}

template <class To, class From, Round mode> To toFloat(From a) {
  if constexpr (std::is_class_v<To>) {
    // Odd where digits are lost, so that rounding twice is as once.
    volatile From x = a;
    auto value = static_cast<double>(x);
    if (sizeof(From) == 8 && static_cast<__int128>(value) != a) {
      value = convertIn<double>(Round::Zero, a);
      uint64_t bits;
      std::memcpy(&bits, &value, sizeof(bits));
      bits |= 1;
      std::memcpy(&value, &bits, sizeof(bits));
    }
    return narrow<To>(value, mode);
  } else {
    return mode == Round::Nearest ? static_cast<To>(a) : convertIn<To>(mode, a);
  }
}

template <class To, class From>
void addIntegers(Opcodes &all, const char *to, const char *from) {
  addOpcode(all, {"cvt.", to, ".", from}, makeConversion<&wrap<To, From>>());
  addOpcode(all, {"cvt.sat.", to, ".", from},
            makeConversion<&clamp<To, From>>());
}

template <class To> void addIntegersTo(Opcodes &all, const char *to) {
  addIntegers<To, int8_t>(all, to, "s8");
  addIntegers<To, uint8_t>(all, to, "u8");
  addIntegers<To, int16_t>(all, to, "s16");
  addIntegers<To, uint16_t>(all, to, "u16");
  addIntegers<To, int32_t>(all, to, "s32");
  addIntegers<To, uint32_t>(all, to, "u32");
  addIntegers<To, int64_t>(all, to, "s64");
  addIntegers<To, uint64_t>(all, to, "u64");
}

template <class Integer, class Float, Round mode>
void addMode(Opcodes &all, const char *rounding, const char *integer,
             const char *type) {
  Opcode opcode = makeConversion<&toInteger<Integer, Float, mode, false>>();
  addOpcode(all, {"cvt", rounding, "i.", integer, ".", type}, opcode);
  addOpcode(all, {"cvt", rounding, "i.sat.", integer, ".", type}, opcode);
  if constexpr (std::is_same_v<Float, float>)
    addOpcode(all, {"cvt", rounding, "i.ftz.", integer, ".", type},
              makeConversion<&toInteger<Integer, Float, mode, true>>());
  addOpcode(all, {"cvt", rounding, ".", type, ".", integer},
            makeConversion<&toFloat<Float, Integer, mode>>());
}

template <class Integer, class Float>
void addFloats(Opcodes &all, const char *integer, const char *type) {
  addMode<Integer, Float, Round::Nearest>(all, ".rn", integer, type);
  addMode<Integer, Float, Round::Zero>(all, ".rz", integer, type);
  addMode<Integer, Float, Round::Down>(all, ".rm", integer, type);
  addMode<Integer, Float, Round::Up>(all, ".rp", integer, type);
}

template <class T> void addInteger(Opcodes &all, const char *type) {
  addIntegersTo<T>(all, type);
  addFloats<T, float>(all, type, "f32");
  addFloats<T, double>(all, type, "f64");
  addFloats<T, F16>(all, type, "f16");
  addFloats<T, Bf16>(all, type, "bf16");
}

} // namespace

void addIntegerConversions(Opcodes &all) {
  addInteger<int8_t>(all, "s8");
  addInteger<uint8_t>(all, "u8");
  addInteger<int16_t>(all, "s16");
  addInteger<uint16_t>(all, "u16");
  addInteger<int32_t>(all, "s32");
  addInteger<uint32_t>(all, "u32");
  addInteger<int64_t>(all, "s64");
  addInteger<uint64_t>(all, "u64");
}

} // namespace meshc::ptx
