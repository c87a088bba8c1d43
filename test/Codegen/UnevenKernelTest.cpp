//===- UnevenKernelTest.cpp - kernels on blocks with padding --------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Kernels on every rank of meshes that do not divide the dims that they cut.
/// Padding is NaN, or i32 that may name an entry, or none that is there.
///
//===----------------------------------------------------------------------===//

#include "dialects/Nd/NdOps.h"
#include "lib/Codegen/KernelKey.h"
#include "mlir/Parser/Parser.h"
#include "test/Codegen/KernelCase.h"
#include <gtest/gtest.h>
#include <set>

using namespace meshc::codegen;

namespace {
/// The axes of a mesh over which tests cut a dim.
struct Cut {
  std::string mesh, axes;
  int64_t blocks;
};

const Cut cuts[] = {{"#nd.mesh<p = 2>", "p", 2},
                    {"#nd.mesh<p = 3>", "p", 3},
                    {"#nd.mesh<p = 4>", "p", 4},
                    {"#nd.mesh<p = 2, q = 2>", "p, q", 4}};

struct Dim {
  std::string name;
  int64_t size;
  Cut cut = {"", "", 1};

  int64_t getLocalSize() const { return (size + cut.blocks - 1) / cut.blocks; }
};
using Dims = std::vector<Dim>;

/// Dims are sorted by name, as in types.
std::string tensor(const std::string &element, const Dims &dims) {
  std::string text;
  for (const Dim &dim : dims)
    text += (text.empty() ? "" : ", ") + dim.name + " = " +
            std::to_string(dim.size) +
            (dim.cut.axes.empty() ? "" : " on {" + dim.cut.axes + "}");
  return "!nd.tensor<" + element + ", [" + text + "]>";
}

std::string quote(const Dims &dims) {
  std::string text;
  for (const Dim &dim : dims)
    text += (text.empty() ? "\"" : ", \"") + dim.name + "\"";
  return "[" + text + "]";
}

/// The head of a kernel, up to its block's arguments.
std::string head(const Dims &parallel, const Dims &reduce,
                 const std::string &lanes, const std::string &in,
                 const std::string &out) {
  std::string sizes;
  for (const Dims &dims : {parallel, reduce})
    for (const Dim &dim : dims)
      sizes += (sizes.empty() ? "" : ", ") + std::to_string(dim.getLocalSize());
  return "exec.kernel @k #exec.plan<parallel = " + quote(parallel) +
         ", reduce = " + quote(reduce) + ", lanes = \"" + lanes +
         "\", sizes = [" + sizes + "]> in [" + in + "] out [" + out +
         "] {\n^bb0";
}

void expectOn(const Cut &cut, const std::string &kernel,
              KernelCase options = {}) {
  SCOPED_TRACE(cut.mesh + "\n" + kernel);
  options.mesh = cut.mesh;
  expectKernel(kernel, options);
}

/// A reduction over b of [b, h], whose memory order is `order`.
std::string reduction(const std::string &op, const std::string &type,
                      const Dim &b, const std::string &order,
                      const std::string &lanes) {
  Dim h{"h", 21};
  std::string x = tensor(type, {b, h}), r = tensor(type, {h});
  return head({h}, {b}, lanes, order, "[\"h\"]") + "(%x: " + x +
         "):\n%r = nd.reduce_" + op + " %x {dims = [\"b\"]} : (" + x + ") -> " +
         r + "\nexec.yield %r : " + r + "\n}";
}
} // namespace

/// Every kind of reduction, on every type, lanes along the cut dim, along
/// another, and none; vectors of this processor, of four and of sixteen.
TEST(UnevenKernel, Reductions) {
  const std::vector<std::string> orders = {R"(["b", "h"])", R"(["h", "b"])"};
  int number = 0;
  for (std::string type : {"f32", "bf16", "i32"})
    for (std::string op : {"sum", "max", "min", "prod"})
      for (std::string lanes : {"b", "h", ""}) {
        KernelCase options;
        options.low = 0.5;
        options.high = 1.5;
        options.integers = 3;
        options.tolerance = type == "bf16" ? 2e-2 : 1e-5;
        if (number % 3 != 0)
          options.lanes = number % 3 == 1 ? 4 : 16;
        const Cut &cut = cuts[number % 4];
        expectOn(cut,
                 reduction(op, type, {"b", 70 + number % 7 * 3, cut},
                           orders[number / 2 % 2], lanes),
                 options);
        ++number;
      }
}

