//===- HostKernelTest.cpp - kernels against the reference semantics -------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Codegen/KernelCase.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace meshc::codegen;

TEST(HostKernel, BiasAndRelu) {
  expectKernel(R"(
    exec.kernel @k #exec.plan<parallel = ["b", "h"], reduce = [], lanes = "h", sizes = [5, 19]>
        in [["b", "h"], ["h"]] out [["b", "h"]] {
    ^bb0(%x: !nd.tensor<f32, [b = 5, h = 19]>, %y: !nd.tensor<f32, [h = 19]>):
      %0 = nd.add %x, %y : (!nd.tensor<f32, [b = 5, h = 19]>, !nd.tensor<f32, [h = 19]>) -> !nd.tensor<f32, [b = 5, h = 19]>
      %1 = nd.relu %0 : (!nd.tensor<f32, [b = 5, h = 19]>) -> !nd.tensor<f32, [b = 5, h = 19]>
      exec.yield %1 : !nd.tensor<f32, [b = 5, h = 19]>
    })");
}

TEST(HostKernel, ColumnSum) {
  expectKernel(R"(
    exec.kernel @k #exec.plan<parallel = ["h"], reduce = ["b"], lanes = "h", sizes = [83, 11]>
        in [["b", "h"]] out [["h"]] {
    ^bb0(%x: !nd.tensor<f32, [b = 11, h = 83]>):
      %0 = nd.reduce_sum %x {dims = ["b"]} : (!nd.tensor<f32, [b = 11, h = 83]>) -> !nd.tensor<f32, [h = 83]>
      exec.yield %0 : !nd.tensor<f32, [h = 83]>
    })");
}

/// The maximum, the sum of exponentials, then the quotient: two stages and a
/// last walk.
TEST(HostKernel, Softmax) {
  expectKernel(R"(
    exec.kernel @k #exec.plan<parallel = ["b"], reduce = ["h"], lanes = "h", sizes = [7, 45]>
        in [["b", "h"]] out [["b", "h"], ["b"]] {
    ^bb0(%x: !nd.tensor<f32, [b = 7, h = 45]>):
      %m = nd.reduce_max %x {dims = ["h"]} : (!nd.tensor<f32, [b = 7, h = 45]>) -> !nd.tensor<f32, [b = 7]>
      %d = nd.sub %x, %m : (!nd.tensor<f32, [b = 7, h = 45]>, !nd.tensor<f32, [b = 7]>) -> !nd.tensor<f32, [b = 7, h = 45]>
      %e = nd.exp %d : (!nd.tensor<f32, [b = 7, h = 45]>) -> !nd.tensor<f32, [b = 7, h = 45]>
      %s = nd.reduce_sum %e {dims = ["h"]} : (!nd.tensor<f32, [b = 7, h = 45]>) -> !nd.tensor<f32, [b = 7]>
      %q = nd.div %e, %s : (!nd.tensor<f32, [b = 7, h = 45]>, !nd.tensor<f32, [b = 7]>) -> !nd.tensor<f32, [b = 7, h = 45]>
      %l = nd.log %s : (!nd.tensor<f32, [b = 7]>) -> !nd.tensor<f32, [b = 7]>
      exec.yield %q, %l : !nd.tensor<f32, [b = 7, h = 45]>, !nd.tensor<f32, [b = 7]>
    })");
}

/// One kernel reduces [b = 37, h = 41], whose memory order is `order`, over b.
static void expectReduction(const std::string &op, const std::string &type,
                            const std::string &order, const std::string &lanes,
                            const KernelCase &options) {
  SCOPED_TRACE("nd.reduce_" + op + " on " + type + ", lanes '" + lanes + "'");
  std::string x = "!nd.tensor<" + type + ", [b = 37, h = 41]>";
  std::string r = "!nd.tensor<" + type + ", [h = 41]>";
  expectKernel("exec.kernel @k #exec.plan<parallel = [\"h\"], reduce = "
               "[\"b\"], lanes = \"" +
                   lanes + "\", sizes = [41, 37]> in [" + order +
                   "] out [[\"h\"]] {\n^bb0(%x: " + x + "):\n%r = nd.reduce_" +
                   op + " %x {dims = [\"b\"]} : (" + x + ") -> " + r +
                   "\nexec.yield %r : " + r + "\n}",
               options);
}

