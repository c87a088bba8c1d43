//===- Session.cpp - one rank of a running program ------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Core/Session.h"

#include "runtime/Device/Parallel.h"

#include <cstring>

using namespace meshc::runtime;

static std::vector<int64_t> axisSizes(const MeshcProgram &program) {
  std::vector<int64_t> sizes;
  for (uint32_t i = 0; i < program.axisCount; ++i)
    sizes.push_back(program.axes[i].size);
  return sizes;
}

Session::Session(const MeshcProgram &program, Communicator &communicator,
                 int threads)
    : state(program, communicator,
            MeshView(axisSizes(program), communicator.rank()), threads),
      memory(program.arenaBytes) {
  communicator.setProgram(&program);
  setThreads(threads);
  ctx = {};
  ctx.arena = memory.data();
  ctx.coords = state.mesh.coords().data();
  ctx.runtime = &state;
  for (uint32_t i = 0; i < program.tensorCount; ++i)
    if (program.tensors[i].role == MESHC_METRIC)
      metrics.push_back(&program.tensors[i]);
}

std::vector<std::string> Session::metricNames() const {
  std::vector<std::string> names;
  for (const MeshcTensor *metric : metrics)
    names.emplace_back(metric->name);
  return names;
}

void Session::readMetrics(std::vector<float> &values) const {
  values.resize(metrics.size());
  for (size_t i = 0; i < metrics.size(); ++i)
    std::memcpy(&values[i], memory.data() + metrics[i]->offsetBytes,
                sizeof(float));
}
