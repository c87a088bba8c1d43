//===- CostModelTest.cpp - times of the published formulas ----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Cost/CostModel.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/MLIRContext.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace mlir;
using namespace meshc;
using spmd::CollectiveKind;

namespace {

/// Nodes of 4 ranks. Within a node α = 1 and β = 100, between nodes 10 and 10.
cost::Machine makeMachine() {
  cost::Machine machine;
  machine.nodeRanks = 4;
  machine.products = {{"f32", 1000}, {"bf16", 2000}};
  machine.kernels = {{"f32", 100}};
  machine.functions = 10;
  machine.memory = 50;
  machine.launch = 3;
  machine.node = {1, 100};
  machine.network = {10, 10};
  return machine;
}

struct CostModelTest : ::testing::Test {
  CostModelTest() { context.loadDialect<nd::NdDialect>(); }

  nd::MeshAttr parseMesh(StringRef axes) {
    return cast<nd::MeshAttr>(
        parseAttribute(("#nd.mesh<" + axes + ">").str(), &context));
  }
  /// Seconds of a collective over axes of a mesh.
  double getSeconds(StringRef mesh, CollectiveKind kind,
                    ArrayRef<StringRef> axes, double bytes,
                    const cost::Machine &machine = makeMachine()) {
    SmallVector<StringAttr> names;
    for (StringRef axis : axes)
      names.push_back(StringAttr::get(&context, axis));
    return cost::CostModel(machine, parseMesh(mesh))
        .getCollectiveSeconds(kind, names, bytes);
  }