/// Every kind of reduction, on every type, lanes along the rows, along the
/// columns, and none.
TEST(HostKernel, Reductions) {
  for (std::string type : {"f32", "bf16", "i32"})
    for (std::string op : {"sum", "max", "min", "prod"})
      for (std::string lanes : {"b", "h", ""}) {
        KernelCase options;
        options.low = 0.5;
        options.high = 1.5;
        options.integers = 3;
        options.tolerance = type == "bf16" ? 1e-2 : 1e-5;
        for (std::string order : {R"(["b", "h"])", R"(["h", "b"])"})
          expectReduction(op, type, order, lanes, options);
      }
}

/// A maximum or minimum with NaN is NaN, whether lanes, threads or blocks share
/// the elements.
TEST(HostKernel, ExtremaWithNaN) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  KernelCase options;
  for (std::string op : {"max", "min"}) {
    // About half of the columns have a NaN.
    options.specials.assign(32, INFINITY);
    options.specials[0] = nan;
    options.specials[1] = -INFINITY;
    for (std::string lanes : {"b", "h", ""})
      expectReduction(op, "f32", R"(["b", "h"])", lanes, options);
    expectReduction(op, "bf16", R"(["b", "h"])", "h", options);
    // The work of many blocks on a GPU.
    options.specials.assign(1000, 0);
    options.specials[0] = nan;
    expectKernel(
        R"(
      exec.kernel @k #exec.plan<parallel = [], reduce = ["b", "h"], lanes = "h", sizes = [64, 257]>
          in [["b", "h"]] out [[]] {
      ^bb0(%x: !nd.tensor<f32, [b = 64, h = 257]>):
        %r = nd.reduce_)" +
            op +
            R"( %x {dims = ["b", "h"]} : (!nd.tensor<f32, [b = 64, h = 257]>) -> !nd.tensor<f32, []>
        exec.yield %r : !nd.tensor<f32, []>
      })",
        options);
  }
}

/// Three parallel loops and two reduced ones, collapsed where memory allows.
TEST(HostKernel, ManyLoops) {
  for (std::string order :
       {R"(["a", "b", "c", "d", "e"])", R"(["d", "e", "a", "c", "b"])"})
    for (std::string lanes : {"c", "e"}) {
      std::string x = "!nd.tensor<f32, [a = 3, b = 5, c = 9, d = 4, e = 11]>";
      std::string r = "!nd.tensor<f32, [a = 3, b = 5, c = 9]>";
      expectKernel("exec.kernel @k #exec.plan<parallel = [\"a\", \"b\", "
                   "\"c\"], reduce = [\"d\", \"e\"], lanes = \"" +
                   lanes + "\", sizes = [3, 5, 9, 4, 11]> in [" + order +
                   "] out [[\"a\", \"b\", \"c\"], [\"c\", \"a\", \"b\"]] {\n"
                   "^bb0(%x: " +
                   x +
                   "):\n%s = nd.reduce_sum %x {dims = "
                   "[\"d\", \"e\"]} : (" +
                   x + ") -> " + r +
                   "\n%m = nd.reduce_max %x {dims = [\"d\", \"e\"]} : (" + x +
                   ") -> " + r + "\nexec.yield %s, %m : " + r + ", " + r +
                   "\n}");
    }
}

/// All of a tensor becomes two values: on a GPU the work of many blocks.
TEST(HostKernel, ReductionOfAll) {
  KernelCase options;
  options.tolerance = 1e-4;
  for (std::string size : {"256", "257"}) {
    std::string x = "!nd.tensor<f32, [b = 64, h = " + size + "]>";
    expectKernel(
        "exec.kernel @k #exec.plan<parallel = [], reduce = [\"b\", \"h\"], "
        "lanes = \"h\", sizes = [64, " +
            size + "]> in [[\"b\", \"h\"]] out [[], []] {\n^bb0(%x: " + x +
            "):\n%s = nd.reduce_sum %x {dims = [\"b\", \"h\"]} : (" + x +
            ") -> !nd.tensor<f32, []>\n"
            "%m = nd.reduce_max %x {dims = [\"b\", \"h\"]} : (" +
            x +
            ") -> !nd.tensor<f32, []>\n"
            "%r = nd.add %s, %m : (!nd.tensor<f32, []>, !nd.tensor<f32, []>) "
            "-> !nd.tensor<f32, []>\n"
            "exec.yield %r, %m : !nd.tensor<f32, []>, !nd.tensor<f32, []>\n}",
        options);
  }
}

