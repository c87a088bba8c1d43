//===- RandomInputs.cpp - values to run a program on ----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Reference/RandomInputs.h"
#include "dialects/Nd/Ops/LoopOps.h"
#include "dialects/Nd/TensorAttributes.h"
#include "lib/Reference/EvaluationRun.h"
#include <cmath>

using namespace mlir;
using meshc::nd::HostTensor;
using meshc::nd::MeshAttr;

namespace meshc::reference {

static constexpr int64_t defaultIntegerLimit = 8;

/// The size of the dim that the op's use of integers indexes; nothing if they
/// have the dim themselves, or the op says of none.
static std::optional<int64_t> findIndexedSize(OpOperand &use) {
  Operation *user = use.getOwner();
  auto dim = user->getAttrOfType<StringAttr>("dim");
  if (!dim || nd::getTensorType(use.get()).hasDim(dim.getValue()))
    return std::nullopt;
  for (ValueRange others :
       {ValueRange(user->getOperands()), ValueRange(user->getResults())})
    for (Value other : others)
      if (nd::TensorType indexed = nd::getTensorType(other))
        if (indexed.hasDim(dim.getValue()))
          return indexed.getSize(dim.getValue());
  return std::nullopt;
}

/// The least size of the dims that the integers index, here and in loops.
static std::optional<int64_t> findIntegerLimit(Value integers) {
  std::optional<int64_t> least;
  for (OpOperand &use : integers.getUses()) {
    auto loop = dyn_cast<nd::ScanOp>(use.getOwner());
    std::optional<int64_t> found =
        loop ? findIntegerLimit(
                   loop.getBlock().getArgument(use.getOperandNumber()))
             : findIndexedSize(use);
    if (found && (!least || *found < *least))
      least = found;
  }
  return least;
}

llvm::StringMap<int64_t> findIntegerLimits(ModuleOp model) {
  llvm::StringMap<int64_t> limits;
  for (auto function : model.getOps<func::FuncOp>())
    for (BlockArgument argument : function.getArguments()) {
      StringAttr name = nd::TensorAttributes::of(argument).getName();
      std::optional<int64_t> limit = findIntegerLimit(argument);
      if (name && limit)
        limits[name.getValue()] = *limit;
    }
  return limits;
}

/// Random values: i32 below `limit`, i1 either, floats normal, but positive
/// for optimizer state, since optimizers take its square root.
static HostTensor drawTensor(nd::TensorType type, int64_t limit, bool positive,
                             std::mt19937_64 &random) {
  HostTensor tensor(type,
                    MeshAttr::get(type.getContext(), ArrayRef<nd::AxisAttr>()));
  std::normal_distribution<double> normal;
  bool isBoolean = type.getElementType().isSignlessInteger(1);
  for (double &value : tensor.data) {
    if (type.isFloat()) {
      value = normal(random);
      if (positive)
        value = std::abs(value);
    } else {
      value = static_cast<double>(random() % (isBoolean ? 2 : limit));
    }
  }
  return tensor;
}

HostTensor drawArgument(func::FuncOp function, unsigned index,
                        const CompareOptions &options,
                        std::mt19937_64 &random) {
  BlockArgument argument = function.getArgument(index);
  auto tensor = nd::TensorAttributes::ofArgument(function, index);
  // The first batch of an evaluation, and an incomplete one.
  if (tensor.hasRole(nd::TensorRole::Statistic) ||
      tensor.hasRole(nd::TensorRole::Batches))
    return HostTensor(
        nd::getTensorType(argument),
        MeshAttr::get(argument.getContext(), ArrayRef<nd::AxisAttr>()));
  if (tensor.hasRole(nd::TensorRole::Rest)) {
    HostTensor rest = drawTensor(nd::getTensorType(argument),
                                 getBatchSize(function), false, random);
    rest.data[0] += 1;
    return rest;
  }
  int64_t limit = findIntegerLimit(argument).value_or(defaultIntegerLimit);
  if (StringAttr name = tensor.getName())
    if (auto given = options.integerLimits.find(name.getValue());
        given != options.integerLimits.end())
      limit = given->second;
  return drawTensor(nd::getTensorType(argument), std::max<int64_t>(limit, 1),
                    tensor.hasRole(nd::TensorRole::Optimizer), random);
}

} // namespace meshc::reference
