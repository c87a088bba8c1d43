//===- FindTargets.cpp - inputs that are class numbers --------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Ops/NormalizationOps.h"
#include "dialects/Nd/TensorAttributes.h"
#include "lib/Report/Report.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace meshc::report {

Json findTargets(ModuleOp module) {
  Json targets = Json::object();
  module.walk([&](nd::CrossEntropyOp op) {
    // In a loop's body, an entry of an input has the input's attributes.
    auto tensor = nd::TensorAttributes::of(op.getTargets());
    StringAttr name = tensor.getName();
    if (!name || !tensor.hasRole(nd::TensorRole::Input))
      return;
    int64_t size = op.getLogits().getType().getDim(op.getDim()).getSize();
    Json &least = targets[name.str()];
    if (least.is_null() || size < least.get<int64_t>())
      least = size;
  });
  return targets;
}

} // namespace meshc::report
