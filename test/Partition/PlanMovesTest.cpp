//===- PlanMovesTest.cpp - what moves on plans want -----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/NdOps.h"
#include "dialects/Spmd/SpmdOps.h"
#include "lib/Cost/Machine.h"
#include "lib/Partition/ChoosePlans.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace meshc;
using namespace meshc::partition;

namespace {

using nd::TensorType;

class PlanMoves : public ::testing::Test {
protected:
  PlanMoves() {
    context.loadDialect<func::FuncDialect, nd::NdDialect, spmd::SpmdDialect>();
  }
  void parse(const char *text) {
    module = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(module);
  }
  ChosenPlans choose(const PlanOptions &options = {}) {
    auto chosen = choosePlans(*module, options);
    EXPECT_TRUE(succeeded(chosen));
    return succeeded(chosen) ? std::move(*chosen) : ChosenPlans();
  }
  /// The ends of the first loop's body, as text.
  static std::vector<std::string> getEnds(const ChosenPlans &chosen) {
    std::vector<std::string> ends;
    bool isFirst = true;
    forEachLoop(*chosen.functions.front().plan,
                [&](nd::ScanOp, const BlockPlan &body, const BlockPlan &) {
                  if (std::exchange(isFirst, false))
                    for (TensorType type : body.ends) {
                      std::string text;
                      llvm::raw_string_ostream(text) << type;
                      ends.push_back(text);
                    }
                });
    return ends;
  }
  func::FuncOp getFunction() { return *module->getOps<func::FuncOp>().begin(); }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

// The rule 'hidden -> tensor' holds where an entry is cut over (tensor, data);
// an exact stack is cut over tensor alone.
constexpr const char *keptText = R"(
!x = !nd.tensor<f32, []>
!w = !nd.tensor<f32, [hidden = 16]>
!t = !nd.tensor<f32, [hidden = 16 on {tensor}]>
!ws = !nd.tensor<f32, [hidden = 16, layers = 4]>
!ts = !nd.tensor<f32, [hidden = 16 on {tensor}, layers = 4]>
!ps = !nd.tensor<f32, [hidden = 16 on {tensor, data}, layers = 4]>
module attributes {nd.mesh = #nd.mesh<data = 2, tensor = 2>} {
  func.func @train_step(%x: !x {nd.sharding = !x}, %w: !ws {nd.sharding = !ps}) -> (!x {nd.sharding = !x}, !ws {nd.sharding = !ts}) {
    %y:2 = nd.scan "layers" 4 carried(%x : !x) stacked(%w : !ws) -> !x, !ws attributes {nd.sharding = [!x, !ts]} {
    ^bb0(%c: !x, %e: !w):
      %g = nd.exp %e {nd.sharding = [!t]} : (!w) -> !w
      nd.yield %c, %g : !x, !w
    }
    return %y#0, %y#1 : !x, !ws
  }
})";

TEST_F(PlanMoves, exactStacksAreNotCutFurther) {
  parse(keptText);
  PlanOptions options;
  options.moveShare = 1;
  options.mayCutFurther = true;
  EXPECT_EQ(getEnds(choose(options))[1],
            "!nd.tensor<f32, [hidden = 16 on {tensor, data}]>");
  nd::ScanOp loop = *getFunction().getOps<nd::ScanOp>().begin();
  options.ties.setExact(loop->getResult(1));
  EXPECT_EQ(getEnds(choose(options))[1],
            "!nd.tensor<f32, [hidden = 16 on {tensor}]>");
}

// The second loop moves the entries that the first one keeps whole: the rule
// names no axis of 'hidden', which is open.
constexpr const char *usedText = R"(
!x = !nd.tensor<f32, []>
!h = !nd.tensor<f32, [hidden = 16]>
!c = !nd.tensor<f32, [hidden = 16 on {tensor}]>
!hs = !nd.tensor<f32, [hidden = 16, layers = 4]>
!cs = !nd.tensor<f32, [hidden = 16 on {tensor}, layers = 4]>
module attributes {nd.mesh = #nd.mesh<tensor = 2>} {
  func.func @train_step(%x: !x {nd.sharding = !x}, %w: !hs {nd.sharding = !cs}) -> (!x {nd.sharding = !x}, !hs {nd.sharding = !hs}) {
    %y:2 = nd.scan "layers" 4 carried(%x : !x) stacked(%w : !hs) -> !x, !hs attributes {nd.open_dims = [[], ["hidden"]], nd.sharding = [!x, !hs]} {
    ^bb0(%c: !x, %e: !h):
      %g = nd.exp %e {nd.open_dims = [["hidden"]], nd.sharding = [!h]} : (!h) -> !h
      nd.yield %c, %g : !x, !h
    }
    %z:2 = nd.scan "layers" 4 carried(%x : !x) stacked(%y#1 : !hs) -> !x, !hs attributes {nd.sharding = [!x, !hs]} {
    ^bb0(%c: !x, %e: !h):
      %g = nd.cumsum %e {dim = "hidden", nd.sharding = [!h]} : (!h) -> !h
      nd.yield %c, %g : !x, !h
    }
    return %z#0, %z#1 : !x, !hs
  }
})";

