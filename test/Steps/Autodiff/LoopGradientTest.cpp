//===- LoopGradientTest.cpp - gradients of loops --------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Models with loops, in doubles: their gradients against central differences
/// of the loss, and against those of the unrolled model. For each policy of
/// meshc-choose-residuals.
///
//===----------------------------------------------------------------------===//

#include "dialects/Nd/NdInterfaces.h"
#include "dialects/Nd/Ops/LoopOps.h"
#include "lib/Loops/Passes.h"
#include "lib/Reference/Interpreter.h"
#include "lib/Steps/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace mlir;
using namespace meshc;
using steps::Recompute;

namespace {

struct Model {
  const char *name;
  /// Ops of the model after its parameters: %w and %v of type !wn, one matrix
  /// for each entry of n, %u of type !w, one matrix, and %b of type !h, a row.
  /// %x is an input of type !xt, a batch for each entry of t. The last op
  /// computes %y, of type !x.
  const char *body;
};

const char *const header = R"(
!s = !nd.tensor<f32, []>
!i = !nd.tensor<i32, []>
!h = !nd.tensor<f32, [h = 2]>
!x = !nd.tensor<f32, [b = 2, h = 2]>
!xo = !nd.tensor<f32, [b = 2, o = 2]>
!xt = !nd.tensor<f32, [b = 2, h = 2, t = 3]>
!xn = !nd.tensor<f32, [b = 2, h = 2, n = 2]>
!w = !nd.tensor<f32, [h = 2, o = 2]>
!wn = !nd.tensor<f32, [h = 2, n = 2, o = 2]>
!it = !nd.tensor<i32, [t = 3]>
!ft = !nd.tensor<f32, [t = 3]>
!m = !nd.tensor<i1, [b = 2, h = 2]>
func.func @m(%x: !xt {nd.name = "x", nd.order = ["b", "h", "t"]}) -> (!s {nd.name = "loss"}) {
  %w = nd.parameter "w" ["n", "h", "o"] : !wn {
    %0 = nd.random normal "w" : !wn
    nd.yield %0 : !wn
  }
  %v = nd.parameter "v" ["n", "h", "o"] : !wn {
    %0 = nd.random normal "v" : !wn
    nd.yield %0 : !wn
  }
  %u = nd.parameter "u" ["h", "o"] : !w {
    %0 = nd.random normal "u" : !w
    nd.yield %0 : !w
  }
  %b = nd.parameter "b" ["h"] : !h {
    %0 = nd.random normal "b" : !h
    nd.yield %0 : !h
  }
)";

const char *const footer = R"(
  %squares = nd.square %y : (!x) -> !x
  %loss = nd.reduce_mean %squares {dims = ["b", "h"]} : (!x) -> !s
  return %loss : !s
}
nd.train @m "loss" "sgd" { nd.setting "lr" = 1.0 }
)";

