//===- ParameterGathers.cpp - what gathers cut parameters -----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Spmd/ParameterGathers.h"
#include "dialects/Nd/TensorAttributes.h"
#include "dialects/Spmd/SpmdOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace meshc::spmd {

static constexpr llvm::StringLiteral gatherOnceName = "spmd.gather_once";

/// The operand that the loop of a whole argument has; null for another value.
static Value getWholeOperand(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument)
    return {};
  auto loop = dyn_cast<nd::ScanOp>(argument.getOwner()->getParentOp());
  if (!loop)
    return {};
  nd::Tie tie = loop.getTie(argument);
  return tie.kind == nd::TieKind::Whole ? tie.operand : Value();
}

bool isOfParameter(Value value) {
  for (;;) {
    if (Value operand = getWholeOperand(value)) {
      value = operand;
      continue;
    }
    Operation *op = value.getDefiningOp();
    if (!op)
      break;
    if (op->getNumOperands() != 1 || !isMemoryEffectFree(op) ||
        isa<CollectiveOpInterface>(op))
      return false;
    value = op->getOperand(0);
  }
  return isa<func::FuncOp>(value.getParentBlock()->getParentOp()) &&
         nd::TensorAttributes::of(value).hasRole(nd::TensorRole::Parameter);
}

static bool isGather(Operation *op) {
  if (isa<AllGatherOp>(op))
    return true;
  if (!isa<ReshardOp>(op))
    return false;
  nd::MeshAttr mesh = nd::MeshAttr::of(op);
  return nd::getTensorType(op->getResult(0)).getLocalBytes(mesh) >
         nd::getTensorType(op->getOperand(0)).getLocalBytes(mesh);
}

bool gathersForMicroBatch(Operation *op) {
  if (!isGather(op) || !llvm::all_of(op->getOperands(), isOfParameter))
    return false;
  auto loop = op->getParentOfType<nd::ScanOp>();
  while (loop && !loop.getMicroBatches())
    loop = loop->getParentOfType<nd::ScanOp>();
  return loop != nullptr;
}

void setGathersOnce(ModuleOp module) {
  module->setAttr(gatherOnceName, UnitAttr::get(module.getContext()));
}

bool gathersOnce(ModuleOp module) { return module->hasAttr(gatherOnceName); }

void clearGathersOnce(ModuleOp module) { module->removeAttr(gatherOnceName); }

} // namespace meshc::spmd
