//===- GatherState.h - the ranks' blocks as whole tensors -------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Gathers the state of a checkpoint on rank 0.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_CHECKPOINT_GATHERSTATE_H
#define MESHC_RUNTIME_CHECKPOINT_GATHERSTATE_H

#include "runtime/Device/Rank.h"

#include <cstddef>
#include <cstdint>

namespace meshc::runtime {

/// Bytes of all tensors in a checkpoint, at their global shapes.
int64_t stateBytes(const MeshcProgram &program);

/// Receives the bytes of the state on rank 0.
class StateSink {
public:
  virtual ~StateSink() = default;
  /// Returns the address for the next `bytes` bytes.
  virtual char *room(size_t bytes) = 0;
  /// Called once they are written.
  virtual void filled() = 0;
};

/// Moves the tensors of a checkpoint from the ranks' devices to rank 0's `sink`
/// (null on other ranks): complete, row-major, one after the other, in pieces
/// of about 16 MiB or one row of a tensor's first dim. Each rank needs memory
/// for one such piece. All ranks call it. Throws the failures of the
/// communicator, the device and the sink.
void gatherState(const Rank &rank, StateSink *sink);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_CHECKPOINT_GATHERSTATE_H
