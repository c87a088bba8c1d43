//===- ReferenceTest.cpp - the oracle itself ------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/NdInterfaces.h"
#include "dialects/Spmd/SpmdOps.h"
#include "lib/Reference/Blocks.h"
#include "lib/Reference/CompareSteps.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace mlir;
using namespace meshc;
using namespace meshc::reference;

namespace {

class ReferenceTest : public testing::Test {
protected:
  ReferenceTest() {
    context.loadDialect<nd::NdDialect, spmd::SpmdDialect, func::FuncDialect>();
    handler.emplace(&context, [&](Diagnostic &diagnostic) {
      error += diagnostic.str();
      return success();
    });
  }

  OwningOpRef<ModuleOp> parse(StringRef text) {
    auto module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(module) << error;
    return module;
  }

  nd::TensorType getType(StringRef text) {
    return cast<nd::TensorType>(mlir::parseType(text, &context));
  }

  nd::MeshAttr getMesh(StringRef text) {
    return cast<nd::MeshAttr>(mlir::parseAttribute(text, &context));
  }

  MLIRContext context;
  std::optional<ScopedDiagnosticHandler> handler;
  std::string error;
};

/// One product on one device, and cut over two axes by hand.
const char *const sequentialText = R"(
func.func @step(%x: !nd.tensor<f32, [b = 4, k = 6]>, %w: !nd.tensor<f32, [k = 6, n = 2]>)
    -> (!nd.tensor<f32, [b = 4, n = 2]> {nd.name = "y"}) {
  %y = nd.einsum %x, %w {reduced = ["k"]} : (!nd.tensor<f32, [b = 4, k = 6]>, !nd.tensor<f32, [k = 6, n = 2]>) -> !nd.tensor<f32, [b = 4, n = 2]>
  return %y : !nd.tensor<f32, [b = 4, n = 2]>
}
)";

/// `result`: the type of the result; `last`: the ops after the product.
std::string getPartitioned(StringRef result, StringRef last) {
  return (R"(
module attributes {nd.mesh = #nd.mesh<p = 2, q = 3>} {
func.func @step(%x: !nd.tensor<f32, [b = 4 on {p}, k = 6 on {q}]>, %w: !nd.tensor<f32, [k = 6 on {q}, n = 2]>)
    -> )" +
          result + R"( {
  %y = nd.einsum %x, %w {reduced = ["k"]} : (!nd.tensor<f32, [b = 4 on {p}, k = 6 on {q}]>, !nd.tensor<f32, [k = 6 on {q}, n = 2]>) -> !nd.tensor<f32, [b = 4 on {p}, n = 2], sum {q}>
)" + last +
          R"(
}
})")
      .str();
}