  MLIRContext context;
};

/// Thakur, Rabenseifner and Gropp, IJHPCA 19 (2005): the ring algorithms take
/// (p-1)α + (p-1)/p nβ for allgather (section 4.1) and reduce-scatter (4.3, and
/// reductions there), twice that for allreduce (4.5), with β in s/byte.
TEST_F(CostModelTest, Rings) {
  // p = 4, n = 400, α = 1, 1/β = 100: 3 + 0.75·400/100 = 6.
  EXPECT_DOUBLE_EQ(getSeconds("a = 4", CollectiveKind::AllGather, {"a"}, 400),
                   6);
  EXPECT_DOUBLE_EQ(
      getSeconds("a = 4", CollectiveKind::ReduceScatter, {"a"}, 400), 6);
  EXPECT_DOUBLE_EQ(getSeconds("a = 4", CollectiveKind::AllToAll, {"a"}, 400),
                   6);
  EXPECT_DOUBLE_EQ(getSeconds("a = 4", CollectiveKind::AllReduce, {"a"}, 400),
                   12);
  // p = 2: 2·1 + 2·0.5·400/100.
  EXPECT_DOUBLE_EQ(getSeconds("a = 2", CollectiveKind::AllReduce, {"a"}, 400),
                   6);
  EXPECT_DOUBLE_EQ(getSeconds("a = 1", CollectiveKind::AllReduce, {"a"}, 400),
                   0);
}

/// A permute is one message, however many ranks there are.
TEST_F(CostModelTest, Permutes) {
  for (StringRef mesh : {"a = 2", "a = 4"})
    EXPECT_DOUBLE_EQ(getSeconds(mesh, CollectiveKind::Permute, {"a"}, 0), 1);
}

TEST_F(CostModelTest, AxesBetweenNodes) {
  cost::CostModel model(makeMachine(), parseMesh("pod = 2, data = 2, t = 2"));
  auto isNetwork = [&](StringRef axis) {
    return model.getLink(StringAttr::get(&context, axis)).latency == 10;
  };
  EXPECT_FALSE(isNetwork("t"));    // reach 2
  EXPECT_FALSE(isNetwork("data")); // reach 4
  EXPECT_TRUE(isNetwork("pod"));   // reach 8
  // Groups of 3 neighbours do not divide nodes of 4: some lie on two.
  cost::CostModel uneven(makeMachine(), parseMesh("pod = 2, t = 3"));
  EXPECT_EQ(uneven.getLink(StringAttr::get(&context, "t")).latency, 10);
  cost::CostModel small(makeMachine(), parseMesh("t = 3"));
  EXPECT_EQ(small.getLink(StringAttr::get(&context, "t")).latency, 1);
  // One axis of more ranks than a node has.
  EXPECT_DOUBLE_EQ(getSeconds("a = 8", CollectiveKind::AllGather, {"a"}, 80),
                   7 * 10 + 7. / 8 * 80 / 10);
}

/// A point of a pointwise op reads or writes 4 bytes: 4/50 s, which is more
/// than 1/100 s for computing it. Beside it, a byte takes 1/100 s within a
/// node, and 1/10 s between nodes.
TEST_F(CostModelTest, PointsBesideBytes) {
  auto getPointCost = [&](StringRef mesh, double memory) {
    cost::Machine machine = makeMachine();
    machine.memory = memory;
    return cost::CostModel(machine, parseMesh(mesh)).getPointCost();
  };
  EXPECT_DOUBLE_EQ(getPointCost("a = 4", 50), 8);
  EXPECT_DOUBLE_EQ(getPointCost("a = 2, b = 4", 50), 0.8);
  // With a fast memory, computing decides.
  EXPECT_DOUBLE_EQ(getPointCost("a = 4", 1e9), 1);
  EXPECT_DOUBLE_EQ(getPointCost("", 50), 1);
}

/// Several axes: the last one carries its share of the whole, the one before it
/// of what remains (dialects/Spmd/Traffic.h).
TEST_F(CostModelTest, SeveralAxes) {
  // t: 2·1 + 2·200/100 = 6; pod: 2·10 + 2·(200·1/2)/10 = 40.
  EXPECT_DOUBLE_EQ(getSeconds("pod = 2, data = 2, t = 2",
                              CollectiveKind::AllReduce, {"pod", "t"}, 400),
                   46);
}

TEST_F(CostModelTest, Rooflines) {
  cost::CostModel model(makeMachine(), parseMesh(""));
  Type f32 = Float32Type::get(&context), bf16 = BFloat16Type::get(&context);
  Type f16 = Float16Type::get(&context);
  EXPECT_DOUBLE_EQ(model.getProductSeconds(8000, {100}, f32), 3 + 8);
  EXPECT_DOUBLE_EQ(model.getProductSeconds(8000, {100}, bf16), 3 + 4);
  EXPECT_DOUBLE_EQ(model.getProductSeconds(8000, {100}, f16), 3 + 8);
  EXPECT_DOUBLE_EQ(model.getProductSeconds(8000, {500}, f32), 3 + 10);
  EXPECT_DOUBLE_EQ(model.getKernelSeconds({200, 30, 100}, f32), 3 + 5);
  EXPECT_DOUBLE_EQ(model.getKernelSeconds({200, 30, 500}, f32), 3 + 10);
}

/// Ranks divide the cores, the memory and the cache of a node.
TEST_F(CostModelTest, SharedNodes) {
  cost::Machine machine = makeMachine();
  machine.nodeCores = 6;
  machine.nodeMemory = 120;
  machine.cacheBytes = 1000;
  machine.cacheMemory = 500;
  Type f32 = Float32Type::get(&context);
  // One rank: six cores, and all of the node's memory.
  cost::CostModel one(machine, parseMesh(""));
  EXPECT_DOUBLE_EQ(one.getProductSeconds(6000, {}, f32), 3 + 1);
  EXPECT_DOUBLE_EQ(one.getProductSeconds(0, {240}, f32), 3 + 2);
  EXPECT_DOUBLE_EQ(one.getProductSeconds(0, {0, 3000}, f32), 3 + 1);
  EXPECT_DOUBLE_EQ(one.getCacheBytes(), 1000);
  // Four ranks: one core each, since 1.5 is no number of threads.
  cost::CostModel four(machine, parseMesh("a = 4"));
  EXPECT_DOUBLE_EQ(four.getProductSeconds(6000, {}, f32), 3 + 6);
  EXPECT_DOUBLE_EQ(four.getProductSeconds(0, {240}, f32), 3 + 8);
  EXPECT_DOUBLE_EQ(four.getCacheBytes(), 250);
  // More ranks than cores.
  machine.nodeCores = 2;
  EXPECT_DOUBLE_EQ(cost::CostModel(machine, parseMesh("a = 4"))
                       .getProductSeconds(6000, {}, f32),
                   3 + 12);
}

/// A call on several cores begins and ends together, and attains a share of
/// their rates; one that is done sooner on one core runs there.
TEST_F(CostModelTest, SeveralCores) {
  cost::Machine machine = makeMachine();
  machine.nodeCores = 4;
  machine.threadStart = 2;
  machine.threadEfficiency = 0.5;
  machine.cacheBytes = 1000;
  machine.cacheMemory = 100;
  Type f32 = Float32Type::get(&context);
  cost::CostModel one(machine, parseMesh(""));
  // 8000 operations take 8 s on one core, 2 + 4 s on four.
  EXPECT_DOUBLE_EQ(one.getProductSeconds(8000, {}, f32), 3 + 2 + 4);
  EXPECT_DOUBLE_EQ(one.getKernelSeconds({800, 0, 0}, {}, f32), 3 + 2 + 4);
  // 4 s on one core, 2 + 2 s on four; less stays on one.
  EXPECT_DOUBLE_EQ(one.getProductSeconds(4000, {}, f32), 3 + 4);
  EXPECT_DOUBLE_EQ(one.getProductSeconds(1000, {}, f32), 3 + 1);
  // Of the memory's rates, several cores attain all: 800 B in 4 s rather than
  // in 16 s, and from the cache in 2 s.
  EXPECT_DOUBLE_EQ(one.getProductSeconds(0, {800}, f32), 3 + 2 + 4);
  EXPECT_DOUBLE_EQ(one.getProductSeconds(0, {0, 800}, f32), 3 + 2 + 2);
  EXPECT_DOUBLE_EQ(one.getProductSeconds(0, {0, 100}, f32), 3 + 1);
  // A rank of one core begins no threads.
  cost::CostModel four(machine, parseMesh("a = 4"));
  EXPECT_DOUBLE_EQ(four.getProductSeconds(8000, {}, f32), 3 + 8);
}

/// A row of four entries takes 4 / 2 + 4 · log2 4 = 10 steps, 1 s on a core.
TEST_F(CostModelTest, SortsOnCores) {
  cost::Machine machine = makeMachine();
  machine.nodeCores = 3;
  machine.threadStart = 0.5;
  machine.threadEfficiency = 0.5;
  machine.sorting = 10;
  cost::CostModel one(machine, parseMesh(""));
  // Two of four rows on one of three cores.
  EXPECT_DOUBLE_EQ(one.getSortSeconds({4, 4, 4}, {}), 3 + 0.5 + 2);
  // Other cores do not help with a single row.
  EXPECT_DOUBLE_EQ(one.getSortSeconds({1, 4, 4}, {}), 3 + 1);
  EXPECT_DOUBLE_EQ(one.getSortSeconds({1, 4, 4}, {3000, 0}), 3 + 0.5 + 20);
  cost::CostModel three(machine, parseMesh("a = 3"));
  EXPECT_DOUBLE_EQ(three.getSortSeconds({4, 4, 4}, {}), 3 + 4);
  // More ranks than cores.
  machine.nodeCores = 2;
  EXPECT_DOUBLE_EQ(cost::CostModel(machine, parseMesh("a = 4"))
                       .getSortSeconds({4, 4, 4}, {}),
                   3 + 8);
}

/// Few of many entries: most entries are compared once.
TEST_F(CostModelTest, StepsOfHeaps) {
  EXPECT_DOUBLE_EQ(nd::SortWork({1, 1024, 1024}).getHeapSteps(), 512 + 10240);
  EXPECT_DOUBLE_EQ(nd::SortWork({1, 1024, 1}).getHeapSteps(), 512);
  EXPECT_DOUBLE_EQ(nd::SortWork({1, 1024, 4}).getHeapSteps(),
                   512 + 4 * (1 + std::log(256.)) * 2);
}

/// On a GPU, all long rows are sorted at once, 16 steps for each entry. Entries
/// of short rows, or of very many, are compared with all of their row.
TEST_F(CostModelTest, SortsOnDevices) {
  cost::Machine machine = makeMachine();
  machine.sorting = 10;
  cost::CostModel model(machine, parseMesh(""));
  for (double rows : {1., 512.})
    EXPECT_DOUBLE_EQ(model.getSortSeconds({rows, 2048, 8}, {}),
                     3 + 16. * 2048 / 10);
  EXPECT_DOUBLE_EQ(model.getSortSeconds({4, 1024, 8}, {}),
                   3 + 4. * 1024 * 1024 * 16 / 100);
  EXPECT_DOUBLE_EQ(model.getSortSeconds({1024, 2048, 8}, {}),
                   3 + 1024. * 2048 * 2048 * 16 / 100);
  // However fast the device is, a thread goes through the row.
  machine.kernels = {{"f32", 1e30}};
  machine.launch = 0;
  EXPECT_DOUBLE_EQ(
      cost::CostModel(machine, parseMesh("")).getSortSeconds({1, 1000, 1}, {}),
      2e-5);
}

} // namespace
