//===- Alignment.cpp - which dims of a kernel's values run with its loops -===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/Alignment.h"
#include "dialects/Exec/Parts.h"
#include "dialects/Nd/Ops/IndexingOps.h"

using namespace mlir;

namespace meshc::exec {

static bool isBefore(StringAttr a, StringAttr b) {
  return a.getValue() < b.getValue();
}

DimSet sortDims(ArrayRef<StringAttr> dims) {
  DimSet set(dims);
  llvm::sort(set, isBefore);
  return set;
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

/// Whether a part other than that of the output reads the input.
static bool isReadElsewhere(Block &kernel, unsigned input, unsigned output,
                            ArrayAttr parts) {
  return llvm::any_of(getParts(kernel, parts), [&](const PartBody &part) {
    bool isOwn =
        part.firstResult <= output && output < part.firstResult + part.results;
    return !isOwn && llvm::is_contained(part.inputs, input);
  });
}

bool canWriteOver(Block &kernel, unsigned input, unsigned output, PlanAttr plan,
                  ArrayAttr parts, nd::MeshAttr mesh) {
  Value read = kernel.getArgument(input);
  Value written = kernel.getTerminator()->getOperand(output);
  nd::TensorType readType = nd::getTensorType(read);
  nd::TensorType writtenType = nd::getTensorType(written);
  DimSet dims = getDims(read);
  if (dims != getDims(written) ||
      readType.getLocalBytes(mesh) != writtenType.getLocalBytes(mesh) ||
      readType.getLocalElementCount(mesh) !=
          writtenType.getLocalElementCount(mesh))
    return false;
  // An op with loops of its own reads and writes as it likes. One that changes
  // a table reads it in place.
  if (nd::getChangedTable(written.getDefiningOp()) == read)
    return read.hasOneUse();
  for (Operation &op : kernel.without_terminator())
    if (!isa<nd::ElementOpInterface, nd::ReduceOpInterface>(op))
      return false;
  if (isReadElsewhere(kernel, input, output, parts))
    return false;
  // A result of the parallel dims alone may be written before the walk that
  // stores those with reduce dims.
  bool isPoint = dims.size() == plan.getParallel().size();
  if (isPoint && !plan.getReduce().empty() &&
      llvm::any_of(kernel.getTerminator()->getOperands(), [&](Value other) {
        return getDims(other).size() > plan.getParallel().size();
      }))
    return false;
  for (auto [index, dim] : llvm::enumerate(readType.getDims()))
    if (readType.getLocalSize(index, mesh) !=
        writtenType.getLocalSize(index, mesh))
      return false;
  return getAlignment(kernel, mesh).lookup(read) == dims;
}

bool canWriteOver(Operation *op, const KernelUse &use, unsigned input,
                  unsigned output) {
  auto kernel = SymbolTable::lookupNearestSymbolFrom<KernelOp>(op, use.kernel);
  auto read = cast<BufferType>(use.inputs[input].getType());
  auto written = cast<BufferType>(use.outputs[output].getType());
  return kernel && read.getOrder() == written.getOrder() &&
         canWriteOver(kernel.getBody().front(), input, output, kernel.getPlan(),
                      kernel.getPartsAttr(), nd::MeshAttr::of(op));
}

} // namespace meshc::exec
