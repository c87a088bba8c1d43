//===- LoopLayoutTest.cpp - loops under layouts ---------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Loops of every kind under layouts of every kind: the partitioned loop, on
/// virtual ranks, computes what one device computes; so does its unrolled form.
/// Under the layouts of the literature, a loop moves no more bytes than the
/// same iterations one after the other.
///
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Ops/LoopOps.h"
#include "dialects/Spmd/SpmdOps.h"
#include "lib/Collectives/Passes.h"
#include "lib/Layout/Passes.h"
#include "lib/Loops/Passes.h"
#include "lib/Partition/Passes.h"
#include "lib/Reference/CompareSteps.h"
#include "lib/Reference/EstimateMemory.h"
#include "lib/Reference/RandomInputs.h"
#include "lib/Report/Report.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringExtras.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace meshc;

namespace {

struct Program {
  const char *name, *text;
  /// What a program of three iterations may send, as a multiple of what it
  /// sends unrolled. That may be less: its first iteration knows how the
  /// initial state lies, and its last one who uses the final state. An axis may
  /// also move where the whole program saves half of its bytes, but no single
  /// iteration does.
  double most = 1;
};

struct Layout {
  const char *name, *mesh;
  std::vector<const char *> rules;
  bool isUsual; ///< of the literature
};

const char *const types = R"(
!s = !nd.tensor<f32, []>
!number = !nd.tensor<i32, []>
!x = !nd.tensor<f32, [batch = 8, model = 4]>
!xs = !nd.tensor<f32, [batch = 8, layers = 3, model = 4]>
!h = !nd.tensor<f32, [batch = 8, hidden = 12]>
!hs = !nd.tensor<f32, [batch = 8, hidden = 12, layers = 3]>
!w = !nd.tensor<f32, [hidden = 12, model = 4]>
!ws = !nd.tensor<f32, [hidden = 12, layers = 3, model = 4]>
!b = !nd.tensor<f32, [model = 4]>
!bs = !nd.tensor<f32, [layers = 3, model = 4]>
)";

// A residual block: entries of weights, a whole bias, a stacked result.
const char *const forward = R"(
func.func @forward(%x: !x {nd.name = "x", nd.role = "input"}, %w: !ws {nd.name = "w", nd.role = "parameter"},
                   %v: !ws {nd.name = "v", nd.role = "parameter"}, %b: !b {nd.name = "b", nd.role = "parameter"}) -> (!x, !hs) {
  %y:2 = nd.scan "layers" 3 carried(%x : !x) stacked(%w, %v : !ws, !ws) whole(%b : !b) -> !x, !hs
      attributes {res_attrs = [{nd.name = "y"}, {nd.name = "h"}]} {
  ^bb0(%c: !x, %e: !w, %f: !w, %d: !b):
    %p = nd.einsum %c, %e {reduced = ["model"]} : (!x, !w) -> !h
    %h = nd.relu %p {nd.name = "h"} : (!h) -> !h
    %q = nd.einsum %h, %f {reduced = ["hidden"]} : (!h, !w) -> !x
    %r = nd.add %q, %d : (!x, !b) -> !x
    %n = nd.add %c, %r {nd.name = "y"} : (!x, !x) -> !x
    nd.yield %n, %h : !x, !h
  }
  return %y#0, %y#1 : !x, !hs
}
)";

