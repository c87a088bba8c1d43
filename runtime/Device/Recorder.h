//===- Recorder.h - when a device carries out its orders ------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What a device records of training steps where a trace was asked for
/// (DeviceOptions::trace): which orders the step function gave, and when each
/// was carried out.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_DEVICE_RECORDER_H
#define MESHC_RUNTIME_DEVICE_RECORDER_H

#include "meshc/RuntimeAbi.h"

#include <cstdint>
#include <string>
#include <vector>

namespace meshc::runtime {

struct Rank;

enum class CallKind {
  Kernel,
  Product,
  Collective,
  Other ///< of no order: copies of inputs, what could not be attributed
};

/// An order of a step function.
struct TracedCall {
  CallKind kind = CallKind::Other;
  /// The kernel's; "64 x 10 x 784 f32", m, n and k; the collective's site; what
  /// another one does.
  std::string name;
  /// Which product of the function it is, from 0; the collective's site.
  uint32_t number = 0;
  uint32_t epilogue = 0; ///< of a product: a MeshcEpilogueKind, or none
  double flops = 0;      ///< of a product
  /// Of a product, if each element is moved once; of a collective, what this
  /// rank sends by the ring algorithms. Of kernels the compiler knows (0).
  double bytes = 0;
};

/// A span of time, in ns since 1970.
struct TracedSpan {
  int64_t begin = 0, end = 0;
};

/// An order that was carried out, or a part of it.
struct TracedActivity {
  uint32_t call;   ///< index into Recording::calls
  uint32_t stream; ///< index into Recording::streams
  TracedSpan span;
  std::string detail; ///< name of the library's kernel; mostly empty
};

struct Recording {
  std::vector<const char *> streams;
  /// Beside the step: its time is no part of the step's. -1: none.
  int asideStream = -1;
  std::vector<TracedCall> calls; ///< in the order of the step
  std::vector<TracedActivity> activities;
  std::vector<TracedSpan> steps; ///< as the device ran them; may be empty
  int64_t stepCount = 0;         ///< that were run while it recorded
  /// From when to when it recorded, once for each start and stop.
  std::vector<TracedSpan> windows;
  uint64_t lost = 0; ///< activities without a time
};

/// Calls come from the device's thread, while no run is under way.
class Recorder {
public:
  virtual ~Recorder() = default;

  /// Records the steps from now on. After start, stop, and again.
  virtual void start() = 0;
  virtual void stop() = 0;
  /// No more will be recorded.
  virtual void finish() = 0;
  virtual const Recording &recording() const = 0;
};

TracedCall describeKernel(const MeshcKernel &kernel);
/// Product number `number` of its function, with an epilogue where that is not
/// 0: a MeshcEpilogueKind.
TracedCall describeProduct(const MeshcGemm &gemm, uint32_t number,
                           uint32_t epilogue = 0);
TracedCall describeCollective(const MeshcCollective &collective,
                              const Rank &rank);

/// Now, in ns since 1970.
int64_t traceClock();

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_DEVICE_RECORDER_H
