//===- PropertyTest.cpp - any program under any layout --------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Random programs under random layouts: the ranks together compute what one
/// device computes. MESHC_PROPERTY_SEED chooses other programs.
/// MESHC_PROPERTY_PAIRS, MESHC_PROPERTY_LOOPS, MESHC_PROPERTY_BATCHES and
/// MESHC_PROPERTY_TRIALS say how many pairs of a program and a layout, programs
/// with loops, incomplete batches, and layouts of programs whose loops keep
/// copies are compared. With MESHC_RANDOM_SEED, it is a third of the usual
/// numbers, and this seed draws the programs.
///
//===----------------------------------------------------------------------===//

#include "ProgramFixture.h"
#include "RandomProgram.h"
#include "dialects/Exec/ArenaAttributes.h"
#include "dialects/Nd/Ops/LoopOps.h"
#include "dialects/Nd/TensorAttributes.h"
#include "dialects/Spmd/FunctionPlans.h"
#include "lib/Collectives/Passes.h"
#include "lib/Kernels/Passes.h"
#include "lib/Layout/Passes.h"
#include "lib/Loops/Passes.h"
#include "lib/Partition/ChoosePlans.h"
#include "lib/Partition/MoveLimit.h"
#include "lib/Partition/Passes.h"
#include "lib/Reference/CompareSteps.h"
#include "lib/Reference/EvaluationRun.h"
#include "lib/Reference/RandomInputs.h"
#include "lib/Reshard/ReshardPlan.h"
#include "lib/Steps/Passes.h"
#include "mlir/AsmParser/AsmParser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Regex.h"

using namespace mlir;
using namespace meshc;
using namespace meshc::reference;

namespace {

/// The seed of the first program.
uint64_t getFirstSeed() {
  return getNumber("MESHC_PROPERTY_SEED", getNumber("MESHC_RANDOM_SEED", 1));
}

/// How many programs to compare, of `all`.
uint64_t getCount(const char *variable, uint64_t all) {
  bool isSample = std::getenv("MESHC_RANDOM_SEED");
  return getNumber(variable, isSample ? all / 3 : all);
}

std::string print(Operation *op) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  op->print(stream);
  return text;
}

class Property : public ProgramFixture {
protected:
  /// The model of the text in its precision: what loops carry is f32 [L7.8],
  /// so that its types are those of the text with the loops.
  OwningOpRef<ModuleOp> parseLowered(const std::string &text) {
    auto module = parseText(text);
    if (module && !runPasses(*module, {addLowerPrecision}))
      module = nullptr;
    return module;
  }

  /// Its step functions, with loops replaced by their iterations first.
  OwningOpRef<ModuleOp> parseUnrolled(const std::string &text) {
    auto module = parseLowered(text);
    if (module && !runPasses(*module, {addUnroll, addSteps}))
      module = nullptr;
    return module;
  }

  static void addLowerPrecision(OpPassManager &passes) {
    passes.addPass(steps::createLowerPrecision());
  }

  static void addUnroll(OpPassManager &passes) {
    passes.addPass(loops::createUnrollLoops());
  }

  /// How much the result may differ.
  using GetTolerance = llvm::function_ref<double(const OutputDifference &)>;

  /// Metrics are called loss, m0, m1 ….
  static bool isMetric(llvm::StringRef name) {
    return name == "loss" || name.starts_with("m");
  }

  /// A metric may be the sine of a large number, and then has the rounding
  /// errors of that number. A term that is lost makes more.
  static double allowRounding(const OutputDifference &difference) {
    return std::max(difference.tolerance,
                    isMetric(difference.name) ? 1e-8 : 1e-9);
  }

  /// Empty if both programs agree; otherwise what is wrong.
  std::string compare(ModuleOp sequential, ModuleOp partitioned, uint64_t seed,
                      GetTolerance getTolerance = allowRounding) {
    CompareOptions options;
    options.seed = seed;
    auto differences = compareSteps(sequential, partitioned, options);
    if (failed(differences))
      return errors;
    std::string text;
    for (const OutputDifference &difference : *differences)
      if (!(difference.largest <= getTolerance(difference)))
        text += llvm::formatv("result '{0}' differs by {1:e}, largest entry "
                              "{2:e}\n",
                              difference.name, difference.largest,
                              difference.scale);
    return text;
  }
};

/// Programs under random layouts, against one device: partitioned, with
/// collectives, and now and then with reshards or as kernels.
class RandomLayouts : public Property {
protected:
  static constexpr uint64_t layoutsPerProgram = 4, programsPerContext = 64;

