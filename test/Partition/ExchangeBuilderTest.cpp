//===- ExchangeBuilderTest.cpp - an op on blocks that lack entries --------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// buildExchange with choices that fit the op, and with others, which a plan
/// from a file may contain: these build nothing.
///
//===----------------------------------------------------------------------===//

#include "lib/Partition/ExchangeBuilder.h"
#include "dialects/Nd/NdOps.h"
#include "dialects/Spmd/SpmdOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace meshc;
using namespace meshc::partition;

namespace {

constexpr StringRef text = R"(
!x = !nd.tensor<f32, [batch = 8, row = 64]>
!i = !nd.tensor<i32, [line = 64, tall = 5]>
!y = !nd.tensor<f32, [batch = 8, line = 64, tall = 5]>
!block = !nd.tensor<f32, [batch = 8, row = 64 on {rows} ]>
!indices = !nd.tensor<i32, [line = 64 on {rows}, tall = 5]>
module attributes {nd.mesh = #nd.mesh<rows = 4, few = 2>} {
  func.func @whole(%x: !x) -> !y {
    %l = nd.iota : () -> !nd.tensor<i32, [line = 64]>
    %t = nd.iota : () -> !nd.tensor<i32, [tall = 5]>
    %i = nd.add %l, %t : (!nd.tensor<i32, [line = 64]>, !nd.tensor<i32, [tall = 5]>) -> !i
    %y = nd.gather %x, %i {dim = "row"} : (!x, !i) -> !y
    return %y : !y
  }
  func.func @blocks(%x: !block, %i: !indices) {
    return
  }
})";

class ExchangeBuilderTest : public testing::Test {
protected:
  ExchangeBuilderTest() : builder(&context) {
    context.loadDialect<nd::NdDialect, spmd::SpmdDialect, func::FuncDialect>();
    module = parseSourceString<ModuleOp>(text, &context);
    mesh = nd::MeshAttr::of(*module);
    module->walk([&](nd::GatherOp op) { gather = op; });
    rule = nd::joinAlternatives(gather.getPartitionRule());
    body = &module->lookupSymbol<func::FuncOp>("blocks").getBody().front();
    builder.setInsertionPointToStart(body);
    choice.axesOfFactor.resize(rule.factors.size());
    choice.axesOfFactor.back() = {builder.getStringAttr("rows")};
    for (Value block : body->getArguments())
      choice.operandTypes.push_back(nd::getTensorType(block));
    choice.resultTypes = {
        getTypeAlong(gather.getType(), rule, choice.axesOfFactor,
                     [](const nd::Factor &f) { return f.resultDims[0]; })};
  }

  Operation *build(ValueRange blocks) {
    return buildExchange(*gather, rule, choice, blocks, builder, mesh);
  }

  /// Whether the choice builds nothing.
  bool isRefused(ValueRange blocks) {
    return !build(blocks) && llvm::hasSingleElement(*body);
  }
  bool isRefused() { return isRefused(body->getArguments()); }

  MLIRContext context;
  OpBuilder builder;
  OwningOpRef<ModuleOp> module;
  nd::MeshAttr mesh;
  nd::GatherOp gather;
  nd::PartitionRule rule;
  Block *body = nullptr;
  FactorChoice choice;
};

TEST_F(ExchangeBuilderTest, BuildsOpOnWidenedBlocks) {
  ASSERT_TRUE(rule.factors.back().isAlternative);
  Operation *op = build(body->getArguments());
  ASSERT_TRUE(op);
  EXPECT_EQ(op->getResult(0).getType(), choice.resultTypes[0]);
  EXPECT_EQ(cast<nd::GatherOp>(op).getAlong(), "line");
  EXPECT_TRUE(op->getOperand(0).getDefiningOp<spmd::WindowOp>());
  EXPECT_TRUE(op->getOperand(1).getDefiningOp<spmd::ReindexOp>());
  EXPECT_EQ(nd::getTensorType(op->getOperand(0)).getSize("row"), 80);
}

TEST_F(ExchangeBuilderTest, RefusesOtherBlocks) {
  EXPECT_TRUE(isRefused(body->getArguments().drop_back()));
  EXPECT_TRUE(isRefused({body->getArgument(1), body->getArgument(0)}));
  EXPECT_TRUE(isRefused({body->getArgument(0), Value()}));
}

TEST_F(ExchangeBuilderTest, RefusesOtherTypes) {
  FactorChoice known = choice;
  choice.resultTypes = {};
  EXPECT_TRUE(isRefused());
  choice.resultTypes = {nd::TensorType()};
  EXPECT_TRUE(isRefused());
  choice.resultTypes = {known.operandTypes[0]};
  EXPECT_TRUE(isRefused());
  choice.resultTypes = {spmd::resize(known.resultTypes[0], "line", 32)};
  EXPECT_TRUE(isRefused());
  choice = known;
  choice.operandTypes.pop_back();
  EXPECT_TRUE(isRefused());
}

TEST_F(ExchangeBuilderTest, RefusesOtherAxes) {
  choice.axesOfFactor.pop_back();
  EXPECT_TRUE(isRefused());
  choice.axesOfFactor.push_back({builder.getStringAttr("few")});
  EXPECT_TRUE(isRefused());
  choice.axesOfFactor.back() = {builder.getStringAttr("none")};
  EXPECT_TRUE(isRefused());
  choice.axesOfFactor.back() = {builder.getStringAttr("rows")};
  choice.axesOfFactor.front() = {builder.getStringAttr("rows")};
  rule.factors.front() = rule.factors.back();
  EXPECT_TRUE(isRefused());
}

TEST_F(ExchangeBuilderTest, RefusesWhatCannotBePlanned) {
  // A window is as wide as the table.
  rule.factors.back().operandAccesses = {nd::Access::windows(1, 0, 64)};
  EXPECT_TRUE(isRefused());
  rule.factors.back().operandAccesses = {nd::Access::windows(0, 0, 1)};
  EXPECT_TRUE(isRefused());
  rule.factors.back().operandAccesses = {nd::Access::windows(1, 0, 4)};
  rule.factors.back().indices = 7;
  EXPECT_TRUE(isRefused());
}

} // namespace
