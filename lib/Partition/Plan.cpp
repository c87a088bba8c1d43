//===- Plan.cpp - how a block is partitioned ------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Partition/Plan.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace meshc::partition {

using nd::TensorType;
using spmd::FormAttr;
using spmd::PlanAttr;
using spmd::PlanValue;
using spmd::StepAttr;
using spmd::StepKind;

//===----------------------------------------------------------------------===//
// Forms
//===----------------------------------------------------------------------===//

/// The value that a step makes a form of, if the step names an op.
static Value getMadeValue(const PlanStep &step, size_t result) {
  return step.kind == StepKind::Return ? step.op->getOperand(0)
                                       : step.op->getResult(result);
}

llvm::SmallVector<Form, 2> PlanStep::getMade() const {
  llvm::SmallVector<Form, 2> made;
  if (kind == StepKind::Keep)
    return made;
  for (auto [index, type] : llvm::enumerate(results))
    made.push_back({value ? value : getMadeValue(*this, index), type});
  if (kind != StepKind::Loop)
    return made;
  auto scan = cast<nd::ScanOp>(op);
  for (const nd::Tie &tie : scan.getTies()) {
    if (!tie.result)
      continue;
    TensorType end = body->ends[tie.result.getResultNumber()];
    made.push_back({tie.result,
                    tie.kind == nd::TieKind::StackedResult
                        ? nd::getStackedType(end, scan.getDim(), scan.getSize())
                        : end});
  }
  return made;
}

/// The operands of a loop, in the forms in which it has them.
static llvm::SmallVector<Form, 4> getOperands(nd::ScanOp scan,
                                              const BlockPlan &body) {
  llvm::SmallVector<Form, 4> used;
  size_t next = 0;
  for (const nd::Tie &tie : scan.getTies())
    if (tie.kind == nd::TieKind::Carried)
      used.push_back({tie.operand, body.arguments[next++]});
    else if (tie.kind == nd::TieKind::StackedOperand)
      used.push_back(
          {tie.operand, nd::getStackedType(body.arguments[next++],
                                           scan.getDim(), scan.getSize())});
  for (const PlanStep &step : body.steps)
    if (step.kind == StepKind::Enter)
      used.push_back({scan.getTie(cast<BlockArgument>(step.value)).operand,
                      step.results[0]});
  return used;
}

