//===- InsertKernelTest.cpp - kernels that replace entries ----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Codegen/KernelCase.h"
#include <gtest/gtest.h>

using namespace meshc::codegen;

namespace {
/// A table [b, n, m] in which the squares of the updates replace entries of n.
struct Insertion {
  int64_t batch, entries, columns;
  std::string type = "f32", lanes = "m";
  std::string indexDims = "", updateDims = ""; ///< "b = 2", ", u = 3"
  std::string out = R"(["b", "n", "m"])", cut = "";
};

std::string orderOf(const std::string &dims) {
  std::string order;
  for (char c : dims)
    if (c >= 'a' && c <= 'z')
      order += (order.empty() ? "\"" : ", \"") + std::string(1, c) + "\"";
  return "[" + order + "]";
}

std::string write(const Insertion &x) {
  std::string b = "b = " + std::to_string(x.batch),
              m = "m = " + std::to_string(x.columns),
              n = "n = " + std::to_string(x.entries) + x.cut;
  std::string table =
      "!nd.tensor<" + x.type + ", [" + b + ", " + m + ", " + n + "]>";
  std::string updates =
      "!nd.tensor<" + x.type + ", [" + b + ", " + m + x.updateDims + "]>";
  std::string indices = "!nd.tensor<i32, [" + x.indexDims + "]>";
  return "exec.kernel @k #exec.plan<parallel = [\"b\", \"m\"], reduce = [], "
         "lanes = \"" +
         x.lanes + "\", sizes = [" + std::to_string(x.batch) + ", " +
         std::to_string(x.columns) + "]> in [[\"b\", \"n\", \"m\"], " +
         orderOf("bm" + x.updateDims) + ", " + orderOf(x.indexDims) +
         "] out [" + x.out + "] {\n^bb0(%t: " + table + ", %u: " + updates +
         ", %i: " + indices + "):\n%q = nd.square %u : (" + updates + ") -> " +
         updates + "\n%r = nd.insert %t, %q, %i {dim = \"n\"} : (" + table +
         ", " + updates + ", " + indices + ") -> " + table +
         "\nexec.yield %r : " + table + "\n}";
}

void expectInsertion(const Insertion &insertion, KernelCase options = {}) {
  std::string kernel = write(insertion);
  SCOPED_TRACE(kernel);
  options.integers = insertion.entries + 2; // the last ones are out of range
  expectKernel(kernel, options);
  if (insertion.out != R"(["b", "n", "m"])")
    return;
  options.inPlace = {{0, 0}};
  expectKernel(kernel, options);
}
} // namespace

TEST(InsertKernel, AllShapes) {
  for (int64_t columns : {1, 3, 24})
    for (int64_t entries : {1, 70})
      expectInsertion({2, entries, columns});
  for (std::string type : {"bf16", "i32"})
    expectInsertion({2, 5, 40, type});
  expectInsertion({300, 5, 1});
  expectInsertion({1, 5, 1000});
}

/// Indices that rows do not share, and several updates of an entry.
TEST(InsertKernel, IndicesWithDims) {
  expectInsertion({4, 5, 8, "f32", "m", "b = 4"});
  expectInsertion({4, 5, 8, "f32", "m", "m = 8"});
  expectInsertion({4, 5, 8, "f32", "m", "u = 7", ", u = 7"});
  expectInsertion({4, 5, 8, "f32", "m", "b = 4, u = 7", ", u = 7"});
}

TEST(InsertKernel, AllOrders) {
  for (std::string out :
       {R"(["b", "n", "m"])", R"(["b", "m", "n"])", R"(["n", "m", "b"])"})
    for (std::string lanes : {"m", "b", ""})
      expectInsertion({4, 9, 8, "f32", lanes, "", "", out});
}

/// A rank's block of the dim takes what falls into it.
TEST(InsertKernel, CutDim) {
  for (int64_t coordinate : {0, 1}) {
    KernelCase options;
    options.mesh = "#nd.mesh<p = 2>";
    options.coordinates = {coordinate};
    for (int drawn = 0; drawn < 4; ++drawn)
      expectInsertion({2 + drawn, 6, 8, "f32", "m",
                       "b = " + std::to_string(2 + drawn), "",
                       R"(["b", "n", "m"])", " on {p}"},
                      options);
  }
}
