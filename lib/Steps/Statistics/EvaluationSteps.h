//===- EvaluationSteps.h - the steps of evaluations -------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_STEPS_STATISTICS_EVALUATIONSTEPS_H
#define MESHC_LIB_STEPS_STATISTICS_EVALUATIONSTEPS_H

#include "lib/Steps/ModelParts.h"
#include "lib/Steps/Statistics/MetricDivision.h"
#include "lib/Steps/StepFunction.h"

namespace meshc::steps {

/// Builds the functions that evaluate a model over many batches. Each call adds
/// the statistics of a batch to totals that it keeps (TensorRole::Statistic,
/// zeros before the first batch), and computes the metrics of all examples so
/// far. The runtime sets how many complete batches are to come
/// (TensorRole::Batches, which the calls count down), and how many examples the
/// incomplete batch behind them has (TensorRole::Rest).
///
/// If the model slices its examples, or does something else with them that
/// padding would change, there are no Batches and no Rest: all batches are
/// complete. So they are if a batch has more examples than an i32 counts. The
/// module then has the attribute `nd.whole_batches`, which says why.
class EvaluationSteps {
public:
  EvaluationSteps(mlir::ModuleOp module, const ModelParts &parts);
  EvaluationSteps(const EvaluationSteps &) = delete;
  /// Erases what the steps were copied from.
  ~EvaluationSteps();

  /// Adds `eval_step`, or `eval_average_step`, whose parameters are the
  /// averages if there are some.
  void build(bool ofAverages);

private:
  void makeModel();
  std::string findObstacle(llvm::ArrayRef<mlir::StringAttr> counting);
  void addBatch(StepFunction &step, const mlir::IRMapping &parameters);
  llvm::SmallVector<mlir::Value> copyModel(mlir::OpBuilder &builder,
                                           mlir::ValueRange parameters,
                                           mlir::ValueRange inputs,
                                           mlir::Value count);
  mlir::Value prepare(mlir::OpBuilder &builder, mlir::Value value,
                      const Statistic &statistic, mlir::Value count);
  llvm::SmallVector<mlir::Value> computeStatistics(StepFunction &step,
                                                   mlir::ValueRange parameters,
                                                   mlir::ValueRange inputs,
                                                   mlir::Value count);
  mlir::Value addExamples(StepFunction &step);
  mlir::Value countBatch(StepFunction &step);
  mlir::Value addTotal(StepFunction &step, const StepTensor &state,
                       const Statistic &statistic, mlir::Value part,
                       mlir::Value isFirst);
  mlir::Value addSum(StepFunction &step, const StepTensor &state,
                     mlir::Value part);
  void warnOfMeans();
  void warnOfSizes();

  mlir::ModuleOp module;
  const ModelParts &parts;
  /// The model with its parameters, the inputs of a micro-batch, and the number
  /// of its examples as arguments. In what is computed from totals, the number
  /// is that of all examples.
  mlir::func::FuncOp model;
  std::optional<ExampleDims> dims;
  std::optional<MetricDivision> division;
  MetricDivision::Slice slice;
  llvm::SmallVector<StepTensor> states; ///< of the slice's statistics
};

/// The names of the dims that count the examples of the model's inputs.
llvm::SmallVector<mlir::StringAttr> getExampleDims(const ModelParts &parts);

} // namespace meshc::steps

#endif // MESHC_LIB_STEPS_STATISTICS_EVALUATIONSTEPS_H
