//===- AttentionReference.cpp - reference semantics of attention ----------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Ops/AttentionOps.h"
#include "dialects/Nd/Ops/Pointwise.h"
#include "dialects/Nd/Ops/Predicates.h"
#include <cmath>
#include <limits>

using namespace mlir;

namespace meshc::nd {

namespace {

/// Where a tensor's entries for one row begin, and its strides.
struct Columns {
  const HostTensor *tensor = nullptr;
  SmallVector<int64_t> rowStrides; ///< along the rows' dims
  int64_t memory = 0, key = 0;     ///< strides
  int64_t distance = 0;            ///< its stride, for a bias by distance
};

/// The scores of a block of rows, one row after another.
class RowByRow {
public:
  RowByRow(Operation *op, ArrayRef<const HostTensor *> operands,
           const EvaluationContext &context);

  SmallVector<HostTensor> forward();
  SmallVector<HostTensor> backward();

private:
  Columns columnsOf(const HostTensor *tensor) const;
  /// Computes the scores of the row whose entries of each operand begin at
  /// `starts`; -inf where they are not allowed.
  void computeScores(ArrayRef<int64_t> index, ArrayRef<int64_t> starts);
  bool isInBand(ArrayRef<int64_t> index, int64_t entry) const;
  bool isAllowed(ArrayRef<int64_t> index, ArrayRef<int64_t> starts,
                 int64_t entry) const;
  /// Of a bias by distance, the index along it.
  int64_t getDistance(ArrayRef<int64_t> index, int64_t entry) const;
  /// Calls `body` for each row with its index, and where the entries of the
  /// operands and then of `others` begin.
  void forEachRow(ArrayRef<const HostTensor *> others,
                  llvm::function_ref<void(ArrayRef<int64_t> index,
                                          ArrayRef<int64_t> starts)>
                      body);
  /// Calls `body` with the offsets of each entry of the value dims in
  /// `tensors`.
  void
  forEachValue(ArrayRef<const HostTensor *> tensors,
               llvm::function_ref<void(ArrayRef<int64_t> offsets)> body) const;
  void round(MutableArrayRef<HostTensor> results) const;