// Its gradients: of the carried value, of stacked parameters, of a whole one.
const char *const backward = R"(
func.func @backward(%g: !x {nd.name = "g"}, %hs: !hs {nd.name = "h"}, %xs: !xs, %w: !ws {nd.name = "w", nd.role = "parameter"})
    -> (!x, !ws {nd.name = "gradient of w", nd.class = "gradient", nd.of = "w"}, !b {nd.name = "gradient of b", nd.class = "gradient", nd.of = "b"}) {
  %z = nd.constant 0.0 : f32 -> !b
  %y:3 = nd.scan "layers" 3 backwards carried(%g, %z : !x, !b) stacked(%hs, %xs, %w : !hs, !xs, !ws) -> !x, !b, !ws
      attributes {res_attrs = [{}, {nd.name = "gradient of b", nd.class = "gradient", nd.of = "b"},
                               {nd.name = "gradient of w", nd.class = "gradient", nd.of = "w"}]} {
  ^bb0(%c: !x, %t: !b, %h: !h, %x: !x, %e: !w):
    %p = nd.einsum %c, %e {reduced = ["model"]} : (!x, !w) -> !h
    %m = nd.mul %p, %h : (!h, !h) -> !h
    %dw = nd.einsum %x, %m {reduced = ["batch"], nd.name = "gradient of w", nd.class = "gradient", nd.of = "w"} : (!x, !h) -> !w
    %db = nd.reduce_sum %c {dims = ["batch"], nd.class = "gradient"} : (!x) -> !b
    %u = nd.add %t, %db {nd.class = "gradient"} : (!b, !b) -> !b
    %q = nd.einsum %m, %e {reduced = ["hidden"]} : (!h, !w) -> !x
    %n = nd.add %c, %q : (!x, !x) -> !x
    nd.yield %n, %u, %dw : !x, !b, !w
  }
  return %y#0, %y#2, %y#1 : !x, !ws, !b
}
)";

// The gradient of a stacked parameter that two loops use, and an op outside.
const char *const shared = R"(
func.func @shared(%hs: !hs {nd.name = "h"}, %xs: !xs, %w: !ws {nd.name = "w", nd.role = "parameter"})
    -> (!ws {nd.name = "gradient of w", nd.class = "gradient", nd.of = "w"}, !xs) {
  %a:2 = nd.scan "layers" 3 backwards stacked(%hs, %xs, %w : !hs, !xs, !ws) -> !ws, !xs {
  ^bb0(%h: !h, %x: !x, %e: !w):
    %d = nd.einsum %x, %h {reduced = ["batch"]} : (!x, !h) -> !w
    %p = nd.einsum %h, %e {reduced = ["hidden"]} : (!h, !w) -> !x
    nd.yield %d, %p : !w, !x
  }
  %b = nd.scan "layers" 3 stacked(%hs, %a#1 : !hs, !xs) -> !ws {
  ^bb0(%h: !h, %x: !x):
    %n = nd.tanh %x : (!x) -> !x
    %d = nd.einsum %n, %h {reduced = ["batch"]} : (!x, !h) -> !w
    nd.yield %d : !w
  }
  %c = nd.einsum %xs, %hs {reduced = ["batch"]} : (!xs, !hs) -> !ws
  %s = nd.add %a#0, %b : (!ws, !ws) -> !ws
  %t = nd.add %s, %c {nd.name = "gradient of w", nd.class = "gradient", nd.of = "w"} : (!ws, !ws) -> !ws
  return %t, %a#1 : !ws, !xs
}
)";

// A recurrence over time with whole weights, from a state of zeros, and with
// random numbers of each step.
const char *const recurrent = R"(
func.func @recurrent(%xs: !xs {nd.name = "x", nd.role = "input"}, %w: !w {nd.name = "w", nd.role = "parameter"},
                     %v: !nd.tensor<f32, [hidden = 12, other = 12]> {nd.name = "v", nd.role = "parameter"}) -> (!h, !hs) {
  %z = nd.constant 0.0 : f32 -> !h
  %n = nd.iota : () -> !nd.tensor<i32, [layers = 3]>
  %y:2 = nd.scan "layers" 3 carried(%z : !h) stacked(%xs, %n : !xs, !nd.tensor<i32, [layers = 3]>)
      whole(%w, %v : !w, !nd.tensor<f32, [hidden = 12, other = 12]>) -> !h, !hs attributes {res_attrs = [{nd.name = "state"}, {}]} {
  ^bb0(%s: !h, %x: !x, %i: !number, %u: !w, %r: !nd.tensor<f32, [hidden = 12, other = 12]>):
    %a = nd.einsum %x, %u {reduced = ["model"]} : (!x, !w) -> !h
    %o = nd.einsum %s, %r {reduced = ["hidden"]} : (!h, !nd.tensor<f32, [hidden = 12, other = 12]>) -> !nd.tensor<f32, [batch = 8, other = 12]>
    %k = nd.rename %o {from = ["other"], to = ["hidden"]} : (!nd.tensor<f32, [batch = 8, other = 12]>) -> !h
    %c = nd.add %a, %k : (!h, !h) -> !h
    %d = nd.random uniform "mask" (%i : !number) : !h
    %e = nd.mul %c, %d : (!h, !h) -> !h
    %t = nd.tanh %e {nd.name = "state"} : (!h) -> !h
    nd.yield %t, %t : !h, !h
  }
  return %y#0, %y#1 : !h, !hs
}
)";

