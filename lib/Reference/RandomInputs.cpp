//===- RandomInputs.cpp - values to run a program on ----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Reference/RandomInputs.h"
#include "dialects/Nd/TensorAttributes.h"
#include <cmath>

using namespace mlir;
using meshc::nd::HostTensor;
using meshc::nd::MeshAttr;

namespace meshc::reference {

static constexpr int64_t defaultIntegerLimit = 8;

/// The number of entries that integers of `argument` choose from: the size of
/// the dim `dim` of an op that uses it, where the argument has no such dim
/// itself (it indexes it).
static int64_t getIntegerLimit(BlockArgument argument) {
  nd::TensorType type = nd::getTensorType(argument);
  for (Operation *user : argument.getUsers()) {
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
  return defaultIntegerLimit;
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
  int64_t limit = getIntegerLimit(argument);
  if (StringAttr name = tensor.getName())
    if (auto given = options.integerLimits.find(name.getValue());
        given != options.integerLimits.end())
      limit = given->second;
  return drawTensor(nd::getTensorType(argument), std::max<int64_t>(limit, 1),
                    tensor.hasRole(nd::TensorRole::Optimizer), random);
}

} // namespace meshc::reference
