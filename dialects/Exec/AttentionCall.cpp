//===- AttentionCall.cpp - attention in the terms of the runtime ----------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/AttentionCall.h"
#include "dialects/Exec/Order.h"
#include "dialects/Nd/Ops/AttentionOps.h"
#include "meshc/AttentionScratch.h"
#include <limits>

using namespace mlir;

namespace meshc::exec {

using nd::AttentionScores;
using nd::TensorType;

static bool hasDim(Value value, StringAttr dim) {
  return nd::getTensorType(value).hasDim(dim.getValue());
}

/// The dim of the rows: that of the band, or else the longest of those that
/// neither keys nor values have.
static StringAttr chooseRow(const AttentionScores &scores, nd::MeshAttr mesh) {
  if (scores.position)
    return scores.position;
  TensorType type = nd::getTensorType(scores.query);
  StringAttr best;
  int64_t most = 0;
  for (auto [index, dim] : llvm::enumerate(type.getDims())) {
    StringAttr name = dim.getName();
    int64_t size = type.getLocalSize(static_cast<int64_t>(index), mesh);
    if (name == scores.key || hasDim(scores.keys, name) ||
        hasDim(scores.values, name) || size <= most)
      continue;
    best = name;
    most = size;
  }
  return best;
}

std::optional<AttentionLoops> AttentionLoops::of(Operation *op) {
  AttentionScores scores = AttentionScores::of(op);
  SmallVector<nd::DimAttr> values = scores.getValueDims();
  if (values.size() != 1)
    return std::nullopt;
  AttentionLoops loops;
  loops.row = chooseRow(scores, nd::MeshAttr::of(op));
  loops.key = scores.key;
  loops.memory = scores.memory;
  loops.value = values.front().getName();
  if (loops.row &&
      (hasDim(scores.keys, loops.row) || hasDim(scores.values, loops.row)))
    return std::nullopt;
  // Dims of neither come last: a gradient goes through them with the same keys
  // and values.
  SmallVector<StringAttr> oneSided, others;
  bool haveKeysMore = false, haveValuesMore = false;
  for (nd::DimAttr dim : scores.getRows()) {
    StringAttr name = dim.getName();
    if (name == loops.row)
      continue;
    bool haveKeys = hasDim(scores.keys, name),
         haveValues = hasDim(scores.values, name);
    haveKeysMore |= haveKeys && !haveValues;
    haveValuesMore |= haveValues && !haveKeys;
    (haveKeys && haveValues   ? loops.outer
     : haveKeys || haveValues ? oneSided
                              : others)
        .push_back(name);
  }
  if (haveKeysMore && haveValuesMore)
    return std::nullopt;
  loops.shared = loops.outer.size();
  llvm::append_range(loops.outer, oneSided);
  llvm::append_range(loops.outer, others);
  if (loops.outer.size() > MESHC_ATTENTION_DIMS)
    return std::nullopt;
  return loops;
}

static int64_t getLocalSize(Value value, StringAttr dim, nd::MeshAttr mesh) {
  TensorType type = nd::getTensorType(value);
  return type.getLocalSize(type.getDimIndex(dim.getValue()), mesh);
}

namespace {
/// Fills in the fields of one call.
class CallWriter {
public:
  explicit CallWriter(Operation *op)
      : op(op), mesh(nd::MeshAttr::of(op)), scores(AttentionScores::of(op)),
        loops(*AttentionLoops::of(op)) {}

  MeshcAttention call{};