// Random numbers of an iteration, which values of two shardings need.
const char *const masks = R"(
func.func @masks(%x: !x {nd.name = "y"}, %g: !x {nd.name = "state"}) -> (!x {nd.name = "y"}, !x {nd.name = "state"}) {
  %n = nd.iota : () -> !nd.tensor<i32, [layers = 3]>
  %y:2 = nd.scan "layers" 3 carried(%x, %g : !x, !x) stacked(%n : !nd.tensor<i32, [layers = 3]>) -> !x, !x
      attributes {res_attrs = [{nd.name = "y"}, {nd.name = "state"}]} {
  ^bb0(%c: !x, %d: !x, %i: !number):
    %r = nd.random uniform "mask" (%i : !number) : !x
    %m = nd.mul %c, %r {nd.name = "y"} : (!x, !x) -> !x
    %k = nd.mul %d, %r {nd.name = "state"} : (!x, !x) -> !x
    nd.yield %m, %k : !x, !x
  }
  return %y#0, %y#1 : !x, !x
}
)";

// Sums: of a partial value, of one that something else reads, from another
// start, of an entry, of a whole value, and with the sum's own use.
const char *const sums = R"(
func.func @sums(%x: !x {nd.name = "x"}, %w: !w {nd.name = "w"}, %xs: !xs, %start: !b {nd.name = "start"}) -> (!b, !b, !b, !x, !x, !s, !bs) {
  %z = nd.constant 0.0 : f32 -> !b
  %zx = nd.constant 0.0 : f32 -> !x
  %zs = nd.constant 0.0 : f32 -> !s
  %y:7 = nd.scan "layers" 3 carried(%z, %z, %start, %zx, %zx, %zs : !b, !b, !b, !x, !x, !s) stacked(%xs : !xs) whole(%x, %w : !x, !w)
      -> !b, !b, !b, !x, !x, !s, !bs attributes {res_attrs = [{nd.name = "start"}, {}, {nd.name = "start"}, {}, {nd.name = "x"}, {}, {}]} {
  ^bb0(%t0: !b, %t1: !b, %t2: !b, %t3: !x, %t4: !x, %t5: !s, %e: !x, %v: !x, %u: !w):
    %p = nd.einsum %e, %u {reduced = ["model"]} : (!x, !w) -> !h
    %q = nd.einsum %p, %u {reduced = ["batch", "hidden"]} : (!h, !w) -> !b
    %a0 = nd.add %t0, %q : (!b, !b) -> !b
    %r = nd.reduce_sum %e {dims = ["batch"]} : (!x) -> !b
    %a1 = nd.add %r, %t1 : (!b, !b) -> !b
    %f = nd.exp %r : (!b) -> !b
    %d = nd.reduce_sum %v {dims = ["batch"]} : (!x) -> !b
    %a2 = nd.add %t2, %d : (!b, !b) -> !b
    %a3 = nd.add %t3, %e : (!x, !x) -> !x
    %a4 = nd.add %t4, %v : (!x, !x) -> !x
    %m = nd.neg %t5 : (!s) -> !s
    %g = nd.reduce_sum %f {dims = ["model"]} : (!b) -> !s
    %n = nd.add %m, %g : (!s, !s) -> !s
    %a5 = nd.add %t5, %n : (!s, !s) -> !s
    nd.yield %a0, %a1, %a2, %a3, %a4, %a5, %f : !b, !b, !b, !x, !x, !s, !b
  }
  return %y#0, %y#1, %y#2, %y#3, %y#4, %y#5, %y#6 : !b, !b, !b, !x, !x, !s, !bs
}
)";

