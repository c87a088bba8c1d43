//===- UnevenCollectiveTest.cpp - collectives of blocks with padding ------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// exec.collective on dims that the group does not divide: what the reference
/// does on virtual ranks, and what the runtime does with the emitted call.
/// Padding of what is sent is NaN.
///
//===----------------------------------------------------------------------===//

#include "dialects/Nd/NdInterfaces.h"
#include "mlir/Parser/Parser.h"
#include "runtime/Comm/World.h"
#include "test/Codegen/KernelRun.h"
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace meshc;
using namespace meshc::codegen;

namespace {

constexpr int64_t sendOffset = 0, recvOffset = 4096, arenaBytes = 8192;

/// A collective of one tensor; types without the element type.
struct Case {
  std::string kind, axes, items; ///< axes: with the orders of a permute
  std::string send, recv;        ///< the types' dims
  std::string order = "\"j\", \"i\", \"k\"";
  std::string mesh = "a = 2, b = 2";
  std::vector<int64_t> axisSizes = {2, 2};
};

std::string getText(const Case &c) {
  return "!s = !exec.buffer<!nd.tensor<f32, " + c.send + ">, [" + c.order +
         "]>\n!r = !exec.buffer<!nd.tensor<f32, " + c.recv + ">, [" + c.order +
         "]>\nmodule attributes {nd.mesh = #nd.mesh<" + c.mesh +
         ">, exec.arena_bytes = " + std::to_string(arenaBytes) +
         " : i64} {\n  exec.func @initialize {\n  }\n"
         "  exec.func @eval_step {\n    %s = exec.buffer at " +
         std::to_string(sendOffset) + " : !s\n    %r = exec.buffer at " +
         std::to_string(recvOffset) + " : !r\n    %t = exec.collective " +
         c.kind + " sum over [" + c.axes + "] [" + c.items +
         "] \"x\" (%s) -> (%r) : (!s) -> !r\n    exec.wait %t\n  }\n"
         "  exec.func @train_step {\n  }\n}\n";
}

/// Compares the two.
struct Comparison {
  explicit Comparison(const Case &c) : options(c) {
    context.loadDialect<nd::NdDialect, exec::ExecDialect>();
    module = mlir::parseSourceString<mlir::ModuleOp>(getText(c), &context);
  }
  exec::BufferType getBuffer(unsigned number) {
    exec::BufferType type;
    unsigned next = 0;
    module->walk([&](exec::BufferOp buffer) {
      if (next++ == number)
        type = mlir::cast<exec::BufferType>(buffer->getResult(0).getType());
    });
    return type;
  }
  nd::EvaluationContext onRank(int64_t rank) {
    nd::EvaluationContext here;
    here.mesh = nd::MeshAttr::of(*module);
    here.coordinates = here.mesh.getCoordinates(rank);
    return here;
  }
  /// Numbers whose sums are exact, and NaN.
  nd::HostTensor makeSent(int64_t rank) {
    nd::EvaluationContext here = onRank(rank);
    nd::HostTensor sent(getBuffer(0).getTensor(), here.mesh);
    for (size_t i = 0; i < sent.data.size(); ++i)
      sent.data[i] = static_cast<double>(1000 * rank + int64_t(i));
    here.spoilPadding(sent);
    return sent;
  }
  void runReference();
  void runEmitted();
  void compare(int64_t rank, const float *got);

