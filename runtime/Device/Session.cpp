//===- Session.cpp - one rank of a running program ------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Device/Session.h"

#include "runtime/Base/Parallel.h"

using namespace meshc::runtime;

static std::vector<int64_t> axisSizes(const MeshcProgram &program) {
  std::vector<int64_t> sizes;
  for (uint32_t i = 0; i < program.axisCount; ++i)
    sizes.push_back(program.axes[i].size);
  return sizes;
}

Session::Session(const MeshcProgram &program, Communicator &communicator,
                 int threads, const DeviceOptions &options)
    : state(program, communicator,
            MeshView(axisSizes(program), communicator.rank()), threads) {
  communicator.setProgram(&program);
  setThreads(threads);
  ownDevice = makeDevice(state, options);
}

std::vector<std::string> Session::metricNames(StepFunction function) const {
  std::vector<std::string> names;
  for (uint32_t i = 0; i < program().tensorCount; ++i) {
    const MeshcTensor &tensor = program().tensors[i];
    if (tensor.role == MESHC_METRIC || (function == StepFunction::Train &&
                                        tensor.role == MESHC_TRAINING_METRIC))
      names.emplace_back(tensor.name);
  }
  return names;
}
