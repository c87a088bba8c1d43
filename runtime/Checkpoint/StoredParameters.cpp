//===- StoredParameters.cpp - parameters or their averages ----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Checkpoint/StoredParameters.h"

#include "runtime/Base/Failure.h"
#include "runtime/Checkpoint/Checkpoint.h"

using namespace meshc::runtime;

std::string meshc::runtime::averageName(const std::string &parameter) {
  return parameter + ".average";
}

StoredParameters::StoredParameters(const WeightFiles &files,
                                   const MeshcProgram &program,
                                   ParameterValues values)
    : files(files) {
  if (values == ParameterValues::Last)
    return;
  const bool ofTrain = files.single() && hasRunState(*files.single());
  for (uint32_t i = 0; ofTrain && i < program.tensorCount; ++i)
    if (program.tensors[i].role == MESHC_PARAMETER)
      areAverages |=
          files.find(averageName(program.tensors[i].name)) != nullptr;
  if (!areAverages && values == ParameterValues::Averages)
    throw Failure(ExitCode::Checkpoint,
                  "checkpoint '" + files.path() +
                      "' has no averages of parameters, such as those of a "
                      "training with 'average 0.999'; leave out '--parameters "
                      "average'");
}

std::string StoredParameters::find(const std::string &parameter) const {
  const std::string average = averageName(parameter);
  return areAverages && files.find(average) ? average : parameter;
}
