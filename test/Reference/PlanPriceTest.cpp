//===- PlanPriceTest.cpp - prices of plans, beside compiled programs ------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// MESHC_PRICES plans of random programs under random layouts (500), with
/// random options of the search; a fifth of them with MESHC_RANDOM_SEED, which
/// then draws the programs. Prints how far prices are from what the compiled
/// programs are predicted to take.
///
//===----------------------------------------------------------------------===//

#include "ProgramFixture.h"
#include "RandomProgram.h"
#include "dialects/Exec/ArenaAttributes.h"
#include "dialects/Nd/StepNames.h"
#include "dialects/Spmd/FunctionPlans.h"
#include "lib/Collectives/Passes.h"
#include "lib/Cost/StepTime.h"
#include "lib/Kernels/Passes.h"
#include "lib/Layout/Passes.h"
#include "lib/Partition/ChoosePlans.h"
#include "lib/Partition/Passes.h"
#include "lib/Schedule/Passes.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace meshc;
using namespace meshc::reference;

namespace {

class Prices : public ProgramFixture {
protected:
  static constexpr uint64_t layoutsPerProgram = 4, programsPerContext = 64;

  /// Of the price, beside the compiled program: 1 if they are equal.
  struct Ratios {
    double seconds, arena;
  };

  static partition::PlanOptions drawOptions(std::mt19937_64 &random) {
    partition::PlanOptions options;
    if (random() % 2 == 0) {
      options.moveShare = 1;
      options.mayCutFurther = true;
    }
    if (random() % 4 == 0)
      options.pointCost = 0.01;
    if (random() % 4 == 0)
      options.keptByteCost = 0.25;
    return options;
  }

  /// Nothing if the layout is refused.
  std::optional<Ratios> compare(const std::string &text,
                                const RandomLayout &layout,
                                std::mt19937_64 &random) {
    auto module = parse(text, {layout.mesh, layout.layout, {}});
    if (!module || !runPasses(*module, {layout::addLayoutPasses}))
      return std::nullopt;
    const cost::Machine &machine = cost::getPresets().front();
    const cost::CostModel model(machine, nd::MeshAttr::of(*module));
    auto chosen = partition::choosePlans(*module, drawOptions(random), &model);
    if (failed(chosen) || !chosen->price)
      return std::nullopt;
    const partition::PlanPrice price = *chosen->price;
    if (failed(spmd::setPlans(*module, chosen->plans)) ||
        !runPasses(*module,
                   {partition::addBuildPasses,
                    collectives::addCollectivesPasses,
                    kernels::addKernelsPasses, schedule::addSchedulePasses})) {
      ADD_FAILURE() << errors << text << layout.layout;
      return std::nullopt;
    }
    auto step = nd::findComparedStep<exec::FuncOp>(*module);
    auto arena = exec::getArenaBytes(*module);
    if (!step || !arena || *arena == 0)
      return std::nullopt;
    return Ratios{price.time.seconds / cost::predictStep(step, machine).seconds,
                  price.arenaBytes / double(*arena)};
  }
};

/// The entry below which this share of them lies.
double getPercentile(std::vector<double> sorted, double share) {
  llvm::sort(sorted);
  return sorted[size_t(share * double(sorted.size() - 1))];
}

TEST_F(Prices, AreCloseToCompiledPrograms) {
  const uint64_t seed = getNumber("MESHC_RANDOM_SEED", 1);
  const uint64_t wanted =
      getNumber("MESHC_PRICES", std::getenv("MESHC_RANDOM_SEED") ? 100 : 500);
  std::vector<double> seconds, arenas;
  for (uint64_t program = seed; seconds.size() < wanted; ++program) {
    ASSERT_LT(program, seed + 10 * wanted) << "most layouts are refused";
    if (program % programsPerContext == 0)
      renewContext();
    errors.clear();
    std::mt19937_64 random(program);
    std::string text =
        llvm::join(RandomProgram(program, /*hasLoops=*/true).write(), "\n");
    auto parsed = parse(text);
    ASSERT_TRUE(parsed) << errors << text;
    for (uint64_t i = 0; i < layoutsPerProgram; ++i)
      if (auto ratios =
              compare(text, drawLayout(*parsed, random, 16), random)) {
        seconds.push_back(ratios->seconds);
        arenas.push_back(ratios->arena);
      }
  }
  for (auto [name, ratios] :
       {std::pair("seconds", &seconds), std::pair("arena", &arenas)}) {
    std::printf("%s: price over compiled, %zu plans:", name, ratios->size());
    for (double share : {0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0})
      std::printf(" p%.0f %.3f", 100 * share, getPercentile(*ratios, share));
    std::printf("\n");
  }
  // Of programs that take microseconds, the calls count, and how many later
  // phases fuse; of larger ones, prices are closer (docs/rationale).
  EXPECT_GE(getPercentile(seconds, 0.5), 0.8);
  EXPECT_LE(getPercentile(seconds, 0.5), 1.25);
  EXPECT_GE(getPercentile(seconds, 0.05), 0.3);
  EXPECT_LE(getPercentile(seconds, 0.95), 2);
  EXPECT_GE(getPercentile(arenas, 0.5), 0.5);
  EXPECT_LE(getPercentile(arenas, 0.5), 1.25);
}

} // namespace
