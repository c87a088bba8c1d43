//===- Element.h - one element of a matrix ----------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Reading and writing one element of a float type that is known at run time.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_BLAS_ELEMENT_H
#define MESHC_RUNTIME_BLAS_ELEMENT_H

#include "meshc/RuntimeAbi.h"
#include "runtime/Base/Float16.h"

namespace meshc::runtime {

/// Element `index` of an array of `type` (F32, BF16 or F16).
inline float loadElement(uint8_t type, const void *array, int64_t index) {
  if (type == MESHC_F32)
    return static_cast<const float *>(array)[index];
  uint16_t bits = static_cast<const uint16_t *>(array)[index];
  return type == MESHC_BF16 ? floatFromBf16(bits) : floatFromF16(bits);
}

inline void storeElement(uint8_t type, void *array, int64_t index,
                         float value) {
  if (type == MESHC_F32)
    static_cast<float *>(array)[index] = value;
  else
    static_cast<uint16_t *>(array)[index] =
        type == MESHC_BF16 ? bf16FromFloat(value) : f16FromFloat(value);
}

/// Returns the address of element `index` of an array of `type`.
inline const void *elementAt(uint8_t type, const void *array, int64_t index) {
  return static_cast<const char *>(array) + index * (type == MESHC_F32 ? 4 : 2);
}
inline void *elementAt(uint8_t type, void *array, int64_t index) {
  return static_cast<char *>(array) + index * (type == MESHC_F32 ? 4 : 2);
}

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_BLAS_ELEMENT_H
