//===- LowerWindowsTest.cpp - halos of any window -------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Random windows, and windows of them, on meshes of one and two axes, some of
/// whose operands are whole: what
/// they are lowered to, run on virtual ranks block by block, computes the
/// windows' own semantics, which use global indices, and sends no more than was
/// planned. So do the windows of overlaps, whose results are computed here,
/// too. Padding is NaN.
///
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Ops/PointwiseOps.h"
#include "dialects/Spmd/SpmdOps.h"
#include "lib/Collectives/Passes.h"
#include "lib/Reshard/ExchangePlan.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace meshc;
using nd::DimAttr;
using nd::HostTensor;
using nd::MeshAttr;
using nd::Segment;

namespace {

using Ranks = llvm::SmallVector<HostTensor>;

class LowerWindowsTest : public testing::Test {
protected:
  LowerWindowsTest() : builder(&context) {
    context.loadDialect<nd::NdDialect, spmd::SpmdDialect, func::FuncDialect>();
  }

  int64_t draw(int64_t limit) { return int64_t(random() % uint64_t(limit)); }
  Location loc() { return builder.getUnknownLoc(); }

  /// One or two axes for `i`, and one that may cut `j`.
  void drawMesh() {
    llvm::SmallVector<nd::AxisAttr> list;
    ofI.clear();
    for (const char *name : {"a", "b", "c"})
      list.push_back(
          nd::AxisAttr::get(&context, builder.getStringAttr(name),
                            name[0] == 'a' ? 1 + draw(5) : 1 + draw(2)));
    mesh = MeshAttr::get(&context, list);
    ofI.push_back(list[0].getName());
    if (draw(2))
      ofI.insert(ofI.begin() + draw(2), list[1].getName());
    ofJ.clear();
    if (draw(2))
      ofJ.push_back(list[2].getName());
  }

  nd::TensorType getType(int64_t size) {
    auto dim = [&](const char *name, int64_t n, ArrayRef<StringAttr> on) {
      return DimAttr::get(&context, builder.getStringAttr(name), n, on);
    };
    return nd::TensorType::get(builder.getF32Type(),
                               {dim("i", size, ofI), dim("j", 3, ofJ)});
  }

  /// A size whose blocks begin at equal distances.
  int64_t drawSize() {
    while (true)
      if (int64_t size = 1 + (draw(2) ? draw(3) * 8 : draw(17));
          spmd::areEquidistant(getType(size), "i", mesh))
        return size;
  }

  /// A window of some of the values. Null if it cannot be lowered.
  Value drawWindow(ArrayRef<Value> values) {
    llvm::SmallVector<Value> operands;
    for (int64_t i = 0, count = 1 + draw(2); i < count; ++i)
      operands.push_back(values[draw(int64_t(values.size()))]);
    nd::TensorType result = getType(drawSize());
    llvm::SmallVector<Segment, 1> segments;
    llvm::SmallVector<int64_t> numbers;
    int64_t size = result.getSize("i");
    for (int64_t at = draw(3); at < size; at += draw(4) ? 0 : 1 + draw(3)) {
      auto operand = unsigned(draw(int64_t(operands.size())));
      int64_t known = nd::getTensorType(operands[operand]).getSize("i");
      int64_t from = draw(known);
      int64_t count = std::min(size - at, known - from);
      if (draw(3) == 0)
        count = 1 + draw(count);
      segments.push_back({operand, at, from, count});
      numbers.append({operand, at, from, count});
      at += count;
    }
    if (segments.empty())
      return {};
    auto types = llvm::map_to_vector(operands, nd::getTensorType);
    auto plan = reshard::planWindow(types, result, "i", {segments}, mesh);
    if (!plan)
      return {};
    planned += plan->bytes;
    return spmd::WindowOp::create(
        builder, loc(), result, builder.getStringAttr("i"),
        builder.getDenseI64ArrayAttr(numbers), /*repeat=*/nullptr,
        builder.getF64FloatAttr(double(draw(3))), operands);
  }

  /// The sum of two of the values. Null if their types differ.
  Value drawSum(ArrayRef<Value> values) {
    Value a = values.back(), b = values[draw(int64_t(values.size()))];
    if (a.getType() != b.getType())
      return {};
    auto sum = nd::AddOp::create(builder, loc(), a, b);
    sum->getResult(0).setType(a.getType());
    return sum;
  }

