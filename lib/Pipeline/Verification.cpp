//===- Verification.cpp - what --verify does ------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Pipeline/Verification.h"
#include "dialects/Nd/Ops/LoopOps.h"
#include "dialects/Nd/Ops/ModelOps.h"
#include "dialects/Nd/Ops/SourceOps.h"
#include "dialects/Nd/StepNames.h"
#include "dialects/Nd/TensorAttributes.h"
#include "lib/Link/Link.h"
#include "lib/Loops/Passes.h"
#include "lib/Pipeline/Compilation.h"
#include "lib/Pipeline/Memory.h"
#include "lib/Reference/EstimateMemory.h"
#include "lib/Reference/RandomInputs.h"
#include "lib/Steps/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"

using namespace mlir;

namespace meshc {

static ExitCode fail(llvm::Error error) {
  return failWithLines(ExitCode::Input, llvm::toString(std::move(error)));
}

/// How many values of a result are not finite, to end its line with.
static std::string describeNonFinite(int64_t values) {
  if (values == 0)
    return "";
  return ", " + std::to_string(values) + (values == 1 ? " value" : " values") +
         " not finite";
}

/// "2 virtual ranks"
std::string Verification::countRanks(llvm::StringRef what) const {
  int64_t count = mesh.getRankCount();
  return std::to_string(count) + " " + what.str() + (count == 1 ? "" : "s");
}

namespace {
/// The line that ends a table of differences.
struct Verdict {
  std::string compared, reference;
  size_t results = 0, differing = 0;
  /// Of the result whose difference is the largest share of what is allowed.
  std::string closest = {};
  double difference = 0, allowed = 0;