/// The sum of a gradient's columns, and the parameter's update in place.
TEST(HostKernel, ColumnSumAndUpdateInPlace) {
  KernelCase options;
  options.inPlace = {{1, 0}};
  options.tolerance = 1e-5;
  expectKernel(R"(
    exec.kernel @k #exec.plan<parallel = ["h"], reduce = ["b"], lanes = "h", sizes = [20, 300]>
        in [["b", "h"], ["h"]] out [["h"]] {
    ^bb0(%g: !nd.tensor<f32, [b = 300, h = 20]>, %p: !nd.tensor<f32, [h = 20]>):
      %s = nd.reduce_sum %g {dims = ["b"]} : (!nd.tensor<f32, [b = 300, h = 20]>) -> !nd.tensor<f32, [h = 20]>
      %n = nd.sub %p, %s : (!nd.tensor<f32, [h = 20]>, !nd.tensor<f32, [h = 20]>) -> !nd.tensor<f32, [h = 20]>
      exec.yield %n : !nd.tensor<f32, [h = 20]>
    })",
               options);
}

/// A column sum whose terms are an output too, written over its input.
TEST(HostKernel, SumAndTermsInPlace) {
  KernelCase options;
  options.inPlace = {{0, 0}};
  for (std::string lanes : {"h", "b"})
    expectKernel(R"(
    exec.kernel @k #exec.plan<parallel = ["h"], reduce = ["b"], lanes = ")" +
                     lanes + R"(", sizes = [83, 19]>
        in [["b", "h"], ["b", "h"]] out [["b", "h"], ["h"]] {
    ^bb0(%g: !nd.tensor<f32, [b = 19, h = 83]>, %y: !nd.tensor<f32, [b = 19, h = 83]>):
      %zero = nd.constant 0.0 : f32 -> !nd.tensor<f32, []>
      %p = nd.compare gt %y, %zero : (!nd.tensor<f32, [b = 19, h = 83]>, !nd.tensor<f32, []>) -> !nd.tensor<i1, [b = 19, h = 83]>
      %t = nd.select %p, %g, %zero : (!nd.tensor<i1, [b = 19, h = 83]>, !nd.tensor<f32, [b = 19, h = 83]>, !nd.tensor<f32, []>) -> !nd.tensor<f32, [b = 19, h = 83]>
      %s = nd.reduce_sum %t {dims = ["b"]} : (!nd.tensor<f32, [b = 19, h = 83]>) -> !nd.tensor<f32, [h = 83]>
      exec.yield %t, %s : !nd.tensor<f32, [b = 19, h = 83]>, !nd.tensor<f32, [h = 83]>
    })",
                 options);
}

/// A sum with a product as an operand is one number in both walks, though the
/// product is also stored: each row has the ties that its elements have.
TEST(HostKernel, AMaximumEqualsAnElement) {
  for (std::string type : {"f32", "bf16", "f16"})
    for (std::string lanes : {"h", ""}) {
      SCOPED_TRACE(type + ", lanes '" + lanes + "'");
      std::string x = "!nd.tensor<" + type + ", [b = 64, h = 83]>",
                  h = "!nd.tensor<" + type + ", [h = 83]>",
                  b = "!nd.tensor<" + type + ", [b = 64]>",
                  i = "!nd.tensor<i1, [b = 64, h = 83]>",
                  f = "!nd.tensor<f32, [b = 64, h = 83]>",
                  n = "!nd.tensor<f32, [b = 64]>";
      KernelCase options;
      options.tolerance = 0;
      std::string binary = " : (" + x + ", " + h + ") -> " + x + "\n";
      expectKernel(
          "exec.kernel @k #exec.plan<parallel = [\"b\"], reduce = [\"h\"], "
          "lanes = \"" +
              lanes +
              "\", sizes = [64, 83]> in [[\"b\", \"h\"], [\"h\"], [\"h\"]] "
              "out [[\"b\", \"h\"], [\"b\"]] {\n^bb0(%x: " +
              x + ", %s: " + h + ", %c: " + h + "):\n%p = nd.mul %x, %s" +
              binary + "%y = nd.add %p, %c" + binary +
              "%m = nd.reduce_max %y {dims = [\"h\"]} : (" + x + ") -> " + b +
              "\n%e = nd.compare eq %y, %m : (" + x + ", " + b + ") -> " + i +
              "\n%f = nd.cast %e : (" + i + ") -> " + f +
              "\n%n = nd.reduce_sum %f {dims = [\"h\"]} : (" + f + ") -> " + n +
              "\nexec.yield %p, %n : " + x + ", " + n + "\n}",
          options);
    }
}

