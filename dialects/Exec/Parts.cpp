//===- Parts.cpp - computations that share a launch -----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/Parts.h"
#include "dialects/Nd/NdInterfaces.h"

using namespace mlir;

namespace meshc::exec {

/// Fills in what the part's results need.
static void collect(PartBody &part, Block &block) {
  llvm::SmallDenseSet<Value> seen;
  SmallVector<Value> stack(block.getTerminator()->getOperands().slice(
      part.firstResult, part.results));
  llvm::SmallDenseSet<Operation *> ops;
  while (!stack.empty()) {
    Value value = stack.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      part.inputs.push_back(argument.getArgNumber());
      continue;
    }
    if (ops.insert(value.getDefiningOp()).second)
      part.ops.push_back(value.getDefiningOp());
    llvm::append_range(stack, value.getDefiningOp()->getOperands());
  }
  llvm::sort(part.inputs);
  llvm::sort(part.ops,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
}

SmallVector<PartBody> getParts(Block &block, ArrayAttr parts) {
  SmallVector<PartBody> bodies;
  if (!parts)
    return bodies;
  unsigned first = 0;
  for (auto part : parts.getAsRange<PartAttr>()) {
    PartBody body;
    body.plan = part.getPlan();
    body.firstResult = first;
    body.results = static_cast<unsigned>(part.getResults());
    collect(body, block);
    first += body.results;
    bodies.push_back(std::move(body));
  }
  return bodies;
}

LogicalResult verifyParts(Operation *op, PlanAttr plan, ArrayAttr parts) {
  if (!parts)
    return success();
  Block &block = op->getRegion(0).front();
  if (!plan.getSizes().empty())
    return op->emitOpError("has parts and must have an empty plan itself");
  int64_t results = 0;
  for (auto part : parts.getAsRange<PartAttr>()) {
    if (!part.getPlan().getReduce().empty() || part.getResults() < 1)
      return op->emitOpError() << "has the part " << part
                               << ": a part must have results and no reduce "
                                  "dims";
    results += part.getResults();
  }
  unsigned count = block.getTerminator()->getNumOperands();
  if (results != count)
    return op->emitOpError()
           << "has " << count << " results, but its parts " << results;
  llvm::SmallDenseSet<Operation *> seen;
  for (const PartBody &part : getParts(block, parts))
    for (Operation *inner : part.ops) {
      if (!isa<nd::ElementOpInterface>(inner))
        return op->emitOpError() << "has a part with '" << inner->getName()
                                 << "', which has loops of its own";
      if (!seen.insert(inner).second)
        return op->emitOpError()
               << "has two parts with the same '" << inner->getName() << "'";
    }
  return success();
}

} // namespace meshc::exec