TEST_F(ReferenceTest, ComparesProgramsOfAllRanksWithOneDevice) {
  auto sequential = parse(sequentialText);
  auto partitioned = parse(getPartitioned(
      "!nd.tensor<f32, [b = 4 on {p}, n = 2]>",
      R"(%z = spmd.all_reduce sum ["q"] %y : (!nd.tensor<f32, [b = 4 on {p}, n = 2], sum {q}>) -> !nd.tensor<f32, [b = 4 on {p}, n = 2]>
         return %z : !nd.tensor<f32, [b = 4 on {p}, n = 2]>)"));
  auto differences = compareSteps(*sequential, *partitioned, {});
  ASSERT_TRUE(succeeded(differences)) << error;
  ASSERT_EQ(differences->size(), 1u);
  EXPECT_TRUE(differences->front().agrees);
  EXPECT_EQ(differences->front().name, "y");
  EXPECT_GT(differences->front().scale, 0.1);
}

TEST_F(ReferenceTest, CombinesPartialResults) {
  auto sequential = parse(sequentialText);
  auto partitioned = parse(getPartitioned(
      "!nd.tensor<f32, [b = 4 on {p}, n = 2], sum {q}>",
      "return %y : !nd.tensor<f32, [b = 4 on {p}, n = 2], sum {q}>"));
  auto differences = compareSteps(*sequential, *partitioned, {});
  ASSERT_TRUE(succeeded(differences)) << error;
  EXPECT_TRUE(differences->front().agrees);
}

TEST_F(ReferenceTest, FindsTermsThatAreAddedTwice) {
  auto sequential = parse(sequentialText);
  std::string text = getPartitioned(
      "!nd.tensor<f32, [b = 4 on {p}, n = 2], sum {q}>",
      "return %y : !nd.tensor<f32, [b = 4 on {p}, n = 2], sum {q}>");
  // Every rank takes the entries of all k, so that each is added three times.
  for (size_t at; (at = text.find("k = 6 on {q}")) != std::string::npos;)
    text.replace(at, 12, "k = 6");
  auto partitioned = parse(text);
  auto differences = compareSteps(*sequential, *partitioned, {});
  ASSERT_TRUE(succeeded(differences)) << error;
  EXPECT_FALSE(differences->front().agrees);
  EXPECT_GT(differences->front().largest, differences->front().tolerance);
}

TEST_F(ReferenceTest, CutsAndAssembles) {
  nd::MeshAttr mesh = getMesh("#nd.mesh<p = 2, q = 3, r = 2>");
  nd::TensorType type =
      getType("!nd.tensor<f32, [a = 12 on {q, p}, b = 3], sum {r}>");
  nd::HostTensor whole(type.getGlobal(), mesh);
  for (auto [index, value] : llvm::enumerate(whole.data))
    value = index;
  RankTensors blocks = cutTensor(whole, type, mesh);
  ASSERT_EQ(blocks.size(), 12u);
  // Rank (p = 1, q = 2, r = 0): block 2·2 + 1 of six along `a`.
  EXPECT_EQ(blocks[10].data, (std::vector<double>{30, 31, 32, 33, 34, 35}));
  EXPECT_EQ(blocks[11].data, std::vector<double>(6, 0.0));
  auto emitError = [&] { return mlir::emitError(UnknownLoc::get(&context)); };
  auto assembled = assembleTensor(blocks, type, mesh, emitError);
  ASSERT_TRUE(succeeded(assembled)) << error;
  EXPECT_EQ(assembled->data, whole.data);
}

TEST_F(ReferenceTest, RefusesReplicasThatDiffer) {
  nd::MeshAttr mesh = getMesh("#nd.mesh<p = 2>");
  nd::TensorType type = getType("!nd.tensor<f32, [a = 2]>");
  RankTensors blocks(2, nd::HostTensor(type, mesh));
  blocks[1].data[1] = 1;
  auto emitError = [&] { return mlir::emitError(UnknownLoc::get(&context)); };
  EXPECT_TRUE(failed(assembleTensor(blocks, type, mesh, emitError)));
  EXPECT_NE(error.find("rank 1 holds another value"), std::string::npos);
  blocks[0].data[1] = blocks[1].data[1] = NAN;
  EXPECT_TRUE(succeeded(assembleTensor(blocks, type, mesh, emitError)));
}

TEST_F(ReferenceTest, RunsParametersOfAModel) {
  auto module = parse(R"(
func.func @model() -> !nd.tensor<f32, [x = 3]> {
  %w = nd.parameter "w" ["x"] : !nd.tensor<f32, [x = 3]> {
    %r = nd.constant 2.0 : f32 -> !nd.tensor<f32, [x = 3]>
    nd.yield %r : !nd.tensor<f32, [x = 3]>
  }
  return %w : !nd.tensor<f32, [x = 3]>
})");
  auto function = *module->getOps<func::FuncOp>().begin();
  auto results = interpret(function, getMesh("#nd.mesh<>"), {}, {});
  ASSERT_TRUE(succeeded(results)) << error;
  EXPECT_EQ((*results)[0][0].data, std::vector<double>(3, 2.0));
}

TEST_F(ReferenceTest, DrawsIndicesWithinTheDimThatTheyIndex) {
  const char *text = R"(
func.func @step(%t: !nd.tensor<f32, [v = 3]>, %i: !nd.tensor<i32, [b = 64]>) -> !nd.tensor<f32, [b = 64]> {
  %y = nd.gather %t, %i {dim = "v"} : (!nd.tensor<f32, [v = 3]>, !nd.tensor<i32, [b = 64]>) -> !nd.tensor<f32, [b = 64]>
  %z = nd.reciprocal %y : (!nd.tensor<f32, [b = 64]>) -> !nd.tensor<f32, [b = 64]>
  return %z : !nd.tensor<f32, [b = 64]>
})";
  auto a = parse(text), b = parse(text);
  auto differences = compareSteps(*a, *b, {});
  ASSERT_TRUE(succeeded(differences)) << error;
  // An index out of range would have given 1/0.
  EXPECT_TRUE(differences->front().agrees);
  EXPECT_LT(differences->front().scale, 1e6);
}

} // namespace
