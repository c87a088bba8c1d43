//===- CompareProgram.cpp - a compiled program against the interpreter ----===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/StepNames.h"
#include "dialects/Nd/TensorAttributes.h"
#include "lib/Reference/ProgramComparison.h"
#include "lib/Reference/RandomInputs.h"
#include "lib/Reference/RoundingNoise.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include <cmath>

using namespace mlir;
using meshc::nd::HostTensor;
using meshc::nd::MeshAttr;

namespace meshc::reference {

static constexpr double spreadFactor = 4;
/// Relative: for results that no op rounded, as a file does.
static constexpr double leastTolerance = 4 * RoundingNoise::unitF32;
static constexpr double smallestNormal = 0x1p-126;
static constexpr unsigned timeoutSeconds = 1200;

StringRef getTextName(const nd::TensorAttributes &tensor) {
  StringAttr name = tensor.getName();
  return name ? name.getValue() : StringRef();
}

ShardedTypes getResultTypes(func::FuncOp partitioned) {
  ShardedTypes types;
  for (auto [i, type] : llvm::enumerate(partitioned.getResultTypes()))
    types[getTextName(nd::TensorAttributes::ofResult(partitioned, i))] =
        cast<nd::TensorType>(type);
  return types;
}

//===----------------------------------------------------------------------===//
// The program
//===----------------------------------------------------------------------===//

/// Draws the inputs, writes their files, and collects names and types.
LogicalResult ProgramComparison::prepare() {
  std::mt19937_64 random(options.seed);
  batches.resize(stepCount);
  for (BlockArgument argument : trainStep.getArguments()) {
    unsigned i = argument.getArgNumber();
    auto attributes = nd::TensorAttributes::ofArgument(trainStep, i);
    ArrayAttr order = attributes.getOrder();
    StringRef name = getTextName(attributes);
    if (!attributes.hasRole(nd::TensorRole::Input)) {
      stored[name] = {nd::getTensorType(argument), order};
      continue;
    }
    SmallVector<HostTensor> values;
    for (Tensors &batch : batches) {
      HostTensor tensor = drawArgument(trainStep, i, options, random);
      for (double &value : tensor.data)
        value = nd::roundToElementType(value, tensor.type.getElementType());
      values.push_back(tensor);
      appendExamples(trainStep, i, tensor, all[name]);
      batch[name] = std::move(tensor);
    }
    std::string file = getPath(name.str() + ".npy");
    if (auto error = writeExamples(file, values, order))
      return report(std::move(error));
    dataArguments.insert(dataArguments.end(),
                         {"--data", name.str() + "=" + file});
  }
  for (unsigned i = 0; i < trainStep.getNumResults(); ++i)
    if (auto result = nd::TensorAttributes::ofResult(trainStep, i);
        result.hasRole(nd::TensorRole::Metric) ||
        result.hasRole(nd::TensorRole::TrainingMetric))
      metrics.push_back(getTextName(result).str());
  return success();
}

FailureOr<int> ProgramComparison::execute(std::vector<std::string> arguments,
                                          int allowed,
                                          ArrayRef<std::string> data) {
  arguments.insert(arguments.begin(), program.path);
  llvm::append_range(arguments, data.empty() ? ArrayRef(dataArguments) : data);
  for (const char *option : {"--comm", "threads", "--quiet"})
    arguments.push_back(option);
  SmallVector<StringRef> references(arguments.begin(), arguments.end());
  std::string output = getPath("output"), message;
  llvm::sys::fs::remove(output); // else a longer one of before remains
  std::optional<StringRef> redirects[] = {StringRef(""), StringRef(output),
                                          StringRef(output)};
  int code = llvm::sys::ExecuteAndWait(program.path, references, std::nullopt,
                                       redirects, timeoutSeconds, 0, &message);
  said.clear();
  if (auto text = llvm::MemoryBuffer::getFile(output))
    said = (*text)->getBuffer().trim();
  if (code == 0 || (code > 0 && code == allowed))
    return code;
  InFlightDiagnostic error = steps.emitError()
                             << "the compiled program failed with code " << code
                             << ": '" << llvm::join(references, " ") << "'";
  error << "; it said: " << message << said;
  return error;
}

LogicalResult ProgramComparison::compareInitialState() {
  std::string file = getPath("initial.safetensors");
  if (failed(execute({"train", "--steps", "0", "--seed",
                      std::to_string(options.seed), "--checkpoint", file})))
    return failure();
  auto state = readCheckpoint(file, stored);
  if (!state)
    return report(state.takeError());
  initialState = std::move(*state);
  Outputs got;
  for (const auto &[name, tensor] : initialState)
    got[{"initial", name.str()}] = tensor;
  return compare(got, [&](RoundingNoise *noise, Outputs &outputs) {
    Tensors results;
    if (failed(call(nd::Step::Initialize, {}, 0, 0, noise, results)))
      return failure();
    for (auto &[name, tensor] : results)
      outputs[{"initial", name.str()}] = std::move(tensor);
    return success();
  });
}

static const std::string stateMoment = "after " + std::to_string(stepCount);

static bool isFinite(const HostTensor &tensor) {
  return llvm::all_of(tensor.data, [](double x) { return std::isfinite(x); });
}

/// Warns that the steps are not compared. Fails if the interpreter's values are
/// finite.
LogicalResult ProgramComparison::explainEarlyEnd() {
  Outputs outputs;
  if (failed(train(nullptr, outputs)))
    return failure();
  const OutputKey *first = nullptr;
  for (const auto &[key, tensor] : outputs)
    // Steps come before the state after them.
    if (!isFinite(tensor) && (!first || first->first == stateMoment))
      first = &key;
  if (!first)
    return steps.emitError() << "the compiled program found a value that is "
                                "not finite; the interpreter found none";
  InFlightDiagnostic warning = emitWarning(getLocation(first->second));
  warning << "'" << first->second << "' (" << first->first
          << ") is not finite, in the interpreter too: only the initial state "
             "was compared, but not the "
          << stepCount
          << " training steps, the state after them and the evaluation; "
             "'--seed' draws other inputs";
  warning.attachNote() << "the compiled program said: " << said;
  return success();
}

LogicalResult ProgramComparison::compareTraining() {
  std::string file = getPath("final.safetensors"), log = getPath("train.log");
  FailureOr<int> code =
      execute({"train", "--steps", std::to_string(stepCount), "--seed",
               std::to_string(options.seed), "--no-shuffle", "--checkpoint",
               file, "--log", log},
              notFiniteCode);
  if (failed(code))
    return failure();
  endedEarly = *code != 0;
  if (endedEarly)
    return explainEarlyEnd();
  Outputs got;
  auto lines = readLog(log);
  if (!lines)
    return report(lines.takeError());
  if (lines->size() != stepCount)
    return steps.emitError() << "the compiled program logged " << lines->size()
                             << " steps, expected " << stepCount;
  for (auto [step, line] : llvm::enumerate(*lines))
    for (const std::string &metric : metrics) {
      HostTensor value(nd::TensorType::get(Float32Type::get(steps.getContext()),
                                           ArrayRef<nd::DimAttr>()),
                       oneDevice);
      value.data[0] = static_cast<float>(line[metric]);
      got[{"step " + std::to_string(step + 1), metric}] = value;
    }
  auto state = readCheckpoint(file, stored);
  if (!state)
    return report(state.takeError());
  finalState = std::move(*state);
  for (const auto &[name, tensor] : finalState)
    got[{stateMoment, name.str()}] = tensor;
  return compare(got, [&](RoundingNoise *noise, Outputs &outputs) {
    return train(noise, outputs);
  });
}

//===----------------------------------------------------------------------===//
// The interpreter
//===----------------------------------------------------------------------===//

LogicalResult ProgramComparison::call(nd::Step kind, const Tensors &state,
                                      int batch, int64_t step,
                                      RoundingNoise *noise, Tensors &results) {
  auto function = nd::findStep(steps, kind);
  std::vector<RankTensors> arguments;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    auto argument = nd::TensorAttributes::ofArgument(function, i);
    bool isInput = argument.hasRole(nd::TensorRole::Input);
    const Tensors &values = isInput ? batches[batch] : state;
    arguments.push_back({values.find(getTextName(argument))->second});
  }
  RunOptions run;
  run.seed = options.seed;
  run.step = step;
  run.noise = noise;
  auto values = interpret(function, oneDevice, std::move(arguments), run);
  if (failed(values))
    return failure();
  for (auto [i, value] : llvm::enumerate(*values))
    results[getTextName(nd::TensorAttributes::ofResult(function, i))] =
        std::move(value.front());
  return success();
}

