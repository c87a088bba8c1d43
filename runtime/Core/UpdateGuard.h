//===- UpdateGuard.h - updates that are dropped ----------------*- C++ -*--===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `train --on-nonfinite skip`: the state before each step is kept, and taken
/// back where the step's loss or the state after it is not finite.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_CORE_UPDATEGUARD_H
#define MESHC_RUNTIME_CORE_UPDATEGUARD_H

#include "runtime/Core/Session.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace meshc::runtime {

class UpdateGuard {
public:
  /// Keeps this rank's parameters and optimizer state in the host's memory, as
  /// they are now. All ranks make theirs; `session` outlives it. Throws Failure
  /// (Internal) where there is too little memory.
  explicit UpdateGuard(Session &session);

  /// Bytes that a rank of `program` keeps.
  static int64_t bytes(const MeshcProgram &program);

  /// After a step whose loss is finite or not: keeps the state if that and the
  /// state are finite on all ranks, else takes the state before the step back.
  /// Returns which, on all ranks alike, which all call it.
  bool accept(bool lossIsFinite);
  /// Takes back the state that is kept.
  void restore();

private:
  void keep();

  Session &session;
  std::unique_ptr<char[]> kept; ///< blocks, one after the other
};

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_CORE_UPDATEGUARD_H
