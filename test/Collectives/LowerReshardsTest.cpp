//===- LowerReshardsTest.cpp - any sharding to any other ------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Random pairs of shardings on meshes of one to eight axes: the collectives of
/// a lowered reshard, run on virtual ranks block by block, compute the
/// reshard's own semantics, which use global indices; and they move no more
/// than gathering everything would.
///
//===----------------------------------------------------------------------===//

#include "dialects/Spmd/SpmdOps.h"
#include "lib/Collectives/Passes.h"
#include "lib/Reshard/ReshardPlan.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

using namespace mlir;
using namespace meshc;
using nd::DimAttr;
using nd::HostTensor;
using nd::MeshAttr;

namespace {

using Ranks = llvm::SmallVector<llvm::SmallVector<HostTensor>>;

class LowerReshardsTest : public testing::Test {
protected:
  LowerReshardsTest() : builder(&context) {
    context.loadDialect<nd::NdDialect, spmd::SpmdDialect, func::FuncDialect>();
  }

  int64_t draw(int64_t limit) { return random() % limit; }

  MeshAttr drawMesh(int64_t count) {
    llvm::SmallVector<nd::AxisAttr> axes;
    const char *names[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    for (int64_t i = 0; i < count; ++i)
      axes.push_back(nd::AxisAttr::get(&context,
                                       builder.getStringAttr(names[i]),
                                       count > 2 ? 2 : 2 + draw(2)));
    return MeshAttr::get(&context, axes);
  }

  /// A sharding of [i, j], each axis on a dim, partial or unused.
  nd::TensorType drawType(MeshAttr mesh, nd::ReductionKind kind,
                          ArrayRef<StringAttr> mayBePartial) {
    spmd::AxisList ofI, ofJ, partial, axes;
    for (nd::AxisAttr axis : mesh.getAxes())
      axes.push_back(axis.getName());
    std::shuffle(axes.begin(), axes.end(), random);
    for (StringAttr axis : axes) {
      int64_t place = draw(4);
      if (place == 0)
        ofI.push_back(axis);
      else if (place == 1)
        ofJ.push_back(axis);
    }
    for (StringAttr axis : mayBePartial)
      if (draw(2) && !llvm::is_contained(ofI, axis) &&
          !llvm::is_contained(ofJ, axis))
        partial.push_back(axis);
    auto dim = [&](const char *name, int64_t size, ArrayRef<StringAttr> on) {
      return DimAttr::get(&context, builder.getStringAttr(name), size, on);
    };
    return nd::TensorType::get(builder.getF32Type(),
                               {dim("i", size, ofI), dim("j", size, ofJ)}, kind,
                               partial);
  }

  /// Blocks whose values are a function of the global index and, if the type is
  /// partial, of the rank's coordinates on those axes.
  Ranks makeOperands(nd::TensorType type, nd::EvaluationContext &evaluation) {
    MeshAttr mesh = evaluation.mesh;
    Ranks operands(mesh.getRankCount());
    for (size_t rank = 0; rank < operands.size(); ++rank) {
      evaluation.coordinates = mesh.getCoordinates(rank);
      HostTensor block = evaluation.makeTensor(type);
      int64_t salt = 1;
      for (StringAttr axis : type.getPartialAxes())
        salt = salt * 5 + evaluation.coordinates[mesh.getAxisIndex(axis)];
      int64_t i = evaluation.getOffset(type, "i");
      int64_t j = evaluation.getOffset(type, "j");
      for (int64_t row = 0; row < block.sizes[0]; ++row)
        for (int64_t column = 0; column < block.sizes[1]; ++column)
          block.data[row * block.sizes[1] + column] =
              ((i + row) * 36 + j + column) * salt % 1009;
      evaluation.spoilPadding(block);
      operands[rank].push_back(std::move(block));
    }
    return operands;
  }

  static Ranks run(Operation *op, const Ranks &operands,
                   const nd::EvaluationContext &evaluation) {
    llvm::SmallVector<llvm::SmallVector<const HostTensor *>> pointers;
    for (const auto &ofRank : operands)
      pointers.push_back({&ofRank[0]});
    Ranks results =
        cast<spmd::SpmdOpInterface>(op).evaluateAll(pointers, evaluation);
    nd::EvaluationContext here = evaluation;
    for (auto [rank, ofRank] : llvm::enumerate(results)) {
      here.coordinates = evaluation.mesh.getCoordinates(rank);
      here.spoilPadding(ofRank[0]);
    }
    return results;
  }

  /// Whether two blocks have the same entries; padding is NaN.
  static bool areEqual(const HostTensor &a, const HostTensor &b) {
    return llvm::equal(a.data, b.data, [](double x, double y) {
      return x == y || (std::isnan(x) && std::isnan(y));
    });
  }

  void compare(MeshAttr mesh);

  MLIRContext context;
  OpBuilder builder;
  int64_t size = 0; ///< of both dims
  std::mt19937_64 random{20240611};
};

/// Runs a reshard and what it becomes between two random shardings.
void LowerReshardsTest::compare(MeshAttr mesh) {
  auto kind = static_cast<nd::ReductionKind>(draw(3));
  spmd::AxisList all;
  for (nd::AxisAttr axis : mesh.getAxes())
    all.push_back(axis.getName());
  nd::TensorType from = drawType(mesh, kind, all);
  nd::TensorType to = drawType(mesh, kind, from.getPartialAxes());

  OwningOpRef<ModuleOp> module = ModuleOp::create(builder.getUnknownLoc());
  module->getOperation()->setAttr("nd.mesh", mesh);
  builder.setInsertionPointToEnd(module->getBody());
  auto function = func::FuncOp::create(builder, builder.getUnknownLoc(), "f",
                                       builder.getFunctionType({from}, {to}));
  Block *body = function.addEntryBlock();
  builder.setInsertionPointToStart(body);
  auto reshard = spmd::ReshardOp::create(builder, builder.getUnknownLoc(), to,
                                         body->getArgument(0));
  func::ReturnOp::create(builder, builder.getUnknownLoc(), reshard.getResult());
  ASSERT_TRUE(succeeded(verify(*module)));

  nd::EvaluationContext evaluation;
  evaluation.mesh = mesh;
  Ranks values = makeOperands(from, evaluation);
  Ranks wanted = run(reshard, values, evaluation);

  PassManager passes(&context);
  passes.addPass(collectives::createLowerReshards());
  passes.addPass(collectives::createVerifyCollectives());
  ASSERT_TRUE(succeeded(passes.run(*module)));
  double bytes = 0;
  for (Operation &op : body->without_terminator()) {
    values = run(&op, values, evaluation);
    if (auto collective = dyn_cast<spmd::CollectiveOpInterface>(op))
      for (const spmd::AxisTraffic &traffic : collective.getTraffic())
        bytes += traffic.bytes;
  }
  for (size_t rank = 0; rank < values.size(); ++rank)
    ASSERT_TRUE(areEqual(values[rank][0], wanted[rank][0]))
        << "rank " << rank << " of\n"
        << [&] {
             std::string text;
             llvm::raw_string_ostream(text) << *module;
             return text;
           }();

  // Reduced, then gathered whole, then cut is one way.
  auto planner = reshard::ReshardPlanner::of(*module);
  nd::TensorType reduced = from.withPartial(kind, to.getPartialAxes());
  nd::TensorType whole =
      from.getGlobal().withPartial(kind, to.getPartialAxes());
  reshard::ReshardPlanner free(mesh, std::numeric_limits<double>::infinity());
  EXPECT_LE(free.getCost(from, to),
            free.getCost(from, reduced) + free.getCost(reduced, whole) + 1e-6);
  EXPECT_NEAR(bytes, planner.getCost(from, to), 1e-6);
}

TEST_F(LowerReshardsTest, RandomPairs) {
  for (int trial = 0; trial < 800 && !HasFailure(); ++trial) {
    MeshAttr mesh = drawMesh(1 + draw(4));
    // All axes divide the dims, or not.
    size = mesh.getAxes().size() > 2 ? 16 : 36;
    if (trial % 2)
      size = 1 + draw(14);
    compare(mesh);
  }
}

/// Plans of a search in haste (ReshardSteps.h).
TEST_F(LowerReshardsTest, RandomPairsOnManyAxes) {
  for (int trial = 0; trial < 200 && !HasFailure(); ++trial) {
    MeshAttr mesh = drawMesh(6 + draw(3));
    size = trial % 3 ? 64 : 1 + draw(40);
    compare(mesh);
  }
}

} // namespace
