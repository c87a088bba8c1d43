//===- Alignment.cpp - which dims of a kernel's values run with its loops -===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/Alignment.h"

using namespace mlir;

namespace meshc::exec {

static bool isBefore(StringAttr a, StringAttr b) {
  return a.getValue() < b.getValue();
}

DimSet getDims(Value value) {
  DimSet dims;
  if (nd::TensorType type = nd::getTensorType(value))
    for (nd::DimAttr dim : type.getDims())
      dims.push_back(dim.getName());
  return dims;
}

DimSet intersect(ArrayRef<StringAttr> a, ArrayRef<StringAttr> b) {
  DimSet common;
  for (StringAttr dim : a)
    if (llvm::is_contained(b, dim))
      common.push_back(dim);
  return common;
}

DimSet unite(ArrayRef<StringAttr> a, ArrayRef<StringAttr> b) {
  DimSet all(a);
  for (StringAttr dim : b)
    if (!llvm::is_contained(a, dim))
      all.push_back(dim);
  llvm::sort(all, isBefore);
  return all;
}

static int64_t getLocalSize(Value value, StringRef dim, nd::MeshAttr mesh) {
  nd::TensorType type = nd::getTensorType(value);
  return type.getLocalSize(type.getDimIndex(dim), mesh);
}

bool isAligned(nd::ElementOpInterface op, unsigned operand, StringAttr dim,
               nd::MeshAttr mesh) {
  nd::OperandDim along = op.getOperandDim(operand, dim.getValue());
  return along.relation == nd::OperandDim::Same && along.dim == dim &&
         getLocalSize(op->getOperand(operand), dim.getValue(), mesh) ==
             getLocalSize(op->getResult(0), dim.getValue(), mesh);
}

DimSet getAlignedDims(Operation *op, unsigned operand,
                      ArrayRef<StringAttr> resultDims, nd::MeshAttr mesh) {
  Value value = op->getOperand(operand);
  auto element = dyn_cast<nd::ElementOpInterface>(op);
  if (!element)
    return getDims(value);
  DimSet aligned;
  for (StringAttr dim : getDims(value))
    if (llvm::is_contained(resultDims, dim) &&
        isAligned(element, operand, dim, mesh))
      aligned.push_back(dim);
  return aligned;
}

DenseMap<Value, DimSet> getAlignment(Block &block, nd::MeshAttr mesh) {
  DenseMap<Value, DimSet> alignment;
  auto add = [&](Value value, DimSet dims) {
    auto [entry, isNew] = alignment.try_emplace(value, dims);
    if (!isNew)
      entry->second = intersect(entry->second, dims);
  };
  for (Value output : block.getTerminator()->getOperands())
    add(output, getDims(output));
  for (Operation &op : llvm::reverse(block.without_terminator())) {
    if (op.getNumResults() == 0)
      continue;
    DimSet dims = alignment.lookup(op.getResult(0));
    for (auto [index, operand] : llvm::enumerate(op.getOperands()))
      add(operand, getAlignedDims(&op, index, dims, mesh));
  }
  return alignment;
}

DenseMap<Value, LoopDims> getLoopDims(Block &block) {
  DenseMap<Value, LoopDims> loops;
  auto addIdentity = [&](Value value) {
    LoopDims pairs;
    for (StringAttr dim : getDims(value))
      pairs.push_back({dim, dim});
    // A root's own loops count more than a path through another root.
    loops[value] = pairs;
  };
  for (Value output : block.getTerminator()->getOperands())
    addIdentity(output);
  for (Operation &op : llvm::reverse(block.without_terminator())) {
    auto element = dyn_cast<nd::ElementOpInterface>(op);
    if (!element) {
      llvm::for_each(op.getOperands(), addIdentity);
      continue;
    }
    LoopDims known = loops.lookup(op.getResult(0));
    for (auto [index, operand] : llvm::enumerate(op.getOperands())) {
      LoopDims pairs;
      for (auto [loop, dim] : known)
        if (StringAttr along = element.getOperandDim(index, dim.getValue()).dim)
          pairs.push_back({loop, along});
      LoopDims &entry = loops[operand];
      if (pairs.size() > entry.size())
        entry = pairs;
    }
  }
  return loops;
}

} // namespace meshc::exec
