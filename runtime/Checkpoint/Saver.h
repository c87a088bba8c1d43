//===- Saver.h - the checkpoints that a run writes --------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Saves while the run continues. At a step boundary the ranks send their
/// blocks to a buffer of rank 0, which was allocated when the run began. A
/// thread of rank 0 then computes checksums, writes the file, flushes it to the
/// disk and renames it. The copy goes to rank 0 and not to each rank's own
/// memory because one thread at a time may call the communicators: copies held
/// by the ranks could only be sent between later steps, which would delay
/// those.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_CHECKPOINT_SAVER_H
#define MESHC_RUNTIME_CHECKPOINT_SAVER_H

#include "runtime/Checkpoint/Checkpoint.h"
#include "runtime/Device/Rank.h"

#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace meshc::runtime {

class CopyBuffer;

/// A checkpoint whose file is in place.
struct WrittenCheckpoint {
  std::string path;
  int64_t step = 0;
};

struct SaveOptions {
  std::string path;
  int generations = 1;       ///< generations to keep, `path` included
  std::string best;          ///< a further file, or empty
  bool inBackground = false; ///< write from a copy of the state
};

/// Bytes that rank 0 allocates for the copy of the state.
int64_t stateCopyBytes(const MeshcProgram &program);

class Saver {
public:
  /// All ranks construct one; `rank` outlives it. With `inBackground` rank 0
  /// allocates the copy. Throws Failure: Internal if there is too little
  /// memory, Checkpoint if `path` cannot be written, as far as that is known
  /// without the bytes.
  Saver(const Rank &rank, SaveOptions options);
  /// Waits for the write in progress.
  ~Saver();
  Saver(const Saver &) = delete;
  Saver &operator=(const Saver &) = delete;

  /// Starts to write a checkpoint of the state on the ranks' devices, once the
  /// previous one is written; all ranks call it. Without `inBackground` it is
  /// written when the call returns. Throws Failure(Checkpoint) on rank 0.
  void save(const RunState &state);
  /// The same for the file `best`. It replaces that file alone.
  void saveBest(const RunState &state);

  /// Throws the failure of a finished write. Never waits.
  void check();
  /// Waits for the write in progress. Throws like check().
  void wait();
  /// On rank 0: the newest checkpoint of save() that has been written since the
  /// last call; null if there is none.
  std::optional<WrittenCheckpoint> takeWritten() {
    return std::exchange(written, std::nullopt);
  }
  /// The step of the newest checkpoint that this run has written, or of the one
  /// that it resumes from if that has the same name; -1: none. Waits for the
  /// write in progress, and does not throw its failure. All ranks call it.
  int64_t savedStep();
  void setSavedStep(int64_t step) { doneStep = step; }
  /// Declares the existing file damaged: the next checkpoint replaces it
  /// instead of keeping it as a generation, which might push out an intact one.
  void replaceDamaged() { replacesDamaged = true; }

private:
  int takeGenerations();
  void noteDone(int64_t step);
  void write(const RunState &state, const std::string &path, int generations,
             int64_t step);

  const Rank &rank;
  SaveOptions options;
  std::unique_ptr<CopyBuffer> copy; ///< on rank 0, in the background
  std::future<void> writing;
  int64_t begunStep = -1, doneStep = -1;
  std::optional<WrittenCheckpoint> written;
  bool replacesDamaged = false;
};

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_CHECKPOINT_SAVER_H
