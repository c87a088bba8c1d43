//===- ElementOpsTest.cpp - every element op as code, vectors and scalars -===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Codegen/KernelCase.h"
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

using namespace meshc::codegen;

static std::string tensor(const std::string &element,
                          const std::string &dims = "b = 3, h = 21") {
  return "!nd.tensor<" + element + ", [" + dims + "]>";
}

/// A kernel over b = 3, h = 21 with one op. `lanes` empty: scalar code.
static std::string oneOp(const std::string &lanes, const std::string &inOrders,
                         const std::string &arguments, const std::string &op,
                         const std::string &result) {
  return "exec.kernel @k #exec.plan<parallel = [\"b\", \"h\"], reduce = [], "
         "lanes = \"" +
         lanes + "\", sizes = [3, 21]> in " + inOrders +
         " out [[\"b\", \"h\"]] {\n^bb0" + arguments + ":\n%r = " + op +
         "\nexec.yield %r : " + result + "\n}";
}

/// An operand in the loops' order, one across it, one along the lanes only.
static void expectBinary(const std::string &name, const std::string &in,
                         const std::string &out,
                         const KernelCase &options = {}) {
  std::string x = tensor(in), y = tensor(in, "h = 21"), r = tensor(out);
  for (std::string lanes : {"h", ""}) {
    SCOPED_TRACE(name + " on " + in + ", lanes '" + lanes + "'");
    std::string header = name + " %x, %y : (" + x + ", ";
    expectKernel(oneOp(lanes, R"([["b", "h"], ["h", "b"]])",
                       "(%x: " + x + ", %y: " + x + ")",
                       header + x + ") -> " + r, r),
                 options);
    expectKernel(oneOp(lanes, R"([["b", "h"], ["h"]])",
                       "(%x: " + x + ", %y: " + y + ")",
                       header + y + ") -> " + r, r),
                 options);
  }
}

static void expectUnary(const std::string &name, const std::string &in,
                        const std::string &out,
                        const KernelCase &options = {}) {
  std::string x = tensor(in), r = tensor(out);
  for (std::string lanes : {"h", ""})
    for (std::string order : {R"([["b", "h"]])", R"([["h", "b"]])"}) {
      SCOPED_TRACE(name + " on " + in + ", lanes '" + lanes + "', in " + order);
      expectKernel(oneOp(lanes, order, "(%x: " + x + ")",
                         name + " %x : (" + x + ") -> " + r, r),
                   options);
    }
}

TEST(ElementOps, UnaryOfAnyFloat) {
  for (std::string name :
       {"nd.exp", "nd.tanh", "nd.erf", "nd.sigmoid", "nd.gelu", "nd.silu",
        "nd.softplus", "nd.sin", "nd.cos", "nd.floor", "nd.neg", "nd.abs",
        "nd.sign", "nd.square", "nd.relu", "nd.stop_gradient"})
    expectUnary(name, "f32", "f32");
}

TEST(ElementOps, UnaryOfPositiveFloats) {
  KernelCase positive;
  positive.low = 0.01;
  positive.high = 9;
  for (std::string name : {"nd.log", "nd.sqrt", "nd.rsqrt", "nd.reciprocal"})
    expectUnary(name, "f32", "f32", positive);
}

TEST(ElementOps, SixteenBitFloats) {
  KernelCase rounded;
  rounded.tolerance = 1e-2;
  for (std::string type : {"bf16", "f16"}) {
    for (std::string name : {"nd.exp", "nd.tanh", "nd.relu"})
      expectUnary(name, type, type, rounded);
    expectBinary("nd.mul", type, type, rounded);
  }
}

TEST(ElementOps, UnaryOfIntegersAndBooleans) {
  for (std::string name : {"nd.neg", "nd.abs", "nd.sign", "nd.square",
                           "nd.relu", "nd.stop_gradient"})
    expectUnary(name, "i32", "i32");
  expectUnary("nd.not", "i1", "i1");
}

