//===- Checkpoint.h - a run as a file ---------------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A run as a file: its parameters and optimizer state, complete, by name and
/// global shape, in declaration order. Any mesh reads what any mesh wrote.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_CHECKPOINT_CHECKPOINT_H
#define MESHC_RUNTIME_CHECKPOINT_CHECKPOINT_H

#include "meshc/RuntimeAbi.h"
#include "runtime/Checkpoint/AtomicFile.h"
#include "runtime/Checkpoint/GatherState.h"
#include "runtime/Checkpoint/Safetensors.h"
#include "runtime/Device/Rank.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace meshc::runtime {

/// The best evaluation of a run, for `--keep-best` and `--stop-after`. All
/// values are of one metric.
struct BestEvaluation {
  std::string metric;   ///< "loss:min" or "accuracy:max"; empty: no evaluation
  double value = 0;     ///< the best one
  int64_t step = -1;    ///< after which it was reached; -1: none was finite
  double reference = 0; ///< the last one that improved by enough
  int64_t since = 0;    ///< evaluations after that
  int64_t seen = -1;    ///< the step of the last evaluation that counts here
};

/// The progress of a run; kept in the file's metadata.
struct RunState {
  int64_t step = 0;     ///< training steps done
  uint64_t seed = 0;    ///< of the run
  int64_t position = 0; ///< examples taken from the shuffled stream
  int64_t skipped = 0;  ///< steps whose updates were dropped
  BestEvaluation best = {};
  /// Of the token file that the run read, or "bytes"; empty if it is not known.
  std::string tokenizer = {};
  /// Settings of the training that the run changed, by name.
  std::map<std::string, double> settings = {};
};

/// A checkpoint being written. The bytes of gatherState() are written as they
/// arrive; the checksums are put into the header at the end.
class CheckpointWriter : public StateSink {
public:
  /// Throws the failures of AtomicFile. `program` outlives the writer.
  CheckpointWriter(const std::string &path, const MeshcProgram &program,
                   const RunState &state);

  char *room(size_t bytes) override;
  void filled() override;

  /// Appends bytes of the state, in the order of gatherState(). Throws the
  /// failures of AtomicFile.
  void append(const char *data, size_t bytes);
  /// Publishes the file, as one of `generations`, once all bytes were appended.
  /// Throws the failures of AtomicFile.
  void commit(int generations);

private:
  std::string header() const;

  AtomicFile file;
  std::vector<FileTensor> tensors;
  Metadata metadata;
  size_t current = 0;       ///< the tensor whose bytes come next
  int64_t currentBytes = 0; ///< bytes of it appended so far
  uint32_t checksum = 0;    ///< of those
  std::vector<char> slice;
};

/// Writes a checkpoint of the state on the ranks' devices; all ranks call it.
/// Rank 0 writes, and holds at most about 32 MiB (or two rows of a tensor's
/// first dim) of values at a time. The file appears complete or not at all, as
/// one of `generations`. Throws Failure(Checkpoint) on rank 0.
void saveCheckpoint(const std::string &path, const Rank &rank,
                    const RunState &state, int generations = 1);

/// Returns a parameter whose block on this rank holds a NaN or an infinity, or
/// null.
const MeshcTensor *findNotFinite(const Rank &rank);

/// Whether the file has the metadata of a run. Checkpoints of `train` have
/// them; files of other tools do not.
bool hasRunState(const SafetensorsFile &file);

/// The state in the metadata of a file. Throws Failure(Checkpoint) if there are
/// no metadata or they are damaged.
RunState readRunState(const SafetensorsFile &file);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_CHECKPOINT_CHECKPOINT_H
