//===- FindTargets.cpp - inputs that are class numbers --------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Ops/IndexingOps.h"
#include "dialects/Nd/Ops/NormalizationOps.h"
#include "dialects/Nd/TensorAttributes.h"
#include "lib/Report/Report.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace meshc::report {

/// Notes that `numbers` are below `size`, if they are an input.
static void addLimit(Json &limits, Value numbers, int64_t size) {
  // In a loop's body, an entry of an input has the input's attributes.
  auto tensor = nd::TensorAttributes::of(numbers);
  StringAttr name = tensor.getName();
  if (!name || !tensor.hasRole(nd::TensorRole::Input))
    return;
  Json &least = limits[name.str()];
  if (least.is_null() || size < least.get<int64_t>())
    least = size;
}

Json findTargets(ModuleOp module) {
  Json targets = Json::object();
  module.walk([&](nd::CrossEntropyOp op) {
    addLimit(targets, op.getTargets(),
             op.getLogits().getType().getDim(op.getDim()).getSize());
  });
  return targets;
}

Json findIgnored(ModuleOp module) {
  Json ignored = Json::object();
  llvm::StringSet<> counted; // in another cross-entropy
  module.walk([&](nd::CrossEntropyOp op) {
    auto tensor = nd::TensorAttributes::of(op.getTargets());
    StringAttr name = tensor.getName();
    if (!name || !tensor.hasRole(nd::TensorRole::Input))
      return;
    std::string key = name.str();
    std::optional<int64_t> number;
    if (op.getIgnored())
      number = static_cast<int64_t>(*op.getIgnored());
    if (number && ignored.value(key, *number) == *number)
      ignored[key] = *number;
    else
      counted.insert(key);
  });
  for (const auto &name : counted)
    ignored.erase(name.getKey().str());
  return ignored;
}

Json findIndices(ModuleOp module) {
  Json indices = Json::object();
  module.walk([&](nd::GatherOp op) {
    addLimit(indices, op.getIndices(),
             op.getTable().getType().getDim(op.getDim()).getSize());
  });
  module.walk([&](nd::OneHotOp op) {
    addLimit(indices, op.getIndices(),
             op.getResult().getType().getDim(op.getDim()).getSize());
  });
  return indices;
}

} // namespace meshc::report
