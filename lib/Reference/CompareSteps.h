//===- CompareSteps.h - partitioned against one device --------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_REFERENCE_COMPARESTEPS_H
#define MESHC_LIB_REFERENCE_COMPARESTEPS_H

#include "lib/Reference/Interpreter.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

namespace meshc::reference {

struct CompareOptions {
  uint64_t seed = 0; ///< of the inputs, and of the program's random numbers
  /// i32 inputs by name: drawn from 0 … limit - 1. Others: below the size of
  /// the dim that they index, where an op says so, or 8.
  llvm::StringMap<int64_t> integerLimits;
};

/// How one result of one function differs.
struct OutputDifference {
  std::string function, name;
  double largest = 0;    ///< largest |partitioned - one device|; NaN where only
                         ///< one of them is finite
  double scale = 0;      ///< largest magnitude on one device
  double tolerance = 0;  ///< what rounding explains
  int64_t nonFinite = 0; ///< elements that are not finite on one device
  bool agrees = true;
};

/// Runs each function that both modules have (by name) once: of `sequential`,
/// on one device, and of `partitioned`, on all ranks of its mesh, on the same
/// random inputs, floats in double precision without rounding. What can differ
/// is then the order of summation alone: 2^-53 relative for each term. The
/// tolerance is 1e-9 of the largest magnitude in the tensor, plus 1e-12 for
/// tensors that cancel to zero: several thousand times what a million terms
/// explain, and a thousandth of what one lost f32 term would make.
/// Fails, with an error, where a function cannot be run, types of results do
/// not match, replicas differ, or the modules share no function.
llvm::FailureOr<std::vector<OutputDifference>>
compareSteps(mlir::ModuleOp sequential, mlir::ModuleOp partitioned,
             const CompareOptions &options);

} // namespace meshc::reference

#endif // MESHC_LIB_REFERENCE_COMPARESTEPS_H
