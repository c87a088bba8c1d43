//===- RoundingNoise.h - what rounding may do to a program's results ------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A compiled program sums in another order than the interpreter, and computes
/// functions by polynomials. How far its results may lie from the
/// interpreter's depends on the program: a sum that cancels, a division by a
/// small number or an optimizer's square root of a gradient near zero amplify
/// rounding errors. Monte Carlo arithmetic (Parker, "Monte Carlo arithmetic",
/// 1997) measures this: the interpreter runs the program again with random
/// errors of about the size of the compiled program's.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_REFERENCE_ROUNDINGNOISE_H
#define MESHC_LIB_REFERENCE_ROUNDINGNOISE_H

#include "dialects/Nd/NdInterfaces.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace meshc::reference {

class RoundingNoise {
public:
  /// Unit roundoff of f32, relative.
  static constexpr double unitF32 = 1.0 / (1 << 24);
  /// Errors are at most this many units: a few units are what the polynomials
  /// of lib/Codegen/VectorMath.cpp and short sums have.
  static constexpr double unitCount = 16;

  /// `rounds16Bit`: whether the compiled program may round bf16 and f16 at
  /// other places than the ops' results: a rank's part of a sum, or a product
  /// before its epilogue. Errors are `factor` times as large.
  RoundingNoise(uint64_t seed, bool rounds16Bit, double factor = 1)
      : state(seed), alwaysRounds16Bit(rounds16Bit), factor(factor) {}

  /// The op's results with random errors, rounded to their types. Results that
  /// f32 arithmetic computes exactly stay exact.
  llvm::SmallVector<nd::HostTensor>
  evaluate(nd::NamedOpInterface op,
           llvm::ArrayRef<const nd::HostTensor *> operands,
           const nd::EvaluationContext &context);

private:
  /// Uniform within [-1, 1).
  double draw();
  double getRelativeError(mlir::Type elementType) const;
  double disturb(double value, mlir::Type elementType);
  bool isComputedExactly(double value, mlir::Type elementType) const;

  uint64_t state;
  bool alwaysRounds16Bit;
  double factor;
  bool rounds16Bit = false; ///< the op that is evaluated
};

/// Widens the spread of each element by the change that errors of `factor`
/// times the usual size made, per unit of the factor. A change that is not
/// finite counts only if the factor is 1.
void widenSpread(llvm::MutableArrayRef<double> spreads,
                 const nd::HostTensor &expected, const nd::HostTensor &changed,
                 double factor);

/// After how many runs with random errors to ask whether they explain what
/// differs; ascending. The more entries nearly tie for a maximum, the more runs
/// it takes until each has been the maximum. Small functions run fast, so they
/// get more runs.
llvm::SmallVector<unsigned> getRunCounts(mlir::func::FuncOp function);

} // namespace meshc::reference

#endif // MESHC_LIB_REFERENCE_ROUNDINGNOISE_H