  /// The blocks of a tensor whose values are a function of the global index.
  Ranks makeBlocks(nd::TensorType type, int64_t salt) {
    Ranks blocks;
    for (int64_t rank = 0; rank < mesh.getRankCount(); ++rank) {
      nd::EvaluationContext here = getContext(rank);
      HostTensor block = here.makeTensor(type);
      nd::forEachIndex(
          block.sizes, {block.getStrides()},
          [&](ArrayRef<int64_t> index, ArrayRef<int64_t> offsets) {
            block.data[offsets[0]] =
                double(salt + 10 * (here.getOffset(type, "i") + index[0]) +
                       here.getOffset(type, "j") + index[1]);
          });
      here.spoilPadding(block);
      blocks.push_back(std::move(block));
    }
    return blocks;
  }

  nd::EvaluationContext getContext(int64_t rank) {
    nd::EvaluationContext evaluation;
    evaluation.mesh = mesh;
    evaluation.coordinates = mesh.getCoordinates(rank);
    return evaluation;
  }

  /// The results of the op on all ranks.
  Ranks run(Operation &op, llvm::DenseMap<Value, Ranks> &values) {
    Ranks results;
    std::vector<llvm::SmallVector<const HostTensor *>> operands;
    for (int64_t rank = 0; rank < mesh.getRankCount(); ++rank) {
      operands.emplace_back();
      for (Value operand : op.getOperands())
        operands.back().push_back(&values[operand][rank]);
    }
    if (auto onAll = dyn_cast<spmd::SpmdOpInterface>(op))
      for (auto &ofRank : onAll.evaluateAll(operands, getContext(0)))
        results.push_back(std::move(ofRank[0]));
    else
      for (int64_t rank = 0; rank < mesh.getRankCount(); ++rank)
        results.push_back(std::move(cast<nd::NamedOpInterface>(op).evaluate(
            operands[rank], getContext(rank))[0]));
    for (auto [rank, block] : llvm::enumerate(results))
      getContext(int64_t(rank)).spoilPadding(block);
    return results;
  }

  /// What the function returns. Adds the bytes that a rank sends.
  Ranks run(Block &body, double &bytes) {
    llvm::DenseMap<Value, Ranks> values;
    for (BlockArgument argument : body.getArguments())
      values[argument] = makeBlocks(nd::getTensorType(argument),
                                    1000 * argument.getArgNumber());
    for (Operation &op : body.without_terminator()) {
      Ranks results = run(op, values);
      values[op.getResult(0)] = std::move(results);
      if (auto collective = dyn_cast<spmd::CollectiveOpInterface>(op))
        for (const spmd::AxisTraffic &traffic : collective.getTraffic())
          bytes += traffic.bytes;
    }
    return values[body.getTerminator()->getOperand(0)];
  }

  /// A factor of a gather or scatter along dim `i` of a table, in windows, and
  /// along dim `line` of the indices.
  nd::Factor getOverlap(nd::Access windows, int64_t lines, bool isOfResult) {
    StringAttr row = builder.getStringAttr("i");
    StringAttr line = builder.getStringAttr("line");
    nd::Factor factor;
    factor.size = lines;
    factor.indices = 1;
    factor.operandDims = {isOfResult ? line : row, line};
    factor.resultDims = {isOfResult ? row : line};
    (isOfResult ? factor.resultAccesses : factor.operandAccesses) = {windows};
    return factor;
  }

  /// How the table is exchanged along such a factor. Adds what is sent.
  std::optional<reshard::BlockExchange>
  planOverlap(const nd::Factor &factor, nd::TensorType table, double &bytes) {
    auto getCut = [&](Type element, StringRef dim, int64_t size) {
      return nd::TensorType::get(
          element,
          {DimAttr::get(&context, builder.getStringAttr(dim), size, ofI)});
    };
    nd::TensorType lines = getCut(table.getElementType(), "line", factor.size);
    nd::TensorType indices = getCut(builder.getI32Type(), "line", factor.size);
    bool isOfResult = factor.addsOverlaps();
    nd::PartitionRule rule;
    rule.factors.push_back(factor);
    auto plan = reshard::planExchange(rule, {ofI},
                                      {isOfResult ? lines : table, indices},
                                      {isOfResult ? table : lines}, mesh);
    if (!plan)
      return std::nullopt;
    bytes += plan->traffic[0].bytes;
    auto &exchanges = isOfResult ? plan->results : plan->operands;
    EXPECT_EQ(plan->operands.size() + plan->results.size(), 1u);
    EXPECT_EQ(exchanges.size(), 1u);
    return exchanges[0];
  }

  struct DrawnOverlap {
    nd::Factor factor;
    nd::Access windows;
    nd::TensorType table;
    int64_t block = 0; ///< of the widened table
    int64_t step; ///< from the first entry of a rank's indices to the next's

