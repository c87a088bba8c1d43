//===- Weights.h - parameters that a command begins with --------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_COMMANDS_WEIGHTS_H
#define MESHC_RUNTIME_COMMANDS_WEIGHTS_H

#include "runtime/Checkpoint/Checkpoint.h"
#include "runtime/Commands/Agreement.h"
#include "runtime/Commands/Options.h"
#include "runtime/Device/Rank.h"

#include <string>
#include <vector>

namespace meshc::runtime {

struct LoadedWeights {
  RunState state;             ///< of the run that wrote the file, or zeros
  std::vector<Agreed> agreed; ///< the contents of the files, for all ranks
};

/// Reads the parameters in the file or files at `path` (WeightFiles.h) into
/// this rank's device, by the name map of `options` or as its `--parameters`
/// says. Nothing, and the seed 0, if there is no path. Throws
/// Failure(Checkpoint).
LoadedWeights loadWeights(const std::string &path, const Options &options,
                          const Rank &rank);

/// The command export: writes the parameters of `options.checkpoint` to
/// `options.to`. Throws Failure: Usage if a file would be read and written,
/// Checkpoint.
void exportCheckpoint(const MeshcProgram &program, const Options &options);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_COMMANDS_WEIGHTS_H