  /// Compares the program of `seed` under some layouts with one device.
  void check(uint64_t seed, const std::string &text) {
    auto program = parse(text);
    ASSERT_TRUE(program) << errors << text;
    std::mt19937_64 random(seed);
    for (uint64_t i = 0; i < layoutsPerProgram; ++i)
      check(seed, text, drawLayout(*program, random, 16));
  }

  void check(uint64_t seed, const std::string &text,
             const RandomLayout &layout) {
    errors.clear();
    auto module = parse(text, {layout.mesh, layout.layout, {}});
    ASSERT_TRUE(module) << errors << text << layout.layout;
    if (!runPasses(*module, {layout::addLayoutPasses})) {
      ++refused;
      return;
    }
    // With composite ops decomposed: their constants are of the element type.
    OwningOpRef<ModuleOp> sequential = module->clone();
    auto describe = [&] {
      return "seed " + std::to_string(seed) + ": --mesh " + layout.mesh +
             " --layout " + layout.layout + "\n" + errors + text +
             "\nbecame\n" + print(*module);
    };
    uint64_t stacks = countLoopResults(*module);
    ASSERT_TRUE(partition(*module)) << describe();
    withCopies += countLoopResults(*module) > stacks;
    // The reshards themselves, now and then.
    if (compared % 4 == 0)
      ASSERT_EQ(compare(*sequential, *module, seed), "") << describe();
    ASSERT_TRUE(runPasses(*module, {collectives::addCollectivesPasses}))
        << describe();
    ASSERT_EQ(compare(*sequential, *module, seed), "") << describe();
    // Fused and paired, the values are the same still.
    if (compared % 4 == 1) {
      if (compared % 8 == 1)
        exec::setForGpus(*module);
      ASSERT_TRUE(runPasses(*module, {kernels::addKernelsPasses}))
          << describe();
      ASSERT_EQ(compare(*sequential, *module, seed), "") << describe();
    }
    ranks += nd::MeshAttr::of(*module).getRankCount();
    ++compared;
  }

  static uint64_t countLoopResults(ModuleOp module) {
    uint64_t results = 0;
    module.walk([&](nd::ScanOp loop) { results += loop.getNumResults(); });
    return results;
  }

  /// Seven of eight programs are partitioned as after moves on plans
  /// (PlanSearch.h): with all moves of axes, cheap points, copies for later
  /// loops, values kept as these use them, all of that, with what loops carry
  /// cut further, or with all moves where loops carry what they do without, or
  /// open dims whole.
  /// Returns false if the program cannot be partitioned.
  bool prepareTrial(ModuleOp module, partition::PlanOptions &options) {
    uint64_t kind = compared / 8 % 8;
    partition::ChosenPlans usual;
    if (kind == 4 || kind == 5 || kind == 7) {
      auto chosen = partition::choosePlans(module, {});
      if (failed(chosen))
        return false;
      usual = std::move(*chosen);
    }
    if (kind == 7) {
      auto *move = compared / 64 % 2 == 0 ? partition::keepCarried
                                          : partition::uncutCarried;
      carriedAsBefore += move(usual.functions, options.ties);
    }
    if (kind == 6) {
      cutCarried(module, options.ties);
      options.mayCutFurther = true;
    }
    if (kind == 1 || kind == 5 || kind == 7)
      options.moveShare = 1, options.mayCutFurther = true;
    if (kind == 2 || kind == 5)
      options.pointCost = 0.01;
    if (kind == 3 || kind == 5)
      options.keptByteCost = 0.25;
    if (kind == 4 || kind == 5) {
      auto planner = reshard::ReshardPlanner::of(module);
      auto form = compared % 2 == 0 ? partition::KeptForm::Placed
                                    : partition::KeptForm::Exact;
      keptOtherwise +=
          partition::keepAsUsed(usual.functions, form, planner, options.ties);
    }
    return true;
  }

  /// The phase partition, by plans that are chosen for a trial, written as text
  /// and read again.
  bool partition(ModuleOp module) {
    partition::PlanOptions options;
    if (!prepareTrial(module, options))
      return false;
    auto chosen = partition::choosePlans(module, options);
    if (failed(chosen))
      return false;
    auto read = dyn_cast_or_null<DictionaryAttr>(
        parseAttribute(spmd::printPlans(chosen->plans), module.getContext()));
    EXPECT_EQ(read, chosen->plans);
    return read && succeeded(spmd::setPlans(module, read)) &&
           runPasses(module, {partition::addBuildPasses});
  }