TEST(ElementOps, Binary) {
  for (std::string name :
       {"nd.add", "nd.sub", "nd.mul", "nd.div", "nd.maximum", "nd.minimum"}) {
    expectBinary(name, "f32", "f32");
    expectBinary(name, "i32", "i32");
  }
  expectBinary("nd.mod", "i32", "i32");
  KernelCase positive;
  positive.low = 0.5;
  positive.tolerance = 1e-5;
  expectBinary("nd.pow", "f32", "f32", positive);
  expectBinary("nd.and", "i1", "i1");
  expectBinary("nd.or", "i1", "i1");
}

/// A remainder has no error, whatever the quotient.
TEST(ElementOps, RemaindersAreExact) {
  KernelCase exact;
  exact.tolerance = 0;
  expectBinary("nd.mod", "f32", "f32", exact);
  exact.specials = {106420408.0, 3,       -3,     1e30f,   0x1p127, 0x1p-149,
                    -0x1p-126,   0x1.8p5, -0.0,   0,       NAN,     INFINITY,
                    -INFINITY,   0.1f,    -1e-9f, 0x1.8p40};
  expectBinary("nd.mod", "f32", "f32", exact);
  for (std::string type : {"bf16", "f16"}) {
    KernelCase rounded;
    rounded.tolerance = 0;
    expectBinary("nd.mod", type, type, rounded);
  }
}

/// These ops have no undefined behaviour where C or LLVM has it.
TEST(ElementOps, SpecialIntegers) {
  KernelCase extremes;
  extremes.specials = {-2147483648.0, 2147483647, -1, 0, -7, 65537};
  for (std::string name : {"nd.add", "nd.sub", "nd.mul", "nd.div", "nd.mod",
                           "nd.maximum", "nd.minimum"})
    expectBinary(name, "i32", "i32", extremes);
  for (std::string name :
       {"nd.neg", "nd.abs", "nd.sign", "nd.square", "nd.relu"})
    expectUnary(name, "i32", "i32", extremes);
  expectBinary("nd.compare lt", "i32", "i1", extremes);
  expectUnary("nd.cast", "i32", "f32", extremes);
}

TEST(ElementOps, SpecialFloats) {
  KernelCase extremes;
  extremes.specials = {NAN, INFINITY, -INFINITY, -0.0, 3e9, -3e9, 2147483648.0};
  for (std::string name :
       {"nd.exp", "nd.tanh", "nd.sigmoid", "nd.gelu", "nd.silu", "nd.softplus",
        "nd.abs", "nd.sign", "nd.square", "nd.relu"})
    expectUnary(name, "f32", "f32", extremes);
  for (std::string name : {"nd.add", "nd.maximum", "nd.minimum"})
    expectBinary(name, "f32", "f32", extremes);
  for (std::string predicate : {"eq", "ne", "lt", "le", "gt", "ge"})
    expectBinary("nd.compare " + predicate, "f32", "i1", extremes);
  expectUnary("nd.cast", "f32", "i32", extremes);
  expectUnary("nd.cast", "f32", "i1", extremes);
}

TEST(ElementOps, Compare) {
  for (std::string predicate : {"eq", "ne", "lt", "le", "gt", "ge"}) {
    expectBinary("nd.compare " + predicate, "i32", "i1");
    expectBinary("nd.compare " + predicate, "f32", "i1");
  }
}

TEST(ElementOps, Cast) {
  KernelCase wide;
  wide.low = -100;
  wide.high = 100;
  for (std::string to : {"f32", "bf16", "f16", "i32", "i1"})
    for (std::string from : {"f32", "bf16", "f16", "i32", "i1"})
      if (from != to)
        expectUnary("nd.cast", from, to, wide);
}

TEST(ElementOps, Select) {
  std::string x = tensor("f32"), c = tensor("i1"), s = tensor("f32", "");
  for (std::string lanes : {"h", ""})
    expectKernel(oneOp(
        lanes, R"([["h", "b"], ["b", "h"], []])",
        "(%c: " + c + ", %x: " + x + ", %s: " + s + ")",
        "nd.select %c, %x, %s : (" + c + ", " + x + ", " + s + ") -> " + x, x));
}