  void add(const std::string &name, double found, double tolerance,
           bool agrees) {
    ++results;
    differing += !agrees;
    // A product, as a tolerance may be 0.
    if (closest.empty() || found * allowed > difference * tolerance ||
        (!agrees && differing == 1)) {
      closest = name;
      difference = found;
      allowed = tolerance;
    }
  }
  std::string describe() const;
};
} // namespace

std::string Verdict::describe() const {
  std::string text;
  llvm::raw_string_ostream out(text);
  out << "verdict: " << compared << (differing ? " differs" : " agrees")
      << " with " << reference << " in ";
  if (differing)
    out << differing << " of ";
  out << results << (results == 1 ? " result" : " results");
  if (results)
    out << "; the largest difference for its tolerance is "
        << llvm::format("%.3e", difference) << " in '" << closest
        << "', allowed " << llvm::format("%.3e", allowed);
  out << "\n";
  return text;
}

/// The step functions of the model; null if they cannot be built.
static OwningOpRef<ModuleOp> buildSteps(ModuleOp model, bool unrollsLoops) {
  OwningOpRef<ModuleOp> steps = model.clone();
  PassManager passes(model.getContext());
  // As the phase does; first, since it looks at loops.
  passes.addPass(steps::createLowerPrecision());
  if (unrollsLoops)
    passes.addPass(loops::createUnrollLoops());
  passes.addPass(steps::createBuildSteps());
  return succeeded(passes.run(*steps)) ? std::move(steps) : nullptr;
}

/// Replaces the functions that evaluate the model by those of `looped`.
static void takeEvaluations(ModuleOp steps, ModuleOp looped) {
  for (nd::Step step : {nd::Step::Eval, nd::Step::EvalAverages})
    if (auto function = nd::findStep(looped, step)) {
      nd::findStep(steps, step).erase();
      function->remove();
      steps.push_back(function);
    }
  if (StringAttr reason = nd::getWholeBatches(looped))
    nd::setWholeBatches(steps, reason);
  if (nd::dependsOnBatches(looped))
    nd::setDependsOnBatches(steps);
}

/// Whether any op of the type is in the model for which `holds` is true.
template <typename Op>
static bool hasOp(ModuleOp model, llvm::function_ref<bool(Op)> holds) {
  return model
      .walk([&](Op op) {
        return holds(op) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// How many micro-batches a step computes the model for.
static int64_t countMicroBatches(ModuleOp model) {
  auto trains = model.getOps<nd::TrainOp>();
  return trains.empty() ? 1 : (*trains.begin()).getMicroBatches();
}

/// Leaves the training step alone, on one device.
static void keepTrainStep(ModuleOp steps) {
  for (auto function : llvm::make_early_inc_range(steps.getOps<func::FuncOp>()))
    if (!nd::isStep(function, nd::Step::Train))
      function.erase();
  nd::setMesh(steps,
              nd::MeshAttr::get(steps.getContext(), ArrayRef<nd::AxisAttr>()));
}

/// Whether the training steps of both modules take and return the same types.
static bool haveSameTypes(ModuleOp a, ModuleOp b) {
  auto first = nd::findStep(a, nd::Step::Train);
  auto second = nd::findStep(b, nd::Step::Train);
  return first && second && first.getFunctionType() == second.getFunctionType();
}

/// Keeps the training steps with `accumulate` and of the whole batch. It does
/// not if they are meant to differ: if the model draws random numbers or looks
/// at the places of examples in a batch, or if sizes of its state depend on the
/// batch's.
void Verification::keepAccumulated(ModuleOp looped, ModuleOp wholeBatch) {
  // The initial values of parameters are the same.
  if (hasOp<nd::RandomOp>(wholeBatch, [](nd::RandomOp random) {
        return !random->getParentOfType<nd::ParameterOp>();
      }))
    return;
  OwningOpRef<ModuleOp> whole = buildSteps(wholeBatch, /*unrollsLoops=*/false);
  if (!whole || nd::dependsOnBatches(looped) || !haveSameTypes(looped, *whole))
    return;
  accumulated = looped.clone();
  wholeStep = std::move(whole);
  keepTrainStep(*accumulated);
  keepTrainStep(*wholeStep);
}

ExitCode Verification::keepModel(ModuleOp model, ModuleOp wholeBatch) {
  compare.integerLimits = reference::findIntegerLimits(model);
  microBatches = countMicroBatches(model);
  hasLoops = hasOp<nd::ScanOp>(model, [](nd::ScanOp) { return true; });
  // The phase itself reports errors and warnings.
  bool warns = false;
  ScopedDiagnosticHandler silence(
      model.getContext(), [&](Diagnostic &diagnostic) {
        warns |= diagnostic.getSeverity() == DiagnosticSeverity::Warning;
        return success();
      });
  steps = buildSteps(model, /*unrollsLoops=*/true);
  bool isLooped = hasLoops && !options.unrollLoops;
  if (!isLooped && !wholeBatch)
    return ExitCode::Success;
  warns = false;
  OwningOpRef<ModuleOp> looped = buildSteps(model, /*unrollsLoops=*/false);
  // A warning says where 'accumulate' changes the loss.
  if (looped && wholeBatch && !warns)
    keepAccumulated(*looped, wholeBatch);
  if (!isLooped)
    return ExitCode::Success;
  // What is no function of statistics is averaged over the batches. In a loop
  // that is not divided, it is the loop's result; unrolled, it is a value of an
  // iteration.
  bool isUndivided = (looped && nd::getWholeBatches(*looped)) ||
                     hasOp<nd::ScanOp>(model, [](nd::ScanOp scan) {
                       return scan.getConditional();
                     });
  // So it is where a warning says that a value is averaged over the
  // micro-batches: of a loop, it may be the stack of all iterations.
  isUndivided |= warns;
  // Some loops have too many iterations to be unrolled.
  if (!steps || (isUndivided && microBatches > 1))
    steps = std::move(looped);
  else if (looped)
    takeEvaluations(*steps, *looped);
  return ExitCode::Success;
}

void Verification::keepWhole(ModuleOp program) { whole = program.clone(); }

/// Fails where the values of --verify do not fit into memory. The system would
/// end the process without a word, or not until all else has been driven out.
ExitCode Verification::checkMemory(ModuleOp sequential, ModuleOp program,
                                   int64_t ranks) {
  reference::MemoryNeed need = reference::estimateMemory(sequential, program);
  double available = getAvailableMemory();
  if (need.bytes <= available)
    return ExitCode::Success;
  emitError(need.at->getLoc())
      << "'--verify' holds about " << formatMemory(need.bytes)
      << " here, the values of one device and of " << ranks
      << " virtual ranks in f64, and " << formatMemory(available)
      << " of memory are available; verify with smaller dims "
         "('--set'), which are sharded in the same way";
  return ExitCode::Memory;
}

ExitCode Verification::comparePartitioned(ModuleOp program) {
  mesh = nd::MeshAttr::of(program);
  if (auto trainStep = nd::findStep(program, nd::Step::Train))
    types = reference::getResultTypes(trainStep);
  ExitCode accumulates = compareAccumulated();
  if (accumulates != ExitCode::Success && accumulates != ExitCode::Mismatch)
    return accumulates;
  ExitCode code = checkMemory(*whole, program, mesh.getRankCount());
  if (code != ExitCode::Success)
    return code;
  auto differences = reference::compareSteps(*whole, program, compare);
  if (failed(differences))
    return ExitCode::Internal;
  llvm::outs() << "largest differences, " << countRanks("virtual rank")
               << " from one device:\n";
  code = print(*differences,
               "the partitioned program on " + countRanks("virtual rank"),
               "one device");
  return code == ExitCode::Success ? accumulates : code;
}

/// Compares the step with `accumulate` with that of the whole batch.
ExitCode Verification::compareAccumulated() {
  if (!accumulated)
    return ExitCode::Success;
  if (ExitCode code = checkMemory(*wholeStep, *accumulated, 1);
      code != ExitCode::Success)
    return code;
  auto differences = reference::compareSteps(*wholeStep, *accumulated, compare);
  if (failed(differences))
    return ExitCode::Internal;
  std::string compared =
      "the step with 'accumulate " + std::to_string(microBatches) + "'";
  llvm::outs() << "largest differences, " << compared
               << " from one of the whole batch:\n";
  return print(*differences, compared, "one of the whole batch");
}

/// Prints a line for each result, and the verdict.
ExitCode
Verification::print(llvm::ArrayRef<reference::OutputDifference> differences,
                    llvm::StringRef compared, llvm::StringRef reference) {
  ExitCode code = ExitCode::Success;
  Verdict verdict{compared.str(), reference.str()};
  for (const reference::OutputDifference &output : differences) {
    verdict.add(output.function + " " + output.name, output.largest,
                output.tolerance, output.agrees);
    llvm::outs() << llvm::format(
        "  %-12s %-24s %10.3e of %10.3e, allowed %10.3e%s%s\n",
        output.function.c_str(), output.name.c_str(), output.largest,
        output.scale, output.tolerance,
        describeNonFinite(output.nonFinite).c_str(),
        output.agrees ? "" : "  DIFFERS");
    if (!output.agrees)
      code = ExitCode::Mismatch;
  }
  llvm::outs() << verdict.describe();
  if (auto error = link::flushOutput())
    return fail(std::move(error));
  return code;
}

ExitCode
Verification::print(llvm::ArrayRef<reference::ProgramDifference> differences) {
  ExitCode code = ExitCode::Success;
  std::string compared = "the compiled program on " + countRanks("rank");
  llvm::outs() << "largest differences, " << compared
               << " from the interpreter on one device:\n";
  Verdict verdict{compared, "one device"};
  for (const reference::ProgramDifference &output : differences) {
    verdict.add(output.moment + " " + output.name,
                std::abs(output.got - output.expected), output.allowed,
                output.agrees);
    llvm::outs() << llvm::format(
        "  %-12s %-24s %10.3e of %10.3e, allowed %10.3e%s%s\n",
        output.moment.c_str(), output.name.c_str(),
        std::abs(output.got - output.expected), output.scale, output.allowed,
        describeNonFinite(output.nonFinite).c_str(),
        output.agrees ? "" : "  DIFFERS");
    if (output.agrees)
      continue;
    code = ExitCode::Mismatch;
    std::string numbers;
    llvm::raw_string_ostream(numbers)
        << llvm::format("%.9g; the interpreter has %.9g, and rounding explains "
                        "a difference of %.3g",
                        output.got, output.expected, output.allowed);
    emitError(output.location)
        << "the compiled program has another value of '" << output.name << "' ("
        << output.moment << ")"
        << (output.element.empty() ? "" : " at " + output.element)
        << " on rank " << output.rank << ": " << numbers;
  }
  llvm::outs() << verdict.describe();
  if (auto error = link::flushOutput())
    return fail(std::move(error));
  return code;
}

ExitCode Verification::compareCompiled(llvm::ArrayRef<char> object) {
  if (!steps || !nd::findStep(*steps, nd::Step::Train)) {
    llvm::outs() << "the model has no 'train': the compiled program was not "
                    "run\n";
    if (auto error = link::flushOutput())
      return fail(std::move(error));
    return ExitCode::Success;
  }
  llvm::SmallString<128> folder;
  if (std::error_code error =
          llvm::sys::fs::createUniqueDirectory("meshc-verify", folder))
    return fail(llvm::createStringError(
        error, "cannot make a temporary folder: " + error.message()));
  llvm::scope_exit remove(
      [&] { llvm::sys::fs::remove_directories(folder, true); });
  reference::CompiledProgram program;
  program.folder = folder.str();
  program.path = program.folder + "/program";
  program.mesh = mesh;
  program.state = types;
  program.rounds16Bit =
      mesh.getRankCount() > 1 || options.emulateGpu || hasLoops;
  if (auto error =
          link::linkProgram(object, program.path, {"", "", options.tool}))
    return fail(std::move(error));
  auto differences = reference::compareProgram(*steps, program, compare);
  return failed(differences) ? ExitCode::Mismatch : print(*differences);
}

} // namespace meshc
