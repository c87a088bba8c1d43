//===- StepsTest.cpp - step functions against finite differences ----------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/NdInterfaces.h"
#include "dialects/Nd/TensorAttributes.h"
#include "lib/Steps/Passes.h"
#include "lib/Steps/UpdateSettings.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace mlir;
using namespace meshc;

namespace {

/// A layer of two products with a shared weight, a tanh, a row-wise
/// cross-entropy and a parameter that the loss does not see.
const char *const modelText = R"(
module {
  func.func @m(%x: !nd.tensor<f32, [batch = 3, in = 4]> {nd.name = "x", nd.order = ["batch", "in"]},
               %y: !nd.tensor<i32, [batch = 3]> {nd.name = "y", nd.order = ["batch"]})
      -> (!nd.tensor<f32, []> {nd.name = "seen"}, !nd.tensor<f32, []> {nd.name = "loss"}) {
    %w = nd.parameter "w" ["in", "out"] : !nd.tensor<f32, [in = 4, out = 5]> {
      %r = nd.random normal "w" : !nd.tensor<f32, [in = 4, out = 5]>
      nd.yield %r : !nd.tensor<f32, [in = 4, out = 5]>
    }
    %b = nd.parameter "b" ["out"] : !nd.tensor<f32, [out = 5]> {
      %r = nd.random normal "b" : !nd.tensor<f32, [out = 5]>
      nd.yield %r : !nd.tensor<f32, [out = 5]>
    }
    %u = nd.parameter "unused" ["out"] : !nd.tensor<f32, [out = 5]> {
      %r = nd.random normal "u" : !nd.tensor<f32, [out = 5]>
      nd.yield %r : !nd.tensor<f32, [out = 5]>
    }
    %h = nd.einsum %x, %w {reduced = ["in"]} : (!nd.tensor<f32, [batch = 3, in = 4]>, !nd.tensor<f32, [in = 4, out = 5]>) -> !nd.tensor<f32, [batch = 3, out = 5]>
    %a = nd.add %h, %b : (!nd.tensor<f32, [batch = 3, out = 5]>, !nd.tensor<f32, [out = 5]>) -> !nd.tensor<f32, [batch = 3, out = 5]>
    %t = nd.tanh %a : (!nd.tensor<f32, [batch = 3, out = 5]>) -> !nd.tensor<f32, [batch = 3, out = 5]>
    %z = nd.einsum %t, %w {reduced = ["out"]} : (!nd.tensor<f32, [batch = 3, out = 5]>, !nd.tensor<f32, [in = 4, out = 5]>) -> !nd.tensor<f32, [batch = 3, in = 4]>
    %c = nd.cross_entropy %z, %y {dim = "in"} : (!nd.tensor<f32, [batch = 3, in = 4]>, !nd.tensor<i32, [batch = 3]>) -> !nd.tensor<f32, [batch = 3]>
    %loss = nd.reduce_mean %c {dims = ["batch"]} : (!nd.tensor<f32, [batch = 3]>) -> !nd.tensor<f32, []>
    %s = nd.reduce_mean %t {dims = ["batch", "out"]} : (!nd.tensor<f32, [batch = 3, out = 5]>) -> !nd.tensor<f32, []>
    return %s, %loss : !nd.tensor<f32, []>, !nd.tensor<f32, []>
  }
  nd.train @m "loss" "sgd" { nd.setting "lr" = 1.0 }
}
)";

using Tensors = std::vector<nd::HostTensor>;

class StepsTest : public testing::Test {
protected:
  StepsTest() {
    context.loadDialect<nd::NdDialect, func::FuncDialect>();
    evaluation.mesh = nd::MeshAttr::get(&context, {});
    evaluation.roundToType = false;
    evaluation.seed = 7;
  }

  /// The module after the phase; null, with `error` set, if it fails.
  OwningOpRef<ModuleOp> build(StringRef text) {
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
        error = diagnostic.str();
      else
        warning = diagnostic.str();
      return success();
    });
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
    if (!module)
      return {};
    PassManager passes(&context);
    steps::addStepsPasses(passes);
    if (failed(passes.run(*module)))
      return {};
    return module;
  }

  Tensors run(ModuleOp module, StringRef name, const Tensors &arguments) {
    auto function = module.lookupSymbol<func::FuncOp>(name);
    llvm::DenseMap<Value, nd::HostTensor> values;
    // An evaluation begins with totals of 0 and a complete batch.
    for (BlockArgument argument : function.getArguments()) {
      values[argument] = evaluation.makeTensor(argument.getType());
      if (nd::TensorAttributes::of(argument).hasRole(nd::TensorRole::Batches))
        values[argument].data[0] = 1;
    }
    for (auto [argument, tensor] :
         llvm::zip(function.getArguments(), arguments))
      values[argument] = tensor;
    Tensors results;
    for (Operation &op : function.getBody().front()) {
      SmallVector<const nd::HostTensor *> operands;
      for (Value operand : op.getOperands())
        operands.push_back(&values[operand]);
      if (isa<func::ReturnOp>(op)) {
        for (const nd::HostTensor *operand : operands)
          results.push_back(*operand);
        break;
      }
      auto computed =
          cast<nd::NamedOpInterface>(op).evaluate(operands, evaluation);
      for (auto [result, tensor] : llvm::zip(op.getResults(), computed))
        values[result] = tensor;
    }
    return results;
  }

  nd::HostTensor makeInput(ModuleOp module, unsigned argument) {
    auto eval = module.lookupSymbol<func::FuncOp>("eval_step");
    nd::HostTensor tensor =
        evaluation.makeTensor(eval.getArgumentTypes()[argument]);
    bool isInteger = !tensor.type.isFloat();
    for (size_t i = 0; i < tensor.data.size(); ++i)
      tensor.data[i] = isInteger ? i % 3 : std::sin(1.0 + i);
    return tensor;
  }

  MLIRContext context;
  nd::EvaluationContext evaluation;
  std::string error, warning;
};

