//===- ModelParts.h - a model taken apart ---------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_STEPS_MODELPARTS_H
#define MESHC_LIB_STEPS_MODELPARTS_H

#include "dialects/Nd/Ops/ModelOps.h"
#include "dialects/Nd/TensorAttributes.h"
#include "lib/Steps/UpdateSettings.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace meshc::steps {

/// An argument or result of a step function.
struct StepTensor {
  mlir::StringAttr name;
  mlir::Type type;
  mlir::ArrayAttr order;
  nd::TensorRole role;
  nd::TensorClass tensorClass = nd::TensorClass::Activation;
  mlir::StringAttr parameter = {}; ///< that an optimizer's value belongs to

  mlir::DictionaryAttr getAttributes(mlir::MLIRContext *context) const;
};

/// The checked parts of the model from which step functions are built.
struct ModelParts {
  mlir::func::FuncOp model;
  nd::TrainOp train;       ///< may be null
  nd::GenerateOp generate; ///< may be null
  llvm::SmallVector<nd::ParameterOp> parameterOps = {};
  llvm::SmallVector<StepTensor> parameters = {}, inputs = {}, metrics = {};
  /// In the model, the loss first.
  llvm::SmallVector<mlir::Value> metricValues = {};
  UpdateSettings settings = {}; ///< if there is `train`
  /// How many times a step runs the model, each time on a part of its batch.
  int64_t microBatches = 1;
  nd::ClipOp clipOp = {};       ///< of `train`; may be null
  nd::AverageOp averageOp = {}; ///< of `train`; may be null
  /// Of training alone, behind the metrics: the norm of all gradients, and the
  /// scale of the loss in a model in f16.
  std::optional<StepTensor> normMetric = {}, scaleMetric = {};

  /// If there is `generate`.
  std::optional<StepTensor> logits = {};
  mlir::Value logitsValue = {}; ///< in the model

  /// Fills in the members after `generate`. Fails, with an error at the cause,
  /// if the model cannot become a program.
  mlir::LogicalResult collect();

  /// Whether the training keeps an average of the parameter.
  bool isAveraged(const StepTensor &parameter) const;
  /// The optimizer's state for a parameter, as a tensor of step functions.
  StepTensor getSlot(unsigned parameter, const nd::OptimizerSlot &slot) const;

private:
  mlir::LogicalResult collectParameters();
  mlir::LogicalResult collectInputs();
  mlir::LogicalResult checkExamples();
  mlir::LogicalResult collectMetrics();
  mlir::LogicalResult checkGenerate();
  mlir::LogicalResult findLoss();
  mlir::LogicalResult findClip();
  mlir::LogicalResult findAverage();
  mlir::LogicalResult findScale();
  std::string findClash(llvm::StringRef name) const;
  StepTensor makeTrainingMetric(mlir::StringAttr name) const;
};

} // namespace meshc::steps

#endif // MESHC_LIB_STEPS_MODELPARTS_H