    /// Where entry `at` of the widened table, of blocks of `block`, belongs.
    int64_t getTableEntry(int64_t at) const {
      return at / block * step + windows.low + at % block;
    }
  };

  DrawnOverlap drawOverlap(bool isOfResult) {
    DrawnOverlap drawn;
    drawn.table = getType(drawSize());
    nd::TensorType indices;
    do
      indices = nd::TensorType::get(
          builder.getI32Type(),
          {DimAttr::get(&context, builder.getStringAttr("line"), 1 + draw(24),
                        ofI)});
    while (!spmd::areEquidistant(indices, "line", mesh));
    int64_t stride = 1 + draw(3), low = draw(9) - 5, high = low + draw(5);
    drawn.windows = nd::Access::windows(stride, low, high);
    drawn.factor =
        getOverlap(drawn.windows, indices.getSize("line"), isOfResult);
    drawn.step = stride * indices.getLocalSize(0, mesh);
    return drawn;
  }

  Value buildWindow(Value from, nd::TensorType to,
                    const spmd::WindowSegments &segments) {
    const Segment &only = segments.list[0];
    return spmd::WindowOp::create(
        builder, loc(), to, builder.getStringAttr("i"),
        builder.getDenseI64ArrayAttr(
            {only.operand, only.at, only.from, only.size}),
        builder.getDenseI64ArrayAttr(
            {segments.repeat->at, segments.repeat->from}),
        builder.getF64FloatAttr(0), from);
  }

  /// What the sum of the windows of `from` is on all ranks before and after the
  /// windows are lowered. Adds the bytes that a rank sends.
  std::pair<Ranks, Ranks> lower(nd::TensorType from, nd::TensorType to,
                                ArrayRef<spmd::WindowSegments> windows,
                                double &bytes) {
    OwningOpRef<ModuleOp> module = ModuleOp::create(loc());
    module->getOperation()->setAttr("nd.mesh", mesh);
    builder.setInsertionPointToEnd(module->getBody());
    auto function = func::FuncOp::create(builder, loc(), "f",
                                         builder.getFunctionType({from}, {to}));
    Block *body = function.addEntryBlock();
    builder.setInsertionPointToStart(body);
    Value sum;
    for (const spmd::WindowSegments &segments : windows) {
      Value window = buildWindow(body->getArgument(0), to, segments);
      sum = sum ? nd::AddOp::create(builder, loc(), to, sum, window).getResult()
                : window;
    }
    func::ReturnOp::create(builder, loc(), sum);
    EXPECT_TRUE(succeeded(verify(*module)));
    Ranks before = run(*body, bytes);
    PassManager passes(&context);
    passes.addPass(collectives::createFoldWindows());
    passes.addPass(collectives::createLowerWindows());
    passes.addPass(collectives::createVerifyCollectives());
    EXPECT_TRUE(succeeded(passes.run(*module)));
    return {before, run(*body, bytes)};
  }

  /// Compares the entries that exist with `wanted`, of the global index along
  /// `i` and that along `j`; those for which it gives NaN may be anything.
  void compare(const Ranks &ranks,
               llvm::function_ref<double(int64_t, int64_t)> wanted) {
    for (auto [rank, block] : llvm::enumerate(ranks)) {
      nd::EvaluationContext here = getContext(int64_t(rank));
      int64_t i = here.getOffset(block.type, "i");
      int64_t j = here.getOffset(block.type, "j");
      nd::forEachIndex(here.getCounts(block.type), {block.getStrides()},
                       [&](ArrayRef<int64_t> index, ArrayRef<int64_t> at) {
                         double value = wanted(i + index[0], j + index[1]);
                         if (!std::isnan(value))
                           ASSERT_EQ(block.data[at[0]], value)
                               << "rank " << rank << ", entry " << i + index[0]
                               << " of " << block.type.getSize("i");
                       });
    }
  }

  /// Draws overlaps, and compares their windows with `wanted`, of the global
  /// indices along `i` and `j` of the windows' result.
  void checkOverlaps(bool isOfResult,
                     llvm::function_ref<double(const DrawnOverlap &,
                                               const reshard::BlockExchange &,
                                               int64_t, int64_t)>
                         wanted) {
    int sent = 0;
    for (int trial = 0; trial < 2000; ++trial) {
      drawMesh();
      DrawnOverlap drawn = drawOverlap(isOfResult);
      double planned = 0, bytes = 0;
      auto exchange = planOverlap(drawn.factor, drawn.table, planned);
      if (!exchange)
        continue;
      drawn.block = exchange->getBlock(!isOfResult, mesh);
      auto [before, after] =
          lower(exchange->from, exchange->to, exchange->windows, bytes);
      for (const Ranks *ranks : {&before, &after})
        compare(*ranks, [&](int64_t i, int64_t j) {
          return wanted(drawn, *exchange, i, j);
        });
      ASSERT_FALSE(HasFailure());
      EXPECT_LE(bytes, planned + 1e-6);
      sent += bytes > 0;
    }
    EXPECT_GT(sent, 500);
  }

