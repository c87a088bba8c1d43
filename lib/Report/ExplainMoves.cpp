//===- ExplainMoves.cpp - what moves a value, and for whom ---------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Ops/LoopOps.h"
#include "lib/Report/Explainer.h"
#include "lib/Report/Format.h"
#include "lib/Report/Place.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace meshc::report {

using nd::TensorType;

/// The value, the arguments of loops' bodies that are the value or its entries,
/// and the results of loops that hand it on.
SmallVector<Value> Explainer::getAliases(Value value) {
  SmallVector<Value> aliases = {value};
  for (size_t i = 0; i < aliases.size(); ++i)
    for (OpOperand &use : aliases[i].getUses())
      if (auto loop = dyn_cast<nd::ScanOp>(use.getOwner()))
        for (const nd::Tie &tie : loop.getTies())
          if (tie.argument && tie.operand == aliases[i] &&
              tie.kind != nd::TieKind::Carried &&
              !llvm::is_contained(aliases, tie.argument))
            aliases.push_back(tie.argument);
  for (size_t i = 0; i < aliases.size(); ++i)
    for (OpOperand &use : aliases[i].getUses()) {
      auto loop = dyn_cast<nd::ScanOp>(use.getOwner()->getParentOp());
      if (!loop || use.getOwner() != loop.getYield())
        continue;
      OpResult result = loop->getResult(use.getOperandNumber());
      if (isHandedOn(result) && !llvm::is_contained(aliases, result))
        aliases.push_back(result);
    }
  return aliases;
}

/// The reshards of what the value is made from, and those of the value for
/// others.
SmallVector<Explainer::Move> Explainer::getMoves(Value value) {
  SmallVector<Move> moves;
  auto add = [&](spmd::ReshardOp op, bool isForValue) {
    bool isKnown =
        llvm::any_of(moves, [&](const Move &known) { return known.op == op; });
    if (!isKnown)
      moves.push_back({op, isForValue});
  };
  auto addBefore = [&](Value moved) {
    for (auto reshard = moved.getDefiningOp<spmd::ReshardOp>(); reshard;
         reshard = reshard.getInput().getDefiningOp<spmd::ReshardOp>())
      add(reshard, true);
  };
  Operation *op = value.getDefiningOp();
  if (auto loop = dyn_cast_or_null<nd::ScanOp>(op))
    addBefore(
        loop.getYield()->getOperand(cast<OpResult>(value).getResultNumber()));
  else if (op)
    llvm::for_each(op->getOperands(), addBefore);
  SmallVector<Value> from = getAliases(value);
  for (size_t i = 0; i < from.size(); ++i)
    for (Operation *user : from[i].getUsers())
      if (auto reshard = dyn_cast<spmd::ReshardOp>(user)) {
        add(reshard, false);
        from.append(getAliases(reshard));
      }
  return moves;
}

bool Explainer::takesFromOthers(spmd::WindowOp window) {
  return llvm::any_of(window.getInputs(), [&](Value input) {
    return !spmd::getAxesOf(nd::getTensorType(input), window.getDim()).empty();
  });
}

bool Explainer::isMoved(Value value) {
  auto window = value.getDefiningOp<spmd::WindowOp>();
  return (window && takesFromOthers(window)) || !getMoves(value).empty();
}

/// Why the op takes the dims of this operand in another way than they lie.
std::string Explainer::explainDims(OpOperand &use, TensorType from,
                                   TensorType to,
                                   const nd::PartitionRule &rule) {
  Operation *op = use.getOwner();
  for (const nd::Factor &factor : rule.factors) {
    StringAttr dim = factor.operandDims[use.getOperandNumber()];
    if (!dim || spmd::getAxesOf(from, dim.getValue()) ==
                    spmd::getAxesOf(to, dim.getValue()))
      continue;
    if (factor.effect == nd::FactorEffect::Whole)
      return ", which needs all entries of '" + dim.str() + "'";
    auto isOther = [&](Value value, StringAttr name) {
      return name && value != use.get();
    };
    for (auto [operand, name] :
         llvm::zip(op->getOperands(), factor.operandDims))
      if (isOther(operand, name))
        return ", which has " + describeValue(operand) + " as " +
               describeForm(nd::getTensorType(operand));
    for (auto [result, name] : llvm::zip(op->getResults(), factor.resultDims))
      if (name)
        return ", which makes its result as " +
               describeForm(nd::getTensorType(result));
    return ", which takes '" + dim.str() + "' as one: the cheapest of its ways";
  }
  return "";
}

