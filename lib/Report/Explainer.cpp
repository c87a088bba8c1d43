//===- Explainer.cpp - how a value lies, and why -------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Report/Explainer.h"
#include "dialects/Nd/Ops/LoopOps.h"
#include "lib/Report/Place.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace meshc::report {

using nd::TensorType;

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

static std::string join(ArrayRef<StringAttr> names) {
  return llvm::join(
      llvm::map_range(names, [](StringAttr name) { return name.getValue(); }),
      ", ");
}

std::string describeAxes(ArrayRef<StringAttr> axes) {
  return axes.size() == 1 ? axes.front().str() : "(" + join(axes) + ")";
}

std::string getReduction(TensorType type) {
  return nd::stringifyReductionKind(type.getPartialKind()).str();
}

std::string describeForm(TensorType type) {
  std::string text;
  for (nd::DimAttr dim : type.getDims()) {
    text += (text.empty() ? "" : ", ") + dim.getName().str();
    if (!dim.getAxes().empty())
      text += " over " + describeAxes(dim.getAxes());
  }
  text = "[" + text + "]";
  if (type.isPartial())
    text += ", parts of a " + getReduction(type) + " over " +
            describeAxes(type.getPartialAxes());
  return text;
}

/// "f32 [batch = 8, model = 16]"
static std::string describeGlobal(TensorType type) {
  std::string text;
  for (nd::DimAttr dim : type.getDims())
    text += (text.empty() ? "" : ", ") + dim.getName().str() + " = " +
            std::to_string(dim.getSize());
  return getTypeName(type.getElementType()) + " [" + text + "]";
}

std::string getOpName(Operation *op) {
  return op->getName().stripDialect().str();
}

std::string describePlace(Location location) {
  std::string place = getPlace(location);
  return place.empty() ? "" : " at " + place;
}

Value getSource(Value value) {
  while (auto reshard = value.getDefiningOp<spmd::ReshardOp>())
    value = reshard.getInput();
  return value;
}

std::string describeValue(Value value) {
  value = getSource(value);
  if (StringAttr name = nd::TensorAttributes::of(value).getName())
    return "'" + name.str() + "'";
  if (Operation *op = value.getDefiningOp())
    return "the result of '" + getOpName(op) + "'" +
           describePlace(value.getLoc());
  return "a value that the loop carries" + describePlace(value.getLoc());
}

StringRef getName(Value value) {
  StringAttr name = nd::TensorAttributes::of(value).getName();
  return name ? name.getValue() : StringRef();
}

//===----------------------------------------------------------------------===//
// How a value lies
//===----------------------------------------------------------------------===//

/// Whether each dim with a rule lies over the rule's axes. What a weak rule
/// gets depends on others.
bool Explainer::isAsRulesWant(const nd::TensorIdentity &tensor,
                              TensorType type) {
  return llvm::all_of(type.getDims(), [&](nd::DimAttr dim) {
    nd::RuleOp rule = rules.lookup(tensor, dim.getName().getValue());
    if (!rule || rule.getWeak())
      return true;
    auto axes = rules.getAxes(rule);
    llvm::erase_if(
        axes, [&](StringAttr axis) { return mesh.getAxisSize(axis) == 1; });
    return dim.getAxes() == ArrayRef(axes);
  });
}

TensorType Explainer::getHome(Value value) {
  TensorType made = nd::getTensorType(value);
  nd::TensorIdentity tensor = nd::getIdentity(value);
  if (!made.isPartial() && isAsRulesWant(tensor, made))
    return made;
  for (Operation *user : value.getUsers())
    if (auto reshard = dyn_cast<spmd::ReshardOp>(user))
      if (TensorType type = reshard.getType();
          !type.isPartial() && isAsRulesWant(tensor, type))
        return type;
  return made;
}

/// What a rule says of the dim. A weak one may have to yield.
std::string Explainer::explainRule(nd::RuleOp rule, TensorType home,
                                   nd::DimAttr dim) {
  std::string place = getPlace(rule.getLoc());
  std::string text = (rule.getWeak() ? "the weak rule '" : "the rule '") +
                     rule.getText() + "'" +
                     (place.empty() ? "" : " (" + place + ")");
  for (StringAttr axis : rules.getAxes(rule)) {
    if (llvm::is_contained(dim.getAxes(), axis))
      continue;
    if (mesh.getAxisSize(axis) == 1)
      text += "; axis '" + axis.str() + "' has one rank, which cuts nothing";
    for (nd::DimAttr other : home.getDims())
      if (llvm::is_contained(other.getAxes(), axis))
        text += "; it yields '" + axis.str() + "' to dim '" +
                other.getName().str() + "'";
  }
  return text;
}