/// An output that could be stored in the first walk replaces an input that the
/// second one reads.
TEST(HostKernel, InPlaceWaitsForTheLastUse) {
  KernelCase options;
  options.inPlace = {{0, 0}};
  expectKernel(R"(
    exec.kernel @k #exec.plan<parallel = ["b"], reduce = ["h"], lanes = "h", sizes = [5, 45]>
        in [["b", "h"]] out [["b", "h"], ["b"]] {
    ^bb0(%x: !nd.tensor<f32, [b = 5, h = 45]>):
      %q = nd.square %x : (!nd.tensor<f32, [b = 5, h = 45]>) -> !nd.tensor<f32, [b = 5, h = 45]>
      %m = nd.reduce_max %q {dims = ["h"]} : (!nd.tensor<f32, [b = 5, h = 45]>) -> !nd.tensor<f32, [b = 5]>
      %d = nd.sub %x, %m : (!nd.tensor<f32, [b = 5, h = 45]>, !nd.tensor<f32, [b = 5]>) -> !nd.tensor<f32, [b = 5, h = 45]>
      %s = nd.reduce_sum %d {dims = ["h"]} : (!nd.tensor<f32, [b = 5, h = 45]>) -> !nd.tensor<f32, [b = 5]>
      exec.yield %q, %s : !nd.tensor<f32, [b = 5, h = 45]>, !nd.tensor<f32, [b = 5]>
    })",
               options);
}

/// If an output waits for the last use of one input, it reads another input at
/// that time, and the output that replaces the latter waits as well. On a GPU,
/// rows are longer than what threads keep in registers.
TEST(HostKernel, InPlaceWaitsForOutputsThatWait) {
  KernelCase options;
  options.inPlace = {{0, 0}, {1, 1}};
  options.tolerance = 3e-5;
  for (std::string h : {"20", "9000"}) {
    std::string x = "!nd.tensor<f32, [h = " + h + "]>",
                s = "!nd.tensor<f32, []>";
    std::string unary = " : (" + x + ") -> " + x,
                sum = " {dims = [\"h\"]} : (" + x + ") -> " + s,
                both = " : (" + x + ", " + x + ") -> " + x,
                scaled = " : (" + x + ", " + s + ") -> " + x;
    for (std::string lanes : {"h", ""})
      expectKernel("exec.kernel @k #exec.plan<parallel = [], reduce = [\"h\"], "
                   "lanes = \"" +
                       lanes + "\", sizes = [" + h +
                       "]> in [[\"h\"], [\"h\"]] out [[\"h\"], [\"h\"], []] {\n"
                       "^bb0(%p: " +
                       x + ", %v: " + x + "):\n" + "%max = nd.reduce_max %p" +
                       sum + "\n%shifted = nd.sub %p, %max" + scaled +
                       "\n%sum = nd.reduce_sum %shifted" + sum +
                       "\n%velocity = nd.sin %v" + unary +
                       "\n%next = nd.sub %p, %velocity" + both +
                       "\nexec.yield %next, %velocity, %sum : " + x + ", " + x +
                       ", " + s + "\n}",
                   options);
  }
}

/// A whole update as one long loop; scalars beside it.
TEST(HostKernel, MomentumUpdate) {
  KernelCase options;
  options.inPlace = {{0, 0}, {2, 1}};
  std::string w = "!nd.tensor<f32, [h = 21, i = 13]>",
              s = "!nd.tensor<f32, []>";
  std::string binary = " : (" + w + ", " + w + ") -> " + w;
  std::string scaled = " : (" + w + ", " + s + ") -> " + w;
  expectKernel("exec.kernel @k #exec.plan<parallel = [\"i\", \"h\"], reduce = "
               "[], lanes = \"h\", sizes = [13, 21]> "
               "in [[\"i\", \"h\"], [\"i\", \"h\"], [\"i\", \"h\"], []] out "
               "[[\"i\", \"h\"], [\"i\", \"h\"]] {\n"
               "^bb0(%p: " +
                   w + ", %g: " + w + ", %v: " + w + ", %rate: " + s +
                   "):\n"
                   "%m = nd.constant 0.9 : f32 -> " +
                   s +
                   "\n"
                   "%0 = nd.mul %v, %m" +
                   scaled +
                   "\n"
                   "%1 = nd.add %0, %g" +
                   binary +
                   "\n"
                   "%2 = nd.mul %1, %rate" +
                   scaled +
                   "\n"
                   "%3 = nd.sub %p, %2" +
                   binary +
                   "\n"
                   "exec.yield %3, %1 : " +
                   w + ", " + w + "\n}",
               options);
}

