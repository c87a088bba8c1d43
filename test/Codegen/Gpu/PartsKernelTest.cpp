//===- PartsKernelTest.cpp - kernels of several parts ---------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Codegen/KernelCase.h"
#include <gtest/gtest.h>

using namespace meshc::codegen;

namespace {
/// Text of a kernel with parts.
struct Text {
  std::string arguments, inputOrders, outputOrders, parts, body, results, types;

  static void append(std::string &list, const std::string &item) {
    list += (list.empty() ? "" : ", ") + item;
  }

  std::string get() const {
    return "exec.kernel @k <parallel = [], reduce = [], lanes = \"\", sizes = "
           "[]> in [" +
           inputOrders + "] out [" + outputOrders + "] attributes {parts = [" +
           parts + "]} {\n^bb0(" + arguments + "):\n" + body + "exec.yield " +
           results + " : " + types + "\n}";
  }
};

/// Adds x[i, j] := x + rate · g. All parts have the argument `rate`.
void addUpdate(Text &text, int number, int64_t rows, int64_t columns,
               const std::string &element = "f32") {
  std::string id = std::to_string(number);
  std::string type = "!nd.tensor<" + element +
                     ", [i = " + std::to_string(rows) +
                     ", j = " + std::to_string(columns) + "]>";
  std::string scalar = "!nd.tensor<" + element + ", []>";
  std::string rate = element == "f32" ? "%rate" : "%half";
  Text::append(text.arguments, "%x" + id + ": " + type);
  Text::append(text.arguments, "%g" + id + ": " + type);
  Text::append(text.inputOrders, R"(["i", "j"], ["i", "j"])");
  Text::append(text.outputOrders, R"(["i", "j"])");
  Text::append(text.parts,
               R"(#exec.part<1, <parallel = ["i", "j"], reduce = [], )"
               R"(lanes = "j", sizes = [)" +
                   std::to_string(rows) + ", " + std::to_string(columns) +
                   "]>>");
  text.body += "%m" + id + " = nd.mul %g" + id + ", " + rate + " : (" + type +
               ", " + scalar + ") -> " + type + "\n%r" + id + " = nd.add %x" +
               id + ", %m" + id + " : (" + type + ", " + type + ") -> " + type +
               "\n";
  Text::append(text.results, "%r" + id);
  Text::append(text.types, type);
}
} // namespace

/// Parts of one element, of fewer than a block has threads, and of many blocks,
/// of rows that are no whole vectors; each overwrites what it updates.
TEST(PartsKernel, Updates) {
  std::vector<std::pair<int64_t, int64_t>> shapes = {
      {1, 1}, {3, 5}, {64, 128}, {7, 33}, {1, 4}, {40, 1000}, {2, 2}};
  for (size_t count : {size_t{1}, size_t{2}, shapes.size()}) {
    SCOPED_TRACE(count);
    Text text;
    KernelCase options;
    text.arguments = "%rate: !nd.tensor<f32, []>";
    text.inputOrders = "[]";
    for (size_t part = 0; part < count; ++part) {
      addUpdate(text, int(part), shapes[part].first, shapes[part].second);
      options.inPlace.push_back({unsigned(1 + 2 * part), unsigned(part)});
    }
    expectKernel(text.get(), options);
  }
}

TEST(PartsKernel, TypesOfDifferentWidths) {
  Text text;
  text.arguments = "%rate: !nd.tensor<f32, []>, %half: !nd.tensor<bf16, []>";
  text.inputOrders = "[], []";
  addUpdate(text, 0, 3, 24);
  addUpdate(text, 1, 5, 24, "bf16");
  addUpdate(text, 2, 1, 7, "bf16");
  KernelCase options;
  options.tolerance = 1e-6;
  expectKernel(text.get(), options);
}
