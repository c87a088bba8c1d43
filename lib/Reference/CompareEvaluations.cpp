//===- CompareEvaluations.cpp - evaluations of a compiled program ---------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/TensorAttributes.h"
#include "lib/Reference/ProgramComparison.h"
#include "llvm/Support/FileSystem.h"

using namespace mlir;
using meshc::nd::HostTensor;

namespace meshc::reference {

/// Writes the files of an evaluation that ends with an incomplete batch.
LogicalResult ProgramComparison::writeRest() {
  int64_t batch = getBatchSize(trainStep), count = batch + (batch + 1) / 2;
  for (unsigned i = 0; i < trainStep.getNumArguments(); ++i) {
    auto attributes = nd::TensorAttributes::ofArgument(trainStep, i);
    if (!attributes.hasRole(nd::TensorRole::Input))
      continue;
    std::string name = getTextName(attributes).str();
    some[name].assign(all[name].begin(), all[name].begin() + count);
    std::string file = getPath(name + ".rest.npy");
    if (auto error = writeExamples(file, some[name], attributes.getOrder()))
      return report(std::move(error));
    restArguments.insert(restArguments.end(), {"--data", name + "=" + file});
  }
  return success();
}

LogicalResult ProgramComparison::compareEvaluations() {
  bool hasRest = !nd::getWholeBatches(steps) && getBatchSize(trainStep) > 1;
  if (hasRest && failed(writeRest()))
    return failure();
  for (auto [function, parameters] :
       {std::pair(nd::Step::Eval, "last"),
        std::pair(nd::Step::EvalAverages, "average")}) {
    auto step = nd::findStep(steps, function);
    if (!step)
      continue;
    if (failed(compareEvaluation(step, parameters, all, dataArguments)) ||
        (hasRest &&
         failed(compareEvaluation(step, parameters, some, restArguments))))
      return failure();
  }
  return success();
}

/// Compares the program's evaluation of `data`, which holds `examples`, with
/// what `step` computes of them and the final state.
LogicalResult ProgramComparison::compareEvaluation(func::FuncOp step,
                                                   StringRef parameters,
                                                   const Examples &examples,
                                                   ArrayRef<std::string> data) {
  std::string log = getPath("eval.log");
  llvm::sys::fs::remove(log);
  if (failed(execute({"eval", "--checkpoint", getPath("final.safetensors"),
                      "--parameters", parameters.str(), "--log", log},
                     notFiniteCode, data)))
    return failure();
  auto lines = readLog(log);
  if (!lines)
    return report(lines.takeError());
  if (lines->size() != 1)
    return steps.emitError() << "the compiled program logged " << lines->size()
                             << " evaluations, expected 1";
  std::string moment = parameters == "last" ? "eval" : "eval of averages";
  if (&examples == &some)
    moment +=
        " of " + std::to_string(examples.begin()->second.size()) + " examples";
  Outputs got;
  for (unsigned i = 0; i < step.getNumResults(); ++i) {
    auto result = nd::TensorAttributes::ofResult(step, i);
    if (!result.hasRole(nd::TensorRole::Metric))
      continue;
    std::string metric = getTextName(result).str();
    HostTensor value(nd::TensorType::get(Float32Type::get(steps.getContext()),
                                         ArrayRef<nd::DimAttr>()),
                     oneDevice);
    value.data[0] = lines->front()[metric];
    got[{moment, metric}] = value;
  }
  return compare(got, [&](RoundingNoise *noise, Outputs &outputs) {
    return evaluate(step, moment, examples, noise, outputs);
  });
}

/// The interpreter takes other batches than the program, unless the metrics
/// depend on them: smaller ones, which are incomplete.
LogicalResult ProgramComparison::evaluate(func::FuncOp step, StringRef moment,
                                          const Examples &examples,
                                          RoundingNoise *noise,
                                          Outputs &outputs) {
  int64_t perBatch = getBatchSize(step);
  if (&examples == &some && !nd::dependsOnBatches(steps))
    perBatch = (perBatch + 2) / 3;
  RunOptions run;
  run.seed = options.seed;
  run.step = stepCount;
  run.noise = noise;
  auto results = runEvaluation(step, finalState, examples, perBatch, run);
  if (failed(results))
    return failure();
  for (auto &[metric, value] : *results)
    outputs[{moment.str(), metric.str()}] = std::move(value);
  return success();
}

} // namespace meshc::reference
