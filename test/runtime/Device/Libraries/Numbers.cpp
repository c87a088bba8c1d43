//===- Numbers.cpp - the types of elements --------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Numbers.h"

#include "meshc/RuntimeAbi.h"

#include "runtime/Base/Float16.h"

#include <cstring>

using namespace meshc;
using namespace meshc::runtime;

int64_t fake::bytesOf(uint8_t type) {
  return type == MESHC_I1 ? 1 : type == MESHC_F32 || type == MESHC_I32 ? 4 : 2;
}

double fake::widen(uint8_t type, const void *place) {
  uint16_t half = 0;
  int32_t whole = 0;
  float real = 0;
  switch (type) {
  case MESHC_I1:
    return *static_cast<const uint8_t *>(place);
  case MESHC_I32:
    std::memcpy(&whole, place, 4);
    return whole;
  case MESHC_F32:
    std::memcpy(&real, place, 4);
    return static_cast<double>(real);
  default:
    std::memcpy(&half, place, 2);
    return static_cast<double>(type == MESHC_BF16 ? floatFromBf16(half)
                                                  : floatFromF16(half));
  }
}

void fake::narrow(uint8_t type, double value, void *place) {
  auto real = static_cast<float>(value);
  auto whole = static_cast<int32_t>(type == MESHC_I32 ? value : 0);
  auto truth = static_cast<uint8_t>(type == MESHC_I1 ? value : 0);
  uint16_t half = type == MESHC_F16 ? f16FromFloat(real) : bf16FromFloat(real);
  const void *source = type == MESHC_I1    ? static_cast<const void *>(&truth)
                       : type == MESHC_I32 ? static_cast<const void *>(&whole)
                       : type == MESHC_F32 ? static_cast<const void *>(&real)
                                           : static_cast<const void *>(&half);
  std::memcpy(place, source, static_cast<size_t>(bytesOf(type)));
}
