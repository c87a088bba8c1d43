//===- FakeImage.h - "machine code" of the fake GPU -------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_TEST_RUNTIME_DEVICE_LIBRARIES_FAKEIMAGE_H
#define MESHC_TEST_RUNTIME_DEVICE_LIBRARIES_FAKEIMAGE_H

#include "meshc/RuntimeAbi.h"

namespace meshc::fake {

/// A kernel of a program for the fake GPU: a function of the host, which gets
/// addresses that it may follow. `meshc --target=cuda --gpu-kernels=emulated`
/// writes these structs too (lib/Codegen/Program.cpp).
struct Kernel {
  const char *name;
  MeshcHostKernel function;
  int64_t extent; ///< of an emulated kernel: its blocks
  uint32_t bufferCount;
  uint32_t threads = 0; ///< of an emulated kernel's blocks; 0: no such one
};

/// Bytes that the fake takes of a GPU when a kernel is first launched, and when
/// a group of ranks is first used, as CUDA and NCCL do.
constexpr uint64_t kernelBytes = 3 << 12, groupBytes = 5 << 16;

/// The data that MeshcImage::data points to in a program for the fake GPU,
/// whose chip is sm_90.
struct Image {
  static constexpr uint64_t expectedMagic = 0x6d657368632d6675;
  uint64_t magic;
  uint64_t kernelCount;
  const Kernel *kernels;
};

} // namespace meshc::fake

#endif // MESHC_TEST_RUNTIME_DEVICE_LIBRARIES_FAKEIMAGE_H
