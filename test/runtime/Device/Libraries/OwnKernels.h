//===- OwnKernels.h - the plugin's kernels, for the host --------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_TEST_RUNTIME_DEVICE_LIBRARIES_OWNKERNELS_H
#define MESHC_TEST_RUNTIME_DEVICE_LIBRARIES_OWNKERNELS_H

#include <functional>
#include <string>

namespace meshc::fake {

/// Runs on a GPU: looks up the addresses that a kernel was launched with.
using Bound = std::function<void(int gpu)>;

/// Takes the values of a kernel's parameters, for a grid of `blocks` x
/// `threads`; null where Kernels.cu has no kernel of that name.
std::function<Bound(void **parameters, unsigned blocks, unsigned threads)>
findOwnKernel(const std::string &name);

} // namespace meshc::fake

#endif // MESHC_TEST_RUNTIME_DEVICE_LIBRARIES_OWNKERNELS_H