/// Blocks of few entries, of none, and of vectors that are partly padding.
TEST(UnevenKernel, AllSizes) {
  KernelCase options;
  options.tolerance = 1e-5;
  for (const Cut &cut : cuts)
    for (int64_t size : {1, 3, 5, 9, 41, 127}) {
      expectOn(cut,
               reduction("max", "f32", {"b", size, cut}, R"(["h", "b"])", "b"),
               options);
      options.lanes = 16;
      expectOn(cut,
               reduction("sum", "f32", {"b", size, cut}, R"(["b", "h"])", "h"),
               options);
      options.lanes = {};
    }
}

/// Sums in strips, and on a GPU in several blocks.
TEST(UnevenKernel, LongSums) {
  Dim h{"h", 40001, cuts[0]};
  std::string x = tensor("f32", {h});
  KernelCase options;
  options.tolerance = 1e-4;
  for (std::string lanes : {"h", ""})
    expectOn(cuts[0],
             head({}, {h}, lanes, "[\"h\"]", "[]") + "(%x: " + x +
                 "):\n%r = nd.reduce_sum %x {dims = [\"h\"]} : (" + x +
                 ") -> !nd.tensor<f32, []>\n"
                 "exec.yield %r : !nd.tensor<f32, []>\n}",
             options);
}

/// Dims that lie side by side in memory: one of two reduced ones is cut, both
/// are, or one that tells points apart.
TEST(UnevenKernel, SeveralDims) {
  Cut p{"#nd.mesh<p = 2, q = 3>", "p", 2}, q{p.mesh, "q", 3}, none{"", "", 1};
  KernelCase options;
  options.tolerance = 1e-5;
  for (auto [ofA, ofB, ofC] : {std::tuple(p, none, none),
                               {none, p, none},
                               {p, q, none},
                               {q, p, none},
                               {none, none, q},
                               {p, none, q}}) {
    Dim a{"a", 5, ofA}, b{"b", 7, ofB}, c{"c", 10, ofC}, d{"d", 4};
    std::string x = tensor("f32", {a, b, c, d}), r = tensor("f32", {c, d});
    for (std::string lanes : {"b", "d", ""})
      for (std::string order :
           {R"(["a", "b", "c", "d"])", R"(["c", "d", "a", "b"])"})
        expectOn(p,
                 head({c, d}, {a, b}, lanes, order, R"(["c", "d"])") +
                     "(%x: " + x +
                     "):\n%r = nd.reduce_sum %x {dims = [\"a\", \"b\"]} : (" +
                     x + ") -> " + r + "\nexec.yield %r : " + r + "\n}",
                 options);
  }
}

/// A maximum, a sum of exponentials, quotients that are stored in place of the
/// operand, and the sum's logarithm.
TEST(UnevenKernel, Chain) {
  for (const Cut &cut : cuts)
    for (std::string lanes : {"b", "h", ""}) {
      Dim b{"b", 6}, h{"h", cut.blocks * 16 - 5, cut};
      std::string x = tensor("f32", {b, h}), s = tensor("f32", {b}),
                  sum = " {dims = [\"h\"]} : (" + x + ") -> " + s + "\n",
                  scaled = " : (" + x + ", " + s + ") -> " + x + "\n",
                  rows = R"(["b", "h"])";
      KernelCase options;
      options.inPlace = {{0, 0}};
      options.tolerance = 1e-5;
      expectOn(cut,
               head({b}, {h}, lanes, rows, rows + ", [\"b\"]") + "(%x: " + x +
                   "):\n%m = nd.reduce_max %x" + sum + "%d = nd.sub %x, %m" +
                   scaled + "%e = nd.exp %d : (" + x + ") -> " + x +
                   "\n%s = nd.reduce_sum %e" + sum + "%q = nd.div %e, %s" +
                   scaled + "%l = nd.log %s : (" + s + ") -> " + s +
                   "\nexec.yield %q, %l : " + x + ", " + s + "\n}",
               options);
    }
}