// Loops in loops: sums of sums, entries of entries, what is whole in both, and
// a partial value that enters.
const char *const nested = R"(
func.func @nested(%x: !x {nd.name = "x"}, %w: !ws {nd.name = "w", nd.role = "parameter"}) -> (!s, !x, !nd.tensor<f32, [hidden = 12, layers = 3]>) {
  %z = nd.constant 0.0 : f32 -> !s
  %b = nd.reduce_sum %x {dims = ["batch"]} : (!x) -> !b
  %y:3 = nd.scan "layers" 3 carried(%z, %x : !s, !x) stacked(%w : !ws) whole(%b, %z : !b, !s) -> !s, !x, !nd.tensor<f32, [hidden = 12, layers = 3]> {
  ^bb0(%t: !s, %c: !x, %e: !w, %d: !b, %o: !s):
    %i:3 = nd.scan "hidden" 12 backwards carried(%o, %c : !s, !x) stacked(%e : !w) whole(%d : !b) -> !s, !x, !nd.tensor<f32, [hidden = 12]> {
    ^bb1(%u: !s, %k: !x, %f: !b, %g: !b):
      %m = nd.mul %f, %g : (!b, !b) -> !b
      %r = nd.reduce_sum %m {dims = ["model"]} : (!b) -> !s
      %v = nd.add %u, %r : (!s, !s) -> !s
      %l = nd.mul %k, %m : (!x, !b) -> !x
      %h = nd.tanh %l : (!x) -> !x
      nd.yield %v, %h, %r : !s, !x, !s
    }
    %n = nd.add %t, %i#0 : (!s, !s) -> !s
    nd.yield %n, %i#1, %i#2 : !s, !x, !nd.tensor<f32, [hidden = 12]>
  }
  return %y#0, %y#1, %y#2 : !s, !x, !nd.tensor<f32, [hidden = 12, layers = 3]>
}
)";

// Composite ops, and lookups by entries of indices.
const char *const lookups = R"(
func.func @lookups(%t: !nd.tensor<i32, [batch = 8, layers = 3]> {nd.name = "tokens", nd.role = "input"},
                   %w: !w {nd.name = "w", nd.role = "parameter"}) -> (!x, !nd.tensor<f32, [batch = 8, layers = 3]>) {
  %z = nd.constant 1.0 : f32 -> !x
  %y:2 = nd.scan "layers" 3 carried(%z : !x) stacked(%t : !nd.tensor<i32, [batch = 8, layers = 3]>) whole(%w : !w)
      -> !x, !nd.tensor<f32, [batch = 8, layers = 3]> {
  ^bb0(%c: !x, %i: !nd.tensor<i32, [batch = 8]>, %u: !w):
    %r = nd.gather %u, %i {dim = "hidden"} : (!w, !nd.tensor<i32, [batch = 8]>) -> !x
    %a = nd.mul %c, %r : (!x, !x) -> !x
    %s = nd.softmax %a {dim = "model"} : (!x) -> !x
    %p = nd.einsum %s, %u {reduced = ["model"]} : (!x, !w) -> !h
    %l = nd.cross_entropy %p, %i {dim = "hidden"} : (!h, !nd.tensor<i32, [batch = 8]>) -> !nd.tensor<f32, [batch = 8]>
    nd.yield %s, %l : !x, !nd.tensor<f32, [batch = 8]>
  }
  return %y#0, %y#1 : !x, !nd.tensor<f32, [batch = 8, layers = 3]>
}
)";

