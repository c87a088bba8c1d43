//===- VerifyRules.cpp - the layout's rules by themselves -----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/LayoutRules.h"
#include "dialects/Nd/Ops/ModelOps.h"
#include "lib/Layout/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace meshc::layout {

#define GEN_PASS_DEF_VERIFYRULES
#include "lib/Layout/Passes.h.inc"

/// Names that a message may propose, in a fixed order, each with the location
/// of its first use.
using Names = llvm::MapVector<StringRef, Location>;

/// The name nearest to `wrong`; empty if none is near.
static StringRef findNearest(StringRef wrong, const Names &names) {
  StringRef best;
  unsigned distance = std::max<size_t>(wrong.size() / 3, 1) + 1;
  for (const auto &[name, loc] : names)
    if (unsigned d = wrong.edit_distance(name); d < distance) {
      distance = d;
      best = name;
    }
  return best;
}

/// The full names whose last part is `wrong`: 'embedding.table' for 'table'.
/// Names with a space are those of an optimizer's slots.
static llvm::SmallVector<StringRef> findByLastPart(StringRef wrong,
                                                   const Names &names) {
  const std::string end = ("." + wrong).str();
  llvm::SmallVector<StringRef> found;
  for (const auto &[name, loc] : names)
    if (name.ends_with(end) && !name.contains(' '))
      found.push_back(name);
  return found;
}

/// "; did you mean 'data'?" for the nearest name, or for those of functions
/// that end in it, or the list of names if none is near.
static std::string propose(StringRef wrong, const Names &names,
                           StringRef owner) {
  if (auto fullNames = findByLastPart(wrong, names); !fullNames.empty())
    return "; did you mean '" +
           llvm::join(ArrayRef(fullNames).take_front(4), "' or '") + "'?";
  if (StringRef best = findNearest(wrong, names); !best.empty())
    return ("; did you mean '" + best + "'?").str();
  if (names.empty())
    return ("; " + owner + " has none").str();
  std::string list = ("; " + owner + " has ").str();
  for (auto [index, entry] : llvm::enumerate(names)) {
    if (index == 8)
      return list + ", …";
    list += (index ? ", '" : "'") + entry.first.str() + "'";
  }
  return list;
}

/// Notes where the nearest name is used, if one is near.
static void notePlace(InFlightDiagnostic &error, StringRef wrong,
                      const Names &names) {
  const auto *near = names.find(findNearest(wrong, names));
  if (near != names.end())
    error.attachNote(near->second) << "'" << near->first << "' is here";
}

namespace {

struct VerifyRules : impl::VerifyRulesBase<VerifyRules> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    collectTensors(module);
    nd::LayoutRules rules(module);
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
      if (function.isDeclaration())
        continue;
      for (BlockArgument argument : function.getArguments())
        collect(nd::getIdentity(argument), argument.getType(),
                argument.getLoc());
      for (auto [index, type] : llvm::enumerate(function.getResultTypes()))
        collect(nd::getResultIdentity(function, index), type,
                function.getLoc());
      // Arguments of loops have the names of values outside, and their dims.
      function.walk([&](Operation *op) {
        for (Value result : op->getResults())
          collect(nd::getIdentity(result), result.getType(), op->getLoc());
      });
    }
  }

  /// Enters the tensor's dims under all scopes that reach it.
  void collect(const nd::TensorIdentity &tensor, Type type, Location loc) {
    auto tensorType = dyn_cast<nd::TensorType>(type);
    if (!tensorType)
      return;
    for (StringRef scope :
         {tensor.name, nd::stringifyTensorClass(tensor.tensorClass),
          tensor.parameter, StringRef()}) {
      Names &dims = dimsOfScope[scope];
      for (nd::DimAttr dim : tensorType.getDims())
        dims.insert({dim.getName().getValue(), loc});
    }
    if (!tensor.name.empty() && tensor.tensorClass != nd::TensorClass::Gradient)
      tensorNames.insert({tensor.name, loc});
  }

  bool checkAxes(nd::RuleOp rule, nd::MeshAttr mesh) {
    Location module = getOperation().getLoc(); // which has the mesh
    Names axes;
    for (nd::AxisAttr axis : mesh.getAxes())
      axes.insert({axis.getName().getValue(), module});
    llvm::DenseSet<StringAttr> seen;
    for (auto axis : rule.getAxes().getAsRange<StringAttr>()) {
      if (!axes.contains(axis.getValue()) && !rule.getOptional()) {
        (emitError(rule.getLoc())
         << "layout rule '" << rule.getText() << "' names mesh axis '"
         << axis.getValue() << "', which is not there"
         << propose(axis.getValue(), axes, "the mesh")
         << " (a rule with '->?' may name absent axes)")
                .attachNote(module)
            << "the mesh is declared here";
        return false;
      }
      if (!seen.insert(axis).second) {
        emitError(rule.getLoc())
            << "layout rule '" << rule.getText() << "' names mesh axis '"
            << axis.getValue() << "' twice; each axis can cut a dim once";
        return false;
      }
    }
    return true;
  }

  bool checkScope(nd::RuleOp rule) {
    StringRef scope = rule.getScope().value_or("");
    if (scope.empty() || nd::isClass(scope) || rule.getOptional() ||
        tensorNames.contains(scope))
      return true;
    Names known = tensorNames;
    for (StringRef name : {"parameter", "gradient", "optimizer", "activation"})
      known.insert({name, rule.getLoc()});
    InFlightDiagnostic error =
        emitError(rule.getLoc())
        << "layout rule '" << rule.getText() << "' is for '" << scope
        << "', which is neither a tensor of the model nor a class "
           "(parameter, gradient, optimizer, activation)"
        << propose(scope, known, "the model");
    if (!nd::isClass(findNearest(scope, known)))
      notePlace(error, scope, known);
    return false;
  }

  bool checkDim(nd::RuleOp rule) {
    StringRef scope = rule.getScope().value_or("");
    Names dims = dimsOfScope[scope];
    if (rule.getOptional() || dims.contains(rule.getDim()))
      return true;
    // Those that the compiler adds for generation have names with a dot.
    dims.remove_if([](auto &dim) { return dim.first.contains('.'); });
    std::string owner = scope.empty()        ? "the model"
                        : nd::isClass(scope) ? "class '" + scope.str() + "'"
                                             : "tensor '" + scope.str() + "'";
    InFlightDiagnostic error = emitError(rule.getLoc())
                               << "layout rule '" << rule.getText()
                               << "' names dim '" << rule.getDim()
                               << "', which " << owner << " does not have"
                               << propose(rule.getDim(), dims, owner)
                               << " (a rule with '->?' may name absent dims)";
    const auto *tensor = tensorNames.find(scope);
    if (tensor != tensorNames.end())
      error.attachNote(tensor->second) << "tensor '" << scope << "' is here";
    else
      notePlace(error, rule.getDim(), dims);
    return false;
  }

  bool checkAgreement(nd::RuleOp first, nd::RuleOp second,
                      const nd::LayoutRules &rules) {
    if (rules.getAxes(first) == rules.getAxes(second) &&
        first.getWeak() == second.getWeak())
      return true;
    emitError(second.getLoc())
            .append("layout rules '", first.getText(), "' and '",
                    second.getText(), "' disagree on dim '", second.getDim(),
                    "'; keep one, or write 'dim -> (axis, axis)' to shard it "
                    "over both")
            .attachNote(first.getLoc())
        << "'" << first.getText() << "' from this rule";
    return false;
  }

  llvm::DenseMap<StringRef, Names> dimsOfScope;
  Names tensorNames;
};

} // namespace

} // namespace meshc::layout
