//===- AttentionEntry.cpp - one entry of the outer dims -------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Attention/AttentionEntry.h"

#include "runtime/Blas/Element.h"
#include "runtime/Blas/InstructionSet.h"

#include <algorithm>
#include <cstring>
#include <limits>

using namespace meshc::runtime;

const RowLoops &meshc::runtime::rowLoops() {
  static const RowLoops &chosen = usesAvx512() ? avx512RowLoops()
                                  : usesAvx2() ? avx2RowLoops()
                                               : plainRowLoops();
  return chosen;
}

/// A bound beyond any index, that can be added to one.
static constexpr int64_t noBound = int64_t{1} << 40;

AttentionEntry::AttentionEntry(const MeshcAttention &attention,
                               const int64_t *coordinates,
                               const AttentionTensors &tensors, float *ranges)
    : attention(attention), tensors(tensors), loops(rowLoops()),
      lowest(std::max(attention.lowest, -noBound)),
      highest(std::min(attention.highest, noBound)),
      known(reinterpret_cast<Range *>(ranges)) {
  for (unsigned axis = 0; axis < MESHC_MAX_AXES; ++axis)
    if (attention.rowOffsets[axis])
      firstRow += attention.rowOffsets[axis] * coordinates[axis];
}

void AttentionEntry::moveTo(int64_t entry, int64_t firstDim, int64_t lastDim) {
  for (int64_t dim = lastDim - 1; dim >= firstDim; --dim) {
    position[dim] = entry % attention.outerSizes[dim];
    entry /= attention.outerSizes[dim];
  }
}

int64_t AttentionEntry::offsetOf(const MeshcAttentionStrides &strides) const {
  int64_t offset = 0;
  for (int64_t dim = 0; dim < attention.outerCount; ++dim)
    offset += position[dim] * strides.outer[dim];
  return offset;
}

static TensorRows rowsFrom(uint8_t type, const void *data, int64_t offset,
                           int64_t stride) {
  int64_t bytes = type == MESHC_F32 ? 4 : 2;
  return {static_cast<char *>(const_cast<void *>(data)) + offset * bytes,
          stride * bytes};
}

TensorRows AttentionEntry::rowsOf(const void *data,
                                  const MeshcAttentionStrides &strides,
                                  int64_t row) const {
  return rowsFrom(attention.type, data, offsetOf(strides) + row * strides.row,
                  strides.row);
}

TensorRows AttentionEntry::memoryOf(const void *data,
                                    const MeshcAttentionStrides &strides,
                                    int64_t begin) const {
  return rowsFrom(attention.type, data,
                  offsetOf(strides) + begin * strides.memory, strides.memory);
}

void AttentionEntry::addRowsAhead(RowsAhead &ahead, const void *data,
                                  const MeshcAttentionStrides &strides,
                                  int64_t row, int64_t count,
                                  int64_t width) const {
  ahead.add(rowsOf(data, strides, row), count, bytesOf(width));
}

void AttentionEntry::addMemoryAhead(RowsAhead &ahead, const void *data,
                                    const MeshcAttentionStrides &strides,
                                    int64_t begin, int64_t count,
                                    int64_t width) const {
  ahead.add(memoryOf(data, strides, begin), count, bytesOf(width));
}

//===----------------------------------------------------------------------===//
// Allowed scores
//===----------------------------------------------------------------------===//

/// The first of `count` entries of the mask that is set; `count` without one.
static int64_t findFirst(const uint8_t *mask, int64_t stride, int64_t count) {
  int64_t i = 0;
  if (stride == 1)
    for (uint64_t word = 0; i + 8 <= count; i += 8) {
      std::memcpy(&word, mask + i, 8);
      if (word != 0)
        break;
    }
  while (i < count && mask[i * stride] == 0)
    ++i;
  return i;
}

/// One more than the last of them; 0 without one.
static int64_t findEnd(const uint8_t *mask, int64_t stride, int64_t count) {
  if (stride == 1)
    for (uint64_t word = 0; count >= 8; count -= 8) {
      std::memcpy(&word, mask + count - 8, 8);
      if (word != 0)
        break;
    }
  while (count > 0 && mask[(count - 1) * stride] == 0)
    --count;
  return count;
}

