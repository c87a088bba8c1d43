//===- SharedPlansTest.cpp - what planners of one context share -----------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Planners of modules share plans, and what their users have found with them,
/// if context, mesh, memory bound and costs of bytes are the same.
///
//===----------------------------------------------------------------------===//

#include "dialects/Nd/TensorAttributes.h"
#include "dialects/Spmd/SpmdOps.h"
#include "lib/Reshard/ReshardPlan.h"
#include <atomic>
#include <gtest/gtest.h>
#include <thread>

using namespace mlir;
using namespace meshc;
using reshard::ReshardPlanner;

namespace {

/// What users of plans might find.
using Count = std::atomic<int>;

/// A context, and modules with one mesh.
struct Modules {
  Modules() : builder(&context) {
    context.loadDialect<nd::NdDialect, spmd::SpmdDialect>();
    axis = builder.getStringAttr("data");
    mesh = nd::MeshAttr::get(&context, {nd::AxisAttr::get(&context, axis, 4)});
  }

  OwningOpRef<ModuleOp> make() {
    OwningOpRef<ModuleOp> module = ModuleOp::create(builder.getUnknownLoc());
    nd::setMesh(*module, mesh);
    return module;
  }

  /// The address of the plan of a gather.
  const void *plan(ReshardPlanner &planner) {
    auto make = [&](ArrayRef<StringAttr> axes) {
      return nd::TensorType::get(
          builder.getF32Type(),
          {nd::DimAttr::get(&context, builder.getStringAttr("i"), 8, axes)});
    };
    return &planner.plan(make({axis}), make({}));
  }

  MLIRContext context;
  OpBuilder builder;
  StringAttr axis;
  nd::MeshAttr mesh;
};

TEST(SharedPlansTest, PlannersOfOneContextShareThem) {
  Modules modules;
  auto one = modules.make(), other = modules.make();
  auto first = ReshardPlanner::of(*one), second = ReshardPlanner::of(*other);
  EXPECT_EQ(modules.plan(first), modules.plan(second));
  EXPECT_EQ(&first.getFound<Count>(), &second.getFound<Count>());

  // One that belongs to no module keeps its own.
  ReshardPlanner alone(modules.mesh);
  EXPECT_NE(modules.plan(alone), modules.plan(first));
  EXPECT_NE(&alone.getFound<Count>(), &first.getFound<Count>());
}

TEST(SharedPlansTest, OthersShareNothing) {
  Modules modules, elsewhere;
  auto module = modules.make(), bounded = modules.make(),
       costly = modules.make(), foreign = elsewhere.make();
  reshard::setMemoryBound(*bounded, 1000);
  reshard::setByteCosts(*costly, {{modules.axis, 2.0}});
  auto planner = ReshardPlanner::of(*module);
  for (ModuleOp other : {*bounded, *costly, *foreign}) {
    auto another = ReshardPlanner::of(other);
    EXPECT_NE(&another.getFound<Count>(), &planner.getFound<Count>());
  }
}

TEST(SharedPlansTest, SeveralThreadsMayAsk) {
  Modules modules;
  auto module = modules.make();
  constexpr int threads = 4, turns = 1000;
  std::vector<std::thread> running;
  for (int i = 0; i < threads; ++i)
    running.emplace_back([&] {
      for (int turn = 0; turn < turns; ++turn)
        ++ReshardPlanner::of(*module).getFound<Count>();
    });
  for (std::thread &thread : running)
    thread.join();
  EXPECT_EQ(ReshardPlanner::of(*module).getFound<Count>(), threads * turns);
}

} // namespace