  static bool areEqual(const HostTensor &a, const HostTensor &b) {
    return llvm::equal(a.data, b.data, [](double x, double y) {
      return x == y || (std::isnan(x) && std::isnan(y));
    });
  }

  MLIRContext context;
  OpBuilder builder;
  MeshAttr mesh;
  spmd::AxisList ofI, ofJ;
  double planned = 0;
  std::mt19937_64 random{20261123};
};

TEST_F(LowerWindowsTest, HalosAreWhatWindowsNeed) {
  int lowered = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    drawMesh();
    planned = 0;
    OwningOpRef<ModuleOp> module = ModuleOp::create(loc());
    module->getOperation()->setAttr("nd.mesh", mesh);
    builder.setInsertionPointToEnd(module->getBody());
    nd::TensorType whole = getType(drawSize());
    whole = spmd::dropAxes(whole, "i", ofI);
    auto function = func::FuncOp::create(
        builder, loc(), "f",
        builder.getFunctionType(
            {whole, getType(drawSize()), getType(drawSize())}, {}));
    Block *body = function.addEntryBlock();
    builder.setInsertionPointToStart(body);
    llvm::SmallVector<Value> values(body->getArguments());
    for (int64_t i = 0, count = 1 + draw(4); i < count; ++i)
      if (Value value = draw(3) ? drawWindow(values) : drawSum(values))
        values.push_back(value);
    func::ReturnOp::create(builder, loc(), values.back());
    function.setFunctionType(builder.getFunctionType(body->getArgumentTypes(),
                                                     values.back().getType()));
    ASSERT_TRUE(succeeded(verify(*module)));
    double bytes = 0;
    Ranks wanted = run(*body, bytes);

    PassManager passes(&context);
    passes.addPass(collectives::createFoldWindows());
    passes.addPass(collectives::createLowerWindows());
    passes.addPass(collectives::createVerifyCollectives());
    ASSERT_TRUE(succeeded(passes.run(*module)));
    Ranks results = run(*body, bytes);
    std::string text;
    llvm::raw_string_ostream(text) << *module;
    for (auto [rank, result] : llvm::enumerate(results))
      ASSERT_TRUE(areEqual(result, wanted[rank])) << "rank " << rank << " of\n"
                                                  << text;
    EXPECT_LE(bytes, planned + 1e-6) << text;
    lowered += bytes > 0;
  }
  EXPECT_GT(lowered, 1000);
}

/// Entry j of a rank's widened block is entry p · step + low + j of the table.
TEST_F(LowerWindowsTest, TablesAreWidened) {
  checkOverlaps(/*isOfResult=*/false, [](const DrawnOverlap &drawn,
                                         const reshard::BlockExchange &exchange,
                                         int64_t i, int64_t j) {
    int64_t entry = drawn.getTableEntry(i);
    bool isThere = entry >= 0 && entry < drawn.table.getSize("i");
    return isThere ? double(10 * entry + j) : std::nan("");
  });
}

/// An entry of the table is the sum of those of widened blocks that are there.
TEST_F(LowerWindowsTest, TablesAreNarrowed) {
  checkOverlaps(/*isOfResult=*/true, [](const DrawnOverlap &drawn,
                                        const reshard::BlockExchange &exchange,
                                        int64_t i, int64_t j) {
    double sum = 0;
    for (int64_t at = 0; at < exchange.from.getSize("i"); ++at)
      if (drawn.getTableEntry(at) == i)
        sum += double(10 * at + j);
    return sum;
  });
}

