//===- Options.h - the command line of a compiled program -------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The command line of a compiled program: `train`, `eval`, `generate`,
/// `export` and `info`.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_COMMANDS_OPTIONS_H
#define MESHC_RUNTIME_COMMANDS_OPTIONS_H

#include "meshc/RuntimeAbi.h"
#include "runtime/Checkpoint/Generations.h"
#include "runtime/Checkpoint/StoredParameters.h"
#include "runtime/Commands/Agreement.h"
#include "runtime/Commands/BeamSearch.h"
#include "runtime/Commands/RunSettings.h"
#include "runtime/Commands/Sampler.h"
#include "runtime/Data/Corpus.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace meshc::runtime {

enum class Command { Train, Eval, Generate, Export, Info };

/// The parsed command line. Zero or empty means not given unless said
/// otherwise.
struct Options {
  Command command = Command::Info;

  std::vector<std::string> data;       ///< "NAME=FILE" or "FILE"
  std::vector<std::string> evalData;   ///< the same, of `train --eval-data`
  std::optional<FileType> tokenType;   ///< of a corpus without a header
  std::optional<int64_t> windowStride; ///< of the corpus of `data`
  std::optional<int64_t> evalWindowStride;
  bool withinDocuments = false; ///< windows of corpora cross none
  std::optional<int64_t> steps; ///< in total, with those before a resume
  double epochs = 0;
  std::optional<uint64_t> seed;
  bool noShuffle = false;     ///< examples in the order of the files
  bool skipNonFinite = false; ///< `--on-nonfinite skip`
  RequestedSettings settings; ///< of `train --set-setting`
  int64_t evalEvery = 0;      ///< steps; 0: only at the end

  std::string checkpoint; ///< to write (train) or to read (eval, export)
  int64_t saveEvery = 0;  ///< steps; 0: only at the end
  int keep = 1;           ///< generations of checkpoints
  bool overwrite = false;
  bool saveSync = false;
  std::string bestMetric; ///< of `--keep-best`; empty: not given
  bool bestIsLargest = false;
  int64_t stopAfter = 0; ///< evaluations without improvement; 0: never
  double leastImprovement = 0;
  std::string weights;    ///< of another tool, to start from (train)
  std::string weightsMap; ///< names of `weights`, `checkpoint` (eval) or `to`
  /// What a file's parameters are, and what training evaluates.
  ParameterValues parameters = ParameterValues::AveragesIfAny;
  std::string to;         ///< file of `export`
  int64_t shardBytes = 0; ///< of `export`; 0: one file
  bool resume = false;
  bool resumeAuto = false; ///< starts afresh if there is no checkpoint
  std::string resumeFrom;  ///< empty: `checkpoint`

  std::vector<std::string> prompts; ///< of `generate`
  std::string tokenizer = "bytes";
  int64_t tokens = 0; ///< new ones of a text; 0: as many as fit
  Sampling sampling;
  Beams beams;

  int threads = 0; ///< per rank
  int ranks = 0;
  std::string communicator = "auto";
  std::string matmul = "f32";
  bool noEpilogues = false;
  bool ncclSums = false;
  bool ncclMemory = false;
  bool holdBatch = false; ///< of `train`

  std::string log;
  int64_t logEvery = 0;    ///< steps; 0: each in the log, few on the screen
  std::string tensorboard; ///< folder of `train --tensorboard`
  std::string trace;       ///< file of `train --trace`
  int64_t traceSteps = 5;  ///< to trace
  bool quiet = false;
  bool memory = false;
  bool json = false; ///< of `info`

  /// The command and the values of all options that must agree between ranks.
  /// That is every option unless its declaration says otherwise.
  std::vector<Agreed> agreed;
};

/// Whether the run writes its checkpoints from a copy of the state, while it
/// continues. A run that saves only at its end does not.
inline bool savesInBackground(const Options &options) {
  return options.command == Command::Train && !options.checkpoint.empty() &&
         !options.saveSync &&
         (options.saveEvery > 0 ||
          (!options.bestMetric.empty() && options.evalEvery > 0));
}

/// The file of `--keep-best`.
inline std::string bestPath(const Options &options) {
  return bestCheckpointPath(options.checkpoint);
}

/// How the corpora of `data` and `evalData` are read: training takes a window
/// from every token on, and evaluation those in which each token is a target
/// once, unless the options say otherwise.
CorpusOptions dataCorpus(const Options &options);
CorpusOptions evalCorpus(const Options &options);

/// Parses the command line. Returns the exit code if there is nothing else to
/// do: `--help` and `--version`, which rank 0 prints, or an error, which
/// reportEarlyError prints.
std::optional<int> parseOptions(const MeshcProgram &program, int argc,
                                const char *const *argv, int rank,
                                Options &options);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_COMMANDS_OPTIONS_H
