//===- Beginning.cpp - how a training run begins --------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Commands/Beginning.h"

#include "runtime/Base/Failure.h"
#include "runtime/Base/StandardStreams.h"
#include "runtime/Checkpoint/Generations.h"
#include "runtime/Checkpoint/LoadTensors.h"
#include "runtime/Checkpoint/ResumePoint.h"
#include "runtime/Commands/Weights.h"

#include <sys/stat.h>

using namespace meshc::runtime;

/// Starts from the seed, with the parameters of `--weights` if given.
static Beginning beginFresh(Session &session, const Options &options) {
  Beginning beginning;
  beginning.state.seed = options.seed.value_or(0);
  session.context().seed = beginning.state.seed;
  session.device().run(StepFunction::Initialize);
  if (!options.weights.empty()) {
    beginning.agreed =
        loadWeights(options.weights, options, session.rank()).agreed;
  }
  return beginning;
}

Beginning meshc::runtime::beginRun(Session &session, const Options &options) {
  if (!options.resume)
    return beginFresh(session, options);
  const std::string &path =
      options.resumeFrom.empty() ? options.checkpoint : options.resumeFrom;
  std::optional<ResumePoint> point = findResumePoint(path, session.rank());
  if (!point && options.resumeAuto)
    return beginFresh(session, options);
  if (!point)
    throw Failure(ExitCode::Checkpoint,
                  "checkpoint '" + path +
                      "' cannot be opened: there is no such file, and no "
                      "earlier generation of it; '--resume=auto' begins anew "
                      "where there is none");
  loadState(SafetensorsFile(point->path), session.rank());
  Beginning beginning;
  beginning.state = point->state;
  beginning.agreed = {
      {"the resume point", "step " + std::to_string(beginning.state.step), {}},
      agreedCheckpoint(point->path)};
  beginning.resumed = true;
  beginning.continuesCheckpoint = isSameFile(path, options.checkpoint);
  beginning.fellBack = point->path != path;
  if (options.seed && *options.seed != beginning.state.seed)
    throw Failure(ExitCode::Usage,
                  "checkpoint '" + point->path + "' was begun with seed " +
                      std::to_string(beginning.state.seed) +
                      " and '--seed' is " + std::to_string(*options.seed) +
                      "; leave '--seed' out to continue it");
  session.context().seed = beginning.state.seed;
  if (!point->damage.empty())
    printError(std::string(session.program().name) + ": warning: " +
               point->damage + "; going on from '" + point->path +
               "' of step " + std::to_string(beginning.state.step) + '\n');
  return beginning;
}

void meshc::runtime::adoptPlaceOfRankZero(Session &session,
                                          Beginning &beginning) {
  uint8_t place[] = {beginning.continuesCheckpoint, beginning.fellBack};
  session.communicator().broadcast(place, sizeof(place), 0);
  beginning.continuesCheckpoint = place[0];
  beginning.fellBack = place[1];
}

/// Steps of the checkpoint at `path`; -1 if nothing would be lost. A path that
/// is not a file is refused when it is opened for writing.
static int64_t stepsHeld(const std::string &path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode) ||
      status.st_size == 0)
    return -1;
  try {
    return readRunState(SafetensorsFile(path)).step;
  } catch (const Failure &failure) {
    throw Failure(ExitCode::Usage, std::string(failure.what()) +
                                       "; the run would replace it: give "
                                       "'--overwrite', or another name");
  }
}

int64_t meshc::runtime::findReplaced(Session &session, const Options &options,
                                     const Beginning &beginning,
                                     int64_t firstSave) {
  int64_t held = -1;
  if (options.checkpoint.empty() || options.overwrite)
    return held;
  if (session.speaks() && !beginning.continuesCheckpoint) {
    held = stepsHeld(options.checkpoint);
    if (held > firstSave)
      throw Failure(ExitCode::Usage,
                    "checkpoint '" + options.checkpoint + "' holds step " +
                        std::to_string(held) +
                        " of an earlier run, and this run would replace it "
                        "after step " +
                        std::to_string(firstSave) +
                        "; go on with it ('--resume'), replace it "
                        "('--overwrite'), or give another name");
  }
  session.communicator().broadcast(&held, sizeof(held), 0);
  return held;
}