TEST_F(LowerWindowsTest, OverlapsSendHalos) {
  bool isOfResult = false;
  auto plan = [&](int64_t ranks, int64_t rows, int64_t lines, int64_t stride,
                  int64_t low, int64_t high) -> std::optional<double> {
    auto axis = nd::AxisAttr::get(&context, builder.getStringAttr("a"), ranks);
    mesh = MeshAttr::get(&context, {axis});
    ofI = {axis.getName()};
    ofJ.clear();
    double bytes = 0;
    auto windows = nd::Access::windows(stride, low, high);
    return planOverlap(getOverlap(windows, lines, isOfResult), getType(rows),
                       bytes)
               ? std::optional(bytes)
               : std::nullopt;
  };
  constexpr double row = 3 * 4; // bytes of an entry
  for (bool ofResult : {false, true}) {
    isOfResult = ofResult;
    // Two rows on either side of a block, however many ranks there are.
    EXPECT_EQ(plan(4, 64, 64, 1, -2, 2), 4 * row);
    EXPECT_EQ(plan(4096, 65536, 65536, 1, -2, 2), 4 * row);
    EXPECT_EQ(plan(4, 64, 32, 2, -2, 2), 3 * row);
    // Nothing but what a rank has.
    EXPECT_EQ(plan(4, 64, 64, 1, 0, 0), 0);
    EXPECT_EQ(plan(4, 64, 16, 4, 0, 3), 0);
    // The entries of one rank's indices are those of many ranks.
    EXPECT_FALSE(plan(32, 1024, 1024, 1, 0, 512));
    // Widened blocks as large as the table, or much larger.
    EXPECT_TRUE(plan(4, 64, 64, 1, 0, 47));
    EXPECT_FALSE(plan(4, 64, 64, 1, 0, 48));
    EXPECT_FALSE(plan(4, 64, 64, 1000, 0, 0));
    EXPECT_FALSE(plan(4, 64, 8, 1, 0, int64_t(1) << 40));
    // Nothing is there.
    EXPECT_FALSE(plan(4, 64, 64, 1, 64, 66));
    // More than 32 bits number.
    EXPECT_FALSE(plan(4, 64, 64, int64_t(1) << 27, 0, 0));
  }
}

TEST_F(LowerWindowsTest, PlansSendWhatIsNeeded) {
  auto plan = [&](int64_t ranks, int64_t from, int64_t to, Segment segment) {
    auto axis = nd::AxisAttr::get(&context, builder.getStringAttr("a"), ranks);
    mesh = MeshAttr::get(&context, {axis});
    ofI = {axis.getName()};
    return reshard::planWindow({getType(from)}, getType(to), "i", {{segment}},
                               mesh);
  };
  constexpr double row = 3 * 4; // bytes of an entry
  // A shift sends one entry, however many ranks there are.
  EXPECT_EQ(plan(4, 64, 64, {0, 1, 0, 63})->bytes, row);
  EXPECT_EQ(plan(4096, 65536, 65536, {0, 1, 0, 65535})->bytes, row);
  // Three entries from the next rank.
  EXPECT_EQ(plan(4, 64, 61, {0, 0, 3, 61})->bytes, 3 * row);
  // Shifts by more than a block.
  EXPECT_EQ(plan(4, 64, 64, {0, 20, 0, 44})->bytes, 16 * row);
  // Nothing but what a rank has.
  EXPECT_EQ(plan(4, 64, 63, {0, 0, 0, 63})->bytes, 0);
  EXPECT_EQ(plan(1, 64, 60, {0, 0, 4, 60})->bytes, 0);
  // The second half: each rank sends two halves of its block, however many
  // ranks there are. So does the half of a concatenation, the other way round.
  for (int64_t ranks : {4, 8, 64, 4096}) {
    int64_t size = 8 * ranks;
    EXPECT_EQ(plan(ranks, size, size / 2, {0, 0, size / 2, size / 2})->bytes,
              8 * row);
    EXPECT_EQ(plan(ranks, size, 2 * size, {0, size, 0, size})->bytes, 16 * row);
  }
  // Of two ranks, the first sends one half, or needs one block.
  EXPECT_EQ(plan(2, 16, 8, {0, 0, 0, 8})->bytes, 4 * row);
  EXPECT_EQ(plan(2, 16, 32, {0, 0, 0, 16})->bytes, 8 * row);
  // Each of 32 ranks has two entries, and one owner has 32 of 1,024.
  EXPECT_EQ(plan(32, 1024, 64, {0, 0, 0, 64})->bytes, 32 * row);
  // Nothing of an operand that each rank has.
  nd::TensorType cls = spmd::dropAxes(getType(2), "i", ofI);
  EXPECT_EQ(reshard::planWindow({cls, getType(1022)}, getType(1024), "i",
                                {{{0, 0, 0, 2}, {1, 2, 0, 1022}}}, mesh)
                ->bytes,
            2 * row);
  // More rounds than a program shall have.
  EXPECT_FALSE(plan(32, 1024, 32, {0, 0, 0, 32}));
}

} // namespace
