//===- LayoutRules.cpp - the rules of a layout, and which one applies -----===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Layout/LayoutRules.h"
#include "dialects/Nd/Ops/ModelOps.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace meshc::layout {

static llvm::StringRef getText(StringAttr text) {
  return text ? text.getValue() : llvm::StringRef();
}

static TensorIdentity makeIdentity(const nd::TensorAttributes &tensor) {
  TensorIdentity identity;
  identity.name = getText(tensor.getName());
  identity.parameter = getText(tensor.getParameter());
  identity.tensorClass =
      tensor.getClass().value_or(nd::TensorClass::Activation);
  if (tensor.hasRole(nd::TensorRole::Parameter))
    identity.tensorClass = nd::TensorClass::Parameter;
  if (tensor.hasRole(nd::TensorRole::Optimizer) ||
      tensor.hasRole(nd::TensorRole::Average))
    identity.tensorClass = nd::TensorClass::Optimizer;
  identity.isWhole = nd::isWholeOnRanks(tensor.getRole());
  return identity;
}

TensorIdentity getIdentity(Value value) {
  return makeIdentity(nd::TensorAttributes::of(value));
}

TensorIdentity getResultIdentity(func::FuncOp function, unsigned index) {
  return makeIdentity(nd::TensorAttributes::ofResult(function, index));
}

bool isClass(llvm::StringRef scope) {
  return nd::symbolizeTensorClass(scope).has_value();
}

LayoutRules::LayoutRules(ModuleOp module) : mesh(nd::MeshAttr::of(module)) {
  llvm::append_range(rules, module.getOps<nd::RuleOp>());
}

nd::RuleOp LayoutRules::find(llvm::StringRef scope, llvm::StringRef dim) const {
  for (nd::RuleOp rule : rules)
    if (rule.getDim() == dim && rule.getScope().value_or("") == scope)
      return rule;
  return {};
}

nd::RuleOp LayoutRules::lookup(const TensorIdentity &tensor,
                               llvm::StringRef dim) const {
  if (tensor.isWhole)
    return {};
  for (llvm::StringRef scope :
       {tensor.name, nd::stringifyTensorClass(tensor.tensorClass),
        tensor.parameter})
    if (!scope.empty())
      if (nd::RuleOp rule = find(scope, dim))
        return rule;
  return find("", dim);
}

llvm::SmallVector<StringAttr> LayoutRules::getAxes(nd::RuleOp rule) const {
  llvm::SmallVector<StringAttr> axes;
  for (auto axis : rule.getAxes().getAsRange<StringAttr>())
    if (mesh.getAxisIndex(axis.getValue()) >= 0)
      axes.push_back(axis);
  return axes;
}

} // namespace meshc::layout