  /// Cuts what loops carry over each axis over which it can be: along one of
  /// the dims, the next one each time, or each value along a dim of its own.
  void cutCarried(ModuleOp module, partition::TieForms &ties) {
    func::FuncOp function = partition::findCompared(module);
    for (nd::AxisAttr axis : nd::MeshAttr::of(module).getAxes()) {
      auto dims = partition::findCarriedDims(function, axis.getName(), ties);
      if (dims.empty())
        continue;
      size_t choice = cutFurther++ % (dims.size() + 1);
      llvm::ArrayRef<StringAttr> all = dims;
      partition::cutCarried(function,
                            choice == dims.size() ? all : all.slice(choice, 1),
                            axis.getName(), ties);
    }
  }

  /// The arguments of an evaluation of one batch.
  struct Batch {
    llvm::StringMap<nd::HostTensor> state;
    Examples examples;
  };
  static Batch drawBatch(func::FuncOp step, uint64_t seed) {
    CompareOptions options;
    options.seed = seed;
    std::mt19937_64 random(seed);
    Batch batch;
    for (unsigned i = 0; i < step.getNumArguments(); ++i) {
      auto attributes = nd::TensorAttributes::ofArgument(step, i);
      bool isInput = attributes.hasRole(nd::TensorRole::Input);
      if (!isInput && !attributes.hasRole(nd::TensorRole::Parameter))
        continue;
      nd::HostTensor tensor = drawArgument(step, i, options, random);
      if (isInput)
        appendExamples(step, i, tensor, batch.examples[attributes.getName()]);
      else
        batch.state[attributes.getName()] = std::move(tensor);
    }
    return batch;
  }

  /// Evaluates a complete batch with both programs, which keep different
  /// statistics. Empty if they agree on the metrics; otherwise what is wrong.
  std::string compareEvaluations(ModuleOp unrolled, ModuleOp looped,
                                 uint64_t seed) {
    auto step = unrolled.lookupSymbol<func::FuncOp>("eval_step");
    auto other = looped.lookupSymbol<func::FuncOp>("eval_step");
    Batch batch = drawBatch(step, seed);
    RunOptions options;
    options.seed = seed;
    options.roundToType = false;
    int64_t count = getBatchSize(step);
    auto wanted =
        runEvaluation(step, batch.state, batch.examples, count, options);
    auto got =
        runEvaluation(other, batch.state, batch.examples, count, options);
    if (failed(wanted) || failed(got))
      return errors;
    if (wanted->size() != got->size())
      return "there are other metrics";
    std::string text;
    for (const auto &[name, tensor] : *wanted) {
      double a = tensor.data[0], b = got->lookup(name).data[0];
      bool agrees = a == b || (std::isnan(a) && std::isnan(b)) ||
                    std::abs(a - b) <= 1e-9 * std::abs(a) + 1e-12;
      if (!agrees)
        text += llvm::formatv("evaluated, '{0}' is {1:e} and not {2:e}\n", name,
                              b, a);
    }
    return text;
  }

  /// The program of the text, its loops against the unrolled form, on one
  /// device. Values and random numbers have the same bits (0 and -0 are equal
  /// here). So has mostly what training makes of parameters. It may differ by
  /// the rounding of an f32: loops add up gradients in another order, and the
  /// unrolled form has more constants that are folded. Evaluations sum up in
  /// another order, too, and so do products that leave loops.
  void checkUnrolled(uint64_t seed, const std::string &text, ModuleOp unrolled,
                     ModuleOp looped) {
    llvm::StringRef words = text;
    bool haveSameBits = true;
    auto getTolerance = [&](const OutputDifference &difference) {
      haveSameBits &= difference.largest == 0;
      // With micro-batches, metrics that do not depend on the examples are
      // computed beside their loop, where more is folded.
      return isMetric(difference.name) && !words.contains("accumulate") &&
                     recompute == steps::Recompute::Full
                 ? 0
                 : std::max(allowRounding(difference),
                            0x1p-23 * difference.scale);
    };
    auto describe = [&] {
      return "seed " + std::to_string(seed) + "\n" + text + "\nbecame\n" +
             print(looped);
    };
    // Means over micro-batches are of other values if a loop is not divided.
    bool isUndivided = words.contains("} while") || nd::getWholeBatches(looped);
    if (isUndivided && words.contains("accumulate"))
      return;
    ASSERT_EQ(compareEvaluations(unrolled, looped, seed), "") << describe();
    OwningOpRef<ModuleOp> steps = looped.clone();
    steps->lookupSymbol("eval_step")->erase();
    if (Operation *averages = steps->lookupSymbol("eval_average_step"))
      averages->erase();
    ASSERT_EQ(compare(unrolled, *steps, seed, getTolerance), "") << describe();
    sameBits += haveSameBits;
    ++unrolledCount;
  }

