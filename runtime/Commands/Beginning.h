//===- Beginning.h - how a training run begins ------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The state of a training run before its first step: from the seed, from the
/// parameters of another tool, or from a checkpoint.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_COMMANDS_BEGINNING_H
#define MESHC_RUNTIME_COMMANDS_BEGINNING_H

#include "runtime/Checkpoint/Checkpoint.h"
#include "runtime/Commands/Agreement.h"
#include "runtime/Commands/Options.h"
#include "runtime/Device/Session.h"

#include <cstdint>
#include <vector>

namespace meshc::runtime {

struct Beginning {
  RunState state;
  bool resumed = false;
  /// Whether the run resumes from the file that `--checkpoint` names. This and
  /// the next are of this rank's files until adoptPlaceOfRankZero().
  bool continuesCheckpoint = false;
  /// Whether it resumes from an earlier generation, because the newest is
  /// damaged.
  bool fellBack = false;
  /// The ranks' starting points, for comparison.
  std::vector<Agreed> agreed;
};

/// Sets the device's state and the context's seed as the options say; all ranks
/// call it. Throws Failure: Checkpoint, or Usage for a seed that differs from
/// the checkpoint's.
Beginning beginRun(Session &session, const Options &options);

/// Sets `continuesCheckpoint` and `fellBack` to those of rank 0, which writes
/// the checkpoints: the ranks may read copies at different places. All ranks
/// call it once they agree on where they begin.
void adoptPlaceOfRankZero(Session &session, Beginning &beginning);

/// The steps of the checkpoint that a run would replace without resuming from
/// it; -1: none, or `--overwrite` permits it. All ranks call it. Throws Failure
/// (Usage) on rank 0 if the checkpoint of step `firstSave`, the run's first
/// one, would replace one of more steps, one of another model, or a file that
/// is not a checkpoint. A model is another one if it has another name or other
/// parameters; its layout and its optimizer do not count.
int64_t findReplaced(Session &session, const Options &options,
                     const Beginning &beginning, int64_t firstSave);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_COMMANDS_BEGINNING_H
