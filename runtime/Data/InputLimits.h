//===- InputLimits.h - the numbers that inputs take -------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_DATA_INPUTLIMITS_H
#define MESHC_RUNTIME_DATA_INPUTLIMITS_H

#include "meshc/RuntimeAbi.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace meshc::runtime {

/// What the compiler's report says of the numbers of an i32 input.
struct InputLimits {
  /// If not 0: they are targets of a `cross_entropy` with so many classes.
  int64_t classes = 0;
  /// Targets of this number do not count in any `cross_entropy`.
  std::optional<int64_t> ignored = {};
  /// If not 0: they index a dim of this size.
  int64_t indices = 0;

  /// They are below this: 0 if no limit is known.
  int64_t vocabulary() const {
    return !indices || (classes && classes < indices) ? classes : indices;
  }
};

/// The limits of inputs by name, from "targets": {"labels": 10}, "ignored":
/// {"labels": -100} and "indices": {"tokens": 256}.
std::map<std::string, InputLimits> readLimits(const MeshcProgram &program);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_DATA_INPUTLIMITS_H
