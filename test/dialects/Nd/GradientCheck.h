//===- GradientCheck.h - gradients against finite differences -------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Checks `buildGradient` of every op in an expression: reverse mode over the
/// function that contains it, evaluated in doubles, against central
/// differences. Also checks `decompose`: composite ops against their
/// decompositions.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_TEST_DIALECTS_ND_GRADIENTCHECK_H
#define MESHC_TEST_DIALECTS_ND_GRADIENTCHECK_H

#include "NdTest.h"
#include "dialects/Nd/Ops/PointwiseOps.h"
#include "dialects/Nd/Ops/SourceOps.h"

namespace meshc::nd {

class GradientCheck : public NdTest {
protected:
  /// Compares, for fixed random weights w, the gradients of sum(w·y) by all
  /// arguments of a float type with central differences, in f32 tensors held as
  /// doubles. Arguments left empty are drawn from [-2, 2].
  void checkGradient(llvm::ArrayRef<mlir::Type> types, Expression expression,
                     std::vector<Values> arguments = {},
                     double tolerance = 1e-6) {
    arguments.resize(types.size());
    for (auto [argument, type] : llvm::zip(arguments, types))
      if (argument.empty())
        argument = randomValues(mlir::cast<TensorType>(type).getElementCount());
    mlir::Value y;
    auto function =
        makeFunction(types, [&](ValueBuilder &b, mlir::ValueRange x) {
          return llvm::SmallVector<mlir::Value>{y = expression(b, x)};
        });
    Values weights = randomValues(getTensorType(y).getElementCount());
    std::vector<Values> withWeights = arguments;
    withWeights.push_back(weights);
    auto gradients =
        evaluate(addGradients(function), withWeights, getEvaluation(false));
    for (auto [i, type] : llvm::enumerate(types)) {
      if (!mlir::cast<TensorType>(type).isFloat())
        continue;
      SCOPED_TRACE("gradient of argument " + std::to_string(i));
      expectNear(gradients[i], differentiate(function, arguments, weights, i),
                 tolerance);
    }
  }

  /// Compares the expression with one in which all composite ops are
  /// decomposed, both rounded to the types.
  void checkDecomposition(llvm::ArrayRef<mlir::Type> types, Body body,
                          std::vector<Values> arguments = {},
                          double tolerance = 1e-6) {
    arguments.resize(types.size());
    for (auto [argument, type] : llvm::zip(arguments, types))
      if (argument.empty())
        argument = randomValues(mlir::cast<TensorType>(type).getElementCount());
    auto function = makeFunction(types, body);
    auto wanted = evaluate(function, arguments, getEvaluation(true));
    bool changed = false;
    while (decomposeOne(function))
      changed = true;
    EXPECT_TRUE(changed) << "no composite op in the expression";
    EXPECT_TRUE(mlir::succeeded(mlir::verify(function)));
    auto got = evaluate(function, arguments, getEvaluation(true));
    for (size_t i = 0; i < wanted.size(); ++i) {
      SCOPED_TRACE("result " + std::to_string(i));
      expectNear(got[i], wanted[i], tolerance);
    }
  }

private:
  /// A copy of the function with an additional argument, the gradient of its
  /// result, that returns the gradients of the arguments (zeros for null).
  mlir::func::FuncOp addGradients(mlir::func::FuncOp original) {
    auto function = original.clone();
    function.setName((original.getName() + "_gradient").str());
    module->getBody()->push_back(function);
    mlir::Block &block = function.getBody().front();
    mlir::Operation *terminator = block.getTerminator();
    mlir::Location loc = function.getLoc();
    mlir::OpBuilder at(terminator);
    ValueBuilder build(at, loc);
    llvm::DenseMap<mlir::Value, mlir::Value> grads;
    mlir::Value y = terminator->getOperand(0);
    auto arguments = llvm::to_vector(block.getArguments());
    grads[y] = block.addArgument(y.getType(), loc);

    llvm::SmallVector<mlir::Operation *> ops;
    for (mlir::Operation &op : block.without_terminator())
      ops.push_back(&op);
    for (mlir::Operation *op : llvm::reverse(ops)) {
      llvm::SmallVector<mlir::Value> results, operands(op->getNumOperands());
      for (mlir::Value result : op->getResults())
        results.push_back(grads.lookup(result));
      auto named = mlir::cast<NamedOpInterface>(op);
      EXPECT_TRUE(mlir::succeeded(named.buildGradient(at, results, operands)));
      for (auto [operand, grad] : llvm::zip(op->getOperands(), operands)) {
        if (!grad)
          continue;
        EXPECT_EQ(operand.getType(), grad.getType())
            << op->getName().getStringRef().str();
        mlir::Value &total = grads[operand];
        total = total ? build.make<AddOp>(total, grad) : grad;
      }
    }
    llvm::SmallVector<mlir::Value> results;
    for (mlir::Value argument : arguments) {
      mlir::Value grad = grads.lookup(argument);
      results.push_back(
          grad ? grad
               : build.make<ConstantOp>(
                     mlir::cast<TensorType>(argument.getType()), 0.0));
    }
    terminator->setOperands(results);
    function.setType(builder.getFunctionType(block.getArgumentTypes(),
                                             mlir::ValueRange(results)));
    EXPECT_TRUE(mlir::succeeded(mlir::verify(function)));
    return function;
  }

  /// Central differences of sum(weights·y) with respect to argument `i`.
  Values differentiate(mlir::func::FuncOp function,
                       std::vector<Values> arguments, const Values &weights,
                       size_t i) {
    constexpr double h = 1e-5;
    auto getLoss = [&] {
      Values y = evaluate(function, arguments, getEvaluation(false)).front();
      double loss = 0;
      for (size_t k = 0; k < y.size(); ++k)
        loss += weights[k] * y[k];
      return loss;
    };
    Values slopes;
    for (double &x : arguments[i]) {
      double middle = x;
      x = middle + h;
      double above = getLoss();
      x = middle - h;
      double below = getLoss();
      x = middle;
      slopes.push_back((above - below) / (2 * h));
    }
    return slopes;
  }

  /// The results of a composite op, or one with a fallback, from primitive ops;
  /// empty for another op.
  static llvm::SmallVector<mlir::Value> decompose(mlir::Operation &op) {
    mlir::OpBuilder at(&op);
    if (auto composite = mlir::dyn_cast<CompositeOpInterface>(op))
      return composite.decompose(at);
    if (auto fallback = mlir::dyn_cast<FallbackOpInterface>(op))
      return fallback.decompose(at);
    return {};
  }

  /// Replaces the first op that can be decomposed.
  bool decomposeOne(mlir::func::FuncOp function) {
    for (mlir::Operation &op : function.getBody().front()) {
      llvm::SmallVector<mlir::Value> results = decompose(op);
      if (results.empty())
        continue;
      for (auto [old, result] : llvm::zip(op.getResults(), results))
        EXPECT_EQ(old.getType(), result.getType());
      op.replaceAllUsesWith(results);
      op.erase();
      return true;
    }
    return false;
  }
};

} // namespace meshc::nd

#endif // MESHC_TEST_DIALECTS_ND_GRADIENTCHECK_H
