//===- VerifyRules.cpp - the layout's rules by themselves -----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Ops/ModelOps.h"
#include "lib/Layout/LayoutRules.h"
#include "lib/Layout/Passes.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace meshc::layout {

#define GEN_PASS_DEF_VERIFYRULES
#include "lib/Layout/Passes.h.inc"

/// Names that a message may propose, in a fixed order.
using Names = llvm::SetVector<StringRef>;

/// "; did you mean 'data'?" for the name that is nearest, or the list of names
/// where none is near.
static std::string propose(StringRef wrong, const Names &names,
                           StringRef owner) {
  StringRef best;
  unsigned distance = std::max<size_t>(wrong.size() / 3, 1) + 1;
  for (StringRef name : names)
    if (unsigned d = wrong.edit_distance(name); d < distance) {
      distance = d;
      best = name;
    }
  if (!best.empty())
    return ("; did you mean '" + best + "'?").str();
  if (names.empty())
    return ("; " + owner + " has none").str();
  std::string list = ("; " + owner + " has ").str();
  for (auto [index, name] : llvm::enumerate(names)) {
    if (index == 8)
      return list + ", …";
    list += (index ? ", '" : "'") + name.str() + "'";
  }
  return list;
}

namespace {

struct VerifyRules : impl::VerifyRulesBase<VerifyRules> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    collectTensors(module);
    LayoutRules rules(module);
    bool ok = true;
    llvm::MapVector<std::pair<StringRef, StringRef>, nd::RuleOp> first;
    for (auto rule : module.getOps<nd::RuleOp>()) {
      ok &= checkAxes(rule, rules.getMesh()) && checkScope(rule) &&
            checkDim(rule);
      auto key = std::make_pair(rule.getScope().value_or(""), rule.getDim());
      auto [it, isNew] = first.insert({key, rule});
      if (!isNew)
        ok &= checkAgreement(it->second, rule, rules);
    }
    if (!ok)
      signalPassFailure();
  }

private:
  void collectTensors(ModuleOp module) {
    for (auto function : module.getOps<func::FuncOp>()) {
      for (auto [index, type] : llvm::enumerate(function.getArgumentTypes()))
        collect(getArgumentIdentity(function, index), type);
      for (auto [index, type] : llvm::enumerate(function.getResultTypes()))
        collect(getResultIdentity(function, index), type);
      function.walk([&](Operation *op) {
        for (Type type : op->getResultTypes())
          collect(getIdentity(op), type);
      });
    }
  }

  /// Enters the tensor's dims under all scopes that reach it.
  void collect(const TensorIdentity &tensor, Type type) {
    auto tensorType = dyn_cast<nd::TensorType>(type);
    if (!tensorType)
      return;
    for (StringRef scope : {tensor.name, tensor.tensorClass,
                            tensor.getParameter(), StringRef()}) {
      Names &dims = dimsOfScope[scope];
      for (nd::DimAttr dim : tensorType.getDims())
        dims.insert(dim.getName().getValue());
    }
    if (!tensor.name.empty() && tensor.tensorClass != "gradient")
      tensorNames.insert(tensor.name);
  }

  bool checkAxes(nd::RuleOp rule, nd::MeshAttr mesh) {
    Names axes;
    for (nd::AxisAttr axis : mesh.getAxes())
      axes.insert(axis.getName().getValue());
    llvm::DenseSet<StringAttr> seen;
    for (auto axis : rule.getAxes().getAsRange<StringAttr>()) {
      if (!axes.contains(axis.getValue()) && !rule.getOptional()) {
        emitError(rule.getLoc())
            << "layout rule '" << getText(rule) << "' names mesh axis '"
            << axis.getValue() << "', which is not there"
            << propose(axis.getValue(), axes, "the mesh")
            << " (a rule with '->?' may name absent axes)";
        return false;
      }
      if (!seen.insert(axis).second) {
        emitError(rule.getLoc())
            << "layout rule '" << getText(rule) << "' names mesh axis '"
            << axis.getValue() << "' twice; each axis can cut a dim once";
        return false;
      }
    }
    return true;
  }

  bool checkScope(nd::RuleOp rule) {
    StringRef scope = rule.getScope().value_or("");
    if (scope.empty() || isClass(scope) || rule.getOptional() ||
        tensorNames.contains(scope))
      return true;
    Names known = tensorNames;
    for (StringRef name : {"parameter", "gradient", "optimizer", "activation"})
      known.insert(name);
    emitError(rule.getLoc())
        << "layout rule '" << getText(rule) << "' is for '" << scope
        << "', which is neither a tensor of the model nor a class "
           "(parameter, gradient, optimizer, activation)"
        << propose(scope, known, "the model");
    return false;
  }

  bool checkDim(nd::RuleOp rule) {
    StringRef scope = rule.getScope().value_or("");
    const Names &dims = dimsOfScope[scope];
    if (rule.getOptional() || dims.contains(rule.getDim()))
      return true;
    std::string owner = scope.empty()    ? "the model"
                        : isClass(scope) ? "class '" + scope.str() + "'"
                                         : "tensor '" + scope.str() + "'";
    emitError(rule.getLoc())
        << "layout rule '" << getText(rule) << "' names dim '" << rule.getDim()
        << "', which " << owner << " does not have"
        << propose(rule.getDim(), dims, owner)
        << " (a rule with '->?' may name absent dims)";
    return false;
  }

  bool checkAgreement(nd::RuleOp first, nd::RuleOp second,
                      const LayoutRules &rules) {
    if (rules.getAxes(first) == rules.getAxes(second))
      return true;
    emitError(second.getLoc())
            .append("layout rules '", getText(first), "' and '",
                    getText(second), "' disagree on dim '", second.getDim(),
                    "'; keep one, or write 'dim -> (axis, axis)' to cut it "
                    "over both")
            .attachNote(first.getLoc())
        << "'" << getText(first) << "' from this rule";
    return false;
  }

  llvm::DenseMap<StringRef, Names> dimsOfScope;
  Names tensorNames;
};

} // namespace

} // namespace meshc::layout