  uint64_t compared = 0, refused = 0, ranks = 0, sameBits = 0,
           unrolledCount = 0, keptOtherwise = 0, withCopies = 0, cutFurther = 0,
           carriedAsBefore = 0;
};

TEST_F(RandomLayouts, PartitionedComputesWhatOneDeviceDoes) {
  uint64_t firstSeed = getFirstSeed();
  uint64_t wanted = getCount("MESHC_PROPERTY_PAIRS", 1200);
  for (uint64_t seed = firstSeed; compared < wanted; ++seed) {
    ASSERT_LT(refused, wanted) << "too many layouts are refused: " << errors;
    if (seed % programsPerContext == 0)
      renewContext();
    check(seed, llvm::join(RandomProgram(seed).write(), "\n"));
    if (HasFatalFailure())
      return;
  }
  std::cout << compared << " pairs of program and layout agree (" << refused
            << " layouts refused, " << double(ranks) / compared
            << " ranks on average)\n";
}

// What a loop carries is f32, and so its product with 0.7, although the
// unrolled form would compute it in bf16 from the second iteration on.
TEST_F(RandomLayouts, LoopsCarryF32) {
  std::string text = R"(
dim o = 4, a = 3, u = 3
model m(x[o, a]) {
  param w[a] ~ ones
  s = x * w
  for u {
    s = tanh(einsum(s * 0.7, s -> [o, a]))
  }
  loss = mean(s)
}
train m minimize loss with sgd(lr = 0.1) precision bf16
)";
  auto looped = parse(text), unrolled = parseUnrolled(text);
  ASSERT_TRUE(looped && unrolled) << errors;
  EXPECT_EQ(compare(*unrolled, *looped, 1), "") << print(*looped);
}

// The oracle of loops is the program without them: values, gradients, updates,
// random numbers.
TEST_F(RandomLayouts, LoopedComputesWhatUnrolledDoes) {
  uint64_t firstSeed = getFirstSeed();
  uint64_t wanted = getCount("MESHC_PROPERTY_LOOPS", 250);
  for (uint64_t seed = firstSeed; seed < firstSeed + wanted; ++seed) {
    errors.clear();
    if (seed % programsPerContext == 0)
      renewContext();
    recompute = std::array{steps::Recompute::None, steps::Recompute::Cheap,
                           steps::Recompute::Full}[seed % 3];
    std::string text =
        llvm::join(RandomProgram(seed, /*hasLoops=*/true).write(), "\n");
    auto looped = parse(text), unrolled = parseUnrolled(text);
    ASSERT_TRUE(looped && unrolled) << "seed " << seed << "\n"
                                    << errors << text;
    checkUnrolled(seed, text, *unrolled, *looped);
    if (HasFatalFailure())
      return;
    check(seed, text);
    if (HasFatalFailure())
      return;
  }
  // In the long run, two of five programs are to the bit.
  EXPECT_GE(sameBits * 5 + 4, unrolledCount);
  EXPECT_GE(unrolledCount * 4, wanted * 3);
  std::cout << unrolledCount << " of " << wanted
            << " programs with loops agree with the unrolled ones, " << sameBits
            << " of them to the bit, and " << compared
            << " pairs of one and a layout with one device (" << refused
            << " layouts refused, " << double(ranks) / compared
            << " ranks on average)\n";
}

