//===- CallObserver.h - who watches a step's calls --------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// An observer of the calls that generated code makes, on any device.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_DEVICE_CALLOBSERVER_H
#define MESHC_RUNTIME_DEVICE_CALLOBSERVER_H

#include "meshc/RuntimeAbi.h"

namespace meshc::runtime {

/// While Rank::observer is set, it is notified of each call of the running step
/// function, before and after the device takes the order: Device::read returns
/// the contents at that time. The parameters are those of RuntimeAbi.h.
class CallObserver {
public:
  virtual ~CallObserver() = default;

  /// A call is about to be made.
  virtual void ordering() = 0;

  virtual void launched(const MeshcKernel &kernel, void *const *buffers) = 0;
  /// Without an epilogue, `epilogue` and `buffers` are null.
  virtual void multiplied(const MeshcGemm &gemm, const MeshcEpilogue *epilogue,
                          const void *a, const void *b, void *c,
                          void *const *buffers) = 0;
  /// Started; the results are valid after waited().
  virtual void communicated(const MeshcCollective &collective,
                            void *const *send, void *const *recv) = 0;
  virtual void waited(const MeshcCollective &collective) = 0;
  /// A loop has ended before its last iteration: these did not run.
  virtual void skipped(const MeshcLoop &loop, int64_t iterations) = 0;
};

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_DEVICE_CALLOBSERVER_H