TEST_F(PlanMoves, valuesAreKeptAsTheyAreUsed) {
  parse(usedText);
  auto planner = reshard::ReshardPlanner::of(*module);
  ChosenPlans usual = choose();
  TieForms ties;
  const bool isMoved =
      keepAsUsed(usual.functions, KeptForm::Placed, planner, ties);
  nd::ScanOp loop = *getFunction().getOps<nd::ScanOp>().begin();
  std::string end = getEnds(usual)[1];
  // The entries stay cut, as they were computed; the second loop gathers them.
  EXPECT_EQ(end, "!nd.tensor<f32, [hidden = 16 on {tensor}]>");
  ASSERT_TRUE(isMoved);
  auto wanted = ties.getDesired(loop->getResult(1));
  ASSERT_TRUE(wanted);
  EXPECT_TRUE(wanted->open.empty());
  PlanOptions options;
  options.ties = ties;
  EXPECT_EQ(getEnds(choose(options))[1], "!nd.tensor<f32, [hidden = 16]>");
}

// A loop that carries a value with one open dim. No rule or user cuts it.
constexpr const char *carriedText = R"(
!x = !nd.tensor<f32, [batch = 8]>
!w = !nd.tensor<f32, [layers = 4]>
!e = !nd.tensor<f32, []>
module attributes {nd.mesh = #nd.mesh<data = 2>} {
  func.func @train_step(%x: !x {nd.sharding = !x}, %w: !w {nd.sharding = !w}) -> (!x {nd.sharding = !x}) {
    %y = nd.scan "layers" 4 carried(%x : !x) stacked(%w : !w) -> !x attributes {nd.open_dims = [["batch"]], nd.sharding = [!x]} {
    ^bb0(%c: !x, %e: !e):
      %g = nd.exp %c {nd.open_dims = [["batch"]], nd.sharding = [!x]} : (!x) -> !x
      nd.yield %g : !x
    }
    return %y : !x
  }
})";

TEST_F(PlanMoves, carriedDimsAreCut) {
  parse(carriedText);
  auto data = StringAttr::get(&context, "data");
  EXPECT_EQ(getEnds(choose())[0], "!nd.tensor<f32, [batch = 8]>");
  PlanOptions options;
  auto dims = findCarriedDims(getFunction(), data, options.ties);
  ASSERT_EQ(dims.size(), 1u);
  EXPECT_EQ(dims[0], "batch");
  cutCarried(getFunction(), dims, data, options.ties);
  EXPECT_EQ(getEnds(choose(options))[0],
            "!nd.tensor<f32, [batch = 8 on {data}]>");
  nd::ScanOp loop = *getFunction().getOps<nd::ScanOp>().begin();
  EXPECT_EQ(options.ties.getSharedAxes(loop), spmd::AxisList({data}));
  // It is cut over the axis already.
  EXPECT_TRUE(findCarriedDims(getFunction(), data, options.ties).empty());
}

TEST_F(PlanMoves, carriedValuesStay) {
  parse(carriedText);
  ChosenPlans usual = choose();
  TieForms ties;
  EXPECT_TRUE(keepCarried(usual.functions, ties));
  nd::ScanOp loop = *getFunction().getOps<nd::ScanOp>().begin();
  auto wanted = ties.getDesired(loop->getResult(0));
  ASSERT_TRUE(wanted);
  EXPECT_TRUE(wanted->open.empty());
  EXPECT_FALSE(keepCarried(usual.functions, ties)) << "nothing is open now";
}

TEST_F(PlanMoves, carriedOpenDimsAreWhole) {
  parse(carriedText);
  auto data = StringAttr::get(&context, "data");
  PlanOptions cut;
  cutCarried(getFunction(), findCarriedDims(getFunction(), data, cut.ties),
             data, cut.ties);
  ChosenPlans plans = choose(cut);
  TieForms ties;
  EXPECT_TRUE(uncutCarried(plans.functions, ties));
  PlanOptions options;
  options.ties = ties;
  EXPECT_EQ(getEnds(choose(options))[0], "!nd.tensor<f32, [batch = 8]>");
  TieForms same;
  EXPECT_FALSE(uncutCarried(choose().functions, same)) << "it is whole already";
}

// Each of two ranks computes half of the first product and all of the second.
constexpr const char *repeatedText = R"(
!a = !nd.tensor<f32, [m = 16, k = 16]>
!ac = !nd.tensor<f32, [m = 16 on {data}, k = 16]>
!b = !nd.tensor<f32, [k = 16, n = 16]>
!o = !nd.tensor<f32, [m = 16, n = 16]>
!oc = !nd.tensor<f32, [m = 16 on {data}, n = 16]>
!p = !nd.tensor<f32, [n = 16, p = 16]>
!q = !nd.tensor<f32, [k = 16, p = 16]>
module attributes {nd.mesh = #nd.mesh<data = 2>} {
  func.func @train_step(%a: !a {nd.sharding = !ac}, %b: !b {nd.sharding = !b}, %c: !p {nd.sharding = !p}) -> (!o {nd.sharding = !oc}, !q {nd.sharding = !q}) {
    %x = nd.einsum %a, %b {reduced = ["k"], nd.sharding = [!oc]} : (!a, !b) -> !o
    %y = nd.einsum %b, %c {reduced = ["n"], nd.sharding = [!q]} : (!b, !p) -> !q
    return %x, %y : !o, !q
  }
})";

TEST_F(PlanMoves, ranksThatRepeatProducts) {
  parse(repeatedText);
  ChosenPlans usual = choose();
  auto mesh = nd::MeshAttr::of(*module);
  auto axes = findRepeatedAxes(*usual.functions.front().plan, mesh);
  ASSERT_EQ(axes.size(), 1u);
  EXPECT_EQ(axes[0], "data");
}

} // namespace