/// On a GPU, more sums than workgroup memory holds at once, along rows and
/// columns, in one block and in several.
TEST(HostKernel, ManyReductionsAtOnce) {
  std::string x = "!nd.tensor<f32, [b = 640, h = 32]>",
              c = "!nd.tensor<f32, []>";
  for (std::string over : {"b", "h"}) {
    std::string kept = over == "b" ? "h" : "b",
                r = over == "b" ? "!nd.tensor<f32, [h = 32]>"
                                : "!nd.tensor<f32, [b = 640]>";
    std::string body, results, types, orders;
    for (int i = 0; i < 20; ++i) {
      std::string n = std::to_string(i);
      body += "%c" + n + " = nd.constant " + n + ".5 : f32 -> " + c + "\n%y" +
              n + " = nd.add %x, %c" + n + " : (" + x + ", " + c + ") -> " + x +
              "\n%r" + n + " = nd.reduce_" + (i % 3 ? "max" : "sum") + " %y" +
              n + " {dims = [\"" + over + "\"]} : (" + x + ") -> " + r + "\n";
      std::string comma = i ? ", " : "";
      results += comma + "%r" + n;
      types += comma + r;
      orders += comma + "[\"" + kept + "\"]";
    }
    KernelCase options;
    options.tolerance = 1e-5;
    expectKernel(
        "exec.kernel @k #exec.plan<parallel = [\"" + kept +
            "\"], reduce = [\"" + over + "\"], lanes = \"h\", sizes = [" +
            (over == "b" ? "32, 640" : "640, 32") +
            "]> in [[\"b\", \"h\"]] out [" + orders + "] {\n^bb0(%x: " + x +
            "):\n" + body + "exec.yield " + results + " : " + types + "\n}",
        options);
  }
}

/// The older processors' vectors, and no vectors wider than needed.
TEST(HostKernel, OtherProcessors) {
  KernelCase options;
  options.tolerance = 3e-6; // products and sums are rounded apart
  options.march = "x86-64-v2";
  expectKernel(R"(
    exec.kernel @k #exec.plan<parallel = ["b"], reduce = ["h"], lanes = "h", sizes = [4, 3]>
        in [["b", "h"]] out [["b"]] {
    ^bb0(%x: !nd.tensor<f32, [b = 4, h = 3]>):
      %t = nd.tanh %x : (!nd.tensor<f32, [b = 4, h = 3]>) -> !nd.tensor<f32, [b = 4, h = 3]>
      %0 = nd.exp %t : (!nd.tensor<f32, [b = 4, h = 3]>) -> !nd.tensor<f32, [b = 4, h = 3]>
      %1 = nd.reduce_sum %0 {dims = ["h"]} : (!nd.tensor<f32, [b = 4, h = 3]>) -> !nd.tensor<f32, [b = 4]>
      exec.yield %1 : !nd.tensor<f32, [b = 4]>
    })",
               options);
}

/// The exponentials are stored in the output's buffer, which is the input's; if
/// the last walk reads the input again they cannot be.
TEST(HostKernel, CostlyValuesWaitInTheOutput) {
  KernelCase options;
  options.inPlace = {{0, 0}};
  std::string x = "!nd.tensor<f32, [b = 5, h = 45]>",
              s = "!nd.tensor<f32, [b = 5]>";
  std::string withScalar = " : (" + x + ", " + s + ") -> " + x;
  for (std::string lanes : {"b", "h"})
    for (std::string other : {"%q", "%x"}) {
      expectKernel(
          "exec.kernel @k #exec.plan<parallel = [\"b\"], reduce = [\"h\"], "
          "lanes = \"" +
              lanes +
              "\", sizes = [5, 45]> in [[\"b\", \"h\"]] out [[\"b\", \"h\"]] "
              "{\n^bb0(%x: " +
              x +
              "):\n%m = nd.reduce_max %x {dims = "
              "[\"h\"]} : (" +
              x + ") -> " + s + "\n%d = nd.sub %x, %m" + withScalar +
              "\n%e = nd.exp %d : (" + x + ") -> " + x +
              "\n%s = nd.reduce_sum %e {dims = [\"h\"]} : (" + x + ") -> " + s +
              "\n%q = nd.div %e, %s" + withScalar + "\n%r = nd.add %q, " +
              other + " : (" + x + ", " + x + ") -> " + x +
              "\nexec.yield %r : " + x + "\n}",
          options);
    }
}
