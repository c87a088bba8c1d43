//===- Rank.h - the state behind one rank's context -------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The runtime's data for one rank of a running program. The `runtime` field of
/// generated code's MeshcContext points to it.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_DEVICE_RANK_H
#define MESHC_RUNTIME_DEVICE_RANK_H

#include "meshc/RuntimeAbi.h"
#include "runtime/Comm/Communicator.h"
#include "runtime/Comm/MeshView.h"

namespace meshc::runtime {

class CallObserver;
class Device;

struct Rank {
  Rank(const MeshcProgram &program, Communicator &communicator, MeshView mesh,
       int threadCount)
      : program(&program), communicator(&communicator), mesh(std::move(mesh)),
        threadCount(threadCount) {}

  const MeshcProgram *program;
  Communicator *communicator; ///< this rank's; outlives the Rank
  MeshView mesh;
  int threadCount;                  ///< threads of this rank, ≥ 1
  Device *device = nullptr;         ///< this rank's, once it exists
  CallObserver *observer = nullptr; ///< of step functions, or null

  /// The Rank of a context.
  static Rank &of(const MeshcContext *context) {
    return *static_cast<Rank *>(context->runtime);
  }
};

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_DEVICE_RANK_H
