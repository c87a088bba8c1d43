//===- SortKernelTest.cpp - kernels that sort along rows ------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Codegen/KernelCase.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace meshc::codegen;

namespace {
struct Sort {
  int64_t batch, row, columns, count;
  std::string type = "f32", words = {};
  std::string in = R"(["b", "n", "m"])", out = R"(["b", "k", "m"])";
};

/// The order of x[b, n, m] along n.
std::string write(const Sort &sort) {
  auto tensor = [&](const std::string &type, const char *dim, int64_t size) {
    std::string along = std::string(dim) + " = " + std::to_string(size);
    std::string columns = "m = " + std::to_string(sort.columns);
    return "!nd.tensor<" + type + ", [b = " + std::to_string(sort.batch) +
           ", " + along + ", " + columns + "]>";
  };
  std::string x = tensor(sort.type, "n", sort.row);
  std::string y = tensor("i32", "k", sort.count);
  return "exec.kernel @k #exec.plan<parallel = [\"b\", \"m\"], reduce = [], "
         "lanes = \"m\", sizes = [" +
         std::to_string(sort.batch) + ", " + std::to_string(sort.columns) +
         "]> in [" + sort.in + "] out [" + sort.out + "] {\n^bb0(%x: " + x +
         "):\n%r = nd.argsort %x {dim = \"n\", into = \"k\", count = " +
         std::to_string(sort.count) + " : i64" + sort.words + "} : (" + x +
         ") -> " + y + "\nexec.yield %r : " + y + "\n}";
}

void expectSort(const Sort &sort, std::vector<double> specials = {}) {
  std::string kernel = write(sort);
  SCOPED_TRACE(kernel);
  KernelCase options;
  options.specials = std::move(specials);
  expectKernel(kernel, options);
}
} // namespace

/// Rows of one entry, of a few and of many; the first ones, and all.
TEST(SortKernel, AllSizes) {
  for (int64_t row : {1, 2, 3, 4, 5, 8, 31, 70})
    for (int64_t count : {int64_t(1), int64_t(2), row / 2, row - 1, row})
      if (count > 0 && count <= row)
        expectSort({2, row, 3, count});
  expectSort({1, 700, 1, 700});
  expectSort({300, 9, 1, 4});
}

/// Equal entries, both zeros, NaN and infinities.
TEST(SortKernel, EqualEntriesAndNaN) {
  for (std::string type : {"f32", "bf16", "f16"})
    for (std::string words : {"", ", descending"})
      expectSort({3, 33, 5, 20, type, words},
                 {0.0, -0.0, NAN, -NAN, INFINITY, -INFINITY, 1, 1e-7});
}

TEST(SortKernel, ExtremeNumbers) {
  for (std::string words : {"", ", descending"})
    expectSort({2, 21, 4, 21, "i32", words},
               {-2147483648.0, 2147483647, -1, 0});
}

/// On a GPU, a block has each of them.
TEST(SortKernel, LongRows) {
  std::vector<double> equal = {0.0, -0.0, NAN, -NAN, INFINITY, -INFINITY};
  for (std::string words : {"", ", descending"}) {
    expectSort({2, 1025, 1, 1025, "f32", words}, equal);
    expectSort({1, 3001, 2, 700, "bf16", words}, equal);
    expectSort({1, 1600, 1, 1600, "i32", words},
               {-2147483648.0, 2147483647, -1, 0});
  }
}

/// Rows that lie along memory, across it, and operands in another order.
TEST(SortKernel, AllOrders) {
  for (std::string in : {R"(["b", "n", "m"])", R"(["m", "b", "n"])"})
    for (std::string out :
         {R"(["b", "k", "m"])", R"(["b", "m", "k"])", R"(["k", "m", "b"])"})
      for (int64_t count : {2, 9})
        expectSort({4, 9, 8, count, "f32", ", descending", in, out});
}

/// A sort may read what it computes.
TEST(SortKernel, ComputedEntries) {
  expectKernel(R"(
    exec.kernel @k #exec.plan<parallel = ["b"], reduce = [], lanes = "",
                              sizes = [4]>
        in [["b", "n"]] out [["b", "n"]] {
    ^bb0(%x: !nd.tensor<f32, [b = 4, n = 12]>):
      %s = nd.square %x : (!nd.tensor<f32, [b = 4, n = 12]>)
          -> !nd.tensor<f32, [b = 4, n = 12]>
      %r = nd.argsort %s {dim = "n", into = "n", count = 12 : i64}
          : (!nd.tensor<f32, [b = 4, n = 12]>) -> !nd.tensor<i32, [b = 4, n = 12]>
      exec.yield %r : !nd.tensor<i32, [b = 4, n = 12]>
    })");
}
