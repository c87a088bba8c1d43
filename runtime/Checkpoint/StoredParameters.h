//===- StoredParameters.h - parameters or their averages --------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Which tensors of a file are the parameters that a command reads. The
/// checkpoint of a training with `average` holds two values of each: the last
/// one, and its moving average as "PARAMETER.average".
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_CHECKPOINT_STOREDPARAMETERS_H
#define MESHC_RUNTIME_CHECKPOINT_STOREDPARAMETERS_H

#include "runtime/Checkpoint/WeightFiles.h"

#include <string>

namespace meshc::runtime {

enum class ParameterValues {
  AveragesIfAny, ///< if the file holds some
  Averages,
  Last
};

/// The name of a parameter's average in checkpoints.
std::string averageName(const std::string &parameter);

class StoredParameters {
public:
  /// `files` outlive this. Throws Failure(Checkpoint) if averages are demanded
  /// and `files` are not the checkpoint of a training that keeps them.
  StoredParameters(const WeightFiles &files, const MeshcProgram &program,
                   ParameterValues values);

  /// The name of the tensor that holds the parameter.
  std::string find(const std::string &parameter) const;

private:
  const WeightFiles &files;
  bool areAverages = false;
};

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_CHECKPOINT_STOREDPARAMETERS_H
