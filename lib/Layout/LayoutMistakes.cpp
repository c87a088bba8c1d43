//===- LayoutMistakes.cpp - what a layout asks for and cannot have --------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Layout/LayoutMistakes.h"
#include "dialects/Nd/Ops/ModelOps.h"

using namespace mlir;

namespace meshc::layout {

LayoutMistakes::LayoutMistakes(ModuleOp module, const LayoutRules &rules)
    : module(module), rules(rules) {
  for (auto function : module.getOps<func::FuncOp>())
    for (BlockArgument argument : function.getArguments()) {
      TensorIdentity identity = nd::getIdentity(argument);
      if (identity.tensorClass == nd::TensorClass::Parameter)
        parameters.try_emplace(identity.name, argument.getLoc());
    }
}

/// "tensor 'h'", "the gradient of parameter 'w'", "slot 'm' of parameter 'w'".
static std::string describe(const TensorIdentity &tensor) {
  if (tensor.name.empty())
    return "the value of this expression";
  if (tensor.parameter.empty())
    return "tensor '" + tensor.name.str() + "'";
  std::string parameter = "parameter '" + tensor.parameter.str() + "'";
  if (tensor.tensorClass == nd::TensorClass::Gradient)
    return "the gradient of " + parameter;
  StringRef slot = tensor.name;
  slot.consume_front(tensor.parameter);
  slot.consume_front(".");
  return (slot == "update" || slot.empty() ? "the update"
                                           : "slot '" + slot.str() + "'") +
         " of " + parameter;
}

/// How far the tensor is from the names in the text.
static unsigned getDistance(const PlacedTensor &tensor) {
  const TensorIdentity &identity = tensor.identity;
  unsigned distance = identity.name.empty()                                ? 3
                      : identity.tensorClass == nd::TensorClass::Optimizer ? 2
                      : identity.tensorClass == nd::TensorClass::Gradient  ? 1
                                                                           : 0;
  return 2 * distance + tensor.isElsewhere;
}

void LayoutMistakes::add(const Twine &key, Mistake mistake) {
  auto name = StringAttr::get(rules.getMesh().getContext(), key);
  auto [known, isNew] = mistakes.try_emplace(name, mistake);
  if (!isNew && getDistance(mistake.tensor) < getDistance(known->second.tensor))
    known->second = std::move(mistake);
}

void LayoutMistakes::addConflict(const PlacedTensor &tensor, nd::DimAttr a,
                                 nd::DimAttr b, StringAttr axis) {
  add("conflict " + a.getName().getValue() + " " + b.getName().getValue() +
          " " + axis.getValue(),
      {tensor, {a, b}, axis, {}, {}});
}

void LayoutMistakes::addCutLoop(const PlacedTensor &tensor, nd::DimAttr dim,
                                nd::RuleOp rule, Location loop) {
  add("loop " + dim.getName().getValue() + " " + rule.getText(),
      {tensor, {dim}, {}, rule, loop});
}

InFlightDiagnostic
LayoutMistakes::reportConflict(const Mistake &mistake) const {
  const TensorIdentity &tensor = mistake.tensor.identity;
  StringRef first = mistake.dims[0].getName(),
            second = mistake.dims[1].getName();
  InFlightDiagnostic error = emitError(mistake.tensor.loc);
  error << "dims '" << first << "' and '" << second << "' of "
        << describe(tensor) << " both map to mesh axis '"
        << mistake.axis.getValue() << "'";
  nd::RuleOp ruleA = rules.lookup(tensor, first);
  nd::RuleOp ruleB = rules.lookup(tensor, second);
  error.attachNote(ruleA.getLoc())
      << "'" << ruleA.getText() << "' from this rule";
  error.attachNote(ruleB.getLoc())
      << "'" << ruleB.getText()
      << "' from this rule; one of them must stay whole, take another axis, "
         "or yield where the axis is taken ('~>')";
  return error;
}

/// Whether a value of the optimizer has the dim.
bool LayoutMistakes::isInOptimizer(StringAttr dim) const {
  auto has = [&](Value value) {
    auto type = dyn_cast<nd::TensorType>(value.getType());
    return type && type.hasDim(dim.getValue()) &&
           nd::getIdentity(value).tensorClass == nd::TensorClass::Optimizer;
  };
  ModuleOp program = module;
  return program
      .walk([&](Operation *op) {
        return llvm::any_of(op->getResults(), has) ? WalkResult::interrupt()
                                                   : WalkResult::advance();
      })
      .wasInterrupted();
}

/// What can be done about a rule that cuts a loop's dim, other than to remove
/// it: the end of a sentence, or nothing.
std::string LayoutMistakes::proposeForLoop(const Mistake &mistake) const {
  const TensorIdentity &tensor = mistake.tensor.identity;
  StringAttr dim = mistake.dims[0].getName();
  nd::RuleOp from = mistake.rule;
  std::optional<StringRef> scope = from.getScope();
  std::string rule = from.getText().substr(scope ? scope->size() + 1 : 0);
  bool isOfParameter = tensor.tensorClass == nd::TensorClass::Parameter ||
                       tensor.tensorClass == nd::TensorClass::Gradient;
  if (isOfParameter && isInOptimizer(dim))
    return ", or cut the optimizer's state alone ('optimizer." + rule + "')";
  if (!scope)
    return ", or limit it to a tensor that no loop runs over ('NAME." + rule +
           "')";
  return "";
}

InFlightDiagnostic LayoutMistakes::reportCutLoop(const Mistake &mistake) const {
  nd::RuleOp rule = mistake.rule;
  StringRef dim = mistake.dims[0].getName();
  InFlightDiagnostic error = emitError(mistake.tensor.loc);
  error << "dim '" << dim << "' of " << describe(mistake.tensor.identity)
        << " is cut over mesh "
        << (rules.getAxes(rule).size() == 1 ? "axis " : "axes ");
  llvm::interleaveComma(rules.getAxes(rule), error, [&](StringAttr axis) {
    error << "'" << axis.getValue() << "'";
  });
  error << ", but a loop runs over it; loops over a cut dim (pipelines) do not "
           "exist yet";
  error.attachNote(rule.getLoc())
      << "'" << rule.getText() << "' from this rule; remove it"
      << proposeForLoop(mistake);
  error.attachNote(*mistake.loop) << "the loop over '" << dim << "' is here";
  return error;
}

InFlightDiagnostic LayoutMistakes::report(const Mistake &mistake) const {
  return mistake.loop ? reportCutLoop(mistake) : reportConflict(mistake);
}

LogicalResult LayoutMistakes::report() const {
  for (const auto &[key, mistake] : mistakes) {
    InFlightDiagnostic error = report(mistake);
    StringRef parameter = mistake.tensor.identity.parameter;
    if (auto declared = parameters.find(parameter);
        declared != parameters.end() && declared->second != mistake.tensor.loc)
      error.attachNote(declared->second)
          << "parameter '" << parameter << "' is declared here";
  }
  return success(mistakes.empty());
}

} // namespace meshc::layout