llvm::SmallVector<Form, 4> PlanStep::getUsed() const {
  llvm::SmallVector<Form, 4> used;
  switch (kind) {
  case StepKind::Make:
  case StepKind::Repeat:
    for (auto [operand, type] : llvm::zip(op->getOperands(), operands))
      used.push_back({operand, type});
    return used;
  case StepKind::Return:
    return {{op->getResult(0), operands[0]}};
  case StepKind::Move:
    return {{value, operands[0]}};
  case StepKind::Keep:
    return {{value, results[0]}};
  case StepKind::Loop:
    return getOperands(cast<nd::ScanOp>(op), *body);
  case StepKind::Same: // counts as what uses it
  case StepKind::Zero:
  case StepKind::Enter:
  case StepKind::Take:
    return used;
  }
  llvm_unreachable("all kinds are handled");
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

void BlockPlan::noteCast(size_t number) {
  if (steps[number].kind == StepKind::Same)
    casts[steps[number].op->getResult(0)] = number;
}

void BlockPlan::add(PlanStep step) {
  steps.push_back(std::move(step));
  noteCast(steps.size() - 1);
}

Form BlockPlan::resolve(Form form) const {
  for (auto known = casts.find(form.value);
       known != casts.end() && steps[known->second].results[0] == form.type;
       known = casts.find(form.value))
    form.value = steps[known->second].op->getOperand(0);
  return form;
}

void BlockPlan::dropUnused(Operation *terminator) {
  FormSet used;
  for (auto [operand, type] : llvm::zip(terminator->getOperands(), ends))
    used.insert(resolve({operand, type}));
  auto isUsed = [&](const PlanStep &step) {
    // The block around a loop has made what enters it.
    return step.kind == StepKind::Keep || step.kind == StepKind::Enter ||
           step.kind == StepKind::Same ||
           (step.op && !isMemoryEffectFree(step.op)) ||
           llvm::any_of(step.getMade(),
                        [&](const Form &form) { return used.contains(form); });
  };
  std::vector<PlanStep> rest; // the last one first
  for (PlanStep &step : llvm::reverse(steps)) {
    if (!isUsed(step))
      continue;
    for (const Form &form : step.getUsed())
      used.insert(resolve(form));
    rest.push_back(std::move(step));
  }
  steps.assign(std::make_move_iterator(rest.rbegin()),
               std::make_move_iterator(rest.rend()));
  casts.clear();
  for (size_t number = 0; number < steps.size(); ++number)
    noteCast(number);
}

size_t BlockPlan::countUses(const Form &form, Operation *terminator) const {
  size_t uses = 0;
  for (const PlanStep &step : steps)
    for (const Form &used : step.getUsed())
      uses += resolve(used) == form;
  for (auto [operand, type] : llvm::zip(terminator->getOperands(), ends))
    uses += resolve({operand, type}) == form;
  return uses;
}

void BlockPlan::retype(const Form &form, TensorType type) {
  for (PlanStep &step : steps)
    if (step.kind == StepKind::Same && step.results[0] == form.type &&
        step.op->getOperand(0) == form.value) {
      retype({step.op->getResult(0), form.type}, type);
      step.results[0] = type;
    }
}

//===----------------------------------------------------------------------===//
// As an attribute
//===----------------------------------------------------------------------===//

OpNumbers numberOps(Block &block) {
  OpNumbers numbers;
  auto number = [&](Block &of, auto &self) -> void {
    for (auto [index, op] : llvm::enumerate(of)) {
      numbers[&op] = static_cast<int64_t>(index);
      for (Region &region : op.getRegions())
        for (Block &inside : region)
          self(inside, self);
    }
  };
  number(block, number);
  return numbers;
}

void sortOps(Block &block, const OpNumbers &numbers) {
  llvm::SmallVector<Operation *> ops;
  for (Operation &op : block) {
    ops.push_back(&op);
    for (Region &region : op.getRegions())
      for (Block &inside : region)
        sortOps(inside, numbers);
  }
  llvm::sort(ops, [&](Operation *a, Operation *b) {
    return numbers.lookup(a) < numbers.lookup(b);
  });
  for (Operation *op : ops)
    op->moveBefore(&block, block.end());
}

namespace {
class Writer {
public:
  Writer(MLIRContext *context, const OpNumbers &numbers)
      : context(context), numbers(numbers) {}

  PlanAttr write(const BlockPlan &plan, Block &block, bool gathersOnce);

private:
  PlanValue getPlace(Value value) const;
  StepAttr write(const PlanStep &step);

  MLIRContext *context;
  const OpNumbers &numbers;
};
} // namespace

PlanValue Writer::getPlace(Value value) const {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return {argument.getArgNumber(), -1};
  auto result = cast<OpResult>(value);
  return {numbers.lookup(result.getOwner()), result.getResultNumber()};
}

StepAttr Writer::write(const PlanStep &step) {
  llvm::SmallVector<ArrayAttr> axes;
  for (const spmd::AxisList &list : step.axes)
    axes.push_back(ArrayAttr::get(
        context, llvm::SmallVector<Attribute>(list.begin(), list.end())));
  auto getForm = [](Value value, TensorType type) {
    return FormAttr::of(nd::getTensorType(value), type);
  };
  llvm::SmallVector<FormAttr> operands, results;
  for (auto [index, type] : llvm::enumerate(step.operands)) {
    Value of = step.value                      ? step.value
               : step.kind == StepKind::Return ? step.op->getResult(0)
                                               : step.op->getOperand(index);
    operands.push_back(getForm(of, type));
  }
  for (auto [index, type] : llvm::enumerate(step.results))
    results.push_back(
        getForm(step.value ? step.value : getMadeValue(step, index), type));
  PlanAttr body;
  if (step.body)
    body = write(*step.body, cast<nd::ScanOp>(step.op).getBlock(),
                 /*gathersOnce=*/false);
  StringAttr name =
      step.value ? step.cause : step.op->getName().getIdentifier();
  PlanValue place =
      step.value ? getPlace(step.value) : PlanValue{numbers.lookup(step.op), 0};
  return StepAttr::get(context, step.kind, place, axes, operands, results, name,
                       step.loop ? numbers.lookup(step.loop) : 0,
                       step.source ? getPlace(step.source) : PlanValue(), body);
}

PlanAttr Writer::write(const BlockPlan &plan, Block &block, bool gathersOnce) {
  llvm::SmallVector<FormAttr> arguments, ends;
  llvm::SmallVector<StepAttr> steps;
  // A loop has whole operands behind the others.
  for (auto [argument, type] : llvm::zip(block.getArguments(), plan.arguments))
    arguments.push_back(FormAttr::of(nd::getTensorType(argument), type));
  for (const PlanStep &step : plan.steps)
    steps.push_back(write(step));
  for (auto [operand, type] :
       llvm::zip(block.getTerminator()->getOperands(), plan.ends))
    ends.push_back(FormAttr::of(nd::getTensorType(operand), type));
  return PlanAttr::get(context, arguments, steps, ends, gathersOnce);
}

PlanAttr getAttribute(const BlockPlan &plan, Block &block,
                      const OpNumbers &numbers, bool gathersOnce) {
  return Writer(block.getParentOp()->getContext(), numbers)
      .write(plan, block, gathersOnce);
}

} // namespace meshc::partition
