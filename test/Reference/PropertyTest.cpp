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
#include "lib/Loops/Passes.h"
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

  /// The model of the text; null after errors.
  OwningOpRef<ModuleOp> parseText(const std::string &text,
                                  const ModelOverrides &overrides = {}) {
    llvm::SourceMgr sources;
    sources.AddNewSourceBuffer(
        llvm::MemoryBuffer::getMemBufferCopy(text, "random.mesh"),
        llvm::SMLoc());
    return parseModel(sources, context, overrides);
  }

  /// Its step functions; null after errors.
  OwningOpRef<ModuleOp> parse(const std::string &text,
                              const ModelOverrides &overrides = {}) {
    auto module = parseText(text, overrides);
    if (module && !runPasses(*module, {addAutodiff}))
      module = nullptr;
    return module;
  }

  /// The same, with loops replaced by their iterations first.
  OwningOpRef<ModuleOp> parseUnrolled(const std::string &text) {
    auto module = parseText(text);
    if (module && !runPasses(*module, {addUnroll, addAutodiff}))
      module = nullptr;
    return module;
  }

  static void addAutodiff(OpPassManager &passes) {
    autodiff::addAutodiffPasses(passes, recompute);
  }

  static void addDecompose(OpPassManager &passes) {
    passes.addPass(layout::createDecomposeComposites());
  }

  static void addUnroll(OpPassManager &passes) {
    passes.addPass(loops::createUnrollLoops());
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

  /// What the phase autodiff does about residuals of loops.
  static inline auto recompute = autodiff::Recompute::Cheap;

  MLIRContext context;
  std::optional<ScopedDiagnosticHandler> handler;
  std::string errors;
};

/// Programs under random layouts, against one device: partitioned, with
/// collectives, and now and then with reshards or as kernels.
class RandomLayouts : public Property {
protected:
  static constexpr uint64_t layoutsPerProgram = 4;

  /// Compares the program of `seed` under some layouts with `sequential`, which
  /// is its own program on one device if null.
  void check(uint64_t seed, const std::string &text, ModuleOp sequential = {}) {
    auto program = parse(text);
    ASSERT_TRUE(program) << errors << text;
    std::mt19937_64 random(seed);
    for (uint64_t i = 0; i < layoutsPerProgram; ++i)
      check(seed, text, drawLayout(*program, random, 16), sequential);
  }

  void check(uint64_t seed, const std::string &text, const RandomLayout &layout,
             ModuleOp sequential) {
    errors.clear();
    auto module = parse(text, {layout.mesh, layout.layout, {}});
    ASSERT_TRUE(module) << errors << text << layout.layout;
    if (!runPasses(*module, {layout::addLayoutPasses})) {
      ++refused;
      return;
    }
    // With composite ops decomposed: their constants are of the element type.
    OwningOpRef<ModuleOp> decomposed =
        sequential ? OwningOpRef<ModuleOp>() : module->clone();
    if (decomposed)
      sequential = *decomposed;
    auto describe = [&] {
      return "seed " + std::to_string(seed) + ": --mesh " + layout.mesh +
             " --layout " + layout.layout + "\n" + errors + text +
             "\nbecame\n" + print(*module);
    };
    ASSERT_TRUE(runPasses(*module, {partition::addPartitionPasses}))
        << describe();
    // The reshards themselves, now and then.
    if (compared % 4 == 0)
      ASSERT_EQ(compare(sequential, *module, seed), "") << describe();
    ASSERT_TRUE(runPasses(*module, {collectives::addCollectivesPasses}))
        << describe();
    ASSERT_EQ(compare(sequential, *module, seed), "") << describe();
    // Fused and paired, the values are the same still.
    if (compared % 4 == 1) {
      if (compared % 8 == 1)
        exec::setSupportsEpilogues(*module);
      ASSERT_TRUE(runPasses(*module, {kernels::addKernelsPasses}))
          << describe();
      ASSERT_EQ(compare(sequential, *module, seed), "") << describe();
    }
    ranks += nd::MeshAttr::of(*module).getRankCount();
    ++compared;
  }

  uint64_t compared = 0, refused = 0, ranks = 0;
};

TEST_F(RandomLayouts, PartitionedComputesWhatOneDeviceDoes) {
  uint64_t firstSeed = getNumber("MESHC_PROPERTY_SEED", 1);
  uint64_t wanted = getNumber("MESHC_PROPERTY_PAIRS", 1200);
  for (uint64_t seed = firstSeed; compared < wanted; ++seed) {
    ASSERT_LT(refused, wanted) << "too many layouts are refused: " << errors;
    check(seed, llvm::join(RandomProgram(seed).write(), "\n"));
    if (HasFatalFailure())
      return;
  }
  std::cout << compared << " pairs of program and layout agree (" << refused
            << " layouts refused, " << double(ranks) / compared
            << " ranks on average)\n";
}

// The oracle of loops is the program without them: values, gradients, updates,
// random numbers.
TEST_F(RandomLayouts, LoopedComputesWhatUnrolledDoes) {
  uint64_t firstSeed = getNumber("MESHC_PROPERTY_SEED", 1);
  uint64_t wanted = getNumber("MESHC_PROPERTY_LOOPS", 250);
  for (uint64_t seed = firstSeed; seed < firstSeed + wanted; ++seed) {
    errors.clear();
    recompute =
        std::array{autodiff::Recompute::None, autodiff::Recompute::Cheap,
                   autodiff::Recompute::Full}[seed % 3];
    std::string text =
        llvm::join(RandomProgram(seed, /*hasLoops=*/true).write(), "\n");
    auto looped = parse(text), unrolled = parseUnrolled(text);
    ASSERT_TRUE(looped && unrolled) << "seed " << seed << "\n"
                                    << errors << text;
    ASSERT_EQ(compare(*unrolled, *looped, seed), "") << "seed " << seed << "\n"
                                                     << text << "\nbecame\n"
                                                     << print(*looped);
    ASSERT_TRUE(runPasses(*unrolled, {addDecompose}));
    check(seed, text, *unrolled);
    if (HasFatalFailure())
      return;
  }
  std::cout << wanted << " programs with loops, and " << compared
            << " pairs of one and a layout, agree with the unrolled ones ("
            << refused << " layouts refused, " << double(ranks) / compared
            << " ranks on average)\n";
}

} // namespace
