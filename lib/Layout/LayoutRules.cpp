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

llvm::StringRef TensorIdentity::getParameter() const {
  if (tensorClass == "gradient") {
    llvm::StringRef parameter = name;
    return parameter.consume_front("gradient of ") ? parameter
                                                   : llvm::StringRef();
  }
  if (tensorClass == "optimizer")
    return name.contains('.') ? name.rsplit('.').first : name;
  return {};
}

/// Reads the identity from attributes, by a function that looks one up.
static TensorIdentity
readIdentity(llvm::function_ref<Attribute(llvm::StringRef)> get) {
  auto text = [&](llvm::StringRef attribute) {
    auto value = dyn_cast_or_null<StringAttr>(get(attribute));
    return value ? value.getValue() : llvm::StringRef();
  };
  TensorIdentity identity;
  identity.name = text("nd.name");
  if (llvm::StringRef tensorClass = text("nd.class"); !tensorClass.empty())
    identity.tensorClass = tensorClass;
  llvm::StringRef role = text("nd.role");
  if (role == "parameter" || role == "optimizer")
    identity.tensorClass = role;
  identity.isMetric = role == "metric";
  return identity;
}

TensorIdentity getIdentity(Operation *op) {
  return readIdentity([&](llvm::StringRef name) { return op->getAttr(name); });
}

TensorIdentity getArgumentIdentity(func::FuncOp function, unsigned index) {
  return readIdentity(
      [&](llvm::StringRef name) { return function.getArgAttr(index, name); });
}

TensorIdentity getResultIdentity(func::FuncOp function, unsigned index) {
  return readIdentity([&](llvm::StringRef name) {
    return function.getResultAttr(index, name);
  });
}

bool isClass(llvm::StringRef scope) {
  return scope == "parameter" || scope == "gradient" || scope == "optimizer" ||
         scope == "activation";
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
  for (llvm::StringRef scope :
       {tensor.name, tensor.tensorClass, tensor.getParameter()})
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

std::string getText(nd::RuleOp rule) {
  std::string text;
  if (std::optional<llvm::StringRef> scope = rule.getScope())
    text = (*scope + ".").str();
  text += (rule.getDim() + (rule.getOptional() ? " ->? " : " -> ")).str();
  auto names =
      llvm::map_to_vector(rule.getAxes().getAsRange<StringAttr>(),
                          [](StringAttr axis) { return axis.getValue(); });
  std::string axes = llvm::join(names, ", ");
  return text + (names.size() == 1 ? axes : "(" + axes + ")");
}

} // namespace meshc::layout