  void writeSizes();
  void writeBand();
  void writeStrides(MeshcAttentionStrides &strides, Value value,
                    ArrayRef<StringAttr> order) const;

private:
  Operation *op;
  nd::MeshAttr mesh;
  AttentionScores scores;
  AttentionLoops loops;
};
} // namespace

static MeshcLabels getAbiLabels(nd::Predicate predicate) {
  switch (predicate) {
  case nd::Predicate::Eq:
    return MESHC_LABELS_EQUAL;
  case nd::Predicate::Ne:
    return MESHC_LABELS_DIFFER;
  case nd::Predicate::Lt:
    return MESHC_LABELS_LESS;
  case nd::Predicate::Le:
    return MESHC_LABELS_AT_MOST;
  case nd::Predicate::Gt:
    return MESHC_LABELS_GREATER;
  case nd::Predicate::Ge:
    return MESHC_LABELS_AT_LEAST;
  }
  llvm_unreachable("all predicates are above");
}

void CallWriter::writeSizes() {
  call.outerCount = static_cast<int64_t>(loops.outer.size());
  call.sharedCount = loops.shared;
  for (auto [size, dim] : llvm::zip_first(loops.outer, call.outerSizes))
    dim = getLocalSize(scores.query, size, mesh);
  call.rows = loops.row ? getLocalSize(scores.query, loops.row, mesh) : 1;
  call.memory = getLocalSize(scores.keys, loops.memory, mesh);
  call.keys = getLocalSize(scores.query, loops.key, mesh);
  call.values = getLocalSize(scores.values, loops.value, mesh);
  call.scale = scores.getScale();
  call.type = getAbiType(nd::getTensorType(scores.query).getElementType());
  call.hasMask = scores.mask != nullptr;
  call.hasBias = scores.bias != nullptr;
  if (scores.predicate)
    call.labels = getAbiLabels(*scores.predicate);
  if (scores.distance) {
    call.biasByDistance = 1;
    call.lastRow = scores.getLastPosition();
  }
  if (auto gradient = dyn_cast<nd::AttentionGradientOp>(op))
    call.hasBiasGradient = gradient.getOfBias();
  call.scratchBytes =
      meshcAttentionScratchBytes(&call, isa<nd::AttentionGradientOp>(op));
}

void CallWriter::writeBand() {
  call.lowest = scores.lowest.value_or(std::numeric_limits<int64_t>::min());
  call.highest = scores.highest.value_or(std::numeric_limits<int64_t>::max());
  if (!scores.position)
    return;
  TensorType type = nd::getTensorType(scores.query);
  int64_t index = type.getDimIndex(scores.position.getValue());
  for (auto [axis, step] : llvm::zip(type.getDims()[index].getAxes(),
                                     type.getBlockSteps(index, mesh)))
    call.rowOffsets[mesh.getAxisIndex(axis)] = step;
}

void CallWriter::writeStrides(MeshcAttentionStrides &strides, Value value,
                              ArrayRef<StringAttr> order) const {
  TensorType type = nd::getTensorType(value);
  auto strideOf = [&](StringAttr dim) {
    return dim ? getStride(type, order, dim.getValue(), mesh) : 0;
  };
  for (auto [dim, stride] : llvm::zip_first(loops.outer, strides.outer))
    stride = strideOf(dim);
  strides.row = strideOf(loops.row);
  strides.memory = strideOf(loops.memory);
  if (scores.distance && type.hasDim(scores.distance.getValue())) {
    strides.memory = strideOf(scores.distance);
    strides.row = -strides.memory;
  }
}

MeshcAttention describeAttention(Operation *op, ArrayRef<Order> operands,
                                 ArrayRef<Order> results) {
  CallWriter writer(op);
  writer.writeSizes();
  writer.writeBand();
  MeshcAttention &call = writer.call;
  unsigned next = 0;
  auto write = [&](MeshcAttentionStrides &strides) {
    writer.writeStrides(strides, op->getOperand(next), operands[next]);
    ++next;
  };
  write(call.query);
  write(call.key);
  write(call.value);
  if (call.hasMask)
    write(call.mask);
  if (call.hasBias)
    write(call.bias);
  if (call.labels) {
    write(call.rowLabels);
    write(call.memoryLabels);
  }
  if (isa<nd::AttentionGradientOp>(op)) {
    write(call.output);
    write(call.logSums);
    if (call.hasBiasGradient)
      writer.writeStrides(call.biasGradient, op->getResult(3), results[3]);
  } else {
    writer.writeStrides(call.output, op->getResult(0), results[0]);
    writer.writeStrides(call.logSums, op->getResult(1), results[1]);
  }
  return call;
}

MeshcAttention describeAttentionSizes(Operation *op) {
  CallWriter writer(op);
  writer.writeSizes();
  return writer.call;
}

Operation *getAttention(KernelOp kernel) {
  Operation &first = kernel.getBody().front().front();
  return isa<nd::AttentionOp, nd::AttentionGradientOp>(first) ? &first
                                                              : nullptr;
}

} // namespace meshc::exec
