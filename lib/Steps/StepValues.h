//===- StepValues.h - what a training step computes -------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The names, classes and parameters of what a training step computes besides
/// the model. The layout cuts the values accordingly.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_STEPS_STEPVALUES_H
#define MESHC_LIB_STEPS_STEPVALUES_H

#include "lib/Steps/ModelParts.h"

namespace meshc::steps {

/// Marks the gradient of a parameter, unless it is a named value of the model
/// too.
void markGradient(mlir::Value gradient, const StepTensor &parameter);

/// Makes the result of a new op known as the optimizer's: `name`, of the
/// parameter of that name. Scalars belong to no parameter and stay as they are.
void markOptimizerValue(mlir::Value value, mlir::StringAttr name,
                        mlir::StringAttr parameter);

} // namespace meshc::steps

#endif // MESHC_LIB_STEPS_STEPVALUES_H
