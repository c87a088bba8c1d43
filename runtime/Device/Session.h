//===- Session.h - one rank of a running program ----------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// One rank of a running program: its place in the mesh, and the
/// device that runs its steps.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_DEVICE_SESSION_H
#define MESHC_RUNTIME_DEVICE_SESSION_H

#include "meshc/RuntimeAbi.h"
#include "runtime/Device/Device.h"
#include "runtime/Device/Rank.h"

#include <string>
#include <vector>

namespace meshc::runtime {

class Session {
public:
  /// Construct it on the thread that runs the rank, whose loops get `threads`
  /// threads. All ranks construct one. Throws the failures of makeDevice.
  Session(const MeshcProgram &program, Communicator &communicator, int threads,
          const DeviceOptions &options);
  Session(const Session &) = delete;
  Session &operator=(const Session &) = delete;

  const MeshcProgram &program() const { return *state.program; }
  const Rank &rank() const { return state; }
  Communicator &communicator() { return *state.communicator; }
  Device &device() { return *state.device; }
  MeshcContext &context() { return state.device->context(); }
  /// From now on, `observer` sees the calls of step functions; null removes it.
  void setObserver(CallObserver *observer) { state.observer = observer; }
  const int64_t *coords() const { return state.mesh.coords().data(); }

  /// Whether this rank prints, logs and writes checkpoints.
  bool speaks() const { return state.mesh.rank() == 0; }

  /// Names of the metrics that the function computes, the loss first: the
  /// beginning of what Device::readMetrics reads.
  std::vector<std::string> metricNames(StepFunction function) const;

private:
  Rank state;
  std::unique_ptr<Device> ownDevice;
};

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_DEVICE_SESSION_H
