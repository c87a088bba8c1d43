//===- OpCost.h - what an op costs on one rank ----------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_ND_INTERFACES_OPCOST_H
#define MESHC_DIALECTS_ND_INTERFACES_OPCOST_H

#include "dialects/Nd/NdTypes.h"

namespace meshc::nd {

/// Work of one execution on one rank, from local sizes.
struct OpCost {
  double flops = 0;           ///< additions and multiplications
  double transcendentals = 0; ///< exp, tanh, divisions, square roots …
  double bytes = 0;           ///< operands read once and results written once
};

/// What a sort does on one rank.
struct SortWork {
  double rows = 0;    ///< 0: nothing is sorted
  double entries = 0; ///< of a row
  double chosen = 0;  ///< entries of a row that come first

  /// Of rows along `dim` of the op's operand; `into` of its result has the
  /// chosen entries.
  static SortWork of(mlir::Operation *op, mlir::StringAttr dim,
                     mlir::StringAttr into);
  /// The steps from parent to child that a row of random entries takes through
  /// a heap of the chosen ones. Entry i of n is among the first k so far with
  /// probability k / i, and then sinks by log2 k steps: all in all k (1 + ln(n
  /// / k)) log2 k (heap sort for k = n; D. Knuth, The Art of Computer
  /// Programming 3, 5.2.3). A comparison with the heap's top takes half a step.
  double getHeapSteps() const;
};

/// Whether it costs less to compute `bytes` bytes by this work than to store
/// and load them: at most 32 operations per byte. A core does 8 to 22 in the
/// time of a byte's way to memory or back (docs/rationale/residuals.md). A
/// transcendental function counts as 16 operations.
bool isCheaperThanMemory(const OpCost &cost, double bytes);

/// Cost of an op that does `flops` and `transcendentals` per element of its
/// first result, and reads and writes each value once.
OpCost getElementwiseCost(mlir::Operation *op, double flops,
                          double transcendentals = 0);

/// Cost of an op whose only result is a copy of a part of its operand.
OpCost getPartCost(mlir::Operation *op);

/// Bytes of all operands and results of `op` on one rank.
double getTrafficBytes(mlir::Operation *op);

} // namespace meshc::nd

#endif // MESHC_DIALECTS_ND_INTERFACES_OPCOST_H
