//===- UpdateGuard.h - updates that are dropped -----------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `train --on-nonfinite skip`: keeps the state before each step, and restores
/// it if the step's loss or the state after it is not finite.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_COMMANDS_UPDATEGUARD_H
#define MESHC_RUNTIME_COMMANDS_UPDATEGUARD_H

#include "runtime/Device/Session.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace meshc::runtime {

class UpdateGuard {
public:
  /// Keeps this rank's current parameters and optimizer state in host memory.
  /// All ranks construct one; `session` outlives it. Throws Failure (Internal)
  /// if there is too little memory.
  explicit UpdateGuard(Session &session);

  /// Bytes that a rank of `program` keeps.
  static int64_t bytes(const MeshcProgram &program);

  /// Call it after a step, with whether its loss is finite, or need not be as
  /// the step itself has dropped its update: keeps the state if so, and if the
  /// state is finite on all ranks. Otherwise restores the state before the
  /// step, the number of updates included. Returns which, the same on all
  /// ranks. All ranks call it.
  bool accept(bool isLossGood);
  /// Restores the kept state.
  void restore();

private:
  void keep();

  Session &session;
  std::unique_ptr<char[]> kept; ///< blocks, one after the other
};

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_COMMANDS_UPDATEGUARD_H
