//===- Session.h - one rank of a running program ---------------*- C++ -*--===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// One rank of a running program: its place in the mesh, its arena and the
/// context that generated code gets.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_CORE_SESSION_H
#define MESHC_RUNTIME_CORE_SESSION_H

#include "meshc/RuntimeAbi.h"
#include "runtime/Core/Rank.h"
#include "runtime/Device/Arena.h"

#include <string>
#include <vector>

namespace meshc::runtime {

class Session {
public:
  /// Made on the thread that runs the rank, whose loops get `threads` threads.
  Session(const MeshcProgram &program, Communicator &communicator, int threads);
  Session(const Session &) = delete;
  Session &operator=(const Session &) = delete;

  const MeshcProgram &program() const { return *state.program; }
  const Rank &rank() const { return state; }
  Communicator &communicator() { return *state.communicator; }
  MeshcContext &context() { return ctx; }
  char *arena() { return memory.data(); }
  const int64_t *coords() const { return state.mesh.coords().data(); }

  /// Whether this rank prints, logs and writes checkpoints.
  bool speaks() const { return state.mesh.rank() == 0; }

  /// Names of the metrics, the loss first, and their values now (resized, so
  /// that a vector that is kept allocates once).
  std::vector<std::string> metricNames() const;
  void readMetrics(std::vector<float> &values) const;

private:
  Rank state;
  Arena memory;
  MeshcContext ctx;
  std::vector<const MeshcTensor *> metrics;
};

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_CORE_SESSION_H
