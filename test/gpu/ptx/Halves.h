//===- Halves.h - values of f16 and bf16 in registers -----------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_TEST_GPU_PTX_HALVES_H
#define MESHC_TEST_GPU_PTX_HALVES_H

#include "test/gpu/ptx/Floats.h"

namespace meshc::ptx {

struct F16 {
  uint16_t bits;
  static constexpr HalfFormat format = f16Format;
};
struct Bf16 {
  uint16_t bits;
  static constexpr HalfFormat format = bf16Format;
};

template <class H> double widen(H half) {
  return fromHalf(half.bits, H::format);
}
template <class H> H narrow(double value, Round mode = Round::Nearest) {
  return {roundToHalf(value, H::format, mode)};
}

/// The halves of 32 bits.
template <class H> H lower(uint32_t pair) {
  return {static_cast<uint16_t>(pair)};
}
template <class H> H upper(uint32_t pair) {
  return {static_cast<uint16_t>(pair >> 16)};
}
template <class H> uint32_t join(H low, H high) {
  return uint32_t(high.bits) << 16 | low.bits;
}

} // namespace meshc::ptx

#endif // MESHC_TEST_GPU_PTX_HALVES_H