/// The first index of each row's largest entry, among those of the rank.
TEST(UnevenKernel, IndexOfTheLargest) {
  for (const Cut &cut : cuts)
    for (std::string lanes : {"h", ""})
      for (int64_t size : {3, 45}) {
        Dim b{"b", 5}, h{"h", size, cut};
        std::string x = tensor("f32", {b, h}), y = tensor("f32", {b}),
                    i = tensor("i32", {h}), c = tensor("i1", {b, h}),
                    n = tensor("i32", {b, h}), r = tensor("i32", {b}),
                    one = "!nd.tensor<i32, []>";
        expectOn(cut, head({b}, {h}, lanes, R"(["b", "h"])", "[\"b\"]") +
                          "(%x: " + x +
                          "):\n%m = nd.reduce_max %x {dims = [\"h\"]} : (" + x +
                          ") -> " + y + "\n%c = nd.compare lt %x, %m : (" + x +
                          ", " + y + ") -> " + c + "\n%i = nd.iota : () -> " +
                          i + "\n%l = nd.constant 2147483647 : i32 -> " + one +
                          "\n%n = nd.select %c, %l, %i : (" + c + ", " + one +
                          ", " + i + ") -> " + n +
                          "\n%r = nd.reduce_min %n {dims = [\"h\"]} : (" + n +
                          ") -> " + r + "\nexec.yield %r : " + r + "\n}");
      }
}

/// The mean of a cut batch, and a parameter's update in place.
TEST(UnevenKernel, MeanAndUpdate) {
  for (const Cut &cut : cuts) {
    Dim b{"b", 50, cut}, h{"h", 24};
    std::string g = tensor("bf16", {b, h}), f = tensor("f32", {b, h}),
                p = tensor("f32", {h}), one = "!nd.tensor<f32, []>";
    KernelCase options;
    options.inPlace = {{1, 0}};
    options.tolerance = 1e-5;
    expectOn(cut,
             head({h}, {b}, "h", R"(["b", "h"], ["h"])", "[\"h\"]") +
                 "(%g: " + g + ", %p: " + p + "):\n%f = nd.cast %g : (" + g +
                 ") -> " + f + "\n%s = nd.reduce_sum %f {dims = [\"b\"]} : (" +
                 f + ") -> " + p + "\n%c = nd.constant 0.02 : f32 -> " + one +
                 "\n%m = nd.mul %s, %c : (" + p + ", " + one + ") -> " + p +
                 "\n%n = nd.sub %p, %m : (" + p + ", " + p + ") -> " + p +
                 "\nexec.yield %n : " + p + "\n}",
             options);
  }
}

/// Entries of a table that is cut, of rows that are cut, and sums of them. An
/// entry behind a short block is another rank's.
TEST(UnevenKernel, Gather) {
  Cut p{"#nd.mesh<p = 2, q = 2>", "p", 2}, q{p.mesh, "q", 2},
      pq{p.mesh, "p, q", 4}, none{"", "", 1};
  for (auto [ofRows, ofEntries] :
       {std::pair(none, pq), {p, q}, {pq, none}, {none, p}})
    for (std::string type : {"f32", "bf16", "i32"})
      for (std::string lanes : {"m", ""}) {
        Dim b{"b", 7, ofRows}, m{"m", 16}, v{"v", 10, ofEntries};
        std::string t = tensor(type, {m, v}), i = tensor("i32", {b}),
                    r = tensor(type, {b, m}), s = tensor(type, {m}),
                    gather = "(%t: " + t + ", %i: " + i +
                             "):\n%r = nd.gather %t, %i {dim = \"v\"} : (" + t +
                             ", " + i + ") -> " + r,
                    in = R"(["v", "m"], ["b"])";
        KernelCase options;
        options.integers = 12; // the last two are out of range
        options.tolerance = type == "bf16" ? 1e-2 : 1e-5;
        expectOn(p,
                 head({b, m}, {}, lanes, in, R"(["b", "m"])") + gather +
                     "\nexec.yield %r : " + r + "\n}",
                 options);
        expectOn(p,
                 head({m}, {b}, lanes, in, R"(["m"])") + gather +
                     "\n%s = nd.reduce_sum %r {dims = [\"b\"]} : (" + r +
                     ") -> " + s + "\nexec.yield %s : " + s + "\n}",
                 options);
      }
}