TEST_F(StepsTest, UpdateIsTheGradientByFiniteDifferences) {
  OwningOpRef<ModuleOp> module = build(modelText);
  ASSERT_TRUE(module) << error;
  Tensors parameters = run(*module, "initialize", {});
  ASSERT_EQ(parameters.size(), 3u);
  Tensors arguments = parameters;
  arguments.push_back(makeInput(*module, 3));
  arguments.push_back(makeInput(*module, 4));
  Tensors after = run(*module, "train_step", arguments);
  ASSERT_EQ(after.size(), 5u);
  // The loss comes first although the model returns it second.
  EXPECT_NEAR(after[3].data[0], run(*module, "eval_step", arguments)[0].data[0],
              1e-12);

  const double h = 1e-5;
  for (unsigned p = 0; p < 2; ++p)
    for (size_t i = 0; i < parameters[p].data.size(); ++i) {
      Tensors low = arguments, high = arguments;
      low[p].data[i] -= h;
      high[p].data[i] += h;
      double slope = (run(*module, "eval_step", high)[0].data[0] -
                      run(*module, "eval_step", low)[0].data[0]) /
                     (2 * h);
      // SGD of rate 1 subtracts the gradient. The mean's factor 1/3 is an f32.
      EXPECT_NEAR(parameters[p].data[i] - after[p].data[i], slope, 1e-7)
          << "parameter " << p << ", element " << i;
    }
}

TEST_F(StepsTest, UnusedParameterStaysAndIsReported) {
  OwningOpRef<ModuleOp> module = build(modelText);
  ASSERT_TRUE(module) << error;
  EXPECT_NE(warning.find("'unused'"), std::string::npos) << warning;
  Tensors arguments = run(*module, "initialize", {});
  Tensors before = arguments;
  arguments.push_back(makeInput(*module, 3));
  arguments.push_back(makeInput(*module, 4));
  EXPECT_EQ(run(*module, "train_step", arguments)[2].data, before[2].data);
}

TEST_F(StepsTest, OptimizerSlotsAreNamedAndStartAtZero) {
  std::string text = modelText;
  text.replace(text.find("\"sgd\""), 5, "\"adamw\"");
  OwningOpRef<ModuleOp> module = build(text);
  ASSERT_TRUE(module) << error;
  auto train = module->lookupSymbol<func::FuncOp>("train_step");
  // Parameters w, b, unused, then two slots each.
  auto name = train.getArgAttrOfType<StringAttr>(4, "nd.name");
  EXPECT_EQ(name.getValue(), "w.v");
  EXPECT_EQ(train.getArgAttrOfType<StringAttr>(4, "nd.role").getValue(),
            "optimizer");
  Tensors state = run(*module, "initialize", {});
  for (double value : state[4].data)
    EXPECT_EQ(value, 0.0);
}

TEST(Patterns, StarsStandForAnyCharacters) {
  for (auto [name, pattern] : {std::pair("w", "w"),
                               {"w", "*"},
                               {"w", "*w"},
                               {"w", "w**"},
                               {"layers.attention.wq", "layers.*"},
                               {"layers.attention.wq", "*.w*"},
                               {"layers.attention.wq", "l*.att*n.*q"},
                               {"a.b.a.b.c", "*a.b.c"}})
    EXPECT_TRUE(steps::matchesPattern(name, pattern)) << pattern;
  for (auto [name, pattern] : {std::pair("w", "v"),
                               {"w", ""},
                               {"w", "w.*"},
                               {"bias", "*.bias"},
                               {"aba", "ab*ba"},
                               {"layers.w", "layer"},
                               {"layers.w", "*w*w"}})
    EXPECT_FALSE(steps::matchesPattern(name, pattern)) << pattern;
}

struct Refusal {
  const char *what, *from, *to, *message;
};

class StepsErrors : public StepsTest,
                    public testing::WithParamInterface<Refusal> {};

TEST_P(StepsErrors, Refuses) {
  std::string text = modelText;
  size_t at = text.find(GetParam().from);
  ASSERT_NE(at, std::string::npos);
  text.replace(at, strlen(GetParam().from), GetParam().to);
  EXPECT_FALSE(build(text));
  EXPECT_NE(error.find(GetParam().message), std::string::npos) << error;
}

INSTANTIATE_TEST_SUITE_P(
    All, StepsErrors,
    testing::Values(Refusal{"loss", "\"loss\" \"sgd\"", "\"lost\" \"sgd\"",
                            "has no result 'lost'"},
                    Refusal{"optimizer", "\"sgd\"", "\"sdg\"",
                            "there is no optimizer 'sdg'"},
                    Refusal{"setting", "\"lr\" = 1.0", "\"momentum\" = 0.9",
                            "has no setting 'momentum'"},
                    Refusal{"model", "nd.train @m", "nd.train @n",
                            "there is no model 'n'"}),
    [](const auto &info) { return info.param.what; });

} // namespace
