//===- BlockCalls.cpp - what becomes of the steps of a plan ---------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Partition/BlockCalls.h"
#include "dialects/Nd/Ops/ShapeOps.h"
#include "lib/Partition/BuildOp.h"
#include "lib/Partition/CheapOps.h"
#include "lib/Partition/FactorChoice.h"

using namespace mlir;

namespace meshc::partition {

using nd::TensorType;
using spmd::StepKind;

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

BlockCalls::Becomes BlockCalls::classifyOp(const PlanStep &step) {
  if (isRecomputable(step.op) || isa<nd::RenameOp>(step.op))
    return Becomes::Nothing;
  if (step.kind == StepKind::Make &&
      (hasMostPoints(step.op) || isa<nd::SortOpInterface>(step.op) ||
       isExchanged(*step.op, step.axes, mesh)))
    return Becomes::Call;
  return Becomes::Kernel;
}

BlockCalls::Becomes BlockCalls::classify(const PlanStep &step) {
  switch (step.kind) {
  case StepKind::Make:
  case StepKind::Repeat:
    return classifyOp(step);
  case StepKind::Loop:
    return Becomes::Call;
  case StepKind::Move: {
    const auto &moves = planner.plan(step.operands[0], step.results[0]).steps;
    if (moves.empty())
      return Becomes::Nothing;
    return llvm::any_of(moves, [](const auto &move) { return bool(move.kind); })
               ? Becomes::Call
               : Becomes::Kernel;
  }
  case StepKind::Same:
  case StepKind::Return:
  case StepKind::Zero:
  case StepKind::Enter:
  case StepKind::Take:
  case StepKind::Keep:
    return Becomes::Nothing;
  }
  llvm_unreachable("all kinds are handled");
}

/// The form that has the memory of this one.
Form BlockCalls::resolve(Form form) const {
  while (true) {
    form = plan.resolve(form);
    auto known = names.find(form);
    if (known == names.end())
      return form;
    form = known->second;
  }
}

void BlockCalls::describe(size_t index) {
  const PlanStep &step = plan.steps[index];
  Step &info = steps[index];
  info.becomes = classify(step);
  for (const Form &form : step.getUsed())
    info.used.push_back(resolve(form));
  for (const Form &form : step.getMade())
    info.made.push_back(form);
  const bool isOther = step.kind == StepKind::Return ||
                       step.kind == StepKind::Move ||
                       isa_and_nonnull<nd::RenameOp>(step.op);
  if (info.becomes == Becomes::Nothing) {
    if (isOther && info.used.size() == 1 && info.made.size() == 1 &&
        !(info.made[0] == info.used[0]))
      names.try_emplace(info.made[0], info.used[0]);
    if (step.kind == StepKind::Enter) {
      Value outside = cast<nd::ScanOp>(block.getParentOp())
                          .getTie(cast<BlockArgument>(step.value))
                          .operand;
      pieces[info.made[0]] = parent->getPiece({outside, step.results[0]});
    } else if (step.kind == StepKind::Take) {
      auto stack = parent->keptStacks.find({step.source, step.results[0]});
      if (stack != parent->keptStacks.end())
        pieces[info.made[0]] =
            makePiece(getBytes(step.results[0]), stack->second);
    }
    return;
  }
  for (const Form &form : info.used)
    if (auto known = producers.find(form); known != producers.end()) {
      const Step &before = steps[known->second];
      const bool areParts =
          before.becomes == Becomes::Kernel && info.becomes == Becomes::Kernel;
      info.level = std::max(info.level, before.level + (areParts ? 0 : 1));
    }
  for (const Form &form : info.made)
    producers.try_emplace(form, index);
  if (info.becomes == Becomes::Kernel)
    join(index);
}

/// Makes the step a part of the kernels whose values it uses, unless something
/// else lies between them.
void BlockCalls::join(size_t index) {
  for (const Form &form : steps[index].used)
    if (auto known = producers.find(form); known != producers.end())
      if (const Step &before = steps[known->second];
          before.becomes == Becomes::Kernel &&
          before.level == steps[index].level)
        unions[getUnit(known->second)] = getUnit(index);
}

/// The number of the step's kernel, or of the step itself.
size_t BlockCalls::getUnit(size_t index) {
  while (unions[index] != index)
    index = unions[index] = unions[unions[index]];
  return index;
}

void BlockCalls::findStored() {
  for (size_t index = 0; index < steps.size(); ++index) {
    const Step &info = steps[index];
    if (info.becomes == Becomes::Nothing) {
      if (plan.steps[index].kind == StepKind::Keep)
        stored.insert(info.used.begin(), info.used.end());
      continue;
    }
    parts[getUnit(index)].push_back(index);
    for (const Form &form : info.used)
      if (auto known = producers.find(form);
          known != producers.end() && getUnit(known->second) != getUnit(index))
        stored.insert(form);
  }
  for (auto [operand, type] :
       llvm::zip(block.getTerminator()->getOperands(), plan.ends))
    stored.insert(resolve({operand, type}));
}

//===----------------------------------------------------------------------===//
// Pieces
//===----------------------------------------------------------------------===//

int64_t BlockCalls::makePiece(double bytes, int64_t stack) {
  all.pieces.push_back({bytes, stack});
  return int64_t(all.pieces.size()) - 1;
}

int64_t BlockCalls::getPiece(const Form &form) {
  const Form known = resolve(form);
  auto [piece, isNew] = pieces.try_emplace(known, -1);
  if (isNew && producers.contains(known) && stored.contains(known))
    piece->second = makePiece(getBytes(known.type));
  return piece->second;
}

/// The arguments of a function.
void BlockCalls::addArguments() {
  for (auto [argument, type] :
       llvm::zip(block.getArguments(), plan.arguments)) {
    int64_t piece = makePiece(getBytes(type));
    pieces[{argument, type}] = piece;
    list.arguments.push_back(piece);
  }
}

/// What a body yields to a stack, or keeps, is written there at once.
void BlockCalls::placeEnds() {
  auto place = [&](const Form &form, int64_t stack) {
    if (stack >= 0 && producers.contains(form) && !pieces.contains(form))
      pieces[form] = makePiece(getBytes(form.type), stack);
  };
  auto ends = block.getTerminator()->getOperands();
  for (auto [operand, type, stack] : llvm::zip(ends, plan.ends, endStacks))
    place(resolve({operand, type}), stack);
  for (const PlanStep &step : plan.steps)
    if (step.kind == StepKind::Keep)
      place(resolve({step.value, step.results[0]}),
            parent->keptStacks.lookup({step.value, step.results[0]}));
}

} // namespace meshc::partition
