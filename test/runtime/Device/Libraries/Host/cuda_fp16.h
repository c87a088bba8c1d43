//===- cuda_fp16.h - what Kernels.cu needs of CUDA, for the host ----------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_TEST_RUNTIME_DEVICE_LIBRARIES_HOST_CUDA_FP16_H
#define MESHC_TEST_RUNTIME_DEVICE_LIBRARIES_HOST_CUDA_FP16_H

#include "runtime/Base/Float16.h"

struct __half {
  uint16_t bits;
};
inline float __half2float(__half x) {
  return meshc::runtime::floatFromF16(x.bits);
}
inline __half __float2half_rn(float x) {
  return {meshc::runtime::f16FromFloat(x)};
}

#endif // MESHC_TEST_RUNTIME_DEVICE_LIBRARIES_HOST_CUDA_FP16_H
