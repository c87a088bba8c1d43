//===- NoNccl.cpp - where NCCL's header is absent -------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Device/Cuda/Gpu.h"

using namespace meshc::cuda;

/// The runtime loads NCCL before calling any other of its functions, and stops
/// if that fails.
static const char *ncclLoad(int *version) {
  *version = 0;
  return say("the plugin was built where NCCL's header 'nccl.h' is absent");
}

void meshc::cuda::addNccl(MeshcCuda &table) { table.ncclLoad = ncclLoad; }