TEST(ElementOps, Sources) {
  std::string x = tensor("f32");
  KernelCase random;
  random.tolerance = 5e-6;
  for (std::string lanes : {"h", ""})
    for (std::string op :
         {R"(nd.random uniform "w" : )", R"(nd.random normal "w" : )",
          R"(nd.constant 1.5 : f32 -> )"})
      expectKernel(oneOp(lanes, "[]", "()", op + x, x), random);
}

/// A block of a cut tensor draws the numbers of its global indices.
TEST(ElementOps, RandomOfABlock) {
  KernelCase cut;
  cut.tolerance = 5e-6;
  cut.mesh = "#nd.mesh<p = 2, q = 3>";
  cut.coordinates = {1, 2};
  std::string x = tensor("f32", "b = 6 on {p}, h = 63 on {q}");
  expectKernel(oneOp("h", "[]", "()", R"(nd.random normal "w" : )" + x, x),
               cut);
}

/// In an iteration of a loop, random numbers have an operand, but are functions
/// of each index as outside: in an order of dims other than that by name, two
/// of them are not one.
TEST(ElementOps, RandomOfAnIteration) {
  KernelCase random;
  random.tolerance = 5e-6;
  std::string x = tensor("f32"), number = "!nd.tensor<i32, []>";
  for (std::string lanes : {"b", ""})
    expectKernel("exec.kernel @k #exec.plan<parallel = [\"h\", \"b\"], reduce "
                 "= [], lanes = \"" +
                     lanes +
                     "\", sizes = [21, 3]> in [[]] out [[\"h\", \"b\"]] {\n"
                     "^bb0(%i: " +
                     number + "):\n%r = nd.random normal \"w\"(%i : " + number +
                     ") : " + x + "\nexec.yield %r : " + x + "\n}",
                 random);
}

/// Of two axes that cut one dim, the first is the major one: the block of this
/// rank is number 1 of q times p, and would be number 3 of p times q.
TEST(ElementOps, Iota) {
  KernelCase cut;
  cut.mesh = "#nd.mesh<p = 2, q = 3>";
  cut.coordinates = {1, 0};
  for (std::string element : {"i32", "f32"})
    for (std::string lanes : {"h", ""})
      expectKernel(
          "exec.kernel @k #exec.plan<parallel = [\"h\"], reduce = [], lanes = "
          "\"" +
              lanes +
              "\", sizes = [21]> in [] out [[\"h\"]] {\n"
              "%r = nd.iota : () -> " +
              tensor(element, "h = 126 on {q, p}") + "\nexec.yield %r : " +
              tensor(element, "h = 126 on {q, p}") + "\n}",
          cut);
}

TEST(ElementOps, Gather) {
  std::string table = tensor("f32", "h = 21, v = 6"),
              indices = tensor("i32", "b = 3"), x = tensor("f32");
  std::string flat = tensor("f32", "b = 3, v = 6");
  for (std::string lanes : {"h", ""}) {
    // Some indices are out of range.
    expectKernel(oneOp(lanes, R"([["v", "h"], ["b"]])",
                       "(%t: " + table + ", %i: " + indices + ")",
                       "nd.gather %t, %i {dim = \"v\"} : (" + table + ", " +
                           indices + ") -> " + x,
                       x));
    // Dims that both have align; the lanes run along the indices.
    std::string across = tensor("i32");
    expectKernel(oneOp(lanes, R"([["v", "b"], ["b", "h"]])",
                       "(%t: " + flat + ", %i: " + across + ")",
                       "nd.gather %t, %i {dim = \"v\"} : (" + flat + ", " +
                           across + ") -> " + x,
                       x));
  }
}

