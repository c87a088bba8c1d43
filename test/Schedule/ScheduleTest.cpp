//===- ScheduleTest.cpp - kernels and schedules compute what ops say ------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/ArenaAttributes.h"
#include "mlir/IR/Verifier.h"
#include "test/Schedule/RandomStep.h"
#include "test/Schedule/ScheduleFixture.h"

using namespace mlir;
using namespace meshc;

namespace {

class ScheduleTest : public ScheduleFixture {
protected:
  /// Checks the program that `seed` gave.
  void checkRandom(unsigned seed, ModuleOp module);
};

/// The functions of a test of the pass, for which it finds all epilogues.
TEST_F(ScheduleTest, Epilogues) {
  auto module = parseSourceFile<ModuleOp>(
      MESHC_SOURCE_DIR "/test/Kernels/fuse-epilogues.mlir", &context);
  ASSERT_TRUE(module);
  // Each alone: a schedule's tensors of one name are one.
  auto functions = llvm::to_vector((*module).getOps<func::FuncOp>());
  ASSERT_EQ(functions.size(), 13u);
  for (size_t kept = 0; kept < functions.size(); ++kept) {
    OwningOpRef<ModuleOp> one = (*module).clone();
    for (auto [index, function] :
         llvm::enumerate(llvm::to_vector((*one).getOps<func::FuncOp>())))
      if (index != kept)
        function.erase();
    check(*one);
  }
}

/// Draws 600 programs, or the one of MESHC_TEST_SEED, and gives each to `run`.
static void forEachSeed(llvm::function_ref<void(unsigned seed)> run) {
  unsigned count = 600, first = 0;
  if (const char *text = std::getenv("MESHC_TEST_SEED"))
    first = std::stoul(text), count = 1;
  for (unsigned seed = first;
       seed < first + count && !testing::Test::HasFailure(); ++seed)
    run(seed);
}

void ScheduleTest::checkRandom(unsigned seed, ModuleOp module) {
  if (seed % 2)
    exec::setForGpus(module);
  check(module);
  if (HasFailure()) {
    module->dump();
    FAIL() << "seed " << seed << " (MESHC_TEST_SEED)";
  }
}

TEST_F(ScheduleTest, RandomSteps) {
  forEachSeed([&](unsigned seed) {
    RandomStep step(context, seed);
    OwningOpRef<ModuleOp> module = step.build(4 + seed % 24);
    checkRandom(seed, *module);
  });
}

/// Loops of all ties around random ops, nested too.
TEST_F(ScheduleTest, RandomLoops) {
  unsigned programs = 0, loops = 0;
  forEachSeed([&](unsigned seed) {
    RandomStep step(context, seed, /*loops=*/true);
    OwningOpRef<ModuleOp> module = step.build(4 + seed % 24);
    ASSERT_TRUE(succeeded(verify(*module)));
    module->walk([&](nd::ScanOp) { ++loops; });
    ++programs;
    checkRandom(seed, *module);
  });
  EXPECT_GE(loops, programs);
}

/// Collectives that take maxima and minima, of values with NaN among them.
TEST_F(ScheduleTest, ExtremaWithNaN) {
  nanEvery = 20;
  for (std::string kind : {"max", "min"}) {
    std::string reduction = " " + kind + R"( ["data"] )";
    std::string text = R"(
!x = !nd.tensor<f32, [i = 8 on {data}, j = 12]>
!p = !nd.tensor<f32, [j = 12], )" +
                       kind + R"( {data}>
!whole = !nd.tensor<f32, [j = 12]>
!cut = !nd.tensor<f32, [j = 12 on {data}]>
module attributes {nd.mesh = #nd.mesh<data = 4>} {
  func.func @eval_step(%x: !x {nd.name = "x", nd.role = "input", nd.order = ["i", "j"]})
      -> (!whole {nd.name = "a", nd.role = "metric", nd.order = ["j"]},
          !cut {nd.name = "b", nd.role = "metric", nd.order = ["j"]}) {
    %0 = nd.reduce_)" + kind +
                       R"( %x {dims = ["i"]} : (!x) -> !p
    %1 = spmd.all_reduce )" +
                       reduction + R"(%0 : (!p) -> !whole
    %2 = spmd.reduce_scatter )" +
                       reduction + R"(to ["j"] %0 : (!p) -> !cut
    return %1, %2 : !whole, !cut
  }
}
)";
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(module);
    check(*module);
  }
}

