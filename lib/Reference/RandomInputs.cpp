//===- RandomInputs.cpp - values to run a program on ----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Reference/RandomInputs.h"
#include "dialects/Nd/Ops/LoopOps.h"
#include "dialects/Nd/TensorAttributes.h"
#include <cmath>

using namespace mlir;
using meshc::nd::HostTensor;
using meshc::nd::MeshAttr;

namespace meshc::reference {

static constexpr int64_t defaultIntegerLimit = 8;

/// The size of the dim `dim` of an op that uses the integers, where they have
/// no such dim themselves (they index it); nothing if no op says so.
static std::optional<int64_t> findIntegerLimit(Value integers) {
  nd::TensorType type = nd::getTensorType(integers);
  for (OpOperand &use : integers.getUses()) {
    Operation *user = use.getOwner();
    if (auto loop = dyn_cast<nd::ScanOp>(user)) {
      BlockArgument argument =
          loop.getBlock().getArgument(use.getOperandNumber());
      if (std::optional<int64_t> limit = findIntegerLimit(argument))
        return limit;
      continue;
    }
    auto dim = user->getAttrOfType<StringAttr>("dim");
    if (!dim || type.hasDim(dim.getValue()))
      continue;
    SmallVector<Value> others(user->getOperands());
    llvm::append_range(others, user->getResults());
    for (Value other : others)
      if (nd::TensorType indexed = nd::getTensorType(other))
        if (indexed.hasDim(dim.getValue()))
          return indexed.getSize(dim.getValue());
  }
  return std::nullopt;
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
  int64_t limit = findIntegerLimit(argument).value_or(defaultIntegerLimit);
  if (StringAttr name = tensor.getName())
    if (auto given = options.integerLimits.find(name.getValue());
        given != options.integerLimits.end())
      limit = given->second;
  return drawTensor(nd::getTensorType(argument), std::max<int64_t>(limit, 1),
                    tensor.hasRole(nd::TensorRole::Optimizer), random);
}

} // namespace meshc::reference