namespace {
/// Updates [b, m, s] at indices [b, s] into [b, m, v], or with b summed too.
struct Scatter {
  Cut ofRows, ofPlaces, ofEntries, ofOrder;
  bool isRowSummed = false, hasTable = false;
  std::string type = "f32", lanes = "m";
};

std::string write(const Scatter &x) {
  Dim b{"b", 3, x.ofRows}, m{"m", 8}, s{"s", 5, x.ofPlaces},
      v{"v", 7, x.ofEntries};
  // Of the order: the places of all ranks' blocks, padding included.
  int64_t places = s.getLocalSize() * (x.isRowSummed ? b.getLocalSize() : 1);
  Dim w{"w", places * x.ofOrder.blocks, x.ofOrder};
  std::string u = tensor(x.type, {b, m, s}), i = tensor("i32", {b, s}),
              o = tensor("i32", x.isRowSummed ? Dims{w} : Dims{b, w}),
              r = tensor(x.type, x.isRowSummed ? Dims{m, v} : Dims{b, m, v}),
              out = x.isRowSummed ? R"(["v", "m"])" : R"(["b", "v", "m"])";
  auto ifTable = [&](const std::string &text) {
    return x.hasTable ? text : std::string();
  };
  return head(x.isRowSummed ? Dims{m} : Dims{b, m},
              x.isRowSummed ? Dims{b, s} : Dims{s}, x.lanes,
              R"(["b", "s", "m"], ["b", "s"], )" +
                  std::string(x.isRowSummed ? R"(["w"])" : R"(["b", "w"])") +
                  ifTable(", " + out),
              out) +
         "(%u: " + u + ", %i: " + i + ", %o: " + o + ifTable(", %t: " + r) +
         "):\n%r = nd.scatter_add %u, %i" + ifTable(" into %t") +
         " ordered %o {dim = \"v\"} : (" + u + ", " + i + ifTable(", " + r) +
         ", " + o + ") -> " + r + "\nexec.yield %r : " + r + "\n}";
}

void expectScatter(Scatter scatter, KernelCase options = {}) {
  options.integers = 8; // the last one is out of range
  options.tolerance = scatter.type == "bf16" ? 2e-2 : 1e-5;
  options.orders = {{2, 1}};
  for (bool hasTable : {false, true}) {
    scatter.hasTable = hasTable;
    options.inPlace.clear();
    expectOn({"#nd.mesh<p = 2, q = 3>", "", 1}, write(scatter), options);
    if (!hasTable)
      continue;
    options.inPlace = {{3, 0}};
    expectOn({"#nd.mesh<p = 2, q = 3>", "", 1}, write(scatter), options);
  }
}
} // namespace

/// Updates that do not exist are not added, whatever their indices are; indices
/// in rows that do not exist are nowhere; and entries may be cut.
TEST(UnevenKernel, Scatter) {
  std::string mesh = "#nd.mesh<p = 2, q = 3>";
  Cut none{mesh, "", 1}, p{mesh, "p", 2}, q{mesh, "q", 3}, pq{mesh, "p, q", 6};
  for (std::string type : {"f32", "bf16", "i32"})
    for (std::string lanes : {"m", ""}) {
      expectScatter({none, p, none, p, false, false, type, lanes});
      expectScatter({none, q, p, q, false, false, type, lanes});
      expectScatter({none, none, pq, none, false, false, type, lanes});
      // The order is a block of a kernel's result: any number.
      KernelCase options;
      options.padding = {2147483647};
      expectScatter({p, q, none, q, false, false, type, lanes}, options);
    }
}

/// One order of all places where both dims are summed.
TEST(UnevenKernel, ScatterOfSeveralDims) {
  std::string mesh = "#nd.mesh<p = 2, q = 3>";
  Cut none{mesh, "", 1}, p{mesh, "p", 2}, q{mesh, "q", 3}, pq{mesh, "p, q", 6};
  for (std::string type : {"f32", "bf16"})
    for (auto [rows, places, order] :
         {std::tuple(p, none, p), {none, p, p}, {p, q, pq}})
      expectScatter({rows, places, none, order, true, false, type});
}

