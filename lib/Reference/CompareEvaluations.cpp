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

/// Adds the first `count` examples, and writes their files. The interpreter
/// takes so many at a time.
LogicalResult ProgramComparison::addData(int64_t count, int64_t perBatch) {
  EvaluatedData data;
  data.perBatch = perBatch;
  for (unsigned i = 0; i < trainStep.getNumArguments(); ++i) {
    auto attributes = nd::TensorAttributes::ofArgument(trainStep, i);
    if (!attributes.hasRole(nd::TensorRole::Input))
      continue;
    std::string name = getTextName(attributes).str();
    std::vector<HostTensor> &some = data.examples[name];
    some.assign(all[name].begin(), all[name].begin() + count);
    std::string file = getPath(name + "." + std::to_string(count) + ".npy");
    if (auto error = writeExamples(file, some, attributes.getOrder()))
      return report(std::move(error));
    data.arguments.insert(data.arguments.end(), {"--data", name + "=" + file});
  }
  parts.push_back(std::move(data));
  return success();
}

/// The program always takes batches of the model's size. The interpreter takes
/// the same, and batches of other sizes unless the metrics depend on them: of
/// one example, and of a third of a batch, which leave a rest.
LogicalResult ProgramComparison::compareEvaluations() {
  constexpr int64_t few = 3; // each of them is a step of the interpreter
  int64_t batch = getBatchSize(trainStep), third = (batch + 2) / 3;
  bool isFree = !nd::dependsOnBatches(steps);
  parts.push_back({all, {}, batch, /*isPart=*/false});
  if (!nd::getWholeBatches(steps) && batch > 1) {
    if (failed(addData(batch + (batch + 1) / 2, isFree ? third : batch)))
      return failure();
    if (isFree && third > 1 && failed(addData(few, 1)))
      return failure();
  }
  for (auto [function, parameters] :
       {std::pair(nd::Step::Eval, "last"),
        std::pair(nd::Step::EvalAverages, "average")})
    if (auto step = nd::findStep(steps, function))
      for (const EvaluatedData &data : parts)
        if (failed(compareEvaluation(step, parameters, data)))
          return failure();
  return success();
}

/// Compares the program's evaluation of `data` with what `step` computes of
/// them and the final state.
LogicalResult ProgramComparison::compareEvaluation(func::FuncOp step,
                                                   StringRef parameters,
                                                   const EvaluatedData &data) {
  std::string log = getPath("eval.log");
  llvm::sys::fs::remove(log);
  if (failed(execute({"eval", "--checkpoint", getPath("final.safetensors"),
                      "--parameters", parameters.str(), "--log", log},
                     notFiniteCode, data.arguments)))
    return failure();
  auto lines = readLog(log);
  if (!lines)
    return report(lines.takeError());
  if (lines->size() != 1)
    return steps.emitError() << "the compiled program logged " << lines->size()
                             << " evaluations, expected 1";
  std::string moment = parameters == "last" ? "eval" : "eval of averages";
  if (data.isPart)
    moment += " of " + std::to_string(data.examples.begin()->second.size()) +
              " examples";
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
    return evaluate(step, moment, data, noise, outputs);
  });
}

LogicalResult ProgramComparison::evaluate(func::FuncOp step, StringRef moment,
                                          const EvaluatedData &data,
                                          RoundingNoise *noise,
                                          Outputs &outputs) {
  RunOptions run;
  run.seed = options.seed;
  run.step = stepCount;
  run.noise = noise;
  auto results =
      runEvaluation(step, finalState, data.examples, data.perBatch, run);
  if (failed(results))
    return failure();
  for (auto &[metric, value] : *results)
    outputs[{moment.str(), metric.str()}] = std::move(value);
  return success();
}

} // namespace meshc::reference
