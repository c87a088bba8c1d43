//===- NdTest.h - small programs of nd ops, and their values --------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A fixture for tests of single ops: builds a function of a few nd ops from a
/// lambda, evaluates it by the ops' own `evaluate`, and collects diagnostics.
/// Values are written with dims sorted by name, row-major.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_TEST_DIALECTS_ND_NDTEST_H
#define MESHC_TEST_DIALECTS_ND_NDTEST_H

#include "dialects/Nd/Ops/ValueBuilder.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "gtest/gtest.h"
#include <random>

namespace meshc::nd {

class NdTest : public ::testing::Test {
public:
  using Values = std::vector<double>;
  /// Builds the results from the arguments.
  using Body = llvm::function_ref<llvm::SmallVector<mlir::Value>(
      ValueBuilder &, mlir::ValueRange)>;
  /// Builds the only result from the arguments.
  using Expression =
      llvm::function_ref<mlir::Value(ValueBuilder &, mlir::ValueRange)>;

protected:
  NdTest() : builder(&context) {
    context.loadDialect<NdDialect, mlir::func::FuncDialect>();
    module = mlir::ModuleOp::create(builder.getUnknownLoc());
  }

  mlir::Type f32() { return builder.getF32Type(); }
  mlir::Type bf16() { return builder.getBF16Type(); }
  mlir::Type f16() { return builder.getF16Type(); }
  mlir::Type i32() { return builder.getI32Type(); }
  mlir::Type i1() { return builder.getI1Type(); }

  using Dims = llvm::ArrayRef<std::pair<llvm::StringRef, int64_t>>;
  TensorType tensor(mlir::Type elementType, Dims dims = {}) {
    llvm::SmallVector<DimAttr> attributes;
    for (auto [name, size] : dims)
      attributes.push_back(DimAttr::get(&context, name, size));
    return TensorType::get(elementType, attributes);
  }
  mlir::ArrayAttr names(llvm::ArrayRef<llvm::StringRef> dims) {
    return builder.getStrArrayAttr(dims);
  }

  /// A new function of the module.
  mlir::func::FuncOp makeFunction(llvm::ArrayRef<mlir::Type> arguments,
                                  Body body) {
    mlir::OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(module->getBody());
    mlir::Location loc = builder.getUnknownLoc();
    auto function = mlir::func::FuncOp::create(
        builder, loc, "f" + std::to_string(functions++),
        builder.getFunctionType(arguments, {}));
    mlir::Block *block = function.addEntryBlock();
    builder.setInsertionPointToEnd(block);
    ValueBuilder build(builder, loc);
    llvm::SmallVector<mlir::Value> results = body(build, block->getArguments());
    mlir::func::ReturnOp::create(builder, loc, results);
    function.setType(
        builder.getFunctionType(arguments, mlir::ValueRange(results)));
    EXPECT_TRUE(mlir::succeeded(mlir::verify(function)));
    return function;
  }

  /// The function's results. Integer arguments must be passed as integers.
  std::vector<Values> evaluate(mlir::func::FuncOp function,
                               llvm::ArrayRef<Values> arguments,
                               const EvaluationContext &evaluation) {
    llvm::DenseMap<mlir::Value, HostTensor> values;
    for (auto [argument, data] :
         llvm::zip(function.getArguments(), arguments)) {
      HostTensor tensor = evaluation.makeTensor(argument.getType());
      EXPECT_EQ(tensor.data.size(), data.size());
      tensor.data = data;
      values[argument] = tensor;
    }
    for (mlir::Operation &op :
         function.getBody().front().without_terminator()) {
      llvm::SmallVector<const HostTensor *> operands;
      for (mlir::Value operand : op.getOperands())
        operands.push_back(&values.find(operand)->second);
      auto results =
          mlir::cast<NamedOpInterface>(op).evaluate(operands, evaluation);
      EXPECT_EQ(results.size(), op.getNumResults());
      for (auto [result, value] : llvm::zip(op.getResults(), results))
        values[result] = value;
    }
    std::vector<Values> results;
    for (mlir::Value result :
         function.getBody().front().getTerminator()->getOperands())
      results.push_back(values[result].data);
    return results;
  }

