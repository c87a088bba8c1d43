//===- StepFunction.h - a step function under construction -----*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_AUTODIFF_STEPFUNCTION_H
#define MESHC_LIB_AUTODIFF_STEPFUNCTION_H

#include "lib/Autodiff/ModelParts.h"

namespace meshc::autodiff {

/// A step function under construction: its arguments and results are added
/// together with what they are. Values that reverse mode may replace are kept
/// as operands of the terminator.
class StepFunction {
public:
  /// An empty function at the end of the module.
  StepFunction(mlir::ModuleOp module, mlir::Location loc, llvm::StringRef name);

  mlir::Value addArgument(const StepTensor &tensor, mlir::Location loc);
  void addResult(const StepTensor &tensor, mlir::Value value);
  mlir::Value getResult(unsigned index) {
    return terminator->getOperand(index);
  }
  /// Moves the first `count` results behind the others.
  void moveToEnd(unsigned count);
  /// Gives the function its type and attributes. To be called once, at the end.
  void finish();
  /// Replaces ops that are for training only (the factors of a dropout) by the
  /// value that they stand for in evaluation: their `nd.eval_value`.
  void fixEvalValues();

  mlir::func::FuncOp getFunction() const { return function; }

  mlir::OpBuilder builder; ///< before the terminator

private:
  mlir::func::FuncOp function;
  mlir::func::ReturnOp terminator;
  llvm::SmallVector<StepTensor> arguments, results;
};

} // namespace meshc::autodiff

#endif // MESHC_LIB_AUTODIFF_STEPFUNCTION_H
