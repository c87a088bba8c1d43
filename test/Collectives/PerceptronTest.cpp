//===- PerceptronTest.cpp - least volumes of the two-layer perceptron -----===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// y = relu(x·w)·v forward and backward (dw, dv, dx from dy) under the layouts
/// of Mesh-TensorFlow (arXiv 1811.02084, section 5): the all-reduced values,
/// their axes and their element counts must match the table exactly.
///
//===----------------------------------------------------------------------===//

#include "dialects/Spmd/SpmdOps.h"
#include "lib/Collectives/Passes.h"
#include "lib/Layout/Passes.h"
#include "lib/Partition/Passes.h"
#include "lib/Report/Report.h"
#include "lib/Steps/Passes.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FormatVariadic.h"
#include <gtest/gtest.h>
#include <map>
#include <set>

using namespace mlir;
using namespace meshc;

namespace {

constexpr int64_t b = 64, d = 32, h = 128;

/// Types: x[b, d], hidden[b, h], w[d, h]; aliases keep the text short.
const char *const types = R"(
!x = !nd.tensor<f32, [batch = 64, io = 32]>
!h = !nd.tensor<f32, [batch = 64, hidden = 128]>
!m = !nd.tensor<i1, [batch = 64, hidden = 128]>
!w = !nd.tensor<f32, [hidden = 128, io = 32]>
!s = !nd.tensor<f32, []>
)";

const char *const forwardBackward = R"(
  func.func @step(
      %w: !w {nd.name = "w", nd.role = "parameter"},
      %v: !w {nd.name = "v", nd.role = "parameter"},
      %x: !x {nd.name = "x", nd.role = "input"},
      %dy: !x {nd.name = "dy", nd.role = "input"})
      -> (!x {nd.name = "y"}, !x {nd.name = "dx"},
          !w {nd.name = "gradient of w", nd.class = "gradient"},
          !w {nd.name = "gradient of v", nd.class = "gradient"}) {
    %h = nd.einsum %x, %w {reduced = ["io"], nd.name = "h"} : (!x, !w) -> !h
    %zero = nd.constant 0.0 : f32 -> !s
    %a = nd.relu %h : (!h) -> !h
    %y = nd.einsum %a, %v {reduced = ["hidden"], nd.name = "y"} : (!h, !w) -> !x
    %da = nd.einsum %dy, %v {reduced = ["io"], nd.name = "da"} : (!x, !w) -> !h
    %mask = nd.compare gt %h, %zero : (!h, !s) -> !m
    %dh = nd.select %mask, %da, %zero : (!m, !h, !s) -> !h
    %dx = nd.einsum %dh, %w {reduced = ["hidden"], nd.name = "dx"} : (!h, !w) -> !x
    %dw = nd.einsum %x, %dh {reduced = ["batch"], nd.name = "gradient of w", nd.class = "gradient"} : (!x, !h) -> !w
    %dv = nd.einsum %a, %dy {reduced = ["batch"], nd.name = "gradient of v", nd.class = "gradient"} : (!h, !x) -> !w
    return %y, %dx, %dw, %dv : !x, !x, !w, !w
  }
)";

const char *const modelText = R"(
  func.func @mlp(%x: !x {nd.name = "x", nd.order = ["batch", "io"]},
                 %t: !x {nd.name = "t", nd.order = ["batch", "io"]})
      -> (!s {nd.name = "loss"}) {
    %w = nd.parameter "w" ["io", "hidden"] : !w {
      %r = nd.random normal "w" : !w
      nd.yield %r : !w
    }
    %v = nd.parameter "v" ["hidden", "io"] : !w {
      %r = nd.random normal "v" : !w
      nd.yield %r : !w
    }
    %p = nd.einsum %x, %w {reduced = ["io"]} : (!x, !w) -> !h
    %a = nd.relu %p {nd.name = "h"} : (!h) -> !h
    %y = nd.einsum %a, %v {reduced = ["hidden"], nd.name = "y"} : (!h, !w) -> !x
    %e = nd.sub %y, %t : (!x, !x) -> !x
    %q = nd.square %e : (!x) -> !x
    %l = nd.reduce_mean %q {dims = ["batch", "io"], nd.name = "loss"} : (!x) -> !s
    return %l : !s
  }
  nd.train @mlp "loss" "adamw" { nd.setting "lr" = 1.0e-3 }
)";

struct Case {
  const char *name, *mesh;
  std::vector<const char *> rules; ///< as nd.rule prints them
  /// All-reduced elements per rank and training step, by axes.
  std::map<std::string, int64_t> elements;
  /// The values that are all-reduced.
  std::set<std::string> tensors;
  /// The same of the whole train step, which has no dx and a scalar loss.
  std::map<std::string, int64_t> trainElements;
};

void PrintTo(const Case &c, std::ostream *out) { *out << c.name; }

class PerceptronTest : public testing::TestWithParam<Case> {
protected:
  PerceptronTest() {
    context.loadDialect<nd::NdDialect, spmd::SpmdDialect, func::FuncDialect>();
  }