// Ends with its second iteration. The condition is a sum over dims that may be
// cut, far from its bound; entries of the third iteration are unspecified.
const char *const endsEarly = R"(
func.func @ends_early(%x: !x {nd.name = "x", nd.role = "input"}, %w: !w {nd.name = "w", nd.role = "parameter"})
    -> (!x, !hs, !nd.tensor<f32, [layers = 3]>, !number) {
  %true = nd.constant true -> !nd.tensor<i1, []>
  %none = nd.constant 0 : i32 -> !number
  %k = nd.iota : () -> !nd.tensor<i32, [layers = 3]>
  %xx = nd.mul %x, %x : (!x, !x) -> !x
  %first = nd.reduce_sum %xx {dims = ["batch", "model"]} : (!x) -> !s
  %y:5 = nd.scan "layers" 3 while carried(%true, %x, %none : !nd.tensor<i1, []>, !x, !number)
      stacked(%k : !nd.tensor<i32, [layers = 3]>) whole(%w, %first : !w, !s)
      -> !nd.tensor<i1, []>, !x, !number, !hs, !nd.tensor<f32, [layers = 3]>
      attributes {res_attrs = [{}, {nd.name = "y"}, {}, {nd.name = "h"}, {}]} {
  ^bb0(%go: !nd.tensor<i1, []>, %c: !x, %last: !number, %i: !number, %u: !w, %m: !s):
    %tenth = nd.constant 0.1 : f32 -> !s
    %share = nd.constant 0.001 : f32 -> !s
    %h = nd.einsum %c, %u {reduced = ["model"]} : (!x, !w) -> !h
    %n = nd.mul %c, %tenth : (!x, !s) -> !x
    %nn = nd.mul %n, %n : (!x, !x) -> !x
    %sum = nd.reduce_sum %nn {dims = ["batch", "model"]} : (!x) -> !s
    %least = nd.mul %m, %share : (!s, !s) -> !s
    %next = nd.compare gt %sum, %least : (!s, !s) -> !nd.tensor<i1, []>
    nd.yield %next, %n, %i, %h, %sum : !nd.tensor<i1, []>, !x, !number, !h, !s
  }
  %ran = nd.compare le %k, %y#2 : (!nd.tensor<i32, [layers = 3]>, !number) -> !nd.tensor<i1, [layers = 3]>
  %zero = nd.constant 0.0 : f32 -> !s
  %hs = nd.select %ran, %y#3, %zero : (!nd.tensor<i1, [layers = 3]>, !hs, !s) -> !hs
  %sums = nd.select %ran, %y#4, %zero : (!nd.tensor<i1, [layers = 3]>, !nd.tensor<f32, [layers = 3]>, !s) -> !nd.tensor<f32, [layers = 3]>
  return %y#1, %hs, %sums, %y#2 : !x, !hs, !nd.tensor<f32, [layers = 3]>, !number
}
)";

const Program programs[] = {
    {"forward", forward},       {"backward", backward},
    {"shared", shared},         {"recurrent", recurrent, 2},
    {"masks", masks},           {"sums", sums},
    {"nested", nested, 2},      {"lookups", lookups, 5},
    {"endsEarly", endsEarly, 2}};

const Layout layouts[] = {
    {"batch", "data = 2", {"batch -> data"}, true},
    {"hidden", "tensor = 4", {"hidden -> tensor"}, true},
    {"model", "tensor = 2", {"model -> tensor"}, true},
    {"both",
     "data = 2, tensor = 2",
     {"batch -> data", "hidden -> tensor"},
     true},
    {"sharded_state",
     "data = 4",
     {"batch -> data", "model -> data in parameter",
      "model -> data in gradient"},
     true},
    {"other_dims",
     "data = 2, tensor = 2",
     {"batch -> data", "other -> tensor", "model -> tensor in parameter"},
     false},
    {"two_axes",
     "a = 2, b = 2",
     {"batch -> b a", "model -> a in parameter", "batch -> a in h"},
     false},
    {"by_name",
     "a = 2, b = 2",
     {"batch -> a", "model -> b in y", "batch -> b in state",
      "model -> a in start", "model -> b in x"},
     false}};