/// The entries of the memory from the first to the last that the mask allows
/// for any of the rows.
Range AttentionEntry::findByMask(int64_t row, int64_t count) const {
  int64_t memory = attention.memory, stride = attention.mask.memory;
  Range allowed = {memory, 0};
  for (int64_t i = row; i < row + count; ++i) {
    const uint8_t *from = tensors.mask + origin.mask + i * attention.mask.row;
    allowed.begin = findFirst(from, stride, allowed.begin);
    allowed.end +=
        findEnd(from + allowed.end * stride, stride, memory - allowed.end);
  }
  return allowed;
}

/// Whether a memory label allows an entry for any row label in [least, most],
/// as far as these two say.
static bool mayAllow(uint8_t labels, int32_t label, int32_t least,
                     int32_t most) {
  switch (labels) {
  case MESHC_LABELS_EQUAL:
    return least <= label && label <= most;
  case MESHC_LABELS_DIFFER:
    return label != least || label != most;
  case MESHC_LABELS_LESS:
    return label < most;
  case MESHC_LABELS_AT_MOST:
    return label <= most;
  case MESHC_LABELS_GREATER:
    return label > least;
  default: // MESHC_LABELS_AT_LEAST
    return label >= least;
  }
}

/// The entries of the memory from the first to the last that labels may allow
/// for any of the rows.
Range AttentionEntry::findByLabels(int64_t row, int64_t count) const {
  const int32_t *ofRows =
      tensors.rowLabels + origin.rowLabels + row * attention.rowLabels.row;
  int32_t least = *ofRows, most = *ofRows;
  for (int64_t i = 1; i < count; ++i) {
    int32_t label = ofRows[i * attention.rowLabels.row];
    least = std::min(least, label);
    most = std::max(most, label);
  }
  const int32_t *ofMemory = tensors.memoryLabels + origin.memoryLabels;
  auto isForbidden = [&](int64_t m) {
    return !mayAllow(attention.labels,
                     ofMemory[m * attention.memoryLabels.memory], least, most);
  };
  Range allowed = {0, attention.memory};
  while (allowed.begin < allowed.end && isForbidden(allowed.begin))
    ++allowed.begin;
  while (allowed.begin < allowed.end && isForbidden(allowed.end - 1))
    --allowed.end;
  return allowed;
}

Range AttentionEntry::findAllowed(int64_t row, int64_t count) const {
  Range allowed = {0, attention.memory};
  auto restrict = [&](Range range) {
    allowed.begin = std::max(allowed.begin, range.begin);
    allowed.end = std::min(allowed.end, range.end);
  };
  if (tensors.mask)
    restrict(findByMask(row, count));
  if (tensors.rowLabels)
    restrict(findByLabels(row, count));
  return allowed;
}

/// As after a position of a text that is being generated, to which only those
/// before it exist, or between documents in one window.
void AttentionEntry::trim(Range &range, int64_t row, int64_t count) {
  constexpr int64_t unknown = -1;
  Origin here;
  if (tensors.mask)
    here.mask = offsetOf(attention.mask);
  if (tensors.rowLabels) {
    here.rowLabels = offsetOf(attention.rowLabels);
    here.memoryLabels = offsetOf(attention.memoryLabels);
  }
  if (!(here == origin)) {
    origin = here;
    std::fill(known,
              known + meshcDivideUp(attention.rows, MESHC_ATTENTION_ROWS),
              Range{unknown, unknown});
  }
  bool areShared = attention.mask.row == 0 && attention.rowLabels.row == 0;
  Range &found = known[areShared ? 0 : row / MESHC_ATTENTION_ROWS];
  if (found.begin == unknown)
    found = areShared ? findAllowed(0, 1) : findAllowed(row, count);
  range.begin = std::max(range.begin, found.begin);
  range.end = std::max(range.begin, std::min(range.end, found.end));
}

Range AttentionEntry::rangeOf(int64_t row, int64_t count) {
  Range range = rangeOfBand(row, count);
  if (tensors.mask || tensors.rowLabels)
    trim(range, row, count);
  return range;
}

Band AttentionEntry::bandOf(int64_t row, int64_t begin, Range within) const {
  int64_t shift = firstRow + row - begin;
  return {lowest + shift, highest + shift, within};
}

