//===- TracedHostDevice.h - the host, with clocks -------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_DEVICE_TRACEDHOSTDEVICE_H
#define MESHC_RUNTIME_DEVICE_TRACEDHOSTDEVICE_H

#include "runtime/Device/HostDevice.h"
#include "runtime/Device/Recorder.h"

namespace meshc::runtime {

/// The host, with timers around the orders of training steps. Without a trace,
/// HostDevice is used instead, which has no such code.
class TracedHostDevice final : public HostDevice, public Recorder {
public:
  explicit TracedHostDevice(Rank &rank);

  void launch(const MeshcKernel &kernel, void *const *buffers) override;
  void multiply(const MeshcGemm &gemm, const void *a, const void *b,
                void *c) override;
  void communicate(const MeshcCollective &collective, void *const *send,
                   void *const *recv) override;
  void skip(const MeshcLoop &loop, int64_t iterations) override;
  void run(StepFunction function) override;
  Recorder *recorder() override { return this; }

  void start() override;
  void stop() override;
  void finish() override {}
  const Recording &recording() const override { return record; }

private:
  /// The step's next order, which `describe` describes, by `action`.
  template <typename Describe, typename Action>
  void time(const Describe &describe, const Action &action);

  Recording record;
  StepOrders orders{record};
  bool isOn = false;   ///< between start and stop
  bool inStep = false; ///< in a recorded run
};

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_DEVICE_TRACEDHOSTDEVICE_H