/// Updates of rows that do not exist replace nothing, and the rank takes those
/// of its entries.
TEST(UnevenKernel, Insert) {
  std::string mesh = "#nd.mesh<p = 2, q = 3>";
  Cut none{mesh, "", 1}, p{mesh, "p", 2}, q{mesh, "q", 3}, pq{mesh, "p, q", 6};
  for (auto [ofRows, ofEntries] :
       {std::pair(p, q), {none, pq}, {q, none}, {pq, none}})
    for (std::string lanes : {"m", ""}) {
      Dim b{"b", 5, ofRows}, m{"m", 8}, v{"v", 7, ofEntries};
      std::string t = tensor("f32", {b, m, v}), u = tensor("f32", {b, m}),
                  i = tensor("i32", {b}), order = R"(["b", "v", "m"])";
      KernelCase options;
      options.integers = 8;
      for (bool isInPlace : {false, true}) {
        if (isInPlace)
          options.inPlace = {{0, 0}};
        expectOn(
            p,
            head({b, m}, {}, lanes, order + R"(, ["b", "m"], ["b"])", order) +
                "(%t: " + t + ", %u: " + u + ", %i: " + i +
                "):\n%r = nd.insert %t, %u, %i {dim = \"v\"} : (" + t + ", " +
                u + ", " + i + ") -> " + t + "\nexec.yield %r : " + t + "\n}",
            options);
      }
    }
}

/// Of updates that one entry waits for, those that do not exist do not come.
TEST(UnevenKernel, InsertOfSeveralUpdates) {
  Dim m{"m", 8}, s{"s", 5, cuts[1]}, v{"v", 4};
  std::string t = tensor("f32", {m, v}), u = tensor("f32", {m, s}),
              i = tensor("i32", {s});
  KernelCase options;
  options.integers = 4;
  options.padding = {0, 1, 2, 3};
  expectOn(
      cuts[1],
      head({m}, {}, "m", R"(["v", "m"], ["s", "m"], ["s"])", R"(["v", "m"])") +
          "(%t: " + t + ", %u: " + u + ", %i: " + i +
          "):\n%r = nd.insert %t, %u, %i {dim = \"v\"} : (" + t + ", " + u +
          ", " + i + ") -> " + t + "\nexec.yield %r : " + t + "\n}",
      options);
}

/// Rows of padding are sorted and summed as well: their numbers may be
/// anything, what is stored lies in the block.
TEST(UnevenKernel, RowsOfPadding) {
  for (const Cut &cut : cuts)
    for (std::string type : {"f32", "i32"}) {
      Dim b{"b", cut.blocks + 1, cut}, n{"n", 9};
      std::string x = tensor(type, {b, n}), r = tensor("i32", {b, n}),
                  order = R"(["b", "n"])";
      expectOn(cut, head({b}, {}, "", order, order) + "(%x: " + x +
                        "):\n%r = nd.argsort %x {dim = \"n\", into = \"n\", "
                        "count = 9 : i64} : (" +
                        x + ") -> " + r + "\nexec.yield %r : " + r + "\n}");
      expectOn(cut, head({b}, {}, "", order, order) + "(%x: " + x +
                        "):\n%r = nd.prefix_sum %x {dim = \"n\"} : (" + x +
                        ") -> " + x + "\nexec.yield %r : " + x + "\n}");
    }
}

/// Where a rank's numbers begin is that of its entries.
TEST(UnevenKernel, NumbersOfPlaces) {
  for (const Cut &cut : cuts)
    for (std::string lanes : {"h", ""}) {
      Dim b{"b", 3}, h{"h", 45, cut};
      std::string x = tensor("f32", {b, h}), i = tensor("f32", {h}),
                  order = R"(["b", "h"])";
      KernelCase options;
      options.tolerance = 5e-6;
      expectOn(cut,
               head({b, h}, {}, lanes, "", order) +
                   "():\n%x = nd.random normal \"w\" : " + x +
                   "\n%i = nd.iota : () -> " + i + "\n%r = nd.add %x, %i : (" +
                   x + ", " + i + ") -> " + x + "\nexec.yield %r : " + x +
                   "\n}",
               options);
    }
}

