//===- TracedCudaDevice.h - a GPU, and when it does what ------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_DEVICE_TRACEDCUDADEVICE_H
#define MESHC_RUNTIME_DEVICE_TRACEDCUDADEVICE_H

#include "runtime/Device/CudaDevice.h"
#include "runtime/Device/Recorder.h"

#include <map>

namespace meshc::runtime {

/// A GPU whose plugin reports when its orders were carried out. Each order of a
/// training step has a number, which the plugin returns with the GPU's
/// activities, also when a graph repeats the order. If the plugin does not know
/// the number, generated kernels are identified by their names, and other
/// activities get entries of their own.
class TracedCudaDevice final : public CudaDevice, public Recorder {
public:
  TracedCudaDevice(Rank &rank, const DeviceOptions &options);
  ~TracedCudaDevice() override;

  void launch(const MeshcKernel &kernel, void *const *buffers) override;
  void multiply(const MeshcGemm &gemm, const void *a, const void *b,
                void *c) override;
  bool multiplyAtOnce(const MeshcEpilogue &epilogue, const MeshcGemm &gemm,
                      const void *a, const void *b, void *c,
                      void *const *buffers, void *mask) override;
  void communicate(const MeshcCollective &collective, void *const *send,
                   void *const *recv) override;
  void skip(const MeshcLoop &loop, int64_t iterations) override;
  void run(StepFunction function) override;
  Recorder *recorder() override { return this; }

  void start() override;
  void stop() override;
  void finish() override;
  const Recording &recording() const override { return record; }

private:
  template <typename Describe, typename Action>
  void number(const Describe &describe, const Action &action);
  void add(const MeshcCudaActivity &activity);
  uint32_t callOf(const MeshcCudaActivity &activity);
  void addSteps(const MeshcCudaActivity *activities, uint64_t count);

  Recording record;
  StepOrders orders{record};
  bool open = false;   ///< at the plugin
  bool isOn = false;   ///< between start and stop
  bool inStep = false; ///< in a training step
  uint32_t runNumber = 0;
  std::map<std::string, uint32_t> callsByName;
};

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_DEVICE_TRACEDCUDADEVICE_H