  EvaluationContext getEvaluation(bool roundToType) {
    EvaluationContext evaluation;
    evaluation.mesh = MeshAttr::get(&context, llvm::ArrayRef<AxisAttr>());
    evaluation.roundToType = roundToType;
    return evaluation;
  }

  /// The expression's value for these arguments, rounded to the types.
  Values run(llvm::ArrayRef<mlir::Type> types, llvm::ArrayRef<Values> arguments,
             Expression expression) {
    auto function =
        makeFunction(types, [&](ValueBuilder &b, mlir::ValueRange x) {
          return llvm::SmallVector<mlir::Value>{expression(b, x)};
        });
    return evaluate(function, arguments, getEvaluation(true)).front();
  }

  /// The errors of inferring the result types of an op; empty if none.
  template <typename Op>
  std::string
  getInferenceError(llvm::ArrayRef<mlir::Type> types,
                    llvm::ArrayRef<mlir::NamedAttribute> attributes = {}) {
    mlir::Location loc = builder.getUnknownLoc();
    mlir::Block block;
    for (mlir::Type type : types)
      block.addArgument(type, loc);
    mlir::OperationState state(loc, Op::getOperationName());
    state.addOperands(block.getArguments());
    state.addAttributes(attributes);
    state.addTypes(tensor(f32()));
    return collect([&] {
      mlir::Operation *op = mlir::Operation::create(state);
      llvm::SmallVector<mlir::Type> inferred;
      (void)Op::inferReturnTypes(
          &context, loc, op->getOperands(), op->getAttrDictionary(),
          op->getPropertiesStorage(), op->getRegions(), inferred);
      op->destroy();
    });
  }

  /// The verifier's errors for an op with these operand and result types.
  template <typename Op>
  std::string
  getVerifierError(llvm::ArrayRef<mlir::Type> operands,
                   llvm::ArrayRef<mlir::Type> results,
                   llvm::ArrayRef<mlir::NamedAttribute> attributes = {}) {
    mlir::Location loc = builder.getUnknownLoc();
    mlir::Block block;
    for (mlir::Type type : operands)
      block.addArgument(type, loc);
    mlir::OperationState state(loc, Op::getOperationName());
    state.addOperands(block.getArguments());
    state.addAttributes(attributes);
    state.addTypes(results);
    return collect([&] {
      mlir::Operation *op = mlir::Operation::create(state);
      (void)mlir::verify(op);
      op->destroy();
    });
  }

  /// All errors that `action` reports, one per line.
  std::string collect(llvm::function_ref<void()> action) {
    std::string text;
    mlir::ScopedDiagnosticHandler handler(&context,
                                          [&](mlir::Diagnostic &diagnostic) {
                                            if (!text.empty())
                                              text += "\n";
                                            text += diagnostic.str();
                                            return mlir::success();
                                          });
    action();
    return text;
  }

  /// Numbers in [low, high], the same in every run.
  Values randomValues(size_t count, double low = -2, double high = 2) {
    std::uniform_real_distribution<double> distribution(low, high);
    Values values(count);
    for (double &value : values)
      value = distribution(generator);
    return values;
  }

  static void expectNear(const Values &got, const Values &wanted,
                         double tolerance) {
    ASSERT_EQ(got.size(), wanted.size());
    for (size_t i = 0; i < got.size(); ++i) {
      if (std::isnan(wanted[i]))
        EXPECT_TRUE(std::isnan(got[i])) << "entry " << i << " is " << got[i];
      else if (std::isinf(wanted[i]))
        EXPECT_EQ(got[i], wanted[i]) << "entry " << i;
      else
        EXPECT_NEAR(got[i], wanted[i],
                    tolerance * std::max(1.0, std::fabs(wanted[i])))
            << "entry " << i;
    }
  }

  mlir::MLIRContext context;
  mlir::OpBuilder builder;
  mlir::OwningOpRef<mlir::ModuleOp> module;

private:
  std::mt19937 generator{7};
  int functions = 0;
};

} // namespace meshc::nd

#endif // MESHC_TEST_DIALECTS_ND_NDTEST_H
