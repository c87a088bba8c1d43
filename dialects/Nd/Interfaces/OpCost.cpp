//===- OpCost.cpp - what an op costs on one rank --------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Interfaces/OpCost.h"
#include "mlir/IR/Operation.h"
#include <cmath>

using namespace mlir;

namespace meshc::nd {

double getTrafficBytes(Operation *op) {
  MeshAttr mesh = MeshAttr::of(op);
  double bytes = 0;
  auto add = [&](Value value) {
    if (TensorType type = getTensorType(value))
      bytes += type.getLocalBytes(mesh);
  };
  llvm::for_each(op->getOperands(), add);
  llvm::for_each(op->getResults(), add);
  return bytes;
}

SortWork SortWork::of(Operation *op, StringAttr dim, StringAttr into) {
  TensorType input = getTensorType(op->getOperand(0));
  SortWork work;
  work.entries = static_cast<double>(input.getSize(dim.getValue()));
  work.chosen = static_cast<double>(
      getTensorType(op->getResult(0)).getSize(into.getValue()));
  work.rows = input.getLocalElementCount(MeshAttr::of(op)) / work.entries;
  return work;
}

double SortWork::getHeapSteps() const {
  constexpr double stepsOfComparison = 0.5;
  double sinking = chosen * (1 + std::log(entries / chosen));
  return stepsOfComparison * entries + sinking * std::log2(chosen);
}

bool isCheaperThanMemory(const OpCost &cost, double bytes) {
  constexpr double operationsPerByte = 32, operationsPerTranscendental = 16;
  return cost.flops + operationsPerTranscendental * cost.transcendentals <=
         operationsPerByte * bytes;
}

OpCost getElementwiseCost(Operation *op, double flops, double transcendentals) {
  OpCost cost;
  if (op->getNumResults() == 0)
    return cost;
  TensorType type = getTensorType(op->getResult(0));
  double elements = type ? type.getLocalElementCount(MeshAttr::of(op)) : 0;
  cost.flops = flops * elements;
  cost.transcendentals = transcendentals * elements;
  cost.bytes = getTrafficBytes(op);
  return cost;
}

OpCost getPartCost(Operation *op) {
  OpCost cost;
  cost.bytes =
      2.0 * getTensorType(op->getResult(0)).getLocalBytes(MeshAttr::of(op));
  return cost;
}

} // namespace meshc::nd
