//===- HostDevice.h - the host's processors -------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_DEVICE_HOSTDEVICE_H
#define MESHC_RUNTIME_DEVICE_HOSTDEVICE_H

#include "runtime/Device/Arena.h"
#include "runtime/Device/Device.h"

#include <chrono>

namespace meshc::runtime {

/// The rank's own threads, on host memory. Nothing is staged: the host reads
/// and writes the arena directly. Every call is done when it returns.
class HostDevice : public Device {
public:
  explicit HostDevice(Rank &rank);

  void launch(const MeshcKernel &kernel, void *const *buffers) override;
  void multiply(const MeshcGemm &gemm, const void *a, const void *b,
                void *c) override;
  void communicate(const MeshcCollective &collective, void *const *send,
                   void *const *recv) override;
  /// On the host, starting a collective also completes it.
  void wait(const MeshcCollective &) override {}
  bool isTrue(const void *condition) override {
    return *static_cast<const uint8_t *>(condition) != 0;
  }
  char *stage(const MeshcTensor &input) override;
  void run(StepFunction function) override;
  int runsAhead() const override { return 0; }
  void readMetrics(std::vector<float> &values) override;
  const char *read(const MeshcTensor &tensor) override;
  void write(const MeshcTensor &tensor,
             const std::function<void(char *)> &fill) override;
  void synchronize() override {}
  std::optional<double> communicationTime() const override;
  std::vector<MemoryUse> memoryUse() const override { return {}; }

private:
  Arena memory;
  std::chrono::steady_clock::duration inCollectives{};
};

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_DEVICE_HOSTDEVICE_H
