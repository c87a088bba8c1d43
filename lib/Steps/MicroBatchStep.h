//===- MicroBatchStep.h - the gradient of a batch in parts ------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_STEPS_MICROBATCHSTEP_H
#define MESHC_LIB_STEPS_MICROBATCHSTEP_H

#include "lib/Steps/Statistics/MetricDivision.h"
#include "lib/Steps/StepFunction.h"

namespace meshc::steps {

/// The model and its gradient in a training step with `accumulate`: a loop over
/// micro-batches.
class MicroBatchStep {
public:
  /// `parameters`: values of the step, in the model's order.
  MicroBatchStep(const ModelParts &parts, StepFunction &step,
                 llvm::ArrayRef<mlir::Value> parameters);

  /// Adds the inputs and the metrics, those of the whole batch, to the step.
  /// Returns the gradients of the parameters, times `factor`; null for those
  /// that the loss does not reach.
  llvm::FailureOr<llvm::SmallVector<mlir::Value>> build(mlir::Value factor);

private:
  mlir::IRMapping copyModel(mlir::OpBuilder &body, mlir::ValueRange parameters,
                            mlir::ValueRange inputs);
  llvm::SmallVector<mlir::Value>
  addStatistics(const MetricDivision &division,
                llvm::ArrayRef<mlir::Value> statistics,
                mlir::ValueRange batches);
  mlir::Value complete(const Statistic &statistic, mlir::Value total);
  void addMetrics(const MetricDivision &division,
                  const MetricDivision::Slice &slice,
                  llvm::ArrayRef<mlir::Value> sums);

  const ModelParts &parts;
  mlir::func::FuncOp model;
  StepFunction &step;
  llvm::SmallVector<mlir::Value> parameters;
};

/// Divides the loops of the model by divideLoops, which may replace them.
void divideModelLoops(ModelParts &parts);

} // namespace meshc::steps

#endif // MESHC_LIB_STEPS_MICROBATCHSTEP_H
