//===- StepFunction.h - a step function under construction -----*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_STEPS_STEPFUNCTION_H
#define MESHC_LIB_STEPS_STEPFUNCTION_H

#include "dialects/Nd/StepNames.h"
#include "lib/Steps/ModelParts.h"
#include "mlir/IR/IRMapping.h"

namespace meshc::steps {

/// A step function under construction: its arguments and results are added
/// together with what they are. Values that reverse mode may replace are kept
/// as operands of the terminator.
class StepFunction {
public:
  /// An empty function at the end of the module.
  StepFunction(mlir::ModuleOp module, mlir::Location loc, nd::Step step);

  mlir::Value addArgument(const StepTensor &tensor, mlir::Location loc);
  void addResult(const StepTensor &tensor, mlir::Value value);
  mlir::Value getResult(unsigned index) {
    return terminator->getOperand(index);
  }
  unsigned getResultCount() { return terminator->getNumOperands(); }
  /// Moves the first `count` results behind the others.
  void moveToEnd(unsigned count);
  /// Gives the function its type and attributes. To be called once, at the end.
  void finish();

  mlir::func::FuncOp getFunction() const { return function; }

  mlir::OpBuilder builder; ///< before the terminator

private:
  mlir::func::FuncOp function;
  mlir::func::ReturnOp terminator;
  llvm::SmallVector<StepTensor> arguments, results;
};

/// Adds the parameters as arguments, or the averages of those that have one if
/// `asAverages`. Maps the model's parameters to their values.
void addParameters(StepFunction &step, const ModelParts &parts,
                   mlir::IRMapping &mapping, bool asAverages = false);

/// Adds the inputs as arguments, of `count` micro-batches; returns them.
llvm::SmallVector<mlir::Value>
addInputs(StepFunction &step, const ModelParts &parts, int64_t count);

/// Replaces ops that are for training only (the factors of a dropout) by the
/// value that they stand for in evaluation: their `nd.eval_value`.
void fixEvalValues(mlir::func::FuncOp function);

/// Replaces values with a gradient of their own by the values: gradients are
/// built, or not needed.
void dropCustomGradients(mlir::Operation *within);

} // namespace meshc::steps

#endif // MESHC_LIB_STEPS_STEPFUNCTION_H
