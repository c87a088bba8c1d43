//===- GatherState.h - the ranks' blocks as whole tensors ------*- C++ -*--===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Bringing what a checkpoint holds to rank 0.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_CHECKPOINT_GATHERSTATE_H
#define MESHC_RUNTIME_CHECKPOINT_GATHERSTATE_H

#include "runtime/Core/Rank.h"

#include <cstddef>
#include <cstdint>

namespace meshc::runtime {

/// Whether a checkpoint holds the tensor: parameters and optimizer state.
bool isSaved(const MeshcTensor &tensor);

/// Bytes of all tensors that a checkpoint holds, whole.
int64_t stateBytes(const MeshcProgram &program);

/// What rank 0 does with the state's bytes.
class StateSink {
public:
  virtual ~StateSink() = default;
  /// Where the next `bytes` bytes are put.
  virtual char *room(size_t bytes) = 0;
  /// They are there.
  virtual void filled() = 0;
};

/// Brings the tensors that a checkpoint holds from the ranks' devices to rank
/// 0's `sink` (null on other ranks): whole, row-major, one after the other, in
/// pieces of some 16 MiB or one row of a tensor's first dim. Each rank holds
/// one such piece besides. All ranks call it. Throws as the communicator, the
/// device and the sink.
void gatherState(const Rank &rank, StateSink *sink);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_CHECKPOINT_GATHERSTATE_H