/// All of a block as one dim: the result has no padding, and holds that of the
/// operand.
TEST(UnevenKernel, FlatBlocks) {
  std::string mesh = "#nd.mesh<p = 2, q = 3>";
  Cut none{mesh, "", 1}, p{mesh, "p", 2}, q{mesh, "q", 3}, pq{mesh, "p, q", 6};
  for (auto [ofRows, ofPlaces, axes] :
       {std::tuple(p, none, p), {none, q, q}, {p, q, pq}})
    for (std::string lanes : {"m", "w"})
      for (std::string order : {R"(["b", "s", "m"])", R"(["s", "m", "b"])"}) {
        Dim b{"b", 5, ofRows}, m{"m", 8}, s{"s", 4, ofPlaces};
        Dim w{"w", b.getLocalSize() * s.getLocalSize() * axes.blocks, axes};
        std::string x = tensor("f32", {b, m, s}), y = tensor("f32", {m, w});
        const Dims loops = lanes == "m" ? Dims{w, m} : Dims{m, w};
        expectOn(p, head(loops, {}, lanes, order, R"(["w", "m"])") +
                        "(%x: " + x +
                        "):\n%y = spmd.flatten [\"b\", \"s\"] \"w\" %x : " + x +
                        " -> " + y + "\nexec.yield %y : " + y + "\n}");
      }
}

/// A further cut of blocks, whole ones or cut already. The last of them may end
/// behind the block that they are cut from: nothing is read there.
TEST(UnevenKernel, BlocksOfBlocks) {
  std::string mesh = "#nd.mesh<p = 2, q = 3>";
  Cut none{mesh, "", 1}, p{mesh, "p", 2}, q{mesh, "q", 3}, pq{mesh, "p, q", 6};
  for (auto [from, to, axes] : {std::tuple(none, p, R"(["p"])"),
                                {none, q, R"(["q"])"},
                                {p, pq, R"(["q"])"},
                                {none, pq, R"(["p", "q"])"}})
    for (int64_t size : {4, 7, 25, 100})
      for (std::string lanes : {"b", "h"}) {
        Dim h{"h", 8}, whole{"b", size, from}, part{"b", size, to};
        std::string x = tensor("f32", {whole, h}), y = tensor("f32", {part, h});
        const Dims loops = lanes == "h" ? Dims{part, h} : Dims{h, part};
        std::string order = lanes == "h" ? R"(["b", "h"])" : R"(["h", "b"])";
        expectOn(p, head(loops, {}, lanes, order, order) + "(%x: " + x +
                        "):\n%y = spmd.slice \"b\" " + axes + " %x : " + x +
                        " -> " + y + "\nexec.yield %y : " + y + "\n}");
      }
}

/// Pieces are parts of a block; joins make a block of pieces. Some ranks have
/// no entry to take.
TEST(UnevenKernel, PiecesAndJoins) {
  std::string mesh = "#nd.mesh<p = 2, q = 3>";
  Cut q{mesh, "q", 3};
  for (int64_t size : {7, 25, 96})
    for (std::string lanes : {"b", "h"}) {
      Dim h{"h", 8}, b{"b", size, q};
      int64_t low = b.getLocalSize() / 2, count = b.getLocalSize() - low;
      Dim halo{"b", count * 3, q}, other{"b", size + 5, q};
      std::string x = tensor("f32", {b, h}), y = tensor("f32", {halo, h}),
                  z = tensor("f32", {other, h});
      std::string order = lanes == "h" ? R"(["b", "h"])" : R"(["h", "b"])";
      auto getLoops = [&](const Dim &dim) {
        return lanes == "h" ? Dims{dim, h} : Dims{h, dim};
      };
      expectOn(q, head(getLoops(halo), {}, lanes, order, order) + "(%x: " + x +
                      "):\n%y = spmd.piece \"b\" " + std::to_string(low) +
                      " size " + std::to_string(count) + " %x : " + x + " -> " +
                      y + "\nexec.yield %y : " + y + "\n}");
      // What the halo of the previous rank and the block itself are in a tensor
      // that begins two entries before this one, and what begins it.
      std::string step = std::to_string(b.getLocalSize());
      std::string end = std::to_string(size + 2);
      for (std::string fill : {" fill 7.0", ""}) {
        std::string places =
            fill.empty()
                ? "[-1, " + std::to_string(other.getLocalSize()) + ", 3, " +
                      end + ", 0, " + std::to_string(other.getLocalSize()) +
                      ", 0, 1000]"
                : "[" + std::to_string(2 - count) + ", " + step + ", 2, " +
                      end + ", 2, " + step + ", 2, " + end + "]";
        std::string second = fill.empty() ? z : x;
        expectOn(q,
                 head(getLoops(other), {}, lanes, order + ", " + order, order) +
                     "(%y: " + y + ", %x: " + second +
                     "):\n%z = spmd.join \"b\" " + places + fill +
                     " %y, %x : (" + y + ", " + second + ") -> " + z +
                     "\nexec.yield %z : " + z + "\n}");
      }
    }
}