const Model models[] = {
    {"Layers", R"(
  %first = nd.reduce_mean %x {dims = ["t"]} : (!xt) -> !x
  %y = nd.scan "n" 2 carried(%first : !x) stacked(%w : !wn) whole(%b : !h) -> !x {
  ^bb0(%h: !x, %wi: !w, %bi: !h):
    %0 = nd.einsum %h, %wi {reduced = ["h"]} : (!x, !w) -> !xo
    %1 = nd.rename %0 {from = ["o"], to = ["h"]} : (!xo) -> !x
    %2 = nd.add %1, %bi : (!x, !h) -> !x
    %3 = nd.gelu %2 : (!x) -> !x
    %4 = nd.tanh %3 : (!x) -> !x
    %5 = nd.add %4, %h : (!x, !x) -> !x
    nd.yield %5 : !x
  }
)"},
    // The loss reads one of two carried values. A parameter is the initial
    // value, and the loop runs backwards.
    {"Recurrence", R"(
  %zero = nd.constant 0.0 : f32 -> !x
  %start = nd.add %zero, %b : (!x, !h) -> !x
  %y, %c = nd.scan "t" 3 backwards carried(%start, %zero : !x, !x) stacked(%x : !xt) whole(%u, %b : !w, !h) -> !x, !x {
  ^bb0(%h: !x, %k: !x, %xi: !x, %ui: !w, %bi: !h):
    %0 = nd.einsum %h, %ui {reduced = ["h"]} : (!x, !w) -> !xo
    %1 = nd.rename %0 {from = ["o"], to = ["h"]} : (!xo) -> !x
    %2 = nd.add %1, %xi : (!x, !x) -> !x
    %f = nd.sigmoid %2 : (!x) -> !x
    %3 = nd.mul %2, %bi : (!x, !h) -> !x
    %g = nd.tanh %3 : (!x) -> !x
    %4 = nd.mul %f, %k : (!x, !x) -> !x
    %5 = nd.mul %f, %g : (!x, !x) -> !x
    %6 = nd.add %4, %5 : (!x, !x) -> !x
    %7 = nd.tanh %6 : (!x) -> !x
    %8 = nd.mul %7, %f : (!x, !x) -> !x
    nd.yield %8, %6 : !x, !x
  }
)"},
    // The loss sees the first value alone, whose gradient reaches the second
    // through the exchange of the two. What counts iterations has no gradient,
    // nor has what is rounded.
    {"Exchange", R"(
  %one = nd.constant 1 : i32 -> !i
  %mean = nd.reduce_mean %x {dims = ["t"]} : (!xt) -> !x
  %start = nd.mul %mean, %b : (!x, !h) -> !x
  %y, %z, %count, %rounded = nd.scan "t" 3 carried(%start, %mean, %one, %mean : !x, !x, !i, !x) stacked(%x : !xt) whole(%b : !h) -> !x, !x, !i, !x {
  ^bb0(%p: !x, %q: !x, %i: !i, %d: !x, %xi: !x, %bi: !h):
    %0 = nd.mul %p, %bi : (!x, !h) -> !x
    %1 = nd.cast %i : (!i) -> !s
    %2 = nd.mul %0, %1 : (!x, !s) -> !x
    %3 = nd.floor %d : (!x) -> !x
    %4 = nd.add %2, %3 : (!x, !x) -> !x
    %5 = nd.add %i, %i : (!i, !i) -> !i
    %6 = nd.mul %4, %xi : (!x, !x) -> !x
    nd.yield %q, %6, %5, %4 : !x, !x, !i, !x
  }
)"},
    // Stacked results with gradients, one of them of a carried argument; a loop
    // reads those of another.
    {"Chain", R"(
  %zero = nd.constant 0.0 : f32 -> !x
  %h, %hs, %ks = nd.scan "t" 3 carried(%zero : !x) stacked(%x : !xt) whole(%b : !h) -> !x, !xt, !xt {
  ^bb0(%p: !x, %xi: !x, %bi: !h):
    %0 = nd.mul %xi, %bi : (!x, !h) -> !x
    %1 = nd.sub %0, %p : (!x, !x) -> !x
    %2 = nd.sin %1 : (!x) -> !x
    nd.yield %2, %2, %p : !x, !x, !x
  }
  %a, %as = nd.scan "t" 3 carried(%h : !x) stacked(%hs, %ks : !xt, !xt) whole(%b : !h) -> !x, !xt {
  ^bb0(%p: !x, %hi: !x, %ki: !x, %bi: !h):
    %0 = nd.mul %p, %hi : (!x, !x) -> !x
    %1 = nd.add %0, %ki : (!x, !x) -> !x
    %2 = nd.mul %1, %bi : (!x, !h) -> !x
    nd.yield %1, %2 : !x, !x
  }
  %sum = nd.reduce_sum %as {dims = ["t"]} : (!xt) -> !x
  %0 = nd.add %sum, %a : (!x, !x) -> !x
  %y = nd.mul %0, %b : (!x, !h) -> !x
)"},
    // Layers of recurrences; a matrix is a whole operand of the outer loop and
    // of the inner one.
    {"Nested", R"(
  %n, %ys = nd.scan "n" 2 carried(%x : !xt) stacked(%w, %v : !wn, !wn) whole(%u, %b : !w, !h) -> !xt, !xn {
  ^bb0(%xs: !xt, %wi: !w, %vi: !w, %ui: !w, %bi: !h):
    %zero = nd.constant 0.0 : f32 -> !x
    %scaled = nd.mul %wi, %ui : (!w, !w) -> !w
    %h, %hs = nd.scan "t" 3 carried(%zero : !x) stacked(%xs : !xt) whole(%scaled, %vi, %bi : !w, !w, !h) -> !x, !xt {
    ^bb0(%p: !x, %xi: !x, %a: !w, %c: !w, %bj: !h):
      %0 = nd.einsum %p, %a {reduced = ["h"]} : (!x, !w) -> !xo
      %1 = nd.einsum %xi, %c {reduced = ["h"]} : (!x, !w) -> !xo
      %2 = nd.add %0, %1 : (!xo, !xo) -> !xo
      %3 = nd.rename %2 {from = ["o"], to = ["h"]} : (!xo) -> !x
      %4 = nd.add %3, %bj : (!x, !h) -> !x
      %5 = nd.tanh %4 : (!x) -> !x
      %6 = nd.exp %5 : (!x) -> !x
      nd.yield %6, %5 : !x, !x
    }
    nd.yield %hs, %h : !xt, !x
  }
  %sum = nd.reduce_sum %ys {dims = ["n"]} : (!xn) -> !x
  %last = nd.reduce_sum %n {dims = ["t"]} : (!xt) -> !x
  %y = nd.add %sum, %last : (!x, !x) -> !x
)"},
    // Dropout with the numbers of both loops.
    {"Random", R"(
  %counts = nd.iota : () -> !it
  %mean = nd.reduce_mean %x {dims = ["t"]} : (!xt) -> !x
  %y = nd.scan "t" 3 carried(%mean : !x) stacked(%x, %counts : !xt, !it) whole(%b : !h) -> !x {
  ^bb0(%p: !x, %xi: !x, %t: !i, %bi: !h):
    %r = nd.random uniform "r" (%t : !i) : !x
    %half = nd.constant 0.5 : f32 -> !s
    %kept = nd.compare gt %r, %half : (!x, !s) -> !m
    %factor = nd.cast %kept : (!m) -> !x
    %0 = nd.mul %p, %bi : (!x, !h) -> !x
    %1 = nd.exp %0 : (!x) -> !x
    %2 = nd.mul %1, %factor : (!x, !x) -> !x
    %3 = nd.add %2, %xi : (!x, !x) -> !x
    nd.yield %3 : !x
  }
)"},
};

