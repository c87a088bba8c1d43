//===- Explainer.cpp - how a value lies, and why -------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Report/Explainer.h"
#include "dialects/Nd/Ops/LoopOps.h"
#include "dialects/Nd/TensorAttributes.h"
#include "lib/Report/Format.h"
#include "lib/Report/Place.h"
#include "lib/Reshard/WindowPlan.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
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
  auto argument = cast<BlockArgument>(value);
  auto loop = dyn_cast<nd::ScanOp>(argument.getOwner()->getParentOp());
  std::string text =
      loop && loop.getTie(argument).kind != nd::TieKind::Carried
          ? "a value from outside the loop over '" + loop.getDim().str() + "'"
          : "a value that the loop carries";
  return text + describePlace(value.getLoc());
}

bool isHandedOn(OpResult result) {
  auto loop = dyn_cast<nd::ScanOp>(result.getOwner());
  return loop &&
         getName(result) == getName(getSource(loop.getYield()->getOperand(
                                result.getResultNumber())));
}

StringRef getName(Value value) {
  StringAttr name = nd::TensorAttributes::of(value).getName();
  return name ? name.getValue() : StringRef();
}

//===----------------------------------------------------------------------===//
// How a value lies
//===----------------------------------------------------------------------===//

/// The axes over which the rule cuts a dim of a tensor that lies as `type`:
/// those with more than one rank. A weak rule leaves others those that they
/// have.
spmd::AxisList Explainer::getAxes(nd::RuleOp rule, TensorType type,
                                  nd::DimAttr dim) {
  spmd::AxisList axes(rules.getAxes(rule));
  llvm::erase_if(axes, [&](StringAttr axis) {
    bool isTaken = llvm::any_of(type.getDims(), [&](nd::DimAttr other) {
      return other != dim && llvm::is_contained(other.getAxes(), axis);
    });
    return mesh.getAxisSize(axis) == 1 || (rule.getWeak() && isTaken);
  });
  return axes;
}

/// The axes that cut the dim behind those of the rule.
llvm::ArrayRef<StringAttr>
Explainer::getFurtherAxes(nd::RuleOp rule, TensorType type, nd::DimAttr dim) {
  return spmd::getAxesBehind(dim.getAxes(), getAxes(rule, type, dim));
}

