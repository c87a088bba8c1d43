//===- Recorder.h - when a device carries out its orders ------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A device's recording of training steps if a trace was requested
/// (DeviceOptions::trace): the orders that the step function gave, and when
/// each was carried out.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_DEVICE_RECORDER_H
#define MESHC_RUNTIME_DEVICE_RECORDER_H

#include "meshc/RuntimeAbi.h"

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace meshc::runtime {

struct Rank;

enum class CallKind {
  Kernel,
  Product,
  Collective,
  Other ///< belongs to no order: copies of inputs, unattributed activities
};

/// An order of a step function.
struct TracedCall {
  CallKind kind = CallKind::Other;
  /// A kernel's name; for a product "64 x 10 x 784 f32", that is m, n and k;
  /// for a collective its site; otherwise a description.
  std::string name;
  /// The number of the product within the function, from 0; for a collective
  /// its site.
  uint64_t number = 0;
  uint32_t epilogue = 0; ///< of a product: a MeshcEpilogueKind, or none
  double flops = 0;      ///< of a product
  /// Of a product, if each element is moved once; of a collective, what this
  /// rank sends by the ring algorithms. Of kernels the compiler knows (0).
  double bytes = 0;
  int64_t given = 0; ///< how many of the recorded steps gave the order
};

/// A span of time, in ns since 1970.
struct TracedSpan {
  int64_t begin = 0, end = 0;
};

/// The execution of an order, or of a part of it.
struct TracedActivity {
  uint32_t call;   ///< index into Recording::calls
  uint32_t stream; ///< index into Recording::streams
  TracedSpan span;
  std::string detail; ///< name of the library's kernel; mostly empty
};

struct Recording {
  std::vector<const char *> streams;
  /// Outside of the step: its time does not count for the step. -1: none.
  int asideStream = -1;
  std::vector<TracedCall> calls; ///< in the order of the step that gave each
                                 ///< first
  bool callsVary = false; ///< loops ended early: steps gave different calls
  std::vector<TracedActivity> activities;
  std::vector<TracedSpan> steps; ///< as the device ran them; may be empty
  int64_t stepCount = 0;         ///< that were run while it recorded
  /// Start and end of recording, once for each start and stop.
  std::vector<TracedSpan> windows;
  uint64_t lost = 0; ///< activities without a time
};

/// Which call of a recording an order of the running step is: each has a number
/// within the step, and a loop that ends early leaves those of its further
/// iterations out.
class StepOrders {
public:
  explicit StepOrders(Recording &recording) : recording(recording) {}

  /// A step begins, which is recorded or not.
  void begin(bool isRecorded);
  /// The index in Recording::calls that the next order has or will get.
  uint32_t peek() const;
  /// The next order's; `describe` returns its description, if it is new.
  template <typename Describe> uint32_t add(const Describe &describe) {
    uint32_t index = peek();
    if (known.try_emplace(next++, index).second)
      recording.calls.push_back(describe());
    recording.calls[index].given += isRecorded;
    return index;
  }
  /// A product with an epilogue in one order: without its kernel's.
  void leaveOut() { ++next; }
  /// The number of the next product within the step, counted on.
  uint64_t takeProduct() { return nextProduct++; }
  void skip(const MeshcLoop &loop, int64_t iterations);

private:
  Recording &recording;
  std::unordered_map<uint64_t, uint32_t> known; ///< indices by number
  uint64_t next = 0, nextProduct = 0;
  bool isRecorded = false;
};

/// The device's thread makes these calls, while no run is in progress.
class Recorder {
public:
  virtual ~Recorder() = default;

  /// Records the steps from now on. May be called again after stop().
  virtual void start() = 0;
  virtual void stop() = 0;
  /// Ends the recording.
  virtual void finish() = 0;
  virtual const Recording &recording() const = 0;
};

TracedCall describeKernel(const MeshcKernel &kernel);
/// Describes product number `number` of its function, with an epilogue if that
/// is not 0: a MeshcEpilogueKind.
TracedCall describeProduct(const MeshcGemm &gemm, uint64_t number,
                           uint32_t epilogue = 0);
TracedCall describeCollective(const MeshcCollective &collective,
                              const Rank &rank);

/// Now, in ns since 1970.
int64_t traceClock();

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_DEVICE_RECORDER_H
