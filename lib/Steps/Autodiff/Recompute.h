//===- Recompute.h - what the gradients of loops recompute ------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_STEPS_AUTODIFF_RECOMPUTE_H
#define MESHC_LIB_STEPS_AUTODIFF_RECOMPUTE_H

namespace meshc::steps {

/// The policies of the pass meshc-choose-residuals (Passes.td). Free of MLIR,
/// for the command line.
enum class Recompute {
  None,  ///< store all values that gradients read
  Cheap, ///< recompute what a few pointwise ops compute from stored values
  Full   ///< store carried values only
};

} // namespace meshc::steps

#endif // MESHC_LIB_STEPS_AUTODIFF_RECOMPUTE_H
