//===- MemoryBudget.cpp - recomputation that fits an arena ----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/Exec.h"
#include "dialects/Nd/NdOps.h"
#include "lib/Pipeline/Compilation.h"
#include "lib/Pipeline/Memory.h"
#include "lib/Pipeline/Trial.h"
#include "lib/Report/Place.h"

using namespace mlir;

namespace meshc {

using steps::Recompute;

static StringRef getName(Recompute policy) {
  switch (policy) {
  case Recompute::None:
    return "none";
  case Recompute::Cheap:
    return "cheap";
  case Recompute::Full:
    return "full";
  }
  return "";
}

/// The largest tensors and values at the program's peak, a line for each.
static std::string listLargest(Trial &trial) {
  report::Json report = {{"functions", report::Json::array()}};
  for (auto function : trial.program->getOps<exec::FuncOp>())
    report["functions"].push_back({{"name", function.getSymName().str()}});
  report::setArenaBytes(report, trial.arenaBytes);
  report::addMemory(report, *trial.program);
  report::addPeak(report);
  std::string text;
  for (const report::Json &value : report["memory"]["peak"]["largest"]) {
    auto name = value["name"].get<std::string>();
    auto place = value["location"].get<std::string>();
    text += "\n  " +
            formatMemory(static_cast<double>(value["bytes"].get<int64_t>())) +
            ": " + value["class"].get<std::string>() +
            (name.empty() ? "" : " '" + name + "'") +
            (place.empty() ? "" : ", " + place);
  }
  return text;
}

/// "1.5 GB (1500000000 bytes)"
static std::string describeBytes(int64_t bytes) {
  return formatMemory(static_cast<double>(bytes)) + " (" +
         std::to_string(bytes) + " bytes)";
}

/// The policies to try, in this order.
static SmallVector<Recompute> listPolicies(ModuleOp module,
                                           const CompileOptions &options) {
  bool hasLoops = false;
  module.walk([&](nd::ScanOp) { hasLoops = true; });
  if (options.recompute || !hasLoops || options.unrollLoops)
    return {options.recompute.value_or(Recompute::Cheap)};
  return {Recompute::Cheap, Recompute::Full, Recompute::None};
}

/// The loops whose gradients a policy is about: those of a model that is
/// trained.
static report::Json listLoops(ModuleOp module, const CompileOptions &options) {
  report::Json loops = report::Json::array();
  bool isTrained = false;
  module.walk([&](nd::TrainOp) { isTrained = true; });
  if (isTrained && !options.unrollLoops)
    module.walk<WalkOrder::PreOrder>([&](nd::ScanOp loop) {
      loops.push_back({{"dim", loop.getDim().str()},
                       {"location", report::getPlace(loop.getLoc())}});
    });
  return loops;
}

/// What --recompute rules out, if another policy fits; otherwise that none
/// does.
std::string Compilation::describeOtherPolicies() {
  if (!options.recompute)
    return "";
  CompileOptions others = options;
  others.recompute.reset();
  std::string given =
      ("'--recompute=" + getName(*options.recompute) + "'").str();
  SmallVector<Recompute> policies = listPolicies(*module, others);
  llvm::erase(policies, *options.recompute);
  for (Recompute policy : policies) {
    others.recompute = policy;
    std::optional<Trial> trial = tryPhases(*module, "steps", others, machine);
    if (trial && trial->getOutcome(others, machine).fits)
      return " Without " + given +
             " it fits: '--recompute=" + getName(policy).str() + "' needs " +
             describeBytes(trial->arenaBytes) + ".";
  }
  return policies.empty() ? ""
                          : " It does not fit without " + given + " either.";
}

ExitCode Compilation::fitMemory() {
  SmallVector<Recompute> policies = listPolicies(*module, options);
  std::optional<Trial> least;
  cost::Outcome leastOutcome;
  Recompute leastPolicy = policies.front();
  CompileOptions trialOptions = options;
  budget = {{"bytes", *options.memoryBudget},
            {"loops", listLoops(*module, options)},
            {"tried", report::Json::array()}};
  for (Recompute policy : policies) {
    trialOptions.recompute = policy;
    std::optional<Trial> trial =
        tryPhases(*module, "steps", trialOptions, machine);
    if (!trial) // the phases report why
      return ExitCode::Success;
    budget["tried"].push_back({{"recompute", getName(policy).str()},
                               {"arenaBytes", trial->arenaBytes},
                               {"keptBytes", trial->keptBytes}});
    const cost::Outcome outcome = trial->getOutcome(trialOptions, machine);
    if (outcome.fits) {
      options.recompute = policy;
      return ExitCode::Success;
    }
    if (!least || outcome.isBetterThan(leastOutcome, /*isPreferred=*/false)) {
      least = std::move(trial);
      leastOutcome = outcome;
      leastPolicy = policy;
    }
  }
  std::string choice = policies.size() == 1
                           ? ""
                           : (" with '--recompute=" + getName(leastPolicy) +
                              "', which needs least")
                                 .str();
  return failWithLines(
      ExitCode::Memory,
      "the program needs an arena of " + describeBytes(least->arenaBytes) +
          " per rank" + choice + "; '--memory-budget' is " +
          describeBytes(*options.memoryBudget) + "." + describeOtherPolicies() +
          " Cut more dims over the mesh, or make the batch smaller. "
          "The largest values at the peak:" +
          listLargest(*least));
}

ExitCode Compilation::runSteps(const Phase &phase) {
  if (options.memoryBudget)
    if (ExitCode code = fitMemory(); code != ExitCode::Success)
      return code;
  return runPasses(phase);
}

} // namespace meshc