LogicalResult ProgramComparison::train(RoundingNoise *noise, Outputs &outputs) {
  Tensors state = initialState;
  for (int step = 0; step < stepCount; ++step) {
    Tensors results;
    if (failed(call(nd::Step::Train, state, step, step, noise, results)))
      return failure();
    for (const std::string &metric : metrics)
      outputs[{"step " + std::to_string(step + 1), metric}] = results[metric];
    for (auto &[name, tensor] : state)
      tensor = results[name];
  }
  for (auto &[name, tensor] : state)
    outputs[{stateMoment, name.str()}] = std::move(tensor);
  return success();
}

//===----------------------------------------------------------------------===//
// The comparison
//===----------------------------------------------------------------------===//

LogicalResult ProgramComparison::compare(const Outputs &got, Compute compute) {
  Outputs expected;
  if (failed(compute(nullptr, expected)))
    return failure();
  std::map<OutputKey, std::vector<double>> spreads;
  for (const auto &[key, tensor] : expected)
    spreads[key].resize(tensor.data.size());
  unsigned runs = 0;
  std::vector<ProgramDifference> found;
  for (unsigned wanted : getRunCounts(trainStep)) {
    for (; runs < wanted; ++runs) {
      // The first runs explain most differences.
      double factor = runs < 10 || runs % 2 == 0 ? 1 : spreadFactor;
      RoundingNoise noise(runs + 1, program.rounds16Bit, factor);
      Outputs outputs;
      if (failed(compute(&noise, outputs)))
        return failure();
      for (const auto &[key, tensor] : expected)
        widenSpread(spreads[key], tensor, outputs[key], factor);
    }
    found.clear();
    for (const auto &[key, tensor] : got)
      found.push_back(judge(key, tensor, expected.at(key), spreads[key]));
    if (llvm::all_of(found, [](const auto &d) { return d.agrees; }))
      break;
  }
  llvm::append_range(differences, found);
  return success();
}

