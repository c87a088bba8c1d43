//===- StencilTest.cpp - windows in two dims that are both cut ------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Training steps of a convolution by two gathers whose rows and columns are
/// both cut: the ranks together compute what one device computes, and send the
/// least. Random ones have strides, dilations, paddings and sizes that the axes
/// do not divide. MESHC_PROPERTY_SEED chooses others, MESHC_PROPERTY_STENCILS
/// how many. With MESHC_RANDOM_SEED, it is a third of them, and this seed draws
/// them.
///
//===----------------------------------------------------------------------===//

#include "dialects/Spmd/SpmdOps.h"
#include "lib/Collectives/Passes.h"
#include "lib/Frontend/Frontend.h"
#include "lib/Layout/Passes.h"
#include "lib/Partition/Passes.h"
#include "lib/Reference/CompareSteps.h"
#include "lib/Steps/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/SourceMgr.h"
#include "gtest/gtest.h"
#include <cstdlib>
#include <random>

using namespace mlir;
using namespace meshc;
using namespace meshc::reference;

namespace {

/// One dim of the windows: entry t of window i is entry
/// stride · i + dilation · t - pad of the image.
struct WindowDim {
  int64_t size = 12, windows = 12, taps = 3;
  int64_t stride = 1, dilation = 1, pad = 1;

  std::string getIndices(StringRef line, StringRef tap) const {
    return llvm::formatv("iota({0}) * {1} + iota({2}) * {3} - {4}", line,
                         stride, tap, dilation, pad);
  }
};

struct Stencil {
  WindowDim rows, cols;
  int64_t batch = 2;
  std::string mesh = "rows=2,cols=2";
  std::string layout = "row:rows,line:rows,col:cols,place:cols";