  /// The report of `function` after all phases up to collectives.
  report::Json getReport(const char *program, bool isModel,
                         StringRef function) {
    std::string text =
        llvm::formatv("{0}\nmodule attributes {{nd.mesh = #nd.mesh<{1}>} {{\n",
                      types, GetParam().mesh);
    for (const char *rule : GetParam().rules)
      text += std::string("nd.rule ") + rule + "\n";
    text += std::string(program) + "}";
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
    PassManager passes(&context);
    if (isModel)
      steps::addStepsPasses(passes);
    layout::addLayoutPasses(passes);
    partition::addPartitionPasses(passes);
    collectives::addCollectivesPasses(passes);
    if (!module || failed(passes.run(*module))) {
      ADD_FAILURE() << "the program does not compile";
      return {{"collectives", report::Json::array()},
              {"elements", report::Json::object()}};
    }
    report::Json all = report::buildReport(*module);
    for (const report::Json &entry : all["functions"])
      if (entry["name"] == function.str())
        return entry;
    return {};
  }

  int64_t getAxisSize(StringRef axis) {
    std::string text = llvm::formatv("#nd.mesh<{0}>", GetParam().mesh);
    return cast<nd::MeshAttr>(parseAttribute(text, &context))
        .getAxisSize(StringAttr::get(&context, axis));
  }

  MLIRContext context;
};

TEST_P(PerceptronTest, MovesWhatTheTableSays) {
  report::Json report = getReport(forwardBackward, false, "step");
  EXPECT_EQ((report["elements"].get<std::map<std::string, int64_t>>()),
            GetParam().elements)
      << report.dump(2);
  std::multiset<std::string> tensors;
  for (const report::Json &collective : report["collectives"]) {
    EXPECT_EQ(collective["kind"], "all_reduce");
    for (const report::Json &tensor : collective["tensors"])
      tensors.insert(tensor["name"].get<std::string>());
  }
  EXPECT_EQ(tensors, std::multiset<std::string>(GetParam().tensors.begin(),
                                                GetParam().tensors.end()));
}

TEST_P(PerceptronTest, TrainStepMovesNoMore) {
  report::Json report = getReport(modelText, true, "train_step");
  EXPECT_EQ((report["elements"].get<std::map<std::string, int64_t>>()),
            GetParam().trainElements)
      << report.dump(2);
  for (const report::Json &collective : report["collectives"])
    EXPECT_EQ(collective["kind"], "all_reduce");
}

TEST_P(PerceptronTest, BytesAreTheRings) {
  report::Json report = getReport(forwardBackward, false, "step");
  for (const report::Json &collective : report["collectives"]) {
    double bytes = 0, ranks = 1;
    for (const auto &[axis, moved] : collective["bytes"].items())
      bytes += moved.get<double>();
    for (const report::Json &axis : collective["axes"])
      ranks *= getAxisSize(axis.get<std::string>());
    EXPECT_DOUBLE_EQ(bytes, 2 * (ranks - 1) / ranks *
                                collective["elements"].get<double>() * 4);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Layouts, PerceptronTest,
    testing::Values(
        Case{"one_rank", "data = 1", {"\"batch\" -> [\"data\"]"}, {}, {}, {}},
        Case{"data",
             "all = 4",
             {"\"batch\" -> [\"all\"]"},
             {{"all", 2 * d * h}},
             {"gradient of w", "gradient of v"},
             {{"all", 2 * d * h + 1}}},
        Case{"tensor",
             "all = 4",
             {"\"hidden\" -> [\"all\"]"},
             {{"all", 2 * b * d}},
             {"y", "dx"},
             {{"all", b * d}}},
        Case{"data_and_tensor",
             "rows = 2, cols = 4",
             {"\"batch\" -> [\"rows\"]", "\"hidden\" -> [\"cols\"]"},
             {{"rows", 2 * d * h / 4}, {"cols", 2 * b * d / 2}},
             {"gradient of w", "gradient of v", "y", "dx"},
             {{"rows", 2 * d * h / 4 + 1}, {"cols", b * d / 2}}},
        Case{"io_and_hidden",
             "rows = 2, cols = 4",
             {"\"io\" -> [\"rows\"]", "\"hidden\" -> [\"cols\"]"},
             {{"rows", 2 * b * h / 4}, {"cols", 2 * b * d / 2}},
             {"h", "da", "y", "dx"},
             {{"rows", 2 * b * h / 4 + 1}, {"cols", b * d / 2}}},
        Case{"three_axes",
             "rows = 2, cols = 4, planes = 2",
             {"\"batch\" -> [\"rows\"]", "\"hidden\" -> [\"cols\"]",
              "\"io\" -> [\"planes\"]"},
             {{"rows", 2 * d * h / (4 * 2)},
              {"cols", 2 * b * d / (2 * 2)},
              {"planes", 2 * b * h / (2 * 4)}},
             {"gradient of w", "gradient of v", "y", "dx", "h", "da"},
             {{"rows", 2 * d * h / (4 * 2)},
              {"cols", b * d / (2 * 2)},
              {"planes", 2 * b * h / (2 * 4)},
              {"rows,planes", 1}}},
        Case{"hierarchical",
             "pod = 2, data = 4",
             {"\"batch\" -> [\"pod\", \"data\"]"},
             {{"pod,data", 2 * d * h}},
             {"gradient of w", "gradient of v"},
             {{"pod,data", 2 * d * h + 1}}}),
    [](const auto &info) { return std::string(info.param.name); });

} // namespace
