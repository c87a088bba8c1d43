//===- Loop.cpp - loops of step functions ---------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/Exec.h"
#include "llvm/Support/ErrorHandling.h"

using namespace mlir;

namespace meshc::exec {

SmallVector<LoopOp> getLoopsAround(Operation *op) {
  SmallVector<LoopOp> loops;
  while (auto loop = op->getParentOfType<LoopOp>()) {
    loops.push_back(loop);
    op = loop;
  }
  std::reverse(loops.begin(), loops.end());
  return loops;
}

SmallVector<int64_t> getLoopSizes(Operation *op) {
  SmallVector<int64_t> sizes;
  for (LoopOp loop : getLoopsAround(op))
    sizes.push_back(static_cast<int64_t>(loop.getSize()));
  return sizes;
}

SmallVector<StepOpInterface> getSteps(Block &body) {
  SmallVector<StepOpInterface> steps;
  for (Operation &op : body) {
    auto step = dyn_cast<StepOpInterface>(op);
    if (step)
      steps.push_back(step);
    else if (!isa<PieceOpInterface>(op))
      llvm::reportFatalInternalError("'" + op.getName().getStringRef() +
                                     "' lacks StepOpInterface");
  }
  return steps;
}

LogicalResult verifySteps(Operation *parent) {
  Block &body = parent->getRegion(0).front();
  // So every buffer is of an op with PieceOpInterface: the others give tokens.
  if (body.getNumArguments() > 0)
    return parent->emitOpError()
           << "must have no arguments, got " << body.getArgumentTypes();
  for (Operation &op : body)
    if (!isa<StepOpInterface, PieceOpInterface>(op))
      return op.emitOpError("has no meaning in a step function: it has neither "
                            "StepOpInterface nor PieceOpInterface")
                 .attachNote(parent->getLoc())
             << "in this " << (isa<LoopOp>(parent) ? "loop" : "function");
  return success();
}

LogicalResult LoopOp::verify() {
  if (failed(verifySteps(*this)))
    return failure();
  if (getWhile() && !getBegunAhead().empty())
    return getBegunAhead().front().emitOpError(
        "is begun ahead in a loop that may end before the next iteration");
  return success();
}

SmallVector<StepOpInterface> LoopOp::getSteps() {
  return exec::getSteps(getBody().front());
}

SmallVector<CollectiveOp> LoopOp::getBegunAhead() {
  SmallVector<CollectiveOp> ahead;
  for (auto collective : getBody().front().getOps<CollectiveOp>())
    if (collective.getAhead())
      ahead.push_back(collective);
  return ahead;
}

WhileOp LoopOp::getWhile() {
  Block &body = getBody().front();
  return body.empty() ? WhileOp() : dyn_cast<WhileOp>(body.back());
}

MeshcLoop LoopOp::countCalls() {
  MeshcLoop calls = {};
  for (StepOpInterface step : getSteps()) {
    if (auto product = step.describe().product) {
      ++calls.products;
      calls.epilogues += !product->epilogue.empty();
    } else if (step.getKernelUse().kernel) {
      ++calls.launches;
    } else if (isa<CollectiveOp>(step.getOperation())) {
      ++calls.collectives;
    } else if (auto inner = dyn_cast<LoopOp>(step.getOperation())) {
      auto size = static_cast<int64_t>(inner.getSize());
      MeshcLoop each = inner.countCalls();
      calls.launches += size * each.launches;
      calls.products += size * each.products;
      calls.epilogues += size * each.epilogues;
      calls.collectives += size * each.collectives;
    }
  }
  return calls;
}

/// Those of all ops of the body. What begins in the loop also ends there.
Accesses LoopOp::getAccesses() {
  Accesses all;
  for (StepOpInterface step : getSteps()) {
    Accesses accesses = step.getAccesses();
    llvm::append_range(all.reads, accesses.reads);
    llvm::append_range(all.writes, accesses.writes);
    llvm::append_range(all.scratch, accesses.scratch);
  }
  return all;
}

bool LoopOp::mayWriteOver(unsigned, unsigned) { return false; }

KernelUse LoopOp::getKernelUse() { return {}; }

void LoopOp::emitCall(CallEmitter &emitter) {
  emitter.inIteration(getFirst(), [&] {
    for (CollectiveOp collective : getBegunAhead())
      collective.begin(emitter);
  });
  emitter.loop(getSize(), getBackwards(), [&] {
    for (StepOpInterface step : getSteps())
      step.emitCall(emitter);
  });
  for (auto collective : getBody().front().getOps<CollectiveOp>())
    if (collective.goesOn() && !collective.getAhead())
      emitter.call("meshc_wait", {collective.getDescriptor(emitter)});
}

void LoopOp::run(Arenas &arenas) {
  arenas.inIteration(getFirst(), [&] {
    for (CollectiveOp collective : getBegunAhead())
      collective.begin(arenas);
  });
  arenas.loop(getSize(), getBackwards(), [&] {
    for (StepOpInterface step : getSteps())
      step.run(arenas);
  });
  for (auto collective : getBody().front().getOps<CollectiveOp>())
    arenas.await(collective.getToken());
}

CallDescription LoopOp::describe() {
  return {"loop", getDim().str(), {getLoc()}};
}

//===----------------------------------------------------------------------===//
// The end of a loop
//===----------------------------------------------------------------------===//

LogicalResult WhileOp::verify() {
  auto loop = dyn_cast<LoopOp>((*this)->getParentOp());
  if (!loop || loop.getWhile() != *this)
    return emitOpError("must be the last op in the body of a loop");
  nd::TensorType type = getCondition().getType().getTensor();
  if (type.getRank() != 0 || !type.getElementType().isSignlessInteger(1))
    return emitOpError("needs a scalar i1 as its condition, got ") << type;
  return success();
}

Accesses WhileOp::getAccesses() {
  Accesses accesses;
  accesses.reads.push_back(getCondition());
  return accesses;
}

bool WhileOp::mayWriteOver(unsigned, unsigned) { return false; }

KernelUse WhileOp::getKernelUse() { return {}; }

void WhileOp::emitCall(CallEmitter &emitter) {
  emitter.endUnless(getCondition(),
                    cast<LoopOp>((*this)->getParentOp()).countCalls());
}

void WhileOp::run(Arenas &arenas) { arenas.endUnless(getCondition()); }

CallDescription WhileOp::describe() { return {"while", "", {getLoc()}}; }

} // namespace meshc::exec
