//===- RunFiles.cpp - the files that a run reads --------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Commands/RunFiles.h"

#include "runtime/Base/Failure.h"
#include "runtime/Checkpoint/AtomicFile.h"
#include "runtime/Checkpoint/Generations.h"
#include "runtime/Commands/DistinctFiles.h"
#include "runtime/Commands/ReplacedFiles.h"

using namespace meshc::runtime;

/// The checkpoint of a training run, the earlier ones that `--keep` keeps, the
/// best one, and the files that are written first.
static std::vector<std::string> writtenCheckpoints(const Options &options) {
  std::vector<std::string> paths;
  if (!options.checkpoint.empty())
    paths.push_back(options.checkpoint);
  for (int i = 1; i < options.keep; ++i)
    paths.push_back(generationPath(findTarget(options.checkpoint), i));
  if (!options.bestMetric.empty())
    paths.push_back(bestPath(options));
  for (size_t i = 0, count = paths.size(); i < count; ++i)
    paths.push_back(temporaryPath(findTarget(paths[i])));
  return paths;
}

/// Refuses to write a file that the run also reads, or writes twice.
static void checkFiles(const Options &options, const RunFiles &files) {
  std::vector<NamedFile> named;
  auto add = [&](const char *option, const std::string &path, bool isWritten) {
    if (!path.empty())
      named.push_back({option, path, isWritten});
  };
  if (files.data)
    for (const Source &source : files.data->sources())
      add("--data", source.bytes->path(), false);
  if (files.evalData)
    for (const Source &source : files.evalData->sources())
      add("--eval-data", source.bytes->path(), false);
  add("--weights", options.weights, false);
  add("--weights-map", options.weightsMap, false);
  add("--log", options.log, true);
  add("--tensorboard", options.tensorboard, true);
  add("--trace", options.trace, true);
  // The checkpoint that a run resumes from may be the one that it writes.
  std::vector<NamedFile> others = named;
  add("--resume", options.resumeFrom, false);
  checkDistinct(named);
  named = std::move(others);
  if (options.command != Command::Train)
    add("--checkpoint,--weights", options.checkpoint, false);
  else
    for (const std::string &path : writtenCheckpoints(options))
      add("--checkpoint", path, true);
  checkDistinct(named);
}

/// Keeps other runs from what this one writes.
static std::vector<OutputLock> lockFiles(const Options &options) {
  std::vector<OutputLock> locks;
  if (options.command == Command::Train && !options.checkpoint.empty())
    locks.emplace_back(OutputFiles{options.checkpoint, options.keep,
                                   !options.bestMetric.empty()});
  for (const std::string *path : {&options.log, &options.trace})
    if (!path->empty())
      locks.emplace_back(OutputFiles{*path});
  return locks;
}

/// Windows are those of a corpus.
static void checkWindows(const std::string &option, bool isGiven,
                         const Dataset &data) {
  if (isGiven && !data.corpus())
    throw Failure(ExitCode::Usage, "'" + option +
                                       "' is given, and the data are arrays, "
                                       "which have no windows; leave it out");
}

void RunFiles::open(const MeshcProgram &program, const Options &options,
                    bool hasRankZero) {
  if (options.command == Command::Generate) {
    if (hasRankZero)
      prompts = openPrompts(program, options);
  } else {
    data.emplace(program, options.data, dataCorpus(options));
    checkWindows("--window-stride", options.windowStride.has_value(), *data);
    checkWindows("--within-documents", options.withinDocuments, *data);
  }
  if (!options.evalData.empty()) {
    evalData.emplace(program, options.evalData, evalCorpus(options));
    checkWindows("--eval-window-stride", options.evalWindowStride.has_value(),
                 *evalData);
  }
  checkFiles(options, *this);
  if (!hasRankZero) // which writes them
    return;
  checkReplacedFiles(options);
  locks = lockFiles(options);
}