class LoopLayoutTest
    : public testing::TestWithParam<std::tuple<Program, Layout>> {
protected:
  LoopLayoutTest() {
    context.loadDialect<nd::NdDialect, spmd::SpmdDialect, func::FuncDialect>();
  }

  /// Rules for dims over which the program loops are left out.
  OwningOpRef<ModuleOp> parse() {
    const auto &[program, layout] = GetParam();
    std::string text = types;
    text += "module attributes {nd.mesh = #nd.mesh<" +
            std::string(layout.mesh) + ">} {\n";
    for (StringRef rule : layout.rules) {
      auto [dim, rest] = rule.split(" -> ");
      auto [axes, scope] = rest.split(" in ");
      if (StringRef(program.text).contains(("nd.scan \"" + dim + "\"").str()))
        continue;
      SmallVector<StringRef> names;
      axes.split(names, ' ');
      text += ("nd.rule \"" + dim + "\" -> [\"" + llvm::join(names, "\", \"") +
               "\"]" + (scope.empty() ? "" : " in \"" + scope.str() + "\"") +
               " optional\n")
                  .str();
    }
    return parseSourceString<ModuleOp>(text + program.text + "}", &context);
  }

  template <typename... Adders> bool run(ModuleOp module, Adders... adders) {
    PassManager passes(&context);
    (adders(passes), ...);
    return succeeded(passes.run(module));
  }

  static void addUnrolling(OpPassManager &passes) {
    passes.addPass(loops::createUnrollLoops());
  }

  static void addLateUnrolling(OpPassManager &passes) {
    loops::UnrollLoopsOptions options;
    options.isPrimitive = true;
    passes.addPass(loops::createUnrollLoops(options));
  }

  /// Names of the results that differ, and how much.
  static std::string compare(ModuleOp sequential, ModuleOp partitioned) {
    auto differences = reference::compareSteps(sequential, partitioned, {});
    if (failed(differences))
      return "does not run";
    std::string text;
    for (const reference::OutputDifference &difference : *differences)
      if (!difference.agrees || difference.nonFinite)
        text += difference.name + " differs by " +
                std::to_string(difference.largest) + "\n";
    return text;
  }

  static double getBytes(ModuleOp module) {
    double bytes = 0;
    report::Json report = report::buildReport(module);
    for (const report::Json &function : report["functions"])
      for (const auto &[axis, moved] : function["bytes"].items())
        bytes += moved.get<double>();
    return bytes;
  }

  MLIRContext context;
};

TEST_P(LoopLayoutTest, ComputesWhatOneDeviceDoes) {
  OwningOpRef<ModuleOp> module = parse();
  ASSERT_TRUE(module);
  OwningOpRef<ModuleOp> unrolled = module->clone();
  ASSERT_TRUE(run(*module, layout::addLayoutPasses));
  OwningOpRef<ModuleOp> sequential = module->clone();
  ASSERT_TRUE(run(*module, partition::addPartitionPasses));
  EXPECT_EQ(compare(*sequential, *module), "");
  ASSERT_TRUE(run(*module, collectives::addCollectivesPasses));
  EXPECT_EQ(compare(*sequential, *module), "");
  double bytes = getBytes(*module);
  ASSERT_TRUE(run(*module, addLateUnrolling));
  EXPECT_EQ(compare(*sequential, *module), "");

  ASSERT_TRUE(run(*unrolled, addUnrolling, layout::addLayoutPasses,
                  partition::addPartitionPasses,
                  collectives::addCollectivesPasses));
  EXPECT_EQ(compare(*sequential, *unrolled), "");
  if (std::get<1>(GetParam()).isUsual)
    EXPECT_LE(bytes, getBytes(*unrolled) * std::get<0>(GetParam()).most);
}

INSTANTIATE_TEST_SUITE_P(All, LoopLayoutTest,
                         testing::Combine(testing::ValuesIn(programs),
                                          testing::ValuesIn(layouts)),
                         [](const auto &info) {
                           return std::string(std::get<0>(info.param).name) +
                                  "_" + std::get<1>(info.param).name;
                         });

