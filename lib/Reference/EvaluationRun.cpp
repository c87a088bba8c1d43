//===- EvaluationRun.cpp - evaluations in the interpreter -----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Reference/EvaluationRun.h"
#include "dialects/Nd/TensorAttributes.h"

using namespace mlir;
using meshc::nd::HostTensor;

namespace meshc::reference {

static StringAttr getExampleDim(func::FuncOp step, unsigned argument) {
  return cast<StringAttr>(
      nd::TensorAttributes::ofArgument(step, argument).getOrder()[0]);
}

/// Copies `count` entries along the dim.
static void copyEntries(const HostTensor &from, int64_t fromFirst,
                        HostTensor &to, int64_t toFirst, StringRef dim,
                        int64_t count) {
  SmallVector<int64_t> sizes(to.sizes);
  sizes[to.type.getDimIndex(dim)] = count;
  int64_t source = fromFirst * from.getStrideOf(dim),
          target = toFirst * to.getStrideOf(dim);
  nd::forEachIndex(sizes, {from.getStrides(), to.getStrides()},
                   [&](auto, ArrayRef<int64_t> offsets) {
                     to.data[target + offsets[1]] =
                         from.data[source + offsets[0]];
                   });
}

static nd::TensorType withExamples(nd::TensorType type, StringRef dim,
                                   int64_t count) {
  SmallVector<nd::DimAttr> dims(type.getDims());
  for (nd::DimAttr &each : dims)
    if (each.getName() == dim)
      each = nd::DimAttr::get(type.getContext(), dim, count);
  return nd::TensorType::get(type.getElementType(), dims);
}

static nd::MeshAttr getOneDevice(func::FuncOp step) {
  return nd::MeshAttr::get(step.getContext(), ArrayRef<nd::AxisAttr>());
}

void appendExamples(func::FuncOp step, unsigned argument,
                    const HostTensor &batch,
                    std::vector<HostTensor> &examples) {
  StringAttr dim = getExampleDim(step, argument);
  nd::TensorType type = withExamples(batch.type, dim, 1);
  for (int64_t i = 0; i < batch.type.getSize(dim); ++i) {
    HostTensor &example =
        examples.emplace_back(HostTensor(type, getOneDevice(step)));
    copyEntries(batch, i, example, 0, dim, 1);
  }
}

int64_t getBatchSize(func::FuncOp step) {
  for (unsigned i = 0; i < step.getNumArguments(); ++i)
    if (nd::TensorAttributes::ofArgument(step, i).hasRole(
            nd::TensorRole::Input))
      return nd::getTensorType(step.getArgument(i))
          .getSize(getExampleDim(step, i));
  return 0;
}

HostTensor makeArgument(func::FuncOp step, unsigned index,
                        const llvm::StringMap<HostTensor> &state,
                        const Examples &examples, int64_t first,
                        int64_t count) {
  auto attributes = nd::TensorAttributes::ofArgument(step, index);
  StringRef name = attributes.getName().getValue();
  if (auto known = state.find(name); known != state.end())
    return known->second;
  HostTensor value(nd::getTensorType(step.getArgument(index)),
                   getOneDevice(step));
  if (attributes.hasRole(nd::TensorRole::Batches))
    value.data[0] = count == getBatchSize(step);
  if (attributes.hasRole(nd::TensorRole::Rest))
    value.data[0] = static_cast<double>(count);
  if (!attributes.hasRole(nd::TensorRole::Input))
    return value;
  llvm::fill(value.data, nd::getSpoiledValue(value.type.getElementType()));
  const std::vector<HostTensor> &all = examples.find(name)->second;
  for (int64_t i = 0; i < count; ++i)
    copyEntries(all[first + i], 0, value, i, getExampleDim(step, index), 1);
  return value;
}

FailureOr<llvm::StringMap<HostTensor>>
runEvaluation(func::FuncOp step, const llvm::StringMap<HostTensor> &state,
              const Examples &examples, int64_t perBatch,
              const RunOptions &options) {
  llvm::StringMap<HostTensor> known = state, metrics;
  auto total = static_cast<int64_t>(examples.begin()->second.size());
  for (int64_t first = 0; first < total; first += perBatch) {
    int64_t count = std::min(perBatch, total - first);
    std::vector<RankTensors> arguments;
    for (unsigned i = 0; i < step.getNumArguments(); ++i)
      arguments.push_back(
          {makeArgument(step, i, known, examples, first, count)});
    auto results =
        interpret(step, getOneDevice(step), std::move(arguments), options);
    if (failed(results))
      return failure();
    for (auto [i, result] : llvm::enumerate(*results)) {
      auto attributes = nd::TensorAttributes::ofResult(step, i);
      StringRef name = attributes.getName().getValue();
      if (attributes.hasRole(nd::TensorRole::Statistic))
        known[name] = std::move(result.front());
      else if (attributes.hasRole(nd::TensorRole::Metric))
        metrics[name] = std::move(result.front());
    }
  }
  return metrics;
}

} // namespace meshc::reference