/// What an evaluation of fewer examples than the batch has gives: that of a
/// model with as many. Only of programs whose other sizes stay the same, that
/// draw no random numbers for examples, and in which no number of an example
/// comes from elsewhere and no scale of attention from how many there are.
TEST_F(RandomLayouts, IncompleteBatchesAreSmallerBatches) {
  uint64_t firstSeed = getFirstSeed();
  uint64_t wanted = getCount("MESHC_PROPERTY_BATCHES", 150), found = 0;
  RunOptions options;
  options.roundToType = false;
  llvm::Regex readsSize("(dot_attention|gather|cross_entropy)\\(.*, o[,)]");
  for (uint64_t seed = firstSeed; found < wanted; ++seed) {
    if (seed % programsPerContext == 0)
      renewContext();
    std::string text =
        llvm::join(RandomProgram(seed, seed % 3 == 0).write(), "\n");
    llvm::StringRef words = text;
    if (words.contains("random_") || words.contains("categorical(") ||
        words.contains("accumulate") || readsSize.match(words))
      continue;
    auto larger = parse(text);
    ASSERT_TRUE(larger) << errors << text;
    auto step = larger->lookupSymbol<func::FuncOp>("eval_step");
    int64_t size = getBatchSize(step), count = size / 2 + seed % 2;
    if (nd::getWholeBatches(*larger) || count == size || count == 0)
      continue;
    auto smaller = parse(text, {{}, {}, {"o=" + std::to_string(count)}});
    errors.clear();
    if (!smaller)
      continue;
    auto other = smaller->lookupSymbol<func::FuncOp>("eval_step");
    Batch batch = drawBatch(step, seed);
    bool fits = getBatchSize(other) == count;
    for (unsigned i = 0; i < other.getNumArguments(); ++i) {
      auto known = batch.state.find(
          nd::TensorAttributes::ofArgument(other, i).getName().getValue());
      fits &= known == batch.state.end() ||
              known->second.type == other.getArgument(i).getType();
    }
    if (!fits)
      continue;
    for (auto &input : batch.examples)
      input.second.erase(input.second.begin() + count, input.second.end());
    auto got = runEvaluation(step, batch.state, batch.examples, count, options);
    auto should =
        runEvaluation(other, batch.state, batch.examples, count, options);
    ASSERT_TRUE(succeeded(got) && succeeded(should)) << errors << text;
    ++found;
    for (const auto &[name, tensor] : *should) {
      double a = tensor.data[0], b = got->lookup(name).data[0];
      EXPECT_TRUE(a == b || (std::isnan(a) && std::isnan(b)) ||
                  std::abs(a - b) <= 1e-9 * std::abs(a) + 1e-12)
          << "'" << name.str() << "' of " << count << " examples in a batch of "
          << size << " is " << b << " and not " << a << ", seed " << seed
          << "\n"
          << text;
    }
  }
  std::cout << found << " programs\n";
}

// Layers of a transformer, in which backward loops move what their forward
// loops have moved, under layouts that make them do so and under random ones.
TEST_F(RandomLayouts, TrialsComputeWhatOneDeviceDoes) {
  std::string text = R"(
dim batch = 3, seq = 5, memory = seq, layers = 2, model = 6, heads = 4, key = 3, ffn = 8
model m(x[batch, seq, model], y[batch, seq, model]) {
  for layers {
    param wq[model, heads, key] ~ he(model)
    param wk[model, heads, key] ~ he(model)
    param wo[heads, key, model] ~ he(heads, key)
    param up[model, ffn] ~ he(model)
    param down[ffn, model] ~ he(ffn)
    k = dot(rename(x, seq -> memory), wk, model)
    p = tanh(dot(dot(x, wq, model), k, key))
    x = x + dot(dot(p, k, memory), wo, heads, key)
    x = x - mean(x, model)
    x = x + dot(square(dot(x, up, model)), down, ffn)
  }
  loss = mean(square(x - y))
}
train m minimize loss with sgd(lr = 0.1)
)";
  // Seven of them: programs meet the eight kinds of trial in turn, eight
  // programs each, so that each layout meets all.
  const RandomLayout chosen[] = {{"a=2", "model:a"},
                                 {"a=3", "model:a"},
                                 {"a=2,b=2", "model:a,heads:b,ffn:b"},
                                 {"a=2,b=2", "model:a,batch:b"},
                                 {"a=2", "seq:a"},
                                 {"a=5", "seq:a"},
                                 {"a=2,b=2", "seq:a,heads:b,ffn:b"}};
  // Other tests set another value, with which loops may keep nothing.
  recompute = steps::Recompute::Cheap;
  // Fewer do not meet each kind of trial with each layout.
  uint64_t wanted =
      std::max<uint64_t>(128, getNumber("MESHC_PROPERTY_TRIALS", 128));
  uint64_t seed = getNumber("MESHC_PROPERTY_SEED", 1);
  for (; compared < wanted / 2; ++seed)
    for (const RandomLayout &layout : chosen) {
      check(seed, text, layout);
      if (HasFatalFailure())
        return;
    }
  for (; compared < wanted; ++seed) {
    check(seed, text);
    if (HasFatalFailure())
      return;
  }
  EXPECT_GT(withCopies, wanted / 20);
  EXPECT_GT(keptOtherwise, wanted / 20);
  EXPECT_GT(cutFurther, wanted / 20);
  EXPECT_GT(carriedAsBefore, wanted / 20);
  std::cout << compared << " layouts agree, " << withCopies
            << " of them with copies and " << keptOtherwise
            << " with values kept as they are used; " << cutFurther
            << " times, loops carry values that are cut further, "
            << carriedAsBefore << " times the same where axes move\n";
}

} // namespace
