//===- Train.h - the command train ------------------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The command `train`.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_COMMANDS_TRAIN_H
#define MESHC_RUNTIME_COMMANDS_TRAIN_H

#include "runtime/Base/Failure.h"
#include "runtime/Commands/Options.h"
#include "runtime/Data/Dataset.h"
#include "runtime/Device/Session.h"

namespace meshc::runtime {

/// Trains one rank's part of the model; all ranks call it. `evalData` may be
/// null. Returns Success, or Interrupted or Terminated if a signal ended the
/// run after a complete step; the checkpoint is then written. Throws Failure.
ExitCode train(Session &session, const Options &options, const Dataset &data,
               const Dataset *evalData);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_COMMANDS_TRAIN_H