/// Collectives within loops: partial sums of weights that are gathered entry by
/// entry, forwards and backwards, and a sum that stays partial until after the
/// loop.
TEST_F(ScheduleTest, CollectivesInLoops) {
  for (std::string direction : {"", " backwards"}) {
    std::string text = R"(
!x = !nd.tensor<f32, [b = 4 on {data}, m = 6]>
!xs = !nd.tensor<f32, [b = 4 on {data}, d = 3, m = 6]>
!w = !nd.tensor<f32, [d = 3, m = 6, n = 6 on {data}]>
!wi = !nd.tensor<f32, [m = 6, n = 6 on {data}]>
!whole = !nd.tensor<f32, [m = 6, n = 6]>
!y = !nd.tensor<f32, [b = 4 on {data}, n = 6]>
!g = !nd.tensor<f32, [m = 6], sum {data}>
!total = !nd.tensor<f32, [m = 6]>
!totals = !nd.tensor<f32, [d = 3, m = 6]>
module attributes {nd.mesh = #nd.mesh<data = 2>} {
  func.func @eval_step(%x: !x {nd.name = "x", nd.role = "input", nd.order = ["b", "m"]},
                       %w: !w {nd.name = "w", nd.role = "parameter", nd.order = ["d", "m", "n"]})
      -> (!x {nd.name = "h", nd.role = "metric", nd.order = ["b", "m"]},
          !total {nd.name = "g", nd.role = "metric", nd.order = ["m"]},
          !xs {nd.name = "hs", nd.role = "metric", nd.order = ["d", "b", "m"]},
          !totals {nd.name = "ts", nd.role = "metric", nd.order = ["d", "m"]}) {
    %zero = nd.constant 0.0 : f32 -> !g
    %h, %g, %hs, %ts = nd.scan "d" 3)" +
                       direction +
                       R"( carried(%x, %zero : !x, !g) stacked(%w : !w)
        -> !x, !g, !xs, !totals {
    ^bb0(%a: !x, %sum: !g, %wi: !wi):
      %0 = spmd.all_gather ["data"] from ["n"] %wi : (!wi) -> !whole
      %1 = nd.einsum %a, %0 {reduced = ["m"]} : (!x, !whole) -> !y
      %2 = nd.rename %1 {from = ["n"], to = ["m"]} : (!y) -> !x
      %3 = nd.tanh %2 : (!x) -> !x
      %4 = nd.reduce_sum %3 {dims = ["b"]} : (!x) -> !g
      %5 = nd.add %sum, %4 : (!g, !g) -> !g
      %6 = spmd.all_reduce sum ["data"] %4 : (!g) -> !total
      nd.yield %3, %5, %a, %6 : !x, !g, !x, !total
    }
    %all = spmd.all_reduce sum ["data"] %g : (!g) -> !total
    return %h, %all, %hs, %ts : !x, !total, !xs, !totals
  }
}
)";
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(module);
    check(*module);
  }
}

/// Every kind of collective between kernels, on eight ranks.
TEST_F(ScheduleTest, Collectives) {
  const char *text = R"(
!x = !nd.tensor<f32, [i = 8 on {data}, j = 12, k = 4]>
!p = !nd.tensor<f32, [j = 12, k = 4], sum {data}>
!whole = !nd.tensor<f32, [j = 12, k = 4]>
!cut = !nd.tensor<f32, [j = 12 on {data}, k = 4]>
!both = !nd.tensor<f32, [j = 12 on {data}, k = 4 on {tensor}]>
!other = !nd.tensor<f32, [j = 12, k = 4 on {data}]>
!swapped = !nd.tensor<f32, [i = 8, j = 16 on {tensor, data}]>
!inOrder = !nd.tensor<f32, [i = 8, j = 16 on {data, tensor}]>
module attributes {nd.mesh = #nd.mesh<data = 2, tensor = 4>} {
  func.func @eval_step(%x: !x {nd.name = "x", nd.role = "input", nd.order = ["k", "i", "j"]},
                       %y: !swapped {nd.name = "y", nd.role = "input", nd.order = ["j", "i"]})
      -> (!whole {nd.name = "a", nd.role = "metric", nd.order = ["k", "j"]},
          !inOrder {nd.name = "e", nd.role = "metric", nd.order = ["i", "j"]},
          !whole {nd.name = "b", nd.role = "metric", nd.order = ["j", "k"]},
          !both {nd.name = "c", nd.role = "metric", nd.order = ["j", "k"]},
          !other {nd.name = "d", nd.role = "metric", nd.order = ["k", "j"]}) {
    %0 = nd.reduce_sum %x {dims = ["i"]} : (!x) -> !p
    %1 = spmd.all_reduce sum ["data"] %0 : (!p) -> !whole
    %2 = spmd.reduce_scatter sum ["data"] to ["j"] %0 : (!p) -> !cut
    %3 = nd.tanh %2 : (!cut) -> !cut
    %4 = spmd.all_gather ["data"] from ["j"] %3 : (!cut) -> !whole
    %5 = spmd.slice "k" ["tensor"] %3 : !cut -> !both
    %6 = nd.neg %5 : (!both) -> !both
    %7 = spmd.all_to_all ["data"] from ["j"] to ["k"] %2 : (!cut) -> !other
    %8 = nd.neg %y : (!swapped) -> !swapped
    %9 = spmd.permute ["tensor", "data"] to ["data", "tensor"] %8 : (!swapped) -> !inOrder
    %10 = nd.neg %9 : (!inOrder) -> !inOrder
    return %1, %10, %4, %6, %7 : !whole, !inOrder, !whole, !both, !other
  }
}
)";
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  ASSERT_TRUE(module);
  check(*module);
}

} // namespace
