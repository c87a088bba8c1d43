//===- LayoutRules.cpp - the rules of a layout, and which one applies -----===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/LayoutRules.h"
#include "dialects/Nd/Ops/ModelOps.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace meshc::nd {

static llvm::StringRef getText(StringAttr text) {
  return text ? text.getValue() : llvm::StringRef();
}

static TensorIdentity makeIdentity(const TensorAttributes &tensor) {
  TensorIdentity identity;
  identity.name = getText(tensor.getName());
  identity.parameter = getText(tensor.getParameter());
  identity.tensorClass = tensor.getClass().value_or(TensorClass::Activation);
  if (tensor.hasRole(TensorRole::Parameter))
    identity.tensorClass = TensorClass::Parameter;
  if (tensor.hasRole(TensorRole::Optimizer) ||
      tensor.hasRole(TensorRole::Average))
    identity.tensorClass = TensorClass::Optimizer;
  identity.isWhole = isWholeOnRanks(tensor.getRole());
  return identity;
}

TensorIdentity getIdentity(Value value) {
  return makeIdentity(TensorAttributes::of(value));
}

bool isGatheredForLoops(Value value) {
  return isa<BlockArgument>(value) &&
         getIdentity(value).tensorClass == TensorClass::Optimizer;
}

TensorIdentity getResultIdentity(FunctionOpInterface function, unsigned index) {
  return makeIdentity(TensorAttributes::ofResult(function, index));
}

bool isClass(llvm::StringRef scope) {
  return symbolizeTensorClass(scope).has_value();
}

LayoutRules::LayoutRules(ModuleOp module) : mesh(MeshAttr::of(module)) {
  llvm::append_range(rules, module.getOps<RuleOp>());
}

RuleOp LayoutRules::find(llvm::StringRef scope, llvm::StringRef dim) const {
  for (RuleOp rule : rules)
    if (rule.getDim() == dim && rule.getScope().value_or("") == scope)
      return rule;
  return {};
}

RuleOp LayoutRules::lookup(const TensorIdentity &tensor,
                           llvm::StringRef dim) const {
  if (tensor.isWhole)
    return {};
  for (llvm::StringRef scope :
       {tensor.name, stringifyTensorClass(tensor.tensorClass),
        tensor.parameter})
    if (!scope.empty())
      if (RuleOp rule = find(scope, dim))
        return rule;
  return find("", dim);
}

llvm::SmallVector<StringAttr> LayoutRules::getAxes(RuleOp rule) const {
  llvm::SmallVector<StringAttr> axes;
  for (auto axis : rule.getAxes().getAsRange<StringAttr>())
    if (mesh.getAxisIndex(axis) >= 0)
      axes.push_back(axis);
  return axes;
}

} // namespace meshc::nd
