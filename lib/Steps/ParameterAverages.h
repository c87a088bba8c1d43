//===- ParameterAverages.h - moving averages of parameters ------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The exponential moving averages of parameters over the steps, which
/// `nd.average` asks for. They are state of the training, f32, one for each
/// parameter of floats, and cut like the optimizer's state.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_STEPS_PARAMETERAVERAGES_H
#define MESHC_LIB_STEPS_PARAMETERAVERAGES_H

#include "lib/Steps/ModelParts.h"

namespace meshc::steps {

/// The average as a tensor of step functions.
StepTensor getAverage(const StepTensor &parameter);

/// The averages' part of a training step.
class AverageStep {
public:
  /// `decay` is the value of the op's operand in the step; null if the decay is
  /// a number.
  AverageStep(mlir::OpBuilder &builder, nd::AverageOp op, mlir::Value decay);

  /// The average after the step: before + (1 - decay) * (updated - before).
  /// `state` is what getAverage() describes.
  mlir::Value move(mlir::Value before, mlir::Value updated,
                   const StepTensor &state);

private:
  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::Value weight; ///< 1 - decay, a scalar f32
};

} // namespace meshc::steps

#endif // MESHC_LIB_STEPS_PARAMETERAVERAGES_H