  std::string getText() const {
    std::string text = llvm::formatv(
        "dim batch = {0}, row = {1}, line = {2}, tall = {3}, col = {4}, "
        "place = {5}, wide = {6}\n",
        batch, rows.size, rows.windows, rows.taps, cols.size, cols.windows,
        cols.taps);
    text += "model stencil(x[batch, row, col], y[batch, line, place]) {\n"
            "  param bias[row, col] ~ normal(0.5)\n"
            "  param k[tall, wide] ~ normal(0.5)\n";
    text += "  r = gather(x * bias, " + rows.getIndices("line", "tall") +
            ", row)\n";
    text += "  w = gather(r, " + cols.getIndices("place", "wide") + ", col)\n";
    return text + "  e = dot(w, k, tall, wide) - y\n"
                  "  loss = mean(e * e)\n}\n"
                  "train stencil minimize loss with sgd(lr = 0.1)\n";
  }
};

uint64_t getNumber(const char *variable, uint64_t otherwise) {
  const char *text = std::getenv(variable);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

class StencilTest : public testing::Test {
protected:
  StencilTest()
      : handler(&context, [&](Diagnostic &diagnostic) {
          errors += diagnostic.str() + "\n";
          return success();
        }) {
    context.disableMultithreading();
    context.loadDialect<nd::NdDialect, spmd::SpmdDialect, func::FuncDialect>();
  }

  using AddPasses = void (*)(OpPassManager &);
  bool runPasses(ModuleOp module, ArrayRef<AddPasses> phases) {
    PassManager passes(&context);
    for (AddPasses add : phases)
      add(passes);
    return succeeded(passes.run(module));
  }

  static void addSteps(OpPassManager &passes) { steps::addStepsPasses(passes); }

  /// The stencil on its ranks, with collectives, after a comparison with one
  /// device. Null after errors, which the test has reported.
  OwningOpRef<ModuleOp> check(const Stencil &stencil, uint64_t seed) {
    std::string text = stencil.getText();
    std::string what =
        "--mesh " + stencil.mesh + " --layout " + stencil.layout + "\n" + text;
    errors.clear();
    llvm::SourceMgr sources;
    sources.AddNewSourceBuffer(
        llvm::MemoryBuffer::getMemBufferCopy(text, "stencil.mesh"),
        llvm::SMLoc());
    auto module =
        parseModel(sources, context, {stencil.mesh, stencil.layout, {}});
    if (!module || !runPasses(*module, {addSteps, layout::addLayoutPasses})) {
      ADD_FAILURE() << errors << what;
      return {};
    }
    OwningOpRef<ModuleOp> sequential = module->clone();
    if (!runPasses(*module, {partition::addPartitionPasses,
                             collectives::addCollectivesPasses})) {
      ADD_FAILURE() << errors << what;
      return {};
    }
    CompareOptions options;
    options.seed = seed;
    auto differences = compareSteps(*sequential, *module, options);
    if (failed(differences)) {
      ADD_FAILURE() << errors << what;
      return {};
    }
    for (const OutputDifference &each : *differences)
      EXPECT_LE(each.largest, std::max(each.tolerance, 1e-9))
          << each.name << " of seed " << seed << ", " << what;
    return module;
  }

  /// The bytes that each rank sends in the function by collectives that move
  /// entries without adding them up.
  static double getMoved(ModuleOp module, StringRef function) {
    double bytes = 0;
    module.lookupSymbol<func::FuncOp>(function).walk(
        [&](spmd::CollectiveOpInterface op) {
          if (!isa<spmd::AllReduceOp>(op))
            for (const spmd::AxisTraffic &traffic : op.getTraffic())
              bytes += traffic.bytes;
        });
    return bytes;
  }

  MLIRContext context;
  ScopedDiagnosticHandler handler;
  std::string errors;
};

/// The border of a block of the image that has these blocks: rows above and
/// below, and columns of the rows that the rank then has.
double getBorder(const Stencil &stencil, int64_t row, int64_t col) {
  int64_t rows = stencil.rows.taps - 1, cols = stencil.cols.taps - 1;
  return 4.0 * double(stencil.batch) * double(rows * col + cols * (row + rows));
}

/// Nine rows of a window would be nine copies of what moves along columns: then
/// it would be better to gather them.
TEST_F(StencilTest, RanksSendTheirBorders) {
  for (auto [down, across] : {std::pair(2, 2), std::pair(3, 2)})
    for (int64_t taps : {3, 5, 9}) {
      Stencil stencil;
      stencil.mesh = llvm::formatv("rows={0},cols={1}", down, across);
      for (WindowDim *dim : {&stencil.rows, &stencil.cols})
        *dim = {24, 24, taps, 1, 1, (taps - 1) / 2};
      auto module = check(stencil, 1);
      ASSERT_TRUE(module);
      double border = getBorder(stencil, 24 / down, 24 / across);
      EXPECT_EQ(getMoved(*module, "eval_step"), border) << stencil.mesh;
      // The gradient of the image's factors sends them back.
      EXPECT_EQ(getMoved(*module, "train_step"), 2 * border) << stencil.mesh;
    }
}

/// Axes that cut a dim one after another, and a batch that is cut as well.
TEST_F(StencilTest, OtherMeshes) {
  Stencil stencil;
  stencil.mesh = "rows=2,data=2,cols=2,more=2";
  stencil.layout = "batch:data,row:(rows,more),line:(rows,more),col:cols,"
                   "place:cols";
  for (WindowDim *dim : {&stencil.rows, &stencil.cols})
    *dim = {24, 24, 3, 1, 1, 1};
  auto module = check(stencil, 2);
  ASSERT_TRUE(module);
  Stencil ofRank = stencil;
  ofRank.batch = 1;
  EXPECT_EQ(getMoved(*module, "eval_step"), getBorder(ofRank, 6, 12));
}

WindowDim drawDim(std::mt19937_64 &random) {
  auto draw = [&](int64_t below) { return int64_t(random() % below); };
  WindowDim dim;
  dim.size = 4 + draw(20);
  dim.taps = 1 + draw(4);
  dim.stride = 1 + draw(3);
  dim.dilation = 1 + draw(2);
  dim.pad = draw(4);
  int64_t span = dim.dilation * (dim.taps - 1);
  dim.windows = std::max<int64_t>(
      1, (dim.size + 2 * dim.pad - span - 1) / dim.stride + 1);
  if (draw(4) == 0) // windows that end early, or beyond the image
    dim.windows = 1 + draw(dim.windows + 3);
  return dim;
}

TEST_F(StencilTest, RandomOnes) {
  bool isSample = std::getenv("MESHC_RANDOM_SEED");
  uint64_t first =
      getNumber("MESHC_PROPERTY_SEED", getNumber("MESHC_RANDOM_SEED", 1));
  uint64_t count = getNumber("MESHC_PROPERTY_STENCILS", isSample ? 100 : 300);
  for (uint64_t seed = first; seed < first + count; ++seed) {
    std::mt19937_64 random(seed);
    Stencil stencil;
    stencil.rows = drawDim(random);
    stencil.cols = drawDim(random);
    stencil.batch = 1 + int64_t(random() % 2);
    stencil.mesh =
        llvm::formatv("rows={0},cols={1}", 1 + random() % 4, 1 + random() % 4);
    check(stencil, seed);
    ASSERT_FALSE(HasFailure());
  }
}

} // namespace
