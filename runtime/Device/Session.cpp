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

std::vector<std::string> Session::metricNames() const {
  std::vector<std::string> names;
  for (uint32_t i = 0; i < program().tensorCount; ++i)
    if (program().tensors[i].role == MESHC_METRIC)
      names.emplace_back(program().tensors[i].name);
  return names;
}
