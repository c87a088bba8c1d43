//===- PropertyTest.cpp - any program under any layout --------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Random programs under random layouts: the ranks together compute what one
/// device computes. MESHC_PROPERTY_SEED and MESHC_PROPERTY_PAIRS choose other
/// programs and more of them.
///
//===----------------------------------------------------------------------===//

#include "RandomProgram.h"
#include "dialects/Exec/ArenaAttributes.h"
#include "dialects/Spmd/SpmdOps.h"
#include "lib/Autodiff/Passes.h"
#include "lib/Collectives/Passes.h"
#include "lib/Frontend/Frontend.h"
#include "lib/Kernels/Passes.h"
#include "lib/Layout/Passes.h"
#include "lib/Partition/Passes.h"
#include "lib/Reference/CompareSteps.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SourceMgr.h"
#include "gtest/gtest.h"
#include <cstdlib>

using namespace mlir;
using namespace meshc;
using namespace meshc::reference;

namespace {

uint64_t getNumber(const char *variable, uint64_t otherwise) {
  const char *text = std::getenv(variable);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

std::string print(Operation *op) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  op->print(stream);
  return text;
}

class Property : public testing::Test {
protected:
  Property() {
    context.disableMultithreading();
    context.loadDialect<nd::NdDialect, spmd::SpmdDialect, func::FuncDialect>();
    handler.emplace(&context, [&](Diagnostic &diagnostic) {
      if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
        errors += diagnostic.str() + "\n";
      return success();
    });
  }

  using AddPasses = void (*)(OpPassManager &);
  bool runPasses(ModuleOp module, ArrayRef<AddPasses> phases) {
    PassManager passes(&context);
    for (AddPasses add : phases)
      add(passes);
    return succeeded(passes.run(module));
  }

  /// The step functions of the text; null after errors.
  OwningOpRef<ModuleOp> parse(const std::string &text,
                              const ModelOverrides &overrides = {}) {
    llvm::SourceMgr sources;
    sources.AddNewSourceBuffer(
        llvm::MemoryBuffer::getMemBufferCopy(text, "random.mesh"),
        llvm::SMLoc());
    auto module = parseModel(sources, context, overrides);
    if (module && !runPasses(*module, {autodiff::addAutodiffPasses}))
      module = nullptr;
    return module;
  }

  /// Empty if both programs agree; otherwise what is wrong.
  std::string compare(ModuleOp sequential, ModuleOp partitioned,
                      uint64_t seed) {
    CompareOptions options;
    options.seed = seed;
    auto differences = compareSteps(sequential, partitioned, options);
    if (failed(differences))
      return errors;
    std::string text;
    for (const OutputDifference &difference : *differences)
      if (!difference.agrees && !(difference.largest <= 1e-9))
        text += "result '" + difference.name + "' differs by " +
                std::to_string(difference.largest) + ", largest entry " +
                std::to_string(difference.scale) + "\n";
    return text;
  }

  MLIRContext context;
  std::optional<ScopedDiagnosticHandler> handler;
  std::string errors;
};

TEST_F(Property, PartitionedComputesWhatOneDeviceDoes) {
  uint64_t firstSeed = getNumber("MESHC_PROPERTY_SEED", 1);
  uint64_t wanted = getNumber("MESHC_PROPERTY_PAIRS", 1200);
  constexpr uint64_t layoutsPerProgram = 4;
  uint64_t compared = 0, refused = 0, ranks = 0;
  for (uint64_t seed = firstSeed; compared < wanted; ++seed) {
    ASSERT_LT(refused, wanted) << "too many layouts are refused: " << errors;
    std::string text = llvm::join(RandomProgram(seed).write(), "\n");
    auto program = parse(text);
    ASSERT_TRUE(program) << errors << text;
    std::mt19937_64 random(seed);
    for (uint64_t i = 0; i < layoutsPerProgram; ++i) {
      errors.clear();
      RandomLayout layout = drawLayout(*program, random, 16);
      auto module = parse(text, {layout.mesh, layout.layout, {}});
      ASSERT_TRUE(module) << errors << text << layout.layout;
      if (!runPasses(*module, {layout::addLayoutPasses})) {
        ++refused;
        continue;
      }
      // With composite ops decomposed: their constants are of the element type.
      OwningOpRef<ModuleOp> sequential = module->clone();
      auto describe = [&] {
        return "seed " + std::to_string(seed) + ", layout " +
               std::to_string(i) + ": --mesh " + layout.mesh + " --layout " +
               layout.layout + "\n" + errors + text + "\nbecame\n" +
               print(*module);
      };
      ASSERT_TRUE(runPasses(*module, {partition::addPartitionPasses}))
          << describe();
      // The reshards themselves, now and then.
      if (compared % 4 == 0)
        ASSERT_EQ(compare(*sequential, *module, seed), "") << describe();
      ASSERT_TRUE(runPasses(*module, {collectives::addCollectivesPasses}))
          << describe();
      ASSERT_EQ(compare(*sequential, *module, seed), "") << describe();
      // Fused and paired, the values are the same still.
      if (compared % 4 == 1) {
        if (compared % 8 == 1)
          exec::setSupportsEpilogues(*module);
        ASSERT_TRUE(runPasses(*module, {kernels::addKernelsPasses}))
            << describe();
        ASSERT_EQ(compare(*sequential, *module, seed), "") << describe();
      }
      ranks += nd::MeshAttr::of(*module).getRankCount();
      ++compared;
    }
  }
  std::cout << compared << " pairs of program and layout agree (" << refused
            << " layouts refused, " << double(ranks) / compared
            << " ranks on average)\n";
}

} // namespace