TEST(ElementOps, Shapes) {
  std::string x = tensor("f32"), h = tensor("f32", "h = 21");
  std::string merged = tensor("f32", "m = 63"),
              swapped = tensor("f32", "b = 21, h = 3");
  std::string split = tensor("f32", "b = 3, i = 3, j = 7");
  for (std::string lanes : {"h", ""}) {
    expectKernel(oneOp(lanes, R"([["h"]])", "(%x: " + h + ")",
                       "nd.broadcast %x : (" + h + ") -> " + x, x));
    expectKernel(oneOp(lanes, R"([["h", "b"]])", "(%x: " + swapped + ")",
                       "nd.rename %x {from = [\"b\", \"h\"], to = [\"h\", "
                       "\"b\"]} : (" +
                           swapped + ") -> " + x,
                       x));
    expectKernel(oneOp(lanes, R"([["m"]])", "(%x: " + merged + ")",
                       "nd.split_dim %x {dim = \"m\", into = [\"b\", \"h\"], "
                       "sizes = array<i64: 3, 21>} : (" +
                           merged + ") -> " + x,
                       x));
    expectKernel(oneOp(lanes, R"([["b", "i", "j"]])", "(%x: " + split + ")",
                       "nd.merge_dims %x {dims = [\"i\", \"j\"], into = "
                       "\"h\"} : (" +
                           split + ") -> " + x,
                       x));
  }
}

/// Three parts and more: neighbouring loops over two of them become one loop
/// only if the other side's position follows from it. Parts of size 1 count
/// too.
TEST(ElementOps, ManyParts) {
  auto quote = [](const std::vector<std::string> &names) {
    std::string text;
    for (const std::string &name : names)
      text += (text.empty() ? "\"" : ", \"") + name + "\"";
    return "[" + text + "]";
  };
  for (std::vector<int> sizes :
       {std::vector{2, 4, 2, 8}, {1, 9, 2}, {3, 1, 7}, {1, 1, 8}, {5, 1, 1}}) {
    std::vector<std::string> names;
    std::string dims, list, order;
    int whole = 1;
    for (int size : sizes) {
      names.push_back(std::string(1, char('p' + names.size())));
      dims += (dims.empty() ? "" : ", ") + names.back() + " = " +
              std::to_string(size);
      list += (list.empty() ? "" : ", ") + std::to_string(size);
      whole *= size;
    }
    std::string parts = tensor("f32", dims),
                merged = tensor("f32", "m = " + std::to_string(whole));
    for (std::string lanes : {names.back(), names.front(), std::string()}) {
      SCOPED_TRACE("split into " + list + ", lanes '" + lanes + "'");
      std::vector<std::string> loops = names;
      std::string loopSizes = list;
      if (lanes == names.front()) {
        std::rotate(loops.begin(), loops.begin() + 1, loops.end());
        loopSizes = list.substr(list.find(' ') + 1) + ", " +
                    std::to_string(sizes.front());
      }
      expectKernel(
          "exec.kernel @k #exec.plan<parallel = " + quote(loops) +
          ", reduce = [], lanes = \"" + lanes + "\", sizes = [" + loopSizes +
          "]> in [[\"m\"]] out [" + quote(names) + "] {\n^bb0(%x: " + merged +
          "):\n%r = nd.split_dim %x {dim = \"m\", into = " + quote(names) +
          ", sizes = array<i64: " + list + ">} : (" + merged + ") -> " + parts +
          "\nexec.yield %r : " + parts + "\n}");
    }
    for (std::string lanes : {"m", ""}) {
      SCOPED_TRACE("merge of " + list + ", lanes '" + lanes + "'");
      expectKernel("exec.kernel @k #exec.plan<parallel = [\"m\"], reduce = [], "
                   "lanes = \"" +
                   lanes + "\", sizes = [" + std::to_string(whole) + "]> in [" +
                   quote(names) + "] out [[\"m\"]] {\n^bb0(%x: " + parts +
                   "):\n%r = nd.merge_dims %x {dims = " + quote(names) +
                   ", into = \"m\"} : (" + parts + ") -> " + merged +
                   "\nexec.yield %r : " + merged + "\n}");
    }
  }
}

