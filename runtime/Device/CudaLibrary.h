//===- CudaLibrary.h - finding the CUDA plugin and a GPU ------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_DEVICE_CUDALIBRARY_H
#define MESHC_RUNTIME_DEVICE_CUDALIBRARY_H

#include "runtime/Device/CudaPlugin.h"
#include "runtime/Device/Rank.h"

#include <string>

namespace meshc::runtime {

/// Opens libmeshc_cuda.so (Plugin.h says where it is searched), once per
/// process. Throws Failure (Device) if it is missing or unusable.
const MeshcCuda &openCuda();

/// GPUs of this machine that this process may use, at least one. Throws Failure
/// (Device), with the versions of driver and runtime, if there is none.
int countGpus();

/// Throws Failure (Device) if CUPTI, which traces need, is missing.
void checkCudaTrace();

/// The image of a program for a GPU of compute capability `chip` / 10: the
/// machine code with the same major version and the highest minor one that is
/// not above it, else the newest PTX that is not above it. Throws Failure
/// (Device), which names the chips, if there is neither.
const MeshcImage &chooseImage(const MeshcProgram &program, uint32_t chip);

/// "sm_90, sm_90 (PTX)": the chips for which a program holds code, or "none".
std::string describeImages(const MeshcProgram &program);

/// Where a rank computes.
struct GpuPlace {
  int gpu = 0;
  /// Several ranks, all threads of this process, share this GPU.
  bool shared = false;
};

/// One GPU for each rank on a host, by the rank's number there. If there are
/// fewer GPUs and the ranks are threads, all share one. All ranks call it.
/// Throws Failure (Device) if processes would have to share.
GpuPlace placeRank(const Rank &rank, int gpus);

/// Throws Failure (Internal) if a function of the plugin returned an error.
/// `doing` completes "cannot …".
void checkCuda(const char *error, const std::string &doing);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_DEVICE_CUDALIBRARY_H