/// Whether each dim with a rule lies over the rule's axes, and state without a
/// rule is whole. What a weak rule gets depends on others.
bool Explainer::isAsRulesWant(const nd::TensorIdentity &tensor,
                              TensorType type) {
  return llvm::all_of(type.getDims(), [&](nd::DimAttr dim) {
    nd::RuleOp rule = rules.lookup(tensor, dim.getName().getValue());
    if (!rule)
      return tensor.mayBeOpen() || dim.getAxes().empty();
    return rule.getWeak() ||
           dim.getAxes() == ArrayRef(getAxes(rule, type, dim)) ||
           (tensor.mayBeOpen() && !getFurtherAxes(rule, type, dim).empty());
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

/// "the rule 'batch -> data' (gpt.mesh:2:8)"
static std::string describeRule(nd::RuleOp rule) {
  std::string place = getPlace(rule.getLoc());
  return (rule.getWeak() ? "the weak rule '" : "the rule '") + rule.getText() +
         "'" + (place.empty() ? "" : " (" + place + ")");
}

/// What a rule says of the dim. A weak one may have to yield.
std::string Explainer::explainRule(nd::RuleOp rule, TensorType home,
                                   nd::DimAttr dim) {
  std::string text = describeRule(rule);
  for (StringAttr axis : rules.getAxes(rule)) {
    if (llvm::is_contained(dim.getAxes(), axis))
      continue;
    if (mesh.getAxisSize(axis) == 1)
      text += "; axis '" + axis.str() + "' has one rank, which cuts nothing";
    for (nd::DimAttr other : home.getDims())
      if (rule.getWeak() && llvm::is_contained(other.getAxes(), axis))
        text += "; it yields '" + axis.str() + "' to dim '" +
                other.getName().str() + "'";
  }
  return text;
}

/// "the loop over 'layers' carries it so, and its ranks share the work"
static std::string describeLoop(nd::ScanOp loop, nd::DimAttr dim) {
  std::string text =
      "the loop over '" + loop.getDim().str() + "' carries it so";
  spmd::AxisList shared = spmd::getSharedAxes(loop);
  bool sharesWork = llvm::any_of(dim.getAxes(), [&](StringAttr axis) {
    return llvm::is_contained(shared, axis);
  });
  return sharesWork ? text + ", and its ranks share the work" : text;
}

/// Says that a loop carries the value with the dim cut so, and why; also of the
/// initial value of a loop whose ranks share the work. Empty if there is no
/// such loop.
static std::string explainCarried(Value value, nd::DimAttr dim) {
  auto isCutSo = [&](Value other) {
    return spmd::getAxesOf(nd::getTensorType(other),
                           dim.getName().getValue()) == dim.getAxes();
  };
  auto isCarried = [&](nd::ScanOp loop, llvm::function_ref<bool(nd::Tie)> by) {
    return llvm::any_of(loop.getTies(), [&](const nd::Tie &tie) {
      return tie.kind == nd::TieKind::Carried && isCutSo(tie.argument) &&
             by(tie);
    });
  };
  if (dim.getAxes().empty())
    return {};
  if (auto loop = dyn_cast<nd::ScanOp>(value.getParentBlock()->getParentOp());
      loop && isCarried(loop, [&](const nd::Tie &tie) {
        return tie.argument == value || tie.yielded == value;
      }))
    return describeLoop(loop, dim);
  for (Operation *user : value.getUsers())
    if (auto loop = dyn_cast<nd::ScanOp>(user);
        loop && !spmd::getSharedAxes(loop).empty() &&
        isCarried(loop,
                  [&](const nd::Tie &tie) { return tie.operand == value; }))
      return describeLoop(loop, dim);
  return {};
}

/// How the dim of the op's result came to lie so without a rule.
std::string Explainer::explainOpen(Value value, nd::DimAttr dim) {
  TensorType made = nd::getTensorType(value);
  if (spmd::getAxesOf(made, dim.getName().getValue()) != dim.getAxes())
    return llvm::is_contained(made.getPartialAxes(),
                              dim.getAxes().empty() ? StringAttr()
                                                    : dim.getAxes().front())
               ? "where the " + getReduction(made) +
                     " ends, each rank keeps the block that users want"
               : "a rule has its axis for another dim";
  if (std::string carried = explainCarried(value, dim); !carried.empty())
    return carried;
  auto window = value.getDefiningOp<spmd::WindowOp>();
  if (window && !dim.getAxes().empty()) {
    for (Value input : window.getInputs())
      if (!spmd::getAxesOf(nd::getTensorType(input), dim.getName()).empty())
        return "it is computed so from " + describeValue(input);
    return "each rank computes its block";
  }
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
          return "it is computed so from " + describeValue(operand);
    }
  return dim.getAxes().empty() ? "it is computed whole"
                               : "the loop's values lie so";
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
  bool isResult = isa<OpResult>(value);
  if (rule) {
    // A weak rule yields where its dim is whole.
    if (!isResult || (rule.getWeak() && dim.getAxes().empty()) ||
        dim.getAxes() == ArrayRef(getAxes(rule, home, dim)))
      return text + explainRule(rule, home, dim) + "\n";
    if (auto further = getFurtherAxes(rule, home, dim); !further.empty())
      return text + explainRule(rule, home, dim) + "; cut further over " +
             describeAxes(further) + ": " + explainOpen(value, dim) + "\n";
    return text + describeRule(rule) +
           " has no effect, because no op uses the value so; " +
           explainOpen(value, dim) + "\n";
  }
  if (isResult && (tensor.mayBeOpen() || !dim.getAxes().empty()))
    return text + "no rule places it; " + explainOpen(value, dim) + "\n";
  if (!isResult && isa<nd::ScanOp>(value.getParentBlock()->getParentOp())) {
    std::string carried = explainCarried(value, dim);
    return text + "no rule places it; " +
           (carried.empty() ? "the loop's initial value lies so" : carried) +
           "\n";
  }
  return text +
         "no rule places it, and parameters, optimizer state and inputs are "
         "whole without one\n";
}

/// The first metric that the value is, reshards aside; empty if it is none.
static StringRef getMetric(Value value) {
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    StringRef name;
    if (isa<spmd::ReshardOp>(user)) {
      name = getMetric(user->getResult(0));
    } else if (isa<func::ReturnOp>(user)) {
      auto result = nd::TensorAttributes::ofResult(
          user->getParentOfType<func::FuncOp>(), use.getOperandNumber());
      if (result.getName() && (result.hasRole(nd::TensorRole::Metric) ||
                               result.hasRole(nd::TensorRole::TrainingMetric)))
        name = result.getName().getValue();
    }
    if (!name.empty())
      return name;
  }
  return {};
}

std::string Explainer::describeTitle(Value value) {
  std::string name = getName(value).str(), text;
  if (name.empty())
    name = getMetric(value).str();
  Operation *op = value.getDefiningOp();
  if (!op) {
    auto tensor = nd::TensorAttributes::of(value);
    if (name.empty())
      return describeValue(value);
    text = "'" + name + "'";
    if (auto loop = dyn_cast<nd::ScanOp>(value.getParentBlock()->getParentOp()))
      text += ", carried by the loop over '" + loop.getDim().str() + "'";
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

/// What the window sends: at most so much, since windows of windows become one.
std::string Explainer::explainWindow(spmd::WindowOp window) {
  TensorType type = nd::getTensorType(window.getResult());
  spmd::WindowSegments segments = window.getWindowSegments();
  auto plan = reshard::planWindow(
      llvm::map_to_vector(window.getInputs(), nd::getTensorType), type,
      window.getDim(), segments, mesh);
  bool isSent = plan && plan->bytes > 0;
  std::string dim = "'" + window.getDim().str() + "'", text;
  if (!takesFromOthers(window))
    text = "  each rank takes its entries of " + dim + " from the whole";
  else if (!segments.repeat)
    text =
        "  entries of " + dim + " beyond a rank's block come from other ranks";
  else if (!segments.isNarrowing(
               spmd::getBlockSize(nd::getTensorType(window.getInputs()[0]),
                                  window.getDim(), mesh)))
    text = "  blocks along " + dim + " are widened by entries that others have";
  else
    text = "  parts of blocks along " + dim +
           (isSent ? " go to the ranks that have them" : " are the rank's own");
  if (isSent)
    text += ": each rank sends at most " +
            formatBytes(plan->bytes * double(nd::countRuns(window)));
  return text + "\n";
}

std::string
Explainer::describe(Value value,
                    llvm::function_ref<bool(mlir::Value)> isDescribed) {
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
  auto window = value.getDefiningOp<spmd::WindowOp>();
  if (window)
    text += explainWindow(window);
  SmallVector<Move> moves = getMoves(value);
  for (Move move : moves)
    if (!move.isForValue || !isDescribed(getSource(move.op)))
      text += explainMove(move);
  if (moves.empty() && !window)
    text += "  nothing moves it to other ranks\n";
  return text;
}

} // namespace meshc::report
