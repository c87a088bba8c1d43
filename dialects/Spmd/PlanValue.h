//===- PlanValue.h - a value that a plan names ------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_SPMD_PLANVALUE_H
#define MESHC_DIALECTS_SPMD_PLANVALUE_H

#include "llvm/ADT/Hashing.h"
#include <cstdint>

namespace meshc::spmd {

/// A value of a block, by its place: a result of the op with the number
/// `number` in the block, or the block's argument with that number.
struct PlanValue {
  int64_t number = 0;
  int64_t result = 0; ///< -1 for an argument

  bool isArgument() const { return result < 0; }
  bool operator==(const PlanValue &other) const {
    return number == other.number && result == other.result;
  }
};

inline llvm::hash_code hash_value(const PlanValue &value) {
  return llvm::hash_combine(value.number, value.result);
}

} // namespace meshc::spmd

#endif // MESHC_DIALECTS_SPMD_PLANVALUE_H
