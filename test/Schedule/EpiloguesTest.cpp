//===- EpiloguesTest.cpp - the table of epilogues says what holds ---------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// For each row of meshc/Epilogues.def a function that the kernels phase must
/// turn into a product with that epilogue, with the operands, mask and kept
/// argument of the row. Scheduled, it computes the same by the epilogue's
/// kernel as by the row's reference.
///
//===----------------------------------------------------------------------===//

#include "dialects/Exec/Epilogues.h"
#include "dialects/Exec/ArenaAttributes.h"
#include "mlir/IR/Verifier.h"
#include "test/Schedule/ScheduleFixture.h"

using namespace mlir;
using namespace meshc;

namespace {

class EpilogueTable : public ScheduleFixture {
protected:
  /// A module whose function computes products and what the row says, on
  /// elements of this type.
  OwningOpRef<ModuleOp> makeProgram(const EpilogueTraits &row,
                                    const std::string &element);
};

/// "%r = nd.relu %x : (!c) -> !c", or a name that stands for %x itself.
std::string apply(Activation function, const std::string &to,
                  const std::string &x) {
  std::string op = function == Activation::Relu ? "nd.relu" : "nd.gelu";
  return "    " + to + " = " + op + " " + x + " : (!c) -> !c\n";
}

/// The text of the function. `%y` is the result of the activation, if there is
/// one, and `%d` a product that no op reads yet.
std::string writeFunction(const EpilogueTraits &row,
                          const std::string &element) {
  bool isApplied = row.function != Activation::Identity;
  std::string body, results, types, returned, returnedTypes;
  auto addResult = [&](const std::string &value, const std::string &type,
                       const std::string &order) {
    std::string number = std::to_string(results.size());
    results += (results.empty() ? "" : ", ") + type + " {nd.name = \"r" +
               number + "\", nd.role = \"metric\", nd.order = [" + order + "]}";
    returned += (returned.empty() ? "" : ", ") + value;
    returnedTypes += (returnedTypes.empty() ? "" : ", ") + type;
  };
  std::string argument = "%x";
  if (row.isActivation() || row.readsMask()) {
    body += "    %c = nd.einsum %a, %b {reduced = [\"k\"]} : (!a, !b) -> !c\n";
    argument = "%c";
  }
  if (row.hasBias()) {
    body += "    %s = nd.add %c, %bias : (!c, !bias) -> !c\n";
    argument = "%s";
  }
  std::string whole = "\"m\", \"n\"";
  if (isApplied)
    body += apply(row.function, "%y", argument);
  addResult(isApplied ? "%y" : argument, "!c", whole);
  if (row.mayKeepArgument())
    addResult(argument, "!c", whole);
  std::string factor = "%e";
  // The gradient comes after the result whose mask it reads.
  if (row.mayHaveMask()) {
    factor = "%z";
    body += "    %z = nd.einsum %y, %b {reduced = [\"n\"]} : (!c, !b) -> !a\n";
  }
  body += "    %d = nd.einsum " + factor +
          ", %b {reduced = [\"k\"]} : (!a, !b) -> !c\n";
  addResult("%d", "!c", whole);
  if (row.sumsFactor()) {
    bool isA = row.operand == EpilogueOperand::A;
    std::string dim = isA ? "m" : "n", type = isA ? "!rows" : "!bias";
    body += "    %g = nd.reduce_sum " + std::string(isA ? "%e" : "%b") +
            " {dims = [\"k\"]} : (" + (isA ? "!a" : "!b") + ") -> " + type +
            "\n";
    addResult("%g", type, "\"" + dim + "\"");
  }
  auto input = [](const std::string &name, const std::string &type,
                  const std::string &order) {
    return "%" + name + ": " + type + " {nd.name = \"" + name +
           "\", nd.role = \"input\", nd.order = [" + order + "]}";
  };
  // Sums need their factors as cublasLt's columns.
  auto alias = [&](const std::string &name, const std::string &dims) {
    return "!" + name + " = !nd.tensor<" + element + ", [" + dims + "]>\n";
  };
  return alias("a", "k = 5, m = 4") + alias("b", "k = 5, n = 64") +
         alias("c", "m = 4, n = 64") + alias("bias", "n = 64") +
         alias("rows", "m = 4") + R"(
module attributes {nd.mesh = #nd.mesh<data = 1>} {
  func.func @eval_step()" +
         input("a", "!a", "\"k\", \"m\"") + ", " +
         input("b", "!b", "\"k\", \"n\"") + ", " +
         input("e", "!a", "\"k\", \"m\"") + ", " + input("x", "!c", whole) +
         ", " + input("bias", "!bias", "\"n\"") + ")\n      -> (" + results +
         ") {\n" + body + "    return " + returned + " : " + returnedTypes +
         "\n  }\n}\n";
}

/// Replaces the product %d by the gradient of the activation, with %d as the
/// gradient of its result, where the row or its mask needs one.
void addGradient(ModuleOp module) {
  func::FuncOp function = *module.getOps<func::FuncOp>().begin();
  Block &block = function.getBody().front();
  nd::NamedOpInterface activation, product;
  for (Operation &op : block.without_terminator()) {
    StringRef name = op.getName().getStringRef();
    if (name == "nd.relu" || name == "nd.gelu")
      activation = cast<nd::NamedOpInterface>(op);
    if (name == "nd.einsum")
      product = cast<nd::NamedOpInterface>(op);
  }
  OpBuilder builder(block.getTerminator());
  SmallVector<Value> gradients(1);
  Value whole = product->getResult(0);
  ASSERT_TRUE(succeeded(activation.buildGradient(builder, whole, gradients)));
  for (OpOperand &operand : block.getTerminator()->getOpOperands())
    if (operand.get() == whole)
      operand.set(gradients[0]);
}

OwningOpRef<ModuleOp> EpilogueTable::makeProgram(const EpilogueTraits &row,
                                                 const std::string &element) {
  std::string text = writeFunction(row, element);
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  EXPECT_TRUE(module) << text;
  if (module && (row.isGradient() || row.writesMask()))
    addGradient(*module);
  if (module)
    exec::setForGpus(*module);
  return module;
}

TEST_F(EpilogueTable, EachRowIsAProductOfTheProgram) {
  for (const EpilogueTraits &row : epilogueTable)
    for (std::string element : {"f32", "f16", "bf16"}) {
      SCOPED_TRACE(row.name + (" of " + element));
      exec::Epilogue epilogue = exec::getEpilogue(row);
      EXPECT_EQ(exec::stringifyEpilogue(epilogue), row.name);
      OwningOpRef<ModuleOp> module = makeProgram(row, element);
      ASSERT_TRUE(module && succeeded(verify(*module)));
      OwningOpRef<ModuleOp> fused = (*module).clone();
      ASSERT_TRUE(run(*fused, kernels::addKernelsPasses));
      unsigned found = 0;
      fused->walk([&](exec::ProductOp product) {
        if (product.getEpilogue() != epilogue)
          return;
        ++found;
        exec::FusionOp fusion = product.getFusion();
        EXPECT_EQ(fusion.getNumOperands(), row.getInputCount());
        EXPECT_EQ(fusion.getNumResults(), row.mayKeepArgument() ? 2u : 1u);
        EXPECT_EQ(product.getMask(), row.mayHaveMask());
        // C, if it is a result of its own; D; the argument; a mask.
        EXPECT_EQ(product.getNumResults(), unsigned(row.keepsProduct()) +
                                               fusion.getNumResults() +
                                               row.writesMask());
        Value first = fusion.getInputs().front();
        EXPECT_EQ(first == product.getEinsum().getResult(), !row.sumsFactor());
      });
      EXPECT_EQ(found, 1u);
      // By kernels and by the table.
      check(*module);
    }
}

TEST(Epilogues, RowsAreFoundByKindAndByColumns) {
  for (const EpilogueTraits &row : epilogueTable) {
    EXPECT_EQ(findEpilogue(row.kind), &row);
    EXPECT_EQ(findEpilogue(row.operand, row.function, row.result), &row);
    // The runtime tells a kept argument from D by the number of buffers.
    EXPECT_TRUE(!row.mayKeepArgument() || row.isActivation()) << row.name;
    EXPECT_TRUE(!row.writesMask() || row.isActivation()) << row.name;
    EXPECT_TRUE(!row.readsMask() || row.isGradient()) << row.name;
  }
  EXPECT_EQ(findEpilogue(0), nullptr);
  EXPECT_EQ(findEpilogue(77), nullptr);
}

TEST(Epilogues, GradientsAreThoseOfTheFunctions) {
  constexpr double step = 1e-6;
  for (Activation function :
       {Activation::Identity, Activation::Relu, Activation::Gelu})
    for (double x : {-3.0, -0.7, -0.1, 0.2, 1.0, 4.0}) {
      double slope = (applyActivation(function, x + step) -
                      applyActivation(function, x - step)) /
                     (2 * step);
      EXPECT_NEAR(applyGradient(function, x, 2.5), 2.5 * slope, 1e-8)
          << int(function) << " at " << x;
    }
  // At 0, relu's gradient is 0, also that of an infinite one.
  EXPECT_EQ(applyGradient(Activation::Relu, 0, INFINITY), 0);
  EXPECT_EQ(applyActivation(Activation::Relu, -1), 0);
  EXPECT_TRUE(std::isnan(applyActivation(Activation::Relu, NAN)));
  // Values of the form with tanh.
  for (double x : {-2.0, -0.5, 0.3, 1.7})
    EXPECT_NEAR(
        applyActivation(Activation::Gelu, x),
        0.5 * x *
            (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))),
        1e-15);
}

} // namespace