FinishedRow AttentionEntry::finishRow(float *s, int64_t row, int64_t i,
                                      int64_t begin, int64_t count,
                                      const Band &band) {
  Range allowed = band.of(i, 1);
  std::fill(s, s + allowed.begin, 0.0f);
  std::fill(s + allowed.end, s + count, 0.0f);
  int64_t n = allowed.size();
  auto at = [&](const MeshcAttentionStrides &strides) {
    return offsetOf(strides) + (row + i) * strides.row +
           (begin + allowed.begin) * strides.memory;
  };
  FinishedRow finished{allowed, attention.scale};
  s += allowed.begin;
  if (tensors.bias) {
    int64_t first = at(attention.bias), stride = attention.bias.memory;
    if (attention.biasByDistance)
      first += distanceOf(0) * stride;
    if (stride == 1)
      loops.widen(attention.type,
                  static_cast<const char *>(
                      elementAt(attention.type, tensors.bias, first)),
                  0, 1, n, bias, 0);
    else
      for (int64_t m = 0; m < n; ++m)
        bias[m] = loadElement(attention.type, tensors.bias, first + m * stride);
    loops.addBias(s, n, attention.scale, bias);
    finished.scale = 1;
  }
  if (tensors.mask)
    applyMask(s, row + i, begin + allowed.begin, n);
  if (tensors.rowLabels)
    applyLabels(s, row + i, begin + allowed.begin, n);
  return finished;
}

/// Applies the mask to `count` scores of a row, of the memory from `begin` on.
void AttentionEntry::applyMask(float *s, int64_t row, int64_t begin,
                               int64_t count) {
  int64_t stride = attention.mask.memory;
  const uint8_t *from = tensors.mask + offsetOf(attention.mask) +
                        row * attention.mask.row + begin * stride;
  if (stride != 1) {
    for (int64_t m = 0; m < count; ++m)
      mask[m] = from[m * stride];
    from = mask;
  }
  loops.applyMask(s, count, from);
}

/// Applies the labels to them.
void AttentionEntry::applyLabels(float *s, int64_t row, int64_t begin,
                                 int64_t count) {
  int64_t stride = attention.memoryLabels.memory;
  const int32_t *from =
      tensors.memoryLabels + offsetOf(attention.memoryLabels) + begin * stride;
  if (stride != 1) {
    for (int64_t m = 0; m < count; ++m)
      labels[m] = from[m * stride];
    from = labels;
  }
  int32_t label = tensors.rowLabels[offsetOf(attention.rowLabels) +
                                    row * attention.rowLabels.row];
  loops.applyLabels(s, count, attention.labels, from, label);
}

//===----------------------------------------------------------------------===//
// Rows in f32, and threads
//===----------------------------------------------------------------------===//

FloatRows meshc::runtime::widenRows(const AttentionEntry &entry,
                                    const TensorRows &rows, int64_t count,
                                    int64_t width, float *to) {
  int64_t stride = meshcAttentionStride(width);
  entry.loops.widen(entry.attention.type, rows.data, rows.rowBytes, count,
                    width, to, stride);
  return {to, stride, count, width};
}

FloatRows meshc::runtime::asFloats(const AttentionEntry &entry,
                                   const TensorRows &rows, int64_t count,
                                   int64_t width, float *to) {
  if (entry.attention.type != MESHC_F32)
    return widenRows(entry, rows, count, width, to);
  return {reinterpret_cast<const float *>(rows.data), rows.rowBytes / 4, count,
          width};
}

int64_t meshc::runtime::chooseAttentionThreads(const MeshcAttention &attention,
                                               bool isGradient, int64_t bytes) {
  // As for products: for so little, a thread is not worth waking.
  if (meshcAttentionEntries(&attention, 0, attention.outerCount) *
          attention.rows * attention.memory *
          (attention.keys + attention.values) <=
      MESHC_PACKED_FEW_SUMS)
    return 1;
  int64_t most = std::min<int64_t>(
      {threads(), meshcAttentionTasks(&attention, isGradient),
       MESHC_ATTENTION_THREADS,
       bytes / meshcAttentionThreadBytes(&attention, isGradient)});
  return std::max<int64_t>(most, 1);
}
