//===- Saver.h - the checkpoints that a run writes -------------*- C++ -*--===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Saving while the run goes on. At the boundary of a step the ranks bring
/// their blocks to a buffer of rank 0, which was taken when the run began; a
/// thread of rank 0 then computes checksums, writes the file, brings it to the
/// disk and renames it. The copy goes to rank 0 and not to each rank's own
/// memory, since the communicators are called by one thread at a time: what the
/// ranks hold beside could only be sent between later steps, which would delay
/// those.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_CHECKPOINT_SAVER_H
#define MESHC_RUNTIME_CHECKPOINT_SAVER_H

#include "runtime/Checkpoint/Checkpoint.h"
#include "runtime/Core/Rank.h"

#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <vector>

namespace meshc::runtime {

class CopyBuffer;

struct SaveOptions {
  std::string path;
  int generations = 1;       ///< to keep, `path` included
  bool inBackground = false; ///< by a copy of the state
};

/// Bytes that rank 0 takes for the copy of the state.
int64_t copyBytes(const MeshcProgram &program);

class Saver {
public:
  /// All ranks make theirs; `rank` outlives it. With `inBackground` rank 0
  /// takes the memory of the copy. Throws Failure: Internal where there is too
  /// little memory, Checkpoint where `path` cannot be written, as far as one
  /// can know without its bytes.
  Saver(const Rank &rank, SaveOptions options);
  /// Waits for the write that is under way.
  ~Saver();
  Saver(const Saver &) = delete;
  Saver &operator=(const Saver &) = delete;

  /// Begins to write a checkpoint of what the ranks' devices hold, once the one
  /// before is written; all ranks call it. Without `inBackground` it is written
  /// when the call returns. Throws Failure(Checkpoint) on rank 0.
  void save(const RunState &state);

  /// Throws what a write that is done failed with. Never waits.
  void check();
  /// Waits for the write that is under way. Throws as check().
  void wait();
  /// The step of the newest checkpoint that this run has written, or of the one
  /// that it goes on from where that has the same name; -1: none. Waits for the
  /// write that is under way, and does not throw its failure. All ranks call
  /// it.
  int64_t savedStep();
  void setSavedStep(int64_t step) { doneStep = step; }
  /// The file of that name is damaged: the next checkpoint replaces it instead
  /// of keeping it as a generation, which might replace an intact one.
  void replaceDamaged() { replacesDamaged = true; }

private:
  int takeGenerations();

  const Rank &rank;
  SaveOptions options;
  std::unique_ptr<CopyBuffer> copy; ///< of rank 0, in the background
  std::future<void> writing;
  int64_t begunStep = -1, doneStep = -1;
  bool replacesDamaged = false;
};

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_CHECKPOINT_SAVER_H
