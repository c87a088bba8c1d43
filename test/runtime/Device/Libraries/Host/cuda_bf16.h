//===- cuda_bf16.h - what Kernels.cu needs of CUDA, for the host ----------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Found in place of CUDA's header where Kernels.cu is compiled as C++ of the
/// host: the language's words, numbers of threads, and types of 16 bits.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_TEST_RUNTIME_DEVICE_LIBRARIES_HOST_CUDA_BF16_H
#define MESHC_TEST_RUNTIME_DEVICE_LIBRARIES_HOST_CUDA_BF16_H

#include "runtime/Base/Float16.h"

#include <cstdint>

#define __device__
#define __global__ __attribute__((visibility("hidden")))
#define __grid_constant__

/// Of the thread that runs.
struct HostIndex {
  unsigned x = 0;
};
inline thread_local HostIndex blockIdx, threadIdx, blockDim, gridDim;

struct uint2 {
  uint32_t x, y;
};
struct alignas(16) uint4 {
  uint32_t x, y, z, w;
};

struct __nv_bfloat16 {
  uint16_t bits;
};
inline float __bfloat162float(__nv_bfloat16 x) {
  return meshc::runtime::floatFromBf16(x.bits);
}
inline __nv_bfloat16 __float2bfloat16_rn(float x) {
  return {meshc::runtime::bf16FromFloat(x)};
}
inline void __threadfence_system() {}

#endif // MESHC_TEST_RUNTIME_DEVICE_LIBRARIES_HOST_CUDA_BF16_H
