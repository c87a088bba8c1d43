//===- Checkpoint.h - saving and loading a run -----------------*- C++ -*--===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A run as a file: its parameters and optimizer state, whole, by name and
/// global shape in the order of their declaration, so that any mesh reads what
/// any mesh wrote.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_CHECKPOINT_CHECKPOINT_H
#define MESHC_RUNTIME_CHECKPOINT_CHECKPOINT_H

#include "meshc/RuntimeAbi.h"
#include "runtime/Checkpoint/Safetensors.h"
#include "runtime/Core/Rank.h"

#include <cstdint>
#include <string>

namespace meshc::runtime {

/// Where a run stands; kept in the file's metadata.
struct RunState {
  int64_t step = 0;     ///< training steps done
  uint64_t seed = 0;    ///< of the run
  int64_t position = 0; ///< examples taken from the shuffled stream
};

/// Writes a checkpoint of what the ranks' devices hold; all ranks call it. Rank
/// 0 writes, and holds at most some 16 MiB (or one row of a tensor's first dim)
/// of others' values at once. The file appears whole or not at all. Throws
/// Failure(Checkpoint) on rank 0.
void saveCheckpoint(const std::string &path, const Rank &rank,
                    const RunState &state);

/// A parameter of which this rank's block holds a NaN or an infinity; null
/// where there is none.
const MeshcTensor *findNotFinite(const Rank &rank);

/// Whether a checkpoint could be written to `path`, as far as one can know
/// without its bytes. Throws Failure(Checkpoint) where not.
void checkWritable(const std::string &path);

/// The state in the metadata of a file. Throws Failure(Checkpoint) where it has
/// none, as a file of other programs.
RunState readRunState(const SafetensorsFile &file);

/// Copies this rank's blocks of the parameters, and with `optimizer` of the
/// optimizer's state, from the file to its device. Throws Failure(Checkpoint)
/// for a tensor that is missing or has another shape or type.
void loadTensors(const SafetensorsFile &file, const Rank &rank, bool optimizer);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_CHECKPOINT_CHECKPOINT_H