/// The pieces of rounds between blocks of two sizes, and what ranks make of
/// them. Some ranks send and receive nothing.
TEST(UnevenKernel, PiecesOfRounds) {
  Cut q{"#nd.mesh<p = 2, q = 3>", "q", 3};
  Dim h{"h", 8};
  struct Sizes {
    int64_t from, to, offset, size;
  };
  for (Sizes sizes : {Sizes{24, 12, 12, 4},
                      {23, 10, 13, 4},
                      {12, 23, 0, 4},
                      {11, 30, -16, 3},
                      {24, 7, 2, 2}})
    for (int64_t number : {0, 1, 2})
      for (std::string lanes : {"b", "h"}) {
        Dim b{"b", sizes.from, q}, piece{"b", sizes.size * 3, q},
            other{"b", sizes.to, q};
        std::string x = tensor("f32", {b, h}), y = tensor("f32", {piece, h}),
                    z = tensor("f32", {other, h});
        std::string order = lanes == "h" ? R"(["b", "h"])" : R"(["h", "b"])";
        auto getLoops = [&](const Dim &dim) {
          return lanes == "h" ? Dims{dim, h} : Dims{h, dim};
        };
        std::string round = "<from = " + std::to_string(b.getLocalSize()) +
                            ", to = " + std::to_string(other.getLocalSize()) +
                            ", offset = " + std::to_string(sizes.offset) +
                            ", number = " + std::to_string(number) + ">";
        expectOn(q, head(getLoops(piece), {}, lanes, order, order) + "(%x: " +
                        x + "):\n%y = spmd.piece \"b\" 0 round " + round +
                        " size " + std::to_string(sizes.size) + " %x : " + x +
                        " -> " + y + "\nexec.yield %y : " + y + "\n}");
        int64_t first = std::max<int64_t>(0, -sizes.offset);
        int64_t end = std::min(sizes.to, sizes.from - sizes.offset);
        std::string place = std::to_string(first) + ", " + std::to_string(end);
        std::string step = std::to_string(b.getLocalSize());
        expectOn(q,
                 head(getLoops(other), {}, lanes, order + ", " + order, order) +
                     "(%y: " + y + ", %x: " + x +
                     "):\n%z = spmd.join \"b\" [0, 0, " + place + ", " +
                     std::to_string(-sizes.offset) + ", " + step + ", " +
                     place + "] rounds [#spmd.round" + round +
                     ", unit] fill 7.0 %y, %x : (" + y + ", " + x + ") -> " +
                     z + "\nexec.yield %z : " + z + "\n}");
      }
}

/// Blocks of as many entries share no code if only some have padding, or if it
/// begins elsewhere.
TEST(UnevenKernel, KeysTellPadding) {
  mlir::MLIRContext context;
  context.loadDialect<meshc::nd::NdDialect, meshc::exec::ExecDialect>();
  std::set<std::string> keys;
  for (int64_t size : {12, 11, 10}) {
    std::string source =
        "module attributes {nd.mesh = #nd.mesh<p = 3>} {\n" +
        reduction("sum", "f32", {"b", size, cuts[1]}, R"(["b", "h"])", "h") +
        "\n}";
    auto module = mlir::parseSourceString<mlir::ModuleOp>(source, &context);
    ASSERT_TRUE(module) << source;
    keys.insert(
        KernelKey::of(*module->getOps<meshc::exec::KernelOp>().begin()).text);
  }
  EXPECT_EQ(keys.size(), 3u);
}