  Operation *op;
  ArrayRef<const HostTensor *> operands;
  const EvaluationContext &context;
  AttentionScores names;
  TensorType rowType;
  SmallVector<int64_t> rowSizes, valueSizes;
  Columns query, keys, values, mask, bias, rowLabels, memoryLabels;
  unsigned maskNumber = 0, biasNumber = 0; ///< among the operands
  unsigned labelsNumber = 0;               ///< of the rows; then the memory's
  int64_t keyCount = 1, memoryCount = 1, positionOffset = 0;
  int64_t positionIndex = -1; ///< of the band's position among the rows' dims
  double scale = 1;
  std::vector<double> scores;
};

} // namespace

Columns RowByRow::columnsOf(const HostTensor *tensor) const {
  return {tensor, tensor->getStridesAlong(rowType),
          tensor->getStrideOf(names.memory), tensor->getStrideOf(names.key),
          names.distance ? tensor->getStrideOf(names.distance) : 0};
}

RowByRow::RowByRow(Operation *op, ArrayRef<const HostTensor *> operands,
                   const EvaluationContext &context)
    : op(op), operands(operands), context(context),
      names(AttentionScores::of(op)) {
  rowType = TensorType::get(getTensorType(names.query).getElementType(),
                            names.getRows());
  auto sizeIn = [](const HostTensor &tensor, StringRef dim) {
    return tensor.sizes[tensor.type.getDimIndex(dim)];
  };
  for (DimAttr dim : rowType.getDims())
    rowSizes.push_back(context.getCount(operands[0]->type, dim.getName()));
  for (DimAttr dim : names.getValueDims())
    valueSizes.push_back(sizeIn(*operands[2], dim.getName()));
  query = columnsOf(operands[0]);
  keys = columnsOf(operands[1]);
  values = columnsOf(operands[2]);
  unsigned next = 3;
  if (names.mask)
    mask = columnsOf(operands[maskNumber = next++]);
  if (names.bias)
    bias = columnsOf(operands[biasNumber = next++]);
  if (names.predicate) {
    labelsNumber = next;
    rowLabels = columnsOf(operands[next]);
    memoryLabels = columnsOf(operands[next + 1]);
  }
  keyCount = sizeIn(*operands[0], names.key);
  memoryCount = sizeIn(*operands[1], names.memory);
  scale = names.getScale();
  if (names.position) {
    positionIndex = rowType.getDimIndex(names.position);
    positionOffset =
        context.getOffset(getTensorType(names.query), names.position);
  }
  scores.resize(memoryCount);
}

bool RowByRow::isInBand(ArrayRef<int64_t> index, int64_t entry) const {
  if (!names.position)
    return true;
  int64_t distance = entry - (index[positionIndex] + positionOffset);
  return (!names.lowest || distance >= *names.lowest) &&
         (!names.highest || distance <= *names.highest);
}

bool RowByRow::isAllowed(ArrayRef<int64_t> index, ArrayRef<int64_t> starts,
                         int64_t entry) const {
  if (mask.tensor &&
      mask.tensor->data[starts[maskNumber] + entry * mask.memory] == 0)
    return false;
  if (!names.predicate)
    return isInBand(index, entry);
  int64_t at = starts[labelsNumber + 1] + entry * memoryLabels.memory;
  return holds(*names.predicate, memoryLabels.tensor->data[at],
               rowLabels.tensor->data[starts[labelsNumber]]) &&
         isInBand(index, entry);
}

int64_t RowByRow::getDistance(ArrayRef<int64_t> index, int64_t entry) const {
  return entry - (index[positionIndex] + positionOffset) +
         names.getLastPosition();
}

void RowByRow::computeScores(ArrayRef<int64_t> index,
                             ArrayRef<int64_t> starts) {
  for (int64_t m = 0; m < memoryCount; ++m) {
    scores[m] = -std::numeric_limits<double>::infinity();
    if (!isAllowed(index, starts, m))
      continue;
    double sum = 0;
    for (int64_t k = 0; k < keyCount; ++k)
      sum += query.tensor->data[starts[0] + k * query.key] *
             keys.tensor->data[starts[1] + m * keys.memory + k * keys.key];
    scores[m] = sum * scale;
    if (!bias.tensor)
      continue;
    int64_t at = starts[biasNumber] + m * bias.memory;
    if (names.distance)
      at += getDistance(index, m) * bias.distance;
    scores[m] += bias.tensor->data[at];
  }
}

void RowByRow::forEachRow(
    ArrayRef<const HostTensor *> others,
    llvm::function_ref<void(ArrayRef<int64_t>, ArrayRef<int64_t>)> body) {
  SmallVector<SmallVector<int64_t>> strides;
  for (const HostTensor *tensor :
       llvm::concat<const HostTensor *const>(operands, others))
    strides.push_back(tensor->getStridesAlong(rowType));
  forEachIndex(rowSizes, strides, body);
}

void RowByRow::forEachValue(
    ArrayRef<const HostTensor *> tensors,
    llvm::function_ref<void(ArrayRef<int64_t>)> body) const {
  SmallVector<SmallVector<int64_t>> strides;
  for (const HostTensor *tensor : tensors) {
    auto &list = strides.emplace_back();
    for (DimAttr dim : names.getValueDims())
      list.push_back(tensor->getStrideOf(dim.getName()));
  }
  forEachIndex(
      valueSizes, strides,
      [&](ArrayRef<int64_t>, ArrayRef<int64_t> offsets) { body(offsets); });
}

void RowByRow::round(MutableArrayRef<HostTensor> results) const {
  for (HostTensor &result : results)
    for (double &value : result.data)
      value = context.round(value, result.type.getElementType());
}

SmallVector<HostTensor> RowByRow::forward() {
  SmallVector<HostTensor> results;
  for (Type type : op->getResultTypes())
    results.push_back(context.makeTensor(type));
  HostTensor &output = results[0], &logSums = results[1];
  size_t first = operands.size();
  forEachRow({&output, &logSums}, [&](ArrayRef<int64_t> index,
                                      ArrayRef<int64_t> starts) {
    computeScores(index, starts);
    // A NaN wins, as in a maximum.
    double largest = -std::numeric_limits<double>::infinity(), sum = 0;
    for (double score : scores)
      largest = std::isnan(score) || score > largest ? score : largest;
    if (largest == -std::numeric_limits<double>::infinity()) {
      logSums.data[starts[first + 1]] = std::numeric_limits<double>::infinity();
      return;
    }
    for (double &score : scores)
      sum += score = exponential(score - largest);
    forEachValue({values.tensor, &output}, [&](ArrayRef<int64_t> at) {
      double total = 0;
      for (int64_t m = 0; m < memoryCount; ++m)
        total += scores[m] *
                 values.tensor->data[starts[2] + m * values.memory + at[0]];
      output.data[starts[first] + at[1]] = total / sum;
    });
    logSums.data[starts[first + 1]] = largest + std::log(sum);
  });
  round(results);
  return results;
}

SmallVector<HostTensor> RowByRow::backward() {
  SmallVector<HostTensor> results;
  for (Type type : op->getResultTypes())
    results.push_back(context.makeTensor(type));
  HostTensor &ofQuery = results[0], &ofKeys = results[1],
             &ofValues = results[2];
  HostTensor *ofBias = results.size() > 3 ? &results[3] : nullptr;
  // The last operands: output, logarithms of sums, gradient.
  size_t first = operands.size(), output = first - 3, logSum = first - 2,
         gradient = first - 1;
  SmallVector<const HostTensor *> targets{&ofQuery, &ofKeys, &ofValues};
  if (ofBias)
    targets.push_back(ofBias);
  forEachRow(targets, [&](ArrayRef<int64_t> index, ArrayRef<int64_t> starts) {
    computeScores(index, starts);
    double inner = 0;
    forEachValue({operands[output], operands[gradient]},
                 [&](ArrayRef<int64_t> at) {
                   inner += operands[output]->data[starts[output] + at[0]] *
                            operands[gradient]->data[starts[gradient] + at[1]];
                 });
    for (int64_t m = 0; m < memoryCount; ++m) {
      double share =
          exponential(scores[m] - operands[logSum]->data[starts[logSum]]);
      double slope = 0;
      forEachValue(
          {values.tensor, operands[gradient]}, [&](ArrayRef<int64_t> at) {
            double g = operands[gradient]->data[starts[gradient] + at[1]];
            int64_t entry = m * values.memory + at[0];
            slope += g * values.tensor->data[starts[2] + entry];
            ofValues.data[starts[first + 2] + entry] += share * g;
          });
      double step = share * (slope - inner);
      if (ofBias)
        ofBias->data[starts[first + 3] +
                     getDistance(index, m) *
                         ofBias->getStrideOf(names.distance)] += step;
      step *= scale;
      for (int64_t k = 0; k < keyCount; ++k) {
        int64_t entry = m * keys.memory + k * keys.key;
        ofQuery.data[starts[first] + k * query.key] +=
            step * keys.tensor->data[starts[1] + entry];
        ofKeys.data[starts[first + 1] + entry] +=
            step * query.tensor->data[starts[0] + k * query.key];
      }
    }
  });
  round(results);
  return results;
}

SmallVector<HostTensor> evaluateAttention(Operation *op,
                                          ArrayRef<const HostTensor *> operands,
                                          const EvaluationContext &context) {
  RowByRow rows(op, operands, context);
  return isa<AttentionOp>(op) ? rows.forward() : rows.backward();
}

} // namespace meshc::nd