  Case options;
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// What is sent, as floats in memory, and the reference's results, by rank.
  std::vector<std::vector<float>> sent;
  std::vector<nd::HostTensor> wanted;
};

void Comparison::runReference() {
  exec::Arenas arenas(*module, {}, exec::Arenas::Collectives::AtTheirOp,
                      exec::Arenas::Epilogues::ByKernel);
  for (int64_t rank = 0; rank < arenas.getRankCount(); ++rank) {
    arenas.write(rank, getBuffer(0), sendOffset, makeSent(rank));
    std::vector<float> memory(arenaBytes / 4);
    for (size_t i = 0; i < memory.size(); ++i)
      memory[i] = static_cast<float>(arenas.getMemory(rank)[4 * i]);
    sent.push_back(memory);
  }
  for (exec::StepOpInterface step :
       module->lookupSymbol<exec::FuncOp>("eval_step").getSteps())
    step.run(arenas);
  for (int64_t rank = 0; rank < arenas.getRankCount(); ++rank) {
    wanted.push_back(arenas.read(rank, getBuffer(1), recvOffset));
    nd::HostTensor padding = wanted.back();
    std::fill(padding.data.begin(), padding.data.end(), 0.0);
    onRank(rank).spoilPadding(padding);
    for (auto [value, mark] : llvm::zip(wanted.back().data, padding.data))
      EXPECT_EQ(std::isnan(value), std::isnan(mark)) << "rank " << rank;
  }
}

void Comparison::compare(int64_t rank, const float *got) {
  exec::BufferType type = getBuffer(1);
  const nd::HostTensor &tensor = wanted[rank];
  llvm::SmallVector<int64_t> strides;
  for (nd::DimAttr dim : type.getTensor().getDims())
    strides.push_back(
        type.getStride(dim.getName().getValue(), nd::MeshAttr::of(*module)));
  nd::forEachIndex(
      tensor.sizes, {tensor.getStrides(), strides},
      [&](llvm::ArrayRef<int64_t> index, llvm::ArrayRef<int64_t> at) {
        double value = tensor.data[at[0]];
        if (!std::isnan(value)) {
          EXPECT_EQ(got[at[1]], value)
              << "rank " << rank << ", element " << at[1];
        }
      });
}

void Comparison::runEmitted() {
  auto loaded = LoadedProgram::load(*module);
  ASSERT_TRUE(loaded);
  std::vector<char> arena(arenaBytes);
  MeshcContext run{arena.data(), nullptr, 0, 0, nullptr};
  (*loaded)->evalStep(&run);
  const MeshcCollective collective = getRuntimeCalls().collective;
  runtime::WorldOptions world;
  world.ranks = static_cast<int>(sent.size());
  auto opened = runtime::openWorld(world);
  opened->run([&](runtime::Communicator &communicator) {
    std::vector<float> memory = sent[communicator.rank()];
    void *send = memory.data() + sendOffset / 4;
    void *recv = memory.data() + recvOffset / 4;
    runtime::MeshView mesh(options.axisSizes, communicator.rank());
    communicator.run(collective, mesh.group(collective.axes), &send, &recv);
    sent[communicator.rank()] = memory;
  });
  opened->finish(0);
  for (size_t rank = 0; rank < sent.size(); ++rank)
    compare(static_cast<int64_t>(rank), sent[rank].data() + recvOffset / 4);
}

void check(const Case &c) {
  SCOPED_TRACE(getText(c));
  Comparison comparison(c);
  ASSERT_TRUE(comparison.module);
  comparison.runReference();
  comparison.runEmitted();
}

const std::string both = "\"a\", \"b\"";

/// 5 entries in blocks of 3 and of these 2: 2, 1, 2 and none.
TEST(UnevenCollectives, NestedBlocks) {
  check({"reduce_scatter", both, "3, 5, 2, 3, 5, 2",
         "[i = 5, j = 3, k = 2], sum {a, b}",
         "[i = 5 on {a, b}, j = 3, k = 2]"});
  check({"all_gather", both, "3, 5, 2, 3, 5, 2",
         "[i = 5 on {a, b}, j = 3, k = 2]", "[i = 5, j = 3, k = 2]"});
}

TEST(UnevenCollectives, FewerEntriesThanRanks) {
  check({"reduce_scatter", "\"a\"", "3, 1, 2, 3, 1, 2",
         "[i = 1, j = 3, k = 2], sum {a}", "[i = 1 on {a}, j = 3, k = 2]"});
  check({"all_gather", both, "3, 2, 2, 3, 2, 2",
         "[i = 2 on {a, b}, j = 3, k = 2]", "[i = 2, j = 3, k = 2]"});
}

/// The last of two axes: what it cuts has padding of the first.
TEST(UnevenCollectives, BlocksWithinABlock) {
  check({"all_gather", "\"b\"", "3, 4, 2, 3, 4, 2",
         "[i = 7 on {a, b}, j = 3, k = 2]", "[i = 7 on {a}, j = 3, k = 2]"});
  check({"reduce_scatter", "\"b\"", "3, 3, 2, 3, 3, 2",
         "[i = 5 on {a}, j = 3, k = 2], sum {b}",
         "[i = 5 on {a, b}, j = 3, k = 2]"});
}

/// One dim is joined, another one cut, and either is the outer one in memory.
TEST(UnevenCollectives, ExchangedDims) {
  check({"all_to_all", both, "1, 5, 2, 1, 3, 4",
         "[i = 5, j = 3 on {a, b}, k = 2]", "[i = 5 on {a, b}, j = 3, k = 2]"});
  check({"all_to_all", both, "4, 5, 1, 2, 5, 2",
         "[i = 5, j = 5 on {a, b}, k = 2]", "[i = 5 on {a, b}, j = 5, k = 2]",
         "\"k\", \"j\", \"i\""});
  check({"all_to_all", both, "2, 5, 2, 4, 5, 1",
         "[i = 5 on {a, b}, j = 5, k = 2]", "[i = 5, j = 5 on {a, b}, k = 2]",
         "\"k\", \"j\", \"i\""});
  check({"all_to_all", "\"b\"", "6, 3, 1, 2, 5, 2",
         "[i = 5 on {a}, j = 5 on {b}, k = 2]",
         "[i = 5 on {a, b}, j = 5, k = 2]", "\"k\", \"j\", \"i\""});
}

/// Blocks that are short or empty change places, on axes of one size.
TEST(UnevenCollectives, ChangedPlaces) {
  const std::string orders =
      "\"a\", \"b\"] from [\"a\", \"b\"] to [\"b\", \"a\"";
  check({"permute", orders, "1, 12, 1, 1, 12, 1",
         "[i = 5 on {a, b}, j = 3, k = 2]", "[i = 5 on {b, a}, j = 3, k = 2]"});
  check({"permute", orders, "1, 18, 1, 1, 18, 1",
         "[i = 5 on {a}, j = 3, k = 2]", "[i = 5 on {b}, j = 3, k = 2]",
         "\"k\", \"j\", \"i\""});
  check({"permute", orders, "1, 6, 1, 1, 6, 1", "[i = 1 on {a}, j = 3, k = 2]",
         "[i = 1 on {b}, j = 3, k = 2]"});
}

/// Axes of different sizes in another order: each block goes to the rank whose
/// number is that of the block.
TEST(UnevenCollectives, ChangedOrder) {
  const std::string orders =
      "\"a\", \"b\"] from [\"a\", \"b\"] to [\"b\", \"a\"";
  check({"permute",
         orders,
         "1, 8, 1, 1, 8, 1",
         "[i = 12 on {a, b}, j = 7 on {c}]",
         "[i = 12 on {b, a}, j = 7 on {c}]",
         "\"j\", \"i\"",
         "a = 2, b = 3, c = 2",
         {2, 3, 2}});
}

/// A mesh whose axes have different sizes; six ranks.
TEST(UnevenCollectives, AxesOfTwoAndThree) {
  check({"all_gather",
         both,
         "1, 9, 1, 1, 9, 1",
         "[i = 9 on {a, b}]",
         "[i = 9]",
         "\"i\"",
         "a = 2, b = 3",
         {2, 3}});
  check({"all_to_all",
         both,
         "4, 7, 1, 2, 9, 2",
         "[i = 7, j = 9 on {a, b}, k = 2]",
         "[i = 7 on {a, b}, j = 9, k = 2]",
         "\"k\", \"j\", \"i\"",
         "a = 2, b = 3",
         {2, 3}});
}

} // namespace