using Tensors = std::vector<reference::RankTensors>;

class LoopGradient : public testing::TestWithParam<Model> {
protected:
  LoopGradient() {
    context.loadDialect<nd::NdDialect, func::FuncDialect>();
    options.roundToType = false;
    options.seed = 3;
  }

  OwningOpRef<ModuleOp> build(Recompute recompute, bool unrolls) {
    std::string text = std::string(header) + GetParam().body + footer;
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
    if (!module)
      return {};
    PassManager passes(&context);
    if (unrolls)
      passes.addPass(loops::createUnrollLoops());
    steps::addStepsPasses(passes, recompute);
    return succeeded(passes.run(*module)) ? std::move(module)
                                          : OwningOpRef<ModuleOp>();
  }

  Tensors run(ModuleOp module, StringRef name, const Tensors &arguments) {
    auto results =
        reference::interpret(module.lookupSymbol<func::FuncOp>(name),
                             nd::MeshAttr::of(module), arguments, options);
    EXPECT_TRUE(succeeded(results));
    return succeeded(results) ? *results : Tensors();
  }

  /// Parameters and the input.
  Tensors makeArguments(ModuleOp module) {
    Tensors arguments = run(module, "initialize", {});
    auto step = module.lookupSymbol<func::FuncOp>("train_step");
    nd::HostTensor input(cast<nd::TensorType>(step.getArgumentTypes().back()),
                         nd::MeshAttr::of(module));
    for (size_t i = 0; i < input.data.size(); ++i)
      input.data[i] = std::sin(1.0 + i);
    arguments.push_back({input});
    return arguments;
  }

  double getLoss(ModuleOp module, const Tensors &arguments) {
    return run(module, "train_step", arguments).back()[0].data[0];
  }

  static unsigned countLoops(ModuleOp module) {
    unsigned count = 0;
    module.lookupSymbol("train_step")->walk([&](nd::ScanOp) { ++count; });
    return count;
  }

  MLIRContext context;
  reference::RunOptions options;
};

TEST_P(LoopGradient, IsTheSlopeOfTheLoss) {
  OwningOpRef<ModuleOp> module = build(Recompute::Cheap, false);
  ASSERT_TRUE(module);
  EXPECT_GE(countLoops(*module), 2u);
  Tensors arguments = makeArguments(*module);
  Tensors after = run(*module, "train_step", arguments);
  const double h = 1e-5;
  unsigned moved = 0;
  for (size_t p = 0; p + 1 < arguments.size(); ++p)
    for (size_t i = 0; i < arguments[p][0].data.size(); ++i) {
      Tensors low = arguments, high = arguments;
      low[p][0].data[i] -= h;
      high[p][0].data[i] += h;
      double slope = (getLoss(*module, high) - getLoss(*module, low)) / (2 * h);
      // SGD of rate 1 subtracts the gradient.
      double gradient = arguments[p][0].data[i] - after[p][0].data[i];
      EXPECT_NEAR(gradient, slope, 1e-6 * (1 + std::abs(slope)))
          << "parameter " << p << ", element " << i;
      moved += std::abs(gradient) > 1e-6;
    }
  EXPECT_GE(moved, 2u);
}

TEST_P(LoopGradient, IsThatOfTheUnrolledModel) {
  OwningOpRef<ModuleOp> unrolled = build(Recompute::None, true);
  ASSERT_TRUE(unrolled);
  EXPECT_EQ(countLoops(*unrolled), 0u);
  Tensors arguments = makeArguments(*unrolled);
  Tensors wanted = run(*unrolled, "train_step", arguments);
  for (Recompute policy :
       {Recompute::None, Recompute::Cheap, Recompute::Full}) {
    OwningOpRef<ModuleOp> module = build(policy, false);
    ASSERT_TRUE(module);
    Tensors found = run(*module, "train_step", arguments);
    ASSERT_EQ(found.size(), wanted.size());
    for (size_t p = 0; p < wanted.size(); ++p)
      for (size_t i = 0; i < wanted[p][0].data.size(); ++i)
        EXPECT_NEAR(found[p][0].data[i], wanted[p][0].data[i],
                    1e-12 * (1 + std::abs(wanted[p][0].data[i])))
            << "policy " << int(policy) << ", result " << p << ", element "
            << i;
  }
}

INSTANTIATE_TEST_SUITE_P(All, LoopGradient, testing::ValuesIn(models),
                         [](const auto &info) { return info.param.name; });

} // namespace