ProgramDifference ProgramComparison::judge(const OutputKey &key,
                                           const HostTensor &got,
                                           const HostTensor &expected,
                                           ArrayRef<double> spread) {
  ProgramDifference difference{.moment = key.first,
                               .name = key.second,
                               .location = getLocation(key.second)};
  double worst = -1;
  int64_t element = 0;
  for (size_t i = 0; i < expected.data.size(); ++i) {
    double wanted = expected.data[i];
    if (!std::isfinite(wanted) || !std::isfinite(spread[i])) {
      ++difference.nonFinite;
      continue;
    }
    difference.scale = std::max(difference.scale, std::abs(wanted));
    double allowed = spreadFactor * spread[i] +
                     leastTolerance * std::abs(wanted) + smallestNormal;
    double ratio = std::abs(got.data[i] - wanted) / allowed;
    if (std::isnan(ratio))
      ratio = HUGE_VAL;
    if (ratio <= worst)
      continue;
    worst = ratio;
    element = static_cast<int64_t>(i);
    difference.got = got.data[i];
    difference.expected = wanted;
    difference.allowed = allowed;
  }
  difference.agrees = worst <= 1;
  describeElement(difference, expected.type, element);
  return difference;
}

/// Where the parameter or input is declared, or the metric computed.
Location ProgramComparison::getLocation(StringRef name) {
  for (unsigned i = 0; i < trainStep.getNumArguments(); ++i)
    if (getTextName(nd::TensorAttributes::ofArgument(trainStep, i)) == name)
      return trainStep.getArgument(i).getLoc();
  Operation *end = trainStep.getBody().front().getTerminator();
  for (unsigned i = 0; i < trainStep.getNumResults(); ++i)
    if (getTextName(nd::TensorAttributes::ofResult(trainStep, i)) == name)
      return end->getOperand(i).getLoc();
  return steps.getLoc();
}

/// Says which element it is, and which rank is the first to hold it.
void ProgramComparison::describeElement(ProgramDifference &difference,
                                        nd::TensorType type, int64_t element) {
  SmallVector<int64_t> index(type.getRank());
  for (int64_t d = type.getRank(); d-- > 0;) {
    index[d] = element % type.getDims()[d].getSize();
    element /= type.getDims()[d].getSize();
  }
  SmallVector<int64_t> coordinates(program.mesh.getAxes().size());
  auto sharded = program.state.find(difference.name);
  std::string text;
  for (auto [d, dim] : llvm::enumerate(type.getDims())) {
    text += (d ? ", " : "[") + dim.getName().str() + " = " +
            std::to_string(index[d]);
    if (sharded == program.state.end())
      continue;
    int64_t entry = index[d];
    for (auto [axis, step] :
         llvm::zip(sharded->second.getDims()[d].getAxes(),
                   sharded->second.getBlockSteps(d, program.mesh))) {
      coordinates[program.mesh.getAxisIndex(axis)] = entry / step;
      entry %= step;
    }
  }
  difference.element = text.empty() ? "" : text + "]";
  for (auto [coordinate, axis] : llvm::zip(coordinates, program.mesh.getAxes()))
    difference.rank = difference.rank * axis.getSize() + coordinate;
}

FailureOr<std::vector<ProgramDifference>> ProgramComparison::run() {
  trainStep = nd::findStep(steps, nd::Step::Train);
  if (!trainStep)
    return std::vector<ProgramDifference>();
  if (failed(prepare()) || failed(compareInitialState()) ||
      failed(compareTraining()))
    return failure();
  if (!endedEarly && failed(compareEvaluations()))
    return failure();
  return std::move(differences);
}

FailureOr<std::vector<ProgramDifference>>
compareProgram(ModuleOp steps, const CompiledProgram &program,
               const CompareOptions &options) {
  return ProgramComparison(steps, program, options).run();
}

} // namespace meshc::reference