/// How the dim of the op's result, which no rule places, came to lie so.
std::string Explainer::explainOpen(Value value, nd::DimAttr dim) {
  TensorType made = nd::getTensorType(value);
  if (spmd::getAxesOf(made, dim.getName().getValue()) != dim.getAxes())
    return llvm::is_contained(made.getPartialAxes(),
                              dim.getAxes().empty() ? StringAttr()
                                                    : dim.getAxes().front())
               ? "no rule places it; where the " + getReduction(made) +
                     " ends, each rank keeps the block that users want"
               : "no rule places it; a rule has its axis for another dim";
  auto op = value.getDefiningOp<nd::NamedOpInterface>();
  unsigned index = cast<OpResult>(value).getResultNumber();
  if (op && op->getNumRegions() == 0)
    for (const nd::Factor &factor : op.getPartitionRule().factors) {
      if (factor.resultDims[index] != dim.getName())
        continue;
      for (auto [operand, name] :
           llvm::zip(op->getOperands(), factor.operandDims))
        if (name && !nd::getTensorType(operand)
                         .getDim(name.getValue())
                         .getAxes()
                         .empty())
          return "no rule places it; it is computed so from " +
                 describeValue(operand);
    }
  return dim.getAxes().empty() ? "no rule places it; it is computed whole"
                               : "no rule places it; the loop's values lie so";
}

/// "  batch over data: the rule 'batch -> data' (gpt.mesh:2:8)"
std::string Explainer::explainDim(Value value, TensorType home,
                                  nd::DimAttr dim) {
  nd::TensorIdentity tensor = nd::getIdentity(value);
  std::string text =
      "  " + dim.getName().str() +
      (dim.getAxes().empty() ? std::string(" whole")
                             : " over " + describeAxes(dim.getAxes())) +
      ": ";
  if (tensor.isWhole)
    return text +
           "the runtime reads or writes it as one, whatever the layout\n";
  nd::RuleOp rule = rules.lookup(tensor, dim.getName().getValue());
  bool isOpen = isa<OpResult>(value) && tensor.mayBeOpen();
  if (rule && !(rule.getWeak() && isOpen && !dim.getAxes().empty() &&
                ArrayRef(rules.getAxes(rule)) != dim.getAxes()))
    return text + explainRule(rule, home, dim) + "\n";
  if (isOpen)
    return text + explainOpen(value, dim) + "\n";
  return text +
         "no rule places it, and parameters, optimizer state and inputs are "
         "whole without one\n";
}

std::string Explainer::describeTitle(Value value) {
  std::string name = getName(value).str(), text;
  Operation *op = value.getDefiningOp();
  if (!op) {
    auto tensor = nd::TensorAttributes::of(value);
    text = "'" + name + "'";
    if (tensor.getRole())
      text += ", " + nd::stringifyTensorRole(*tensor.getRole()).str();
    return text + describePlace(value.getLoc());
  }
  text = name.empty() ? "a value" : "'" + name + "',";
  text += " made by '" + getOpName(op) + "'" + describePlace(value.getLoc());
  if (auto loop = op->getParentOfType<nd::ScanOp>())
    text += ", in the loop over '" + loop.getDim().str() + "'";
  return text;
}

std::string Explainer::describe(Value value) {
  TensorType made = nd::getTensorType(value), home = getHome(value);
  std::string text = "  " + describeGlobal(home) + " lies as " +
                     describeForm(home) + ": a block has " +
                     std::to_string(home.getLocalElementCount(mesh)) + " of " +
                     std::to_string(home.getElementCount()) + " entries\n";
  for (nd::DimAttr dim : home.getDims())
    text += explainDim(value, home, dim);
  Operation *op = value.getDefiningOp();
  if (op && op->getNumRegions() == 0 && op->getNumOperands() > 0) {
    text += "  computed as " + describeForm(made) + " from\n";
    for (Value operand : op->getOperands())
      text += "    " + describeValue(operand) + " as " +
              describeForm(nd::getTensorType(operand)) + "\n";
  }
  if (auto window = value.getDefiningOp<spmd::WindowOp>())
    text += "  entries of '" + window.getDim().str() +
            "' beyond a rank's block come from other ranks\n";
  SmallVector<Move> moves = getMoves(value);
  for (const Move &move : moves)
    text += explainMove(move);
  if (moves.empty())
    text += "  nothing moves it to other ranks\n";
  return text;
}

} // namespace meshc::report
