//===- Beginning.cpp - how a training run begins --------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Commands/Beginning.h"

#include "runtime/Base/Failure.h"
#include "runtime/Base/StandardStreams.h"
#include "runtime/Base/TensorBlock.h"
#include "runtime/Checkpoint/Generations.h"
#include "runtime/Checkpoint/LoadTensors.h"
#include "runtime/Checkpoint/ResumePoint.h"
#include "runtime/Commands/Weights.h"

#include <memory>
#include <sys/stat.h>
#include <utility>

using namespace meshc::runtime;

/// Starts from the seed, with the parameters of `--weights` if given.
static Beginning beginFresh(Session &session, const Options &options) {
  Beginning beginning;
  beginning.state.seed = options.seed.value_or(0);
  session.context().seed = beginning.state.seed;
  session.device().run(StepFunction::Initialize);
  if (!options.weights.empty()) {
    LoadedWeights loaded =
        loadWeights(options.weights, options, session.rank());
    beginning.agreed = std::move(loaded.agreed);
    beginning.state.tokenizer = std::move(loaded.state.tokenizer);
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

/// "F32 [4, 16]"
static std::string describeParameter(const MeshcTensor &tensor) {
  FileTensor stored;
  stored.dtype = safetensorsName(typeOf(tensor));
  for (uint32_t i = 0; i < tensor.rank; ++i)
    stored.shape.push_back(tensor.dims[i].size);
  return stored.describe();
}

/// Whether a tensor of a checkpoint is a parameter of the program, belongs to
/// one as "PARAMETER.SLOT", or to none, as "@NAME".
static bool belongsTo(const std::string &name, const MeshcProgram &program) {
  if (name.rfind('@', 0) == 0)
    return true;
  for (uint32_t i = 0; i < program.tensorCount; ++i) {
    const MeshcTensor &tensor = program.tensors[i];
    const std::string own = tensor.name;
    if (tensor.role == MESHC_PARAMETER &&
        (name == own || name.rfind(own + '.', 0) == 0))
      return true;
  }
  return false;
}

/// What shows that a checkpoint is of another model; empty: it is of this one.
static std::string findOtherModel(const SafetensorsFile &file,
                                  const MeshcProgram &program) {
  auto model = file.metadata().find("meshc.model");
  if (model != file.metadata().end() && model->second != program.name)
    return "its model is '" + model->second + "', and this one is '" +
           program.name + "'";
  for (uint32_t i = 0; i < program.tensorCount; ++i) {
    const MeshcTensor &tensor = program.tensors[i];
    if (tensor.role != MESHC_PARAMETER)
      continue;
    const FileTensor *held = file.find(tensor.name);
    if (!held)
      return std::string("it has no parameter '") + tensor.name + "'";
    const std::string there = held->describe(),
                      here = describeParameter(tensor);
    if (there != here)
      return std::string("its parameter '") + tensor.name + "' is " + there +
             ", and that of this one is " + here;
  }
  for (const auto &[name, tensor] : file.tensors())
    if (!belongsTo(name, program))
      return "its '" + name + "' is of no parameter of this one";
  return "";
}

static bool isFile(const std::string &path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
         status.st_size > 0;
}

/// Refuses to replace the checkpoint at `path`, as `why` says.
static Failure wouldReplace(const std::string &why) {
  return Failure(ExitCode::Usage, why + "; the run would replace it: give "
                                        "'--overwrite', or another name");
}

static void checkModel(const SafetensorsFile &file,
                       const MeshcProgram &program) {
  std::string other = findOtherModel(file, program);
  if (!other.empty())
    throw wouldReplace("checkpoint '" + file.path() +
                       "' is of another model: " + other);
}

/// Null if it is no checkpoint; `why` then says what is wrong with it.
static std::unique_ptr<SafetensorsFile> openCheckpoint(const std::string &path,
                                                       std::string &why) {
  try {
    auto file = std::make_unique<SafetensorsFile>(path);
    readRunState(*file);
    return file;
  } catch (const Failure &failure) {
    why = failure.what();
    return nullptr;
  }
}

/// Steps of the checkpoint at `path`; -1 if nothing would be lost. A path that
/// is not a file is refused when it is opened for writing.
static int64_t stepsHeld(const std::string &path, const MeshcProgram &program) {
  if (!isFile(path))
    return -1;
  std::string why;
  auto file = openCheckpoint(path, why);
  if (!file)
    throw wouldReplace(why);
  checkModel(*file, program);
  return readRunState(*file).step;
}

/// Checks the earlier generations, which the run would move and in the end
/// replace. Files of their names that are no checkpoints are never moved.
static void checkGenerationsHeld(const Options &options,
                                 const MeshcProgram &program) {
  std::string why;
  for (int number : listGenerations(options.checkpoint))
    if (number > 0 && number < options.keep)
      if (auto file =
              openCheckpoint(generationPath(options.checkpoint, number), why))
        checkModel(*file, program);
}

int64_t meshc::runtime::findReplaced(Session &session, const Options &options,
                                     const Beginning &beginning,
                                     int64_t firstSave) {
  int64_t held = -1;
  if (options.checkpoint.empty() || options.overwrite)
    return held;
  if (session.speaks() && !beginning.continuesCheckpoint) {
    held = stepsHeld(options.checkpoint, session.program());
    checkGenerationsHeld(options, session.program());
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
