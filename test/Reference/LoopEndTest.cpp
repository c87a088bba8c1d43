//===- LoopEndTest.cpp - loops that end early -----------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What reports and the interpreter make of loops with `while`. LoopLayoutTest
/// and the random programs run them under layouts.
///
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Ops/LoopOps.h"
#include "dialects/Spmd/SpmdOps.h"
#include "lib/Reference/Interpreter.h"
#include "lib/Report/Report.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace mlir;
using namespace meshc;

namespace {

/// In a loop that may end early, it says so.
TEST(LoopEndTest, ReportsTheMostCalls) {
  MLIRContext context;
  context.loadDialect<nd::NdDialect, spmd::SpmdDialect, func::FuncDialect>();
  auto module = parseSourceString<ModuleOp>(R"(
!b = !nd.tensor<i1, []>
!c = !nd.tensor<f32, [i = 8 on {a}]>
!x = !nd.tensor<f32, [i = 8]>
module attributes {nd.mesh = #nd.mesh<a = 2>} {
  func.func @f(%b: !b, %x: !c) -> !c {
    %y:2 = nd.scan "n" 3 while carried(%b, %x : !b, !c) -> !b, !c {
    ^bb0(%go: !b, %u: !c):
      %z = nd.scan "m" 5 carried(%u : !c) -> !c {
      ^bb1(%v: !c):
        %w = spmd.all_gather ["a"] from ["i"] %v : (!c) -> !x
        %s = spmd.slice "i" ["a"] %w : !x -> !c
        nd.yield %s : !c
      }
      nd.yield %go, %z : !b, !c
    }
    return %y#1 : !c
  }
})",
                                            &context);
  ASSERT_TRUE(module);
  report::Json report = report::buildReport(*module);
  const report::Json &found = report["functions"][0]["collectives"][0];
  EXPECT_EQ(found["calls"], 15);
  EXPECT_EQ(found["atMost"], true);
  report["targets"] = report["indices"] = report["ignored"] = nullptr;
  EXPECT_TRUE(report::isReport(report));
  report["functions"][0]["collectives"][0]["onAverage"] = true;
  EXPECT_TRUE(report::isReport(report));
  report["functions"][0]["collectives"][0]["onAverage"] = 1;
  EXPECT_FALSE(report::isReport(report));
}

/// The oracle does not hide garbage: what no iteration wrote is not a number.
TEST(LoopEndTest, LeavesOutIterations) {
  MLIRContext context;
  context.loadDialect<nd::NdDialect, func::FuncDialect>();
  auto module = parseSourceString<ModuleOp>(R"(
!b = !nd.tensor<f32, [model = 4]>
!bs = !nd.tensor<f32, [layers = 3, model = 4]>
!number = !nd.tensor<i32, []>
func.func @f(%b: !b) -> (!b, !bs) {
  %true = nd.constant true -> !nd.tensor<i1, []>
  %k = nd.iota : () -> !nd.tensor<i32, [layers = 3]>
  %y:3 = nd.scan "layers" 3 backwards while carried(%true, %b : !nd.tensor<i1, []>, !b) stacked(%k : !nd.tensor<i32, [layers = 3]>)
      -> !nd.tensor<i1, []>, !b, !bs {
  ^bb0(%go: !nd.tensor<i1, []>, %c: !b, %i: !number):
    %one = nd.constant 1 : i32 -> !number
    %s = nd.add %c, %c : (!b, !b) -> !b
    %next = nd.compare gt %i, %one : (!number, !number) -> !nd.tensor<i1, []>
    nd.yield %next, %s, %s : !nd.tensor<i1, []>, !b, !b
  }
  return %y#1, %y#2 : !b, !bs
})",
                                            &context);
  ASSERT_TRUE(module);
  auto function = module->lookupSymbol<func::FuncOp>("f");
  auto mesh = nd::MeshAttr::of(function);
  nd::HostTensor start(nd::getTensorType(function.getArgument(0)), mesh);
  llvm::fill(start.data, 1.0);
  auto results = reference::interpret(function, mesh, {{start}}, {});
  ASSERT_TRUE(succeeded(results));
  EXPECT_EQ((*results)[0][0].data, std::vector<double>(4, 4.0));
  for (auto [place, value] : llvm::enumerate((*results)[1][0].data))
    if (place / 4 == 0) // layers before model: entry 0 did not run
      EXPECT_TRUE(std::isnan(value));
    else
      EXPECT_EQ(value, place / 4 == 2 ? 2.0 : 4.0);
}

} // namespace
