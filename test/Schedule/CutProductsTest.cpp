//===- CutProductsTest.cpp - products over dims with padding --------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Sums of products over a dim that the ranks do not divide, from one rank's
/// ops to calls on an arena. Padding is NaN in every tensor, so that a result
/// with one number of it is wrong.
///
//===----------------------------------------------------------------------===//

#include "dialects/Exec/ArenaAttributes.h"
#include "dialects/Exec/Epilogues.h"
#include "mlir/IR/Verifier.h"
#include "test/Schedule/ScheduleFixture.h"

using namespace mlir;
using namespace meshc;

namespace {

class CutProducts : public ScheduleFixture {
protected:
  /// The product of [k, s, m] and [k, s, n], summed over k and s, and the sum
  /// of the second factor, on the mesh. Both factors have the memory order
  /// `outer`, then their own dim; `entries`: k = 5 on {data}, for example.
  OwningOpRef<ModuleOp> parse(const std::string &mesh, const std::string &k,
                              const std::string &s, const std::string &outer,
                              const std::string &axes) {
    auto input = [&](const std::string &name, const std::string &own) {
      return "%" + name + ": !" + name + " {nd.name = \"" + name +
             "\", nd.role = \"input\", nd.order = [" + outer + ", \"" + own +
             "\"]}";
    };
    std::string text =
        "!a = !nd.tensor<f32, [k = " + k + ", m = 4, s = " + s + "]>\n" +
        "!b = !nd.tensor<f32, [k = " + k + ", n = 64, s = " + s + "]>\n" +
        "!c = !nd.tensor<f32, [m = 4, n = 64], sum {" + axes + "}>\n" +
        "!g = !nd.tensor<f32, [n = 64], sum {" + axes + "}>\n" +
        "module attributes {nd.mesh = #nd.mesh<" + mesh + ">} {\n" +
        "  func.func @eval_step(" + input("a", "m") + ", " + input("b", "n") +
        ") -> (!c {nd.name = \"c\", nd.role = \"metric\", nd.order = [\"m\", "
        "\"n\"]}, !g {nd.name = \"g\", nd.role = \"metric\", nd.order = "
        "[\"n\"]}) {\n"
        "    %c = nd.einsum %a, %b {reduced = [\"k\", \"s\"]} : (!a, !b) -> "
        "!c\n"
        "    %g = nd.reduce_sum %b {dims = [\"k\", \"s\"]} : (!b) -> !g\n"
        "    return %c, %g : !c, !g\n  }\n}\n";
    auto module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(module && succeeded(verify(*module))) << text;
    return module;
  }

  /// How many products the kernels phase makes of the module, and how many of
  /// them have an epilogue.
  std::pair<int, int> countProducts(ModuleOp module) {
    OwningOpRef<ModuleOp> fused = module.clone();
    EXPECT_TRUE(run(*fused, kernels::addKernelsPasses));
    std::pair<int, int> counts;
    fused->walk([&](exec::ProductOp product) {
      ++counts.first;
      counts.second += product.getEpilogue().has_value();
    });
    return counts;
  }
};

/// Blocks of 2: the third has one entry, the fourth has none.
TEST_F(CutProducts, ShorterSums) {
  for (std::string outer : {"\"k\", \"s\"", "\"s\", \"k\""})
    for (std::string k : {"5 on {data}", "3 on {data}"}) {
      SCOPED_TRACE(outer + " " + k);
      auto module = parse("data = 4", k, "3", outer, "data");
      ASSERT_TRUE(module);
      EXPECT_EQ(countProducts(*module), std::pair(1, 0));
      check(*module);
    }
}

/// 10 entries in blocks of 5, and then of 3 and 2.
TEST_F(CutProducts, NestedBlocks) {
  auto module = parse("data = 2, tensor = 2", "10 on {data, tensor}", "2",
                      "\"k\", \"s\"", "data, tensor");
  ASSERT_TRUE(module);
  check(*module);
}

/// The library sums the factor in the product's call, over what exists.
TEST_F(CutProducts, SumsOfFactors) {
  auto module = parse("data = 4", "5 on {data}", "3", "\"k\", \"s\"", "data");
  ASSERT_TRUE(module);
  exec::setForGpus(*module);
  EXPECT_EQ(countProducts(*module), std::pair(1, 1));
  check(*module);
}

/// A kernel sums over two dims with padding.
TEST_F(CutProducts, TwoDimsWithPadding) {
  auto module = parse("data = 4, tensor = 2", "5 on {data}", "3 on {tensor}",
                      "\"k\", \"s\"", "data, tensor");
  ASSERT_TRUE(module);
  EXPECT_EQ(countProducts(*module), std::pair(0, 0));
  check(*module);
}

} // namespace
