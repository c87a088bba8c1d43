//===- NoCupti.cpp - where CUPTI's header is absent -----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Device/Cuda/Gpu.h"

using namespace meshc::cuda;

/// The runtime loads CUPTI before calling any other of its functions, and stops
/// if that fails.
static const char *load() {
  return say("the plugin was built where CUPTI's header 'cupti.h' is absent");
}

void meshc::cuda::addTrace(MeshcCuda &table) { table.traceLoad = load; }