/// In the report, a collective in a loop counts once for each iteration.
TEST(LoopReportTest, MultipliesByIterations) {
  MLIRContext context;
  context.loadDialect<nd::NdDialect, spmd::SpmdDialect, func::FuncDialect>();
  auto module = parseSourceString<ModuleOp>(R"(
!c = !nd.tensor<f32, [i = 8 on {a}]>
!x = !nd.tensor<f32, [i = 8]>
module attributes {nd.mesh = #nd.mesh<a = 2>} {
  func.func @f(%x: !c) -> !c {
    %g = spmd.all_gather ["a"] from ["i"] %x : (!c) -> !x
    %y = nd.scan "n" 3 carried(%x : !c) -> !c {
    ^bb0(%u: !c):
      %z = nd.scan "m" 5 carried(%u : !c) -> !c {
      ^bb1(%v: !c):
        %w = spmd.all_gather ["a"] from ["i"] %v : (!c) -> !x
        %s = spmd.slice "i" ["a"] %w : !x -> !c
        nd.yield %s : !c
      }
      nd.yield %z : !c
    }
    return %y : !c
  }
})",
                                            &context);
  ASSERT_TRUE(module);
  report::Json function = report::buildReport(*module)["functions"][0];
  constexpr double bytes = 8 * 4 / 2;
  EXPECT_EQ(function["collectives"][0]["calls"], 1);
  EXPECT_EQ(function["collectives"][0]["bytes"]["a"], bytes);
  EXPECT_EQ(function["collectives"][1]["calls"], 15);
  EXPECT_EQ(function["collectives"][1]["elements"], 8);
  EXPECT_EQ(function["collectives"][1]["bytes"]["a"], 15 * bytes);
  EXPECT_EQ(function["bytes"]["a"], 16 * bytes);
  EXPECT_EQ(function["elements"]["a"], 16 * 8);
}

class LoopReferenceTest : public testing::Test {
protected:
  LoopReferenceTest() {
    context.loadDialect<nd::NdDialect, func::FuncDialect>();
  }
  OwningOpRef<ModuleOp> parse(const std::string &text) {
    return parseSourceString<ModuleOp>(types + text, &context);
  }
  MLIRContext context;
};

/// Inputs that a loop takes apart, or has whole, are seen in its body: as class
/// numbers, and as indices below the size of the dim that they index.
TEST_F(LoopReferenceTest, FollowsInputsIntoBodies) {
  auto module = parse(lookups);
  ASSERT_TRUE(module);
  EXPECT_EQ(report::findTargets(*module)["tokens"], 12);
  EXPECT_EQ(report::findIndices(*module)["tokens"], 12);
  module = parse(R"(
func.func @f(%i: !nd.tensor<i32, [batch = 8]>, %w: !w) -> !x {
  %z = nd.constant 1.0 : f32 -> !x
  %y = nd.scan "layers" 3 carried(%z : !x) whole(%i, %w : !nd.tensor<i32, [batch = 8]>, !w) -> !x {
  ^bb0(%c: !x, %k: !nd.tensor<i32, [batch = 8]>, %u: !w):
    %r = nd.gather %u, %k {dim = "hidden"} : (!w, !nd.tensor<i32, [batch = 8]>) -> !x
    nd.yield %r : !x
  }
  return %y : !x
})");
  ASSERT_TRUE(module);
  std::mt19937_64 random(1);
  double most = 0;
  for (int draw = 0; draw < 8; ++draw)
    for (double index :
         reference::drawArgument(module->lookupSymbol<func::FuncOp>("f"), 0, {},
                                 random)
             .data)
      most = std::max(most, index);
  EXPECT_EQ(most, 11);
}

/// The estimate of --verify's memory has the values of a body, in doubles: of
/// the function, an argument and the loop's result, and the other program's
/// argument; of the body, its argument and the broadcast, twice while it is
/// computed.
TEST_F(LoopReferenceTest, MeasuresBodies) {
  auto module = parse(R"(
func.func @f(%b: !b) -> !b {
  %y = nd.scan "layers" 3 carried(%b : !b) -> !b {
  ^bb0(%c: !b):
    %w = nd.broadcast %c : (!b) -> !w
    %r = nd.reduce_sum %w {dims = ["hidden"]} : (!w) -> !b
    nd.yield %r : !b
  }
  return %y : !b
})");
  ASSERT_TRUE(module);
  reference::MemoryNeed need = reference::estimateMemory(*module, *module);
  EXPECT_EQ(need.at->getName().getStringRef(), "nd.broadcast");
  EXPECT_EQ(need.bytes, (3 * 4 + 4 + 2 * 48) * sizeof(double));
}

} // namespace
