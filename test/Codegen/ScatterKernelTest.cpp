//===- ScatterKernelTest.cpp - kernels that add at computed places --------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Codegen/KernelCase.h"
#include <gtest/gtest.h>

using namespace meshc::codegen;

namespace {
/// Updates [s, m] at indices [s] into [v, m], from zero or into a table.
struct Scatter {
  int64_t entries, count, columns;
  std::string type = "f32";
  bool hasTable = false;
  std::string out = R"(["v", "m"])", lanes = "m";
  bool isDistinct = false; ///< the number of an index is added to it
};

std::string write(const Scatter &x) {
  std::string m = "m = " + std::to_string(x.columns),
              s = "s = " + std::to_string(x.count),
              v = "v = " + std::to_string(x.entries);
  std::string u = "!nd.tensor<" + x.type + ", [" + m + ", " + s + "]>",
              i = "!nd.tensor<i32, [" + s + "]>",
              r = "!nd.tensor<" + x.type + ", [" + m + ", " + v + "]>";
  auto ifTable = [&](const std::string &text) {
    return x.hasTable ? text : std::string();
  };
  std::string indices = "%i", code;
  if (x.isDistinct) {
    indices = "%j";
    code = "%n = nd.iota : () -> " + i + "\n%j = nd.add %i, %n : (" + i + ", " +
           i + ") -> " + i + "\n";
  }
  return "exec.kernel @k #exec.plan<parallel = [\"m\"], reduce = [\"s\"], "
         "lanes = \"" +
         x.lanes + "\", sizes = [" + std::to_string(x.columns) + ", " +
         std::to_string(x.count) + "]> in [[\"s\", \"m\"], [\"s\"], [\"s\"]" +
         ifTable(", [\"v\", \"m\"]") + "] out [" + x.out +
         "] {\n^bb0(%u: " + u + ", %i: " + i + ", %o: " + i +
         ifTable(", %t: " + r) + "):\n" + code + "%q = nd.square %u : (" + u +
         ") -> " + u + "\n%r = nd.scatter_add %q, " + indices +
         ifTable(" into %t") + " ordered %o {dim = \"v\"} : (" + u + ", " + i +
         ifTable(", " + r) + ", " + i + ") -> " + r + "\nexec.yield %r : " + r +
         "\n}";
}

/// From zero, into a table elsewhere, and into a table in place.
void expectScatter(Scatter scatter, KernelCase options) {
  options.orders = {{2, 1}};
  for (bool hasTable : {false, true}) {
    scatter.hasTable = hasTable;
    std::string kernel = write(scatter);
    SCOPED_TRACE(kernel);
    expectKernel(kernel, options);
    if (!hasTable || scatter.out != R"(["v", "m"])")
      continue;
    options.inPlace = {{3, 0}};
    expectKernel(kernel, options);
  }
}
} // namespace

/// Few and many entries, indices and columns: on a GPU parts of a warp, warps
/// and blocks that share the indices, updates in several parts. The last
/// indices are out of range.
TEST(ScatterKernel, AllShapes) {
  for (Scatter shape : {Scatter{65, 256, 24},
                        {20, 2048, 8, "bf16"},
                        {300, 700, 1},
                        {7, 50, 1024, "bf16"},
                        {500, 96, 130, "i32"},
                        {3, 500, 64, "i32"},
                        {1, 5, 3},
                        {33, 1, 32, "bf16"}}) {
    KernelCase options;
    options.integers = shape.entries + shape.entries / 8;
    options.tolerance = shape.type == "bf16" ? 1e-2 : 1e-4;
    expectScatter(shape, options);
  }
}

TEST(ScatterKernel, AllOrders) {
  KernelCase options;
  options.integers = 18;
  for (std::string lanes : {"m", ""})
    for (std::string out : {R"(["v", "m"])", R"(["m", "v"])"})
      expectScatter({15, 54, 21, "f32", false, out, lanes}, options);
}

/// A run as long as all indices is shared by all threads, and runs of one.
TEST(ScatterKernel, EqualAndDistinctIndices) {
  KernelCase options;
  options.integers = 1;
  options.tolerance = 1e-4;
  for (auto [count, columns] :
       {std::pair(2, 6), {33, 1}, {500, 200}, {2048, 4}}) {
    expectScatter({5, count, columns}, options);
    Scatter distinct{count + 3, count, columns};
    distinct.isDistinct = true;
    expectScatter(distinct, options);
  }
}

/// Sums of 16 bits are kept in more of them: one more would not be seen after
/// 256 of them.
TEST(ScatterKernel, ManyOnes) {
  for (auto [type, columns] : {std::pair("bf16", 8), {"f16", 1}}) {
    KernelCase options;
    options.low = options.high = 1;
    options.integers = 2;
    options.tolerance = 4e-3;
    expectScatter({2, 2999, columns, type}, options);
  }
}

/// An entry that the stack has no room for.
TEST(ScatterKernel, LongRows) {
  KernelCase options;
  options.tolerance = 1e-2;
  options.integers = 4;
  expectScatter({2, 3, 66000, "bf16"}, options);
}

/// A dim that indices and result share, a block of the scattered dim, and two
/// dims that are summed.
TEST(ScatterKernel, Rows) {
  for (std::string type : {"f32", "f16"})
    for (std::string sizes : {"s = 9", "s = 9, t = 4"}) {
      KernelCase options;
      options.integers = 30;
      options.mesh = "#nd.mesh<p = 2>";
      options.coordinates = {1};
      options.tolerance = type == "f16" ? 1e-2 : 2e-6;
      options.orders = {{2, 1}};
      bool areTwo = sizes.size() > 5;
      std::string u = "!nd.tensor<" + type + ", [b = 6, " + sizes + "]>",
                  i = "!nd.tensor<i32, [b = 6, " + sizes + "]>",
                  o = "!nd.tensor<i32, [b = 6, w = " +
                      std::string(areTwo ? "36" : "9") + "]>",
                  r = "!nd.tensor<" + type + ", [b = 6, v = 30 on {p}]>",
                  in = areTwo ? R"(["b", "t", "s"])" : R"(["b", "s"])";
      expectKernel("exec.kernel @k #exec.plan<parallel = [\"b\"], reduce = "
                   "[\"s\"], lanes = \"\", sizes = [6, 9]> in [" +
                       in + ", " + in +
                       ", [\"b\", \"w\"]] out [[\"b\", \"v\"]] {\n^bb0(%u: " +
                       u + ", %i: " + i + ", %o: " + o +
                       "):\n%r = nd.scatter_add %u, %i ordered %o {dim = "
                       "\"v\"} : (" +
                       u + ", " + i + ", " + o + ") -> " + r +
                       "\nexec.yield %r : " + r + "\n}",
                   options);
    }
}
