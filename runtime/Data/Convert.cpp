//===- Convert.cpp - elements of files to elements of tensors -------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Data/Convert.h"

#include "runtime/Base/Float16.h"
#include "runtime/Base/ProcessorFeatures.h"

#include <cstring>
#include <limits>
#include <type_traits>

using namespace meshc::runtime;

namespace {

/// Element types as C++ types: `Stored` bits in the file, `Value` in C++.
struct HalfBits {};

template <typename T> struct Stored {
  using Bits = T;
  static T value(T bits) { return bits; }
};
template <> struct Stored<HalfBits> {
  using Bits = uint16_t;
  static float value(uint16_t bits) { return floatFromF16(bits); }
};

template <typename Bits> Bits swapped(Bits bits) {
  uint8_t bytes[sizeof(Bits)];
  std::memcpy(bytes, &bits, sizeof(Bits));
  for (size_t i = 0; i < sizeof(Bits) / 2; ++i)
    std::swap(bytes[i], bytes[sizeof(Bits) - 1 - i]);
  std::memcpy(&bits, bytes, sizeof(Bits));
  return bits;
}

template <MeshcType To, typename Value> struct Store;
template <typename Value> struct Store<MESHC_F32, Value> {
  using Type = float;
  static bool put(Value value, float &out) {
    out = static_cast<float>(value);
    return true;
  }
};
template <typename Value> struct Store<MESHC_BF16, Value> {
  using Type = uint16_t;
  static bool put(Value value, uint16_t &out) {
    out = bf16FromFloat(static_cast<float>(value));
    return true;
  }
};
template <typename Value> struct Store<MESHC_F16, Value> {
  using Type = uint16_t;
  static bool put(Value value, uint16_t &out) {
    out = f16FromFloat(static_cast<float>(value));
    return true;
  }
};
template <typename Value> struct Store<MESHC_I32, Value> {
  using Type = int32_t;
  static bool put(Value value, int32_t &out) {
    out = static_cast<int32_t>(value);
    return static_cast<Value>(out) == value;
  }
};
template <typename Value> struct Store<MESHC_I1, Value> {
  using Type = uint8_t;
  static bool put(Value value, uint8_t &out) {
    out = static_cast<uint8_t>(value);
    return value == 0 || value == 1;
  }
};

template <typename From, bool Swap, MeshcType To>
bool convertRun(void *target, int64_t stride, const uint8_t *source,
                int64_t count) {
  using Bits = typename Stored<From>::Bits;
  using Value = decltype(Stored<From>::value(Bits()));
  using Out = Store<To, Value>;
  auto *out = static_cast<typename Out::Type *>(target);
  bool fits = true;
  auto one = [&](int64_t i, int64_t at) {
    Bits bits;
    std::memcpy(&bits, source + i * sizeof(Bits), sizeof(Bits));
    if constexpr (Swap)
      bits = swapped(bits);
    fits &= Out::put(Stored<From>::value(bits), out[at]);
  };
  if (stride == 1)
    for (int64_t i = 0; i < count; ++i)
      one(i, i);
  else
    for (int64_t i = 0; i < count; ++i)
      one(i, i * stride);
  return fits;
}

/// Images are u8: eight at a time if the CPU has AVX2.
__attribute__((target("avx2"))) bool convertBytesAvx2(void *target,
                                                      int64_t stride,
                                                      const uint8_t *source,
                                                      int64_t count) {
  if (stride != 1)
    return convertRun<uint8_t, false, MESHC_F32>(target, stride, source, count);
  auto *out = static_cast<float *>(target);
  for (int64_t i = 0; i < count; ++i)
    out[i] = static_cast<float>(source[i]);
  return true;
}

template <typename From, bool Swap> Convert convertTo(MeshcType to) {
  constexpr bool isFloat =
      std::is_floating_point_v<From> || std::is_same_v<From, HalfBits>;
  switch (to) {
  case MESHC_F32:
    return convertRun<From, Swap, MESHC_F32>;
  case MESHC_BF16:
    return convertRun<From, Swap, MESHC_BF16>;
  case MESHC_F16:
    return convertRun<From, Swap, MESHC_F16>;
  case MESHC_I32:
    if constexpr (!isFloat)
      return convertRun<From, Swap, MESHC_I32>;
    break;
  case MESHC_I1:
    if constexpr (!isFloat)
      return convertRun<From, Swap, MESHC_I1>;
    break;
  }
  return nullptr;
}

template <typename From> Convert convertFrom(bool bigEndian, MeshcType to) {
  return bigEndian ? convertTo<From, true>(to) : convertTo<From, false>(to);
}

} // namespace

Convert meshc::runtime::findConvert(FileType from, bool bigEndian,
                                    MeshcType to) {
  switch (from) {
  case FileType::Bool:
  case FileType::U8:
    if (to == MESHC_F32 && hasProcessorFeature("avx2"))
      return convertBytesAvx2;
    return convertTo<uint8_t, false>(to);
  case FileType::I8:
    return convertTo<int8_t, false>(to);
  case FileType::U16:
    return convertFrom<uint16_t>(bigEndian, to);
  case FileType::I16:
    return convertFrom<int16_t>(bigEndian, to);
  case FileType::I32:
    return convertFrom<int32_t>(bigEndian, to);
  case FileType::I64:
    return convertFrom<int64_t>(bigEndian, to);
  case FileType::F16:
    return convertFrom<HalfBits>(bigEndian, to);
  case FileType::F32:
    return convertFrom<float>(bigEndian, to);
  case FileType::F64:
    return convertFrom<double>(bigEndian, to);
  }
  return nullptr;
}
