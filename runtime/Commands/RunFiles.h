//===- RunFiles.h - the files that a run reads ------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_COMMANDS_RUNFILES_H
#define MESHC_RUNTIME_COMMANDS_RUNFILES_H

#include "runtime/Checkpoint/OutputLock.h"
#include "runtime/Commands/Generate.h"
#include "runtime/Commands/Options.h"
#include "runtime/Data/Dataset.h"

#include <optional>
#include <vector>

namespace meshc::runtime {

/// The files of a run, shared by the ranks of this process.
struct RunFiles {
  std::optional<Dataset> data, evalData;
  Prompts prompts;               ///< of `generate`, where rank 0 is
  std::vector<OutputLock> locks; ///< of what rank 0 writes, where it is

  /// Opens what the command reads, and locks what it writes. Throws Failure if
  /// a file is missing or does not fit the program, or if the run would write
  /// to a file that it reads or that another run writes.
  void open(const MeshcProgram &program, const Options &options,
            bool hasRankZero);

  int64_t residentBytes() const {
    return (data ? data->residentBytes() : 0) +
           (evalData ? evalData->residentBytes() : 0);
  }
};

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_COMMANDS_RUNFILES_H
