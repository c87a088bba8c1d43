//===- PrefixKernelTest.cpp - kernels that sum along rows -----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Codegen/KernelCase.h"
#include <gtest/gtest.h>

using namespace meshc::codegen;

namespace {
struct Prefix {
  int64_t batch, row, columns;
  std::string type = "f32", words = "", lanes = "m";
  std::string in = R"(["b", "n", "m"])", out = R"(["b", "n", "m"])";
};

/// Sums of the squares of x[b, n, m] along n.
std::string write(const Prefix &prefix) {
  std::string type = "!nd.tensor<" + prefix.type +
                     ", [b = " + std::to_string(prefix.batch) +
                     ", m = " + std::to_string(prefix.columns) +
                     ", n = " + std::to_string(prefix.row) + "]>";
  std::string signature = " : (" + type + ") -> " + type + "\n";
  return "exec.kernel @k #exec.plan<parallel = [\"b\", \"m\"], reduce = [], "
         "lanes = \"" +
         prefix.lanes + "\", sizes = [" + std::to_string(prefix.batch) + ", " +
         std::to_string(prefix.columns) + "]> in [" + prefix.in + "] out [" +
         prefix.out + "] {\n^bb0(%x: " + type + "):\n%q = nd.square %x" +
         signature + "%r = nd.prefix_sum %q {dim = \"n\"" + prefix.words + "}" +
         signature + "exec.yield %r : " + type + "\n}";
}

void expectPrefix(const Prefix &prefix, double tolerance = 2e-5) {
  std::string kernel = write(prefix);
  SCOPED_TRACE(kernel);
  KernelCase options;
  options.tolerance = tolerance;
  expectKernel(kernel, options);
}
} // namespace

TEST(PrefixKernel, BothDirections) {
  for (std::string words :
       {"", ", exclusive", ", backwards", ", backwards, exclusive"})
    for (std::string type : {"f32", "i32"})
      expectPrefix({3, 11, 16, type, words});
}

/// Rows of one entry, of a few and of many; vectors of all widths, and none.
TEST(PrefixKernel, AllShapes) {
  for (int64_t columns : {1, 3, 4, 24, 40})
    for (int64_t row : {1, 3, 4, 5, 70})
      expectPrefix({2, row, columns});
  expectPrefix({300, 33, 1});
  expectPrefix({1, 5, 1000});
}

/// Rows that lie along memory, across it, and operands in another order.
TEST(PrefixKernel, AllOrders) {
  for (std::string in : {R"(["b", "n", "m"])", R"(["m", "b", "n"])"})
    for (std::string out :
         {R"(["b", "n", "m"])", R"(["b", "m", "n"])", R"(["n", "m", "b"])"})
      for (std::string lanes : {"m", "b", ""})
        expectPrefix({4, 9, 8, "f32", "", lanes, in, out});
}

/// The sum so far is kept in f32.
TEST(PrefixKernel, ShortFloats) {
  for (std::string type : {"bf16", "f16"})
    expectPrefix({2, 300, 8, type}, 1e-2);
}

/// i32 wraps around.
TEST(PrefixKernel, ExtremeNumbers) {
  KernelCase options;
  options.specials = {-2147483648.0, 2147483647, -1, 0};
  expectKernel(write({2, 9, 8, "i32"}), options);
}
