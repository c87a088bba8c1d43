//===- Checkpoint.h - a run as a file --------------------------*- C++ -*--===//
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
#include "runtime/Checkpoint/AtomicFile.h"
#include "runtime/Checkpoint/GatherState.h"
#include "runtime/Checkpoint/Safetensors.h"
#include "runtime/Core/Rank.h"

#include <cstdint>
#include <string>
#include <vector>

namespace meshc::runtime {

/// Where a run stands; kept in the file's metadata.
struct RunState {
  int64_t step = 0;     ///< training steps done
  uint64_t seed = 0;    ///< of the run
  int64_t position = 0; ///< examples taken from the shuffled stream
};

/// A checkpoint in the making. What gatherState() brings is written as it
/// comes; the checksums are put into the header at the end.
class CheckpointWriter : public StateSink {
public:
  /// Throws as AtomicFile. `program` outlives the writer.
  CheckpointWriter(const std::string &path, const MeshcProgram &program,
                   const RunState &state);

  char *room(size_t bytes) override;
  void filled() override;

  /// Appends bytes of the state, in the order of gatherState(). Throws as
  /// AtomicFile.
  void append(const char *data, size_t bytes);
  /// The file appears, as one of `generations`, once all bytes were appended.
  /// Throws as AtomicFile.
  void commit(int generations);

private:
  std::string header() const;

  AtomicFile file;
  std::vector<FileTensor> tensors;
  Metadata metadata;
  size_t current = 0;       ///< the tensor whose bytes come next
  int64_t currentBytes = 0; ///< of it that were appended
  uint32_t checksum = 0;    ///< of those
  std::vector<char> slice;
};

/// Writes a checkpoint of what the ranks' devices hold; all ranks call it. Rank
/// 0 writes, and holds at most some 32 MiB (or two rows of a tensor's first
/// dim) of values at once. The file appears whole or not at all, as one of
/// `generations`. Throws Failure(Checkpoint) on rank 0.
void saveCheckpoint(const std::string &path, const Rank &rank,
                    const RunState &state, int generations = 1);

/// A parameter of which this rank's block holds a NaN or an infinity; null
/// where there is none.
const MeshcTensor *findNotFinite(const Rank &rank);

/// Whether the file has the metadata of a run, as checkpoints of `train` have
/// and files of other tools do not.
bool hasRunState(const SafetensorsFile &file);

/// The state in the metadata of a file. Throws Failure(Checkpoint) where it has
/// none, or where the metadata are damaged.
RunState readRunState(const SafetensorsFile &file);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_CHECKPOINT_CHECKPOINT_H