TEST(ElementOps, Windows) {
  std::string x = tensor("f32"), wide = tensor("f32", "b = 3, h = 30");
  std::string narrow = tensor("f32", "b = 3, h = 16"),
              rest = tensor("f32", "b = 3, h = 5");
  for (std::string lanes : {"h", ""}) {
    // Windows that change nothing: the loops over b and h may be one.
    for (
        std::string whole :
        {R"(nd.slice %x {dim = "h", start = 0 : i64, size = 21 : i64})",
         R"(nd.concat %x {dim = "h"})",
         R"(nd.pad %x {dim = "h", low = 0 : i64, high = 0 : i64, value = 2.0})"})
      expectKernel(oneOp(lanes, R"([["b", "h"]])", "(%x: " + x + ")",
                         whole + " : (" + x + ") -> " + x, x));
    expectKernel(oneOp(lanes, R"([["b", "h"]])", "(%x: " + wide + ")",
                       "nd.slice %x {dim = \"h\", start = 5 : i64, size = 21 : "
                       "i64} : (" +
                           wide + ") -> " + x,
                       x));
    expectKernel(oneOp(lanes, R"([["b", "h"], ["h", "b"]])",
                       "(%x: " + narrow + ", %y: " + rest + ")",
                       "nd.concat %x, %y {dim = \"h\"} : (" + narrow + ", " +
                           rest + ") -> " + x,
                       x));
    expectKernel(oneOp(lanes, R"([["b", "h"]])", "(%x: " + narrow + ")",
                       "nd.pad %x {dim = \"h\", low = 2 : i64, high = 3 : i64, "
                       "value = 1.5} : (" +
                           narrow + ") -> " + x,
                       x));
  }
}

/// A window that covers its whole operand takes over the result of a reduction
/// if the reduction has it; so does a block over an axis of one rank.
TEST(ElementOps, WholeWindowsOfReductions) {
  KernelCase oneRank;
  oneRank.mesh = "#nd.mesh<p = 1>";
  oneRank.coordinates = {0};
  std::string x = tensor("f32"), row = tensor("f32", "b = 3"),
              block = tensor("f32", "b = 3 on {p}");
  const std::pair<std::string, std::string> windows[] = {
      {R"(nd.slice %m {dim = "b", start = 0 : i64, size = 3 : i64} : ()" + row +
           ") -> " + row,
       row},
      {R"(nd.concat %m {dim = "b"} : ()" + row + ") -> " + row, row},
      {R"(nd.pad %m {dim = "b", low = 0 : i64, high = 0 : i64, value = 2.0} : ()" +
           row + ") -> " + row,
       row},
      {R"(spmd.slice "b" ["p"] %m : )" + row + " -> " + block, block}};
  for (const auto &[window, result] : windows)
    for (std::string lanes : {"b", "h", ""}) {
      SCOPED_TRACE(window + ", lanes '" + lanes + "'");
      std::string order = lanes == "b" ? R"([["h", "b"]])" : R"([["b", "h"]])";
      expectKernel("exec.kernel @k #exec.plan<parallel = [\"b\"], reduce = "
                   "[\"h\"], lanes = \"" +
                       lanes + "\", sizes = [3, 21]> in " + order +
                       " out [[\"b\"]] {\n^bb0(%x: " + x +
                       "):\n%m = nd.reduce_max %x {dims = [\"h\"]} : (" + x +
                       ") -> " + row + "\n%r = " + window +
                       "\nexec.yield %r : " + result + "\n}",
                   oneRank);
    }
}

/// A rank's block of a block: the start of the larger one counts too.
TEST(ElementOps, BlockOfABlock) {
  KernelCase cut;
  cut.mesh = "#nd.mesh<p = 2, q = 3>";
  cut.coordinates = {1, 2};
  std::string half = tensor("f32", "b = 3, h = 126 on {p}"),
              sixth = tensor("f32", "b = 3, h = 126 on {p, q}");
  for (std::string lanes : {"h", ""})
    expectKernel(oneOp(lanes, R"([["b", "h"]])", "(%x: " + half + ")",
                       R"(spmd.slice "h" ["q"] %x : )" + half + " -> " + sixth,
                       sixth),
                 cut);
}