/// Why a use needs the value as it is there: "'relu' at gpt.mesh:14:13, which
/// is not linear: it needs the sum, not its parts".
std::string Explainer::explainUse(OpOperand &use, TensorType from) {
  Operation *op = use.getOwner();
  unsigned index = use.getOperandNumber();
  if (op->hasTrait<OpTrait::IsTerminator>()) {
    Operation *parent = op->getParentOp();
    if (auto function = dyn_cast<func::FuncOp>(parent)) {
      auto name = nd::TensorAttributes::ofResult(function, index).getName();
      return "the result " + (name ? "'" + name.str() + "' of " : "of ") +
             function.getName().str();
    }
    return cast<nd::ScanOp>(parent).getCarriedCount() > index
               ? "the next iteration"
               : "the stack of the loop's entries";
  }
  std::string text = "'" + getOpName(op) + "'" + describePlace(op->getLoc());
  auto named = dyn_cast<nd::NamedOpInterface>(op);
  if (isa<nd::ScanOp>(op))
    return "the loop over '" + cast<nd::ScanOp>(op).getDim().str() + "'" +
           describePlace(op->getLoc());
  if (!named)
    return text;
  nd::PartitionRule rule = named.getPartitionRule();
  TensorType to = nd::getTensorType(use.get());
  if (!from.isPartial() || to.isPartial())
    return text + explainDims(use, from, to, rule);
  std::string sum = getReduction(from);
  if (rule.jointlyLinear)
    return text +
           ", which takes it together with values that are no parts of "
           "that " +
           sum;
  if (!llvm::is_contained(rule.linearOperands, index))
    return text + ", which is not linear in it: it needs the " + sum +
           ", not its parts";
  if (nd::TensorAttributes::of(getSource(use.get()))
          .hasClass(nd::TensorClass::Gradient))
    return text + ", which updates state: gradients end their " + sum +
           " before it";
  return text + ", where it costs less to end the " + sum + " than later";
}

/// "all_reduce", "all_gather and slice": the steps of a plan.
static std::string describeSteps(const reshard::ReshardPlan &plan) {
  std::string text;
  for (const reshard::ReshardStep &step : plan.steps) {
    std::string one = step.kind
                          ? spmd::stringifyCollectiveKind(*step.kind).str() +
                                " over " + describeAxes(step.axes)
                      : step.from || step.to ? "slice"
                                             : "a part";
    text += (text.empty() ? "" : ", ") + one;
  }
  return text.empty() ? "no step" : text;
}

std::string Explainer::explainMove(const Move &move) {
  spmd::ReshardOp op = move.op;
  TensorType from = nd::getTensorType(op.getInput()), to = op.getType();
  const reshard::ReshardPlan &plan = planner.plan(from, to);
  int64_t calls = nd::countRuns(op);
  std::string text = "  " + describeSteps(plan);
  if (plan.bytes > 0)
    text += ", " + (calls > 1 ? std::to_string(calls) + " times" : "once") +
            ": each rank sends " +
            formatBytes(plan.bytes * static_cast<double>(calls));
  else
    text += ", which sends nothing";
  text += "\n    " +
          (move.isForValue ? describeValue(op.getInput()) + " from "
                           : std::string("from ")) +
          describeForm(from) + " to " + describeForm(to) + "\n";
  SmallVector<Value> forms = getAliases(op);
  std::vector<std::string> uses; // each once
  for (Value form : forms)
    for (OpOperand &use : form.getUses()) {
      bool isFollowed = isa<spmd::ReshardOp>(use.getOwner()) ||
                        (isa<nd::ScanOp>(use.getOwner()) && forms.size() > 1);
      if (!isFollowed)
        if (std::string text = explainUse(use, from);
            !llvm::is_contained(uses, text))
          uses.push_back(std::move(text));
    }
  for (const std::string &use : uses)
    text += "    for " + use + "\n";
  return text;
}

} // namespace meshc::report
