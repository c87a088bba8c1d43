//===- ParameterGathers.cpp - what gathers cut parameters -----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Spmd/ParameterGathers.h"
#include "dialects/Nd/Ops/LoopEdit.h"
#include "dialects/Nd/TensorAttributes.h"
#include "dialects/Spmd/SpmdOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace meshc::spmd {

static constexpr llvm::StringLiteral gatherOnceName = "spmd.gather_once";

static bool isParameter(Value argument) {
  auto attributes = nd::TensorAttributes::of(argument);
  return isa<func::FuncOp>(argument.getParentBlock()->getParentOp()) &&
         (attributes.hasRole(nd::TensorRole::Parameter) ||
          attributes.hasRole(nd::TensorRole::Average));
}

bool isOfParameter(Value value) {
  bool hasParameter = false;
  llvm::SetVector<Value> sources;
  sources.insert(nd::getOutsideLoops(value));
  for (size_t next = 0; next < sources.size(); ++next) {
    Operation *op = sources[next].getDefiningOp();
    if (!op) {
      if (!isParameter(sources[next]))
        return false;
      hasParameter = true;
      continue;
    }
    if (op->getNumRegions() != 0 || !isMemoryEffectFree(op) ||
        isa<CollectiveOpInterface, ReshardOp>(op))
      return false;
    for (Value operand : op->getOperands())
      sources.insert(nd::getOutsideLoops(operand));
  }
  return hasParameter;
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
