//===- LossScale.h - gradients within the range of f16 ----------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_STEPS_LOSSSCALE_H
#define MESHC_LIB_STEPS_LOSSSCALE_H

#include "lib/Steps/ModelParts.h"

namespace meshc::steps {

/// Dynamic loss scaling (Micikevicius et al., Mixed Precision Training,
/// arXiv 1710.03740, section 3.2). A step multiplies the loss by the scale
/// before reverse mode, and its gradients by the inverse. If one of them is not
/// finite, parameters and optimizer state stay as they are and the scale is
/// halved, down to 1 at least; after `interval` steps in a row without that it
/// is doubled. A skipped step is none for the optimizer, as under PyTorch's
/// GradScaler (ParameterUpdates).
class LossScale {
public:
  /// The state: the scale, and how many steps in a row were finite. Both are
  /// scalars f32.
  static llvm::SmallVector<StepTensor> getState(mlir::MLIRContext *context);

  /// What getSkipped() is of a step function.
  static StepTensor describeSkipped(mlir::MLIRContext *context);

  /// `state` are the values before the step. Builds at the place of `builder`.
  LossScale(mlir::OpBuilder &builder, mlir::Location loc,
            mlir::ValueRange state)
      : builder(builder), loc(loc), scale(state[0]), goodSteps(state[1]) {}

  mlir::Value getScale() const { return scale; }
  /// Multiplies the gradients by the inverse of the scale, in f32, and finds
  /// whether all are finite. Entries may be null, which stay; `parameters` are
  /// what they are gradients of.
  void unscale(llvm::MutableArrayRef<mlir::Value> gradients,
               llvm::ArrayRef<StepTensor> parameters);
  /// `updated` if the gradients are finite, else `before`. `name` is that of
  /// the tensor, which belongs to the parameter; a scalar may belong to none.
  mlir::Value choose(mlir::Value updated, mlir::Value before,
                     mlir::StringAttr name, mlir::StringAttr parameter);
  /// 1 if the gradients are not finite, else 0: a scalar f32.
  mlir::Value getSkipped() const { return skipped; }
  /// The state after the step.
  llvm::SmallVector<mlir::Value> getNext(int64_t interval);

private:
  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::Value scale, goodSteps;
  mlir::Value isFinite, skipped; ///< i1 and f32, after unscale()
};

} // namespace meshc::steps

#endif // MESHC_LIB_STEPS_LOSSSCALE_H
