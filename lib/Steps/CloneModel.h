//===- CloneModel.h - the ops of a model in a step --------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_STEPS_CLONEMODEL_H
#define MESHC_LIB_STEPS_CLONEMODEL_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"

namespace meshc::steps {

/// Copies an op of the model. In place of each nd.in_generation stands its
/// first operand if the copy is a step of generation, else the second one.
void cloneModelOp(mlir::OpBuilder &builder, mlir::Operation &op,
                  mlir::IRMapping &mapping, bool inGeneration);

/// Copies the ops of the model, but for its parameters, which `mapping` knows,
/// as it knows the inputs.
void cloneModel(mlir::OpBuilder &builder, mlir::func::FuncOp model,
                mlir::IRMapping &mapping, bool inGeneration);

} // namespace meshc::steps

#endif // MESHC_LIB_STEPS_CLONEMODEL_H
