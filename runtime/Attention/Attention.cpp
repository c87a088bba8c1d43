//===- Attention.cpp - attention that stores no scores --------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Attention/Attention.h"

#include "meshc/AttentionScratch.h"
#include "runtime/Attention/RowLoops.h"
#include "runtime/Base/Parallel.h"
#include "runtime/Base/ProcessorFeatures.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <utility>

using namespace meshc::runtime;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

const RowLoops &rowLoops() {
  static const RowLoops &chosen =
      usesAvx512() ? avx512RowLoops()
      : hasProcessorFeature("avx2") && hasProcessorFeature("fma")
          ? avx2RowLoops()
          : plainRowLoops();
  return chosen;
}

/// A matrix with contiguous rows.
template <typename Element> struct Matrix {
  Element *data;
  int64_t stride; ///< from row to row
  Element *row(int64_t i) const { return data + i * stride; }
};
using Input = Matrix<const float>;
using Output = Matrix<float>;

/// c ← a · b, or c + a · b.
struct Product {
  int64_t m, n, k;
  Input a;
  bool transposeA;
  Input b;
  bool transposeB;
  Output c;
  bool adds;

  void run(const GemmScratch &scratch) const {
    MeshcGemm gemm{};
    gemm.m = m, gemm.n = n, gemm.k = k;
    gemm.lda = a.stride, gemm.ldb = b.stride, gemm.ldc = c.stride;
    gemm.batch = 1;
    gemm.type = gemm.typeC = MESHC_F32;
    gemm.transA = transposeA, gemm.transB = transposeB;
    gemm.accumulate = adds;
    runGemm(gemm, a.data, b.data, c.data, scratch);
  }
};

/// How large the blocks of scores are, and how many threads have one.
struct Blocks {
  int64_t rows, memory, threads, bytes;

  static Blocks choose(const MeshcAttention &attention, bool isGradient,
                       int64_t bytes);
};

} // namespace

static int64_t countEntries(const MeshcAttention &attention, int64_t firstDim,
                            int64_t lastDim) {
  int64_t count = 1;
  for (int64_t dim = firstDim; dim < lastDim; ++dim)
    count *= attention.outerSizes[dim];
  return count;
}

Blocks Blocks::choose(const MeshcAttention &attention, bool isGradient,
                      int64_t bytes) {
  Blocks blocks{};
  blocks.rows = std::min<int64_t>(attention.rows, MESHC_ATTENTION_ROWS);
  blocks.memory = std::min<int64_t>(attention.memory, MESHC_ATTENTION_MEMORY);
  blocks.threads = std::min<int64_t>(
      meshc::runtime::threads(), meshcAttentionTasks(&attention, isGradient));
  // As for products: for so little, a thread is not worth waking.
  if (countEntries(attention, 0, attention.outerCount) * attention.rows *
          attention.memory * (attention.keys + attention.values) <=
      MESHC_PACKED_FEW_SUMS)
    blocks.threads = 1;
  auto fits = [&] {
    blocks.bytes = meshcAttentionBlockBytes(&attention, isGradient, blocks.rows,
                                            blocks.memory);
    return blocks.bytes * blocks.threads <= bytes;
  };
  while (!fits() && (blocks.rows > MESHC_ATTENTION_FEW_ROWS ||
                     blocks.memory > MESHC_ATTENTION_FEW_MEMORY)) {
    if (blocks.memory > MESHC_ATTENTION_FEW_MEMORY)
      blocks.memory =
          std::max<int64_t>(blocks.memory / 2, MESHC_ATTENTION_FEW_MEMORY);
    else
      blocks.rows =
          std::max<int64_t>(blocks.rows / 2, MESHC_ATTENTION_FEW_ROWS);
  }
  while (!fits() && blocks.threads > 1)
    --blocks.threads;
  return blocks;
}

namespace {

/// One thread's work on an entry of the outer dims.
class Worker {
public:
  Worker(const MeshcAttention &attention, const int64_t *coordinates,
         const AttentionTensors &tensors, const Blocks &blocks, bool isGradient,
         char *memory);

  /// Goes to an entry of the first `dims` outer dims; the others stay.
  void moveTo(int64_t entry, int64_t firstDim, int64_t lastDim);

  void computeRows(int64_t row, int64_t count, float *output, float *logSums);
  void clearGradients(float *ofKey, float *ofValue) const;
  void addGradients(int64_t row, int64_t count, const AttentionResults &results,
                    float *ofQuery, float *ofKey, float *ofValue);

private:
  /// Entries [begin, end) of the memory.
  struct Range {
    int64_t begin, end;
  };

  template <typename Element>
  Matrix<Element> rowsOf(Element *data, const MeshcAttentionStrides &strides,
                         int64_t row) const {
    return {data + offsetOf(strides) + row * strides.row, strides.row};
  }
  template <typename Element>
  Matrix<Element> memoryOf(Element *data, const MeshcAttentionStrides &strides,
                           int64_t begin) const {
    return {data + offsetOf(strides) + begin * strides.memory, strides.memory};
  }
  int64_t offsetOf(const MeshcAttentionStrides &strides) const;
  /// What the band allows for any of the rows, without what the mask forbids
  /// to all rows at both ends.
  Range rangeOf(int64_t row, int64_t count);
  void trimByMask(Range &range);
  void multiplyQueries(int64_t row, int64_t count, Range range);
  /// Scales the scores of row `row`, the i-th of the block, adds the bias, and
  /// applies the mask. Returns the entries that the band allows, counted from
  /// the range's begin; the others become 0.
  Range finishRow(int64_t row, int64_t i, Range range);
  void continueSoftmax(int64_t row, int64_t count, Range range, bool isFirst,
                       const Output &output);

  const MeshcAttention &attention;
  const AttentionTensors &tensors;
  const Blocks &blocks;
  const RowLoops &loops;
  int64_t firstRow = 0; ///< global index
  int64_t position[MESHC_ATTENTION_DIMS] = {};
  /// What a mask that all rows share allows, and where that mask begins; mostly
  /// all entries of the outer dims share it, too.
  Range allowedByMask = {0, 0};
  int64_t knownMask = -1;
  Output scores, slopes; ///< of a block
  float *largest, *sums; ///< of each of its rows
  GemmScratch scratch;   ///< of products
};

} // namespace

Worker::Worker(const MeshcAttention &attention, const int64_t *coordinates,
               const AttentionTensors &tensors, const Blocks &blocks,
               bool isGradient, char *memory)
    : attention(attention), tensors(tensors), blocks(blocks),
      loops(rowLoops()) {
  for (unsigned axis = 0; axis < MESHC_MAX_AXES; ++axis)
    if (attention.rowOffsets[axis])
      firstRow += attention.rowOffsets[axis] * coordinates[axis];
  int64_t stride = meshcRoundUp(blocks.memory, 16);
  auto *numbers = reinterpret_cast<float *>(memory);
  scores = {numbers, stride};
  numbers += blocks.rows * stride;
  slopes = {numbers, stride};
  if (isGradient)
    numbers += blocks.rows * stride;
  largest = numbers;
  sums = numbers + blocks.rows;
  int64_t bytes =
      meshcAttentionProductBytes(&attention, blocks.rows, blocks.memory);
  scratch = {memory + blocks.bytes - bytes, bytes};
}

void Worker::moveTo(int64_t entry, int64_t firstDim, int64_t lastDim) {
  for (int64_t dim = lastDim - 1; dim >= firstDim; --dim) {
    position[dim] = entry % attention.outerSizes[dim];
    entry /= attention.outerSizes[dim];
  }
}

int64_t Worker::offsetOf(const MeshcAttentionStrides &strides) const {
  int64_t offset = 0;
  for (int64_t dim = 0; dim < attention.outerCount; ++dim)
    offset += position[dim] * strides.outer[dim];
  return offset;
}

/// The first entry of the mask that is set, or the last; `none` without one.
static int64_t findAllowed(const uint8_t *mask, int64_t stride, int64_t count,
                           bool isLast, int64_t none) {
  for (int64_t i = 0; i < count; ++i) {
    int64_t entry = isLast ? count - 1 - i : i;
    if (mask[entry * stride])
      return entry;
  }
  return none;
}

/// As after a position of a text that is being generated, to which only those
/// before it exist.
void Worker::trimByMask(Range &range) {
  int64_t offset = offsetOf(attention.mask), stride = attention.mask.memory;
  if (offset != knownMask) {
    const uint8_t *mask = tensors.mask + offset;
    allowedByMask.begin =
        findAllowed(mask, stride, attention.memory, false, attention.memory);
    allowedByMask.end =
        findAllowed(mask, stride, attention.memory, true, -1) + 1;
    knownMask = offset;
  }
  range.begin = std::max(range.begin, allowedByMask.begin);
  range.end = std::max(range.begin, std::min(range.end, allowedByMask.end));
}

Worker::Range Worker::rangeOf(int64_t row, int64_t count) {
  Range range = {0, attention.memory};
  int64_t first = firstRow + row, last = first + count - 1;
  if (attention.lowest != INT64_MIN)
    range.begin = std::clamp<int64_t>(first + attention.lowest, 0, range.end);
  if (attention.highest != INT64_MAX)
    range.end = std::clamp<int64_t>(last + attention.highest + 1, range.begin,
                                    range.end);
  if (tensors.mask && attention.mask.row == 0)
    trimByMask(range);
  return range;
}

void Worker::multiplyQueries(int64_t row, int64_t count, Range range) {
  Product{count,          range.end - range.begin,
          attention.keys, rowsOf(tensors.query, attention.query, row),
          false,          memoryOf(tensors.key, attention.key, range.begin),
          true,           scores,
          false}
      .run(scratch);
}

Worker::Range Worker::finishRow(int64_t row, int64_t i, Range range) {
  Range own = rangeOf(row, 1);
  own.begin = std::clamp(own.begin, range.begin, range.end);
  own.end = std::clamp(own.end, own.begin, range.end);
  RowExtras extras{attention.scale, nullptr, 0, nullptr, 0};
  auto at = [&](const MeshcAttentionStrides &strides) {
    return offsetOf(strides) + row * strides.row + own.begin * strides.memory;
  };
  if (tensors.bias) {
    extras.bias = tensors.bias + at(attention.bias);
    extras.biasStride = attention.bias.memory;
  }
  if (tensors.mask) {
    extras.mask = tensors.mask + at(attention.mask);
    extras.maskStride = attention.mask.memory;
  }
  float *s = scores.row(i);
  Range allowed = {own.begin - range.begin, own.end - range.begin};
  std::fill(s, s + allowed.begin, 0.0f);
  std::fill(s + allowed.end, s + (range.end - range.begin), 0.0f);
  loops.finishScores(s + allowed.begin, allowed.end - allowed.begin, extras);
  return allowed;
}

/// Turns scores into exponentials relative to the largest score so far, and
/// scales what earlier blocks have computed to that.
void Worker::continueSoftmax(int64_t row, int64_t count, Range range,
                             bool isFirst, const Output &output) {
  for (int64_t i = 0; i < count; ++i) {
    Range allowed = finishRow(row + i, i, range);
    float *s = scores.row(i) + allowed.begin;
    int64_t n = allowed.end - allowed.begin;
    float next = std::max(largest[i], loops.findLargest(s, n));
    float shift = next == -infinity ? 0 : next;
    float sum = loops.exponentiate(s, n, shift);
    if (!isFirst) {
      float factor = std::exp(largest[i] - shift);
      sums[i] *= factor;
      loops.multiply(output.row(i), attention.values, factor);
    }
    sums[i] += sum;
    largest[i] = next;
  }
}

void Worker::computeRows(int64_t row, int64_t count, float *output,
                         float *logSums) {
  std::fill(largest, largest + count, -infinity);
  std::fill(sums, sums + count, 0.0f);
  Output result = rowsOf(output, attention.output, row);
  Range whole = rangeOf(row, count);
  for (int64_t begin = whole.begin; begin < whole.end; begin += blocks.memory) {
    Range range = {begin, std::min(begin + blocks.memory, whole.end)};
    bool isFirst = begin == whole.begin;
    multiplyQueries(row, count, range);
    continueSoftmax(row, count, range, isFirst, result);
    Product{count,
            attention.values,
            range.end - range.begin,
            {scores.data, scores.stride},
            false,
            memoryOf(tensors.value, attention.value, begin),
            false,
            result,
            !isFirst}
        .run(scratch);
  }
  Output logs = rowsOf(logSums, attention.logSums, row);
  for (int64_t i = 0; i < count; ++i) {
    // A NaN among the scores makes the sum NaN.
    bool isEmpty = sums[i] == 0;
    *logs.row(i) = isEmpty ? infinity : largest[i] + std::log(sums[i]);
    float *entries = result.row(i);
    if (isEmpty)
      std::fill(entries, entries + attention.values, 0.0f);
    else
      loops.multiply(entries, attention.values, 1 / sums[i]);
  }
}

void Worker::clearGradients(float *ofKey, float *ofValue) const {
  Output key = memoryOf(ofKey, attention.key, 0);
  Output value = memoryOf(ofValue, attention.value, 0);
  for (int64_t m = 0; m < attention.memory; ++m) {
    std::fill(key.row(m), key.row(m) + attention.keys, 0.0f);
    std::fill(value.row(m), value.row(m) + attention.values, 0.0f);
  }
}

/// With the probabilities P, the gradient g of the output o and that of P,
/// dP = g · values: the gradient of the scores is P · (dP - sum(g · o)).
void Worker::addGradients(int64_t row, int64_t count,
                          const AttentionResults &results, float *ofQuery,
                          float *ofKey, float *ofValue) {
  Input query = rowsOf(tensors.query, attention.query, row);
  Input output = rowsOf(results.output, attention.output, row);
  Input gradient = rowsOf(results.gradient, attention.output, row);
  Input logs = rowsOf(results.logSums, attention.logSums, row);
  Output ofRows = rowsOf(ofQuery, attention.query, row);
  float *inner = largest;
  for (int64_t i = 0; i < count; ++i)
    inner[i] =
        loops.sumProducts(gradient.row(i), output.row(i), attention.values);
  Range whole = rangeOf(row, count);
  if (whole.begin == whole.end)
    for (int64_t i = 0; i < count; ++i)
      std::fill(ofRows.row(i), ofRows.row(i) + attention.keys, 0.0f);
  const Input p = {scores.data, scores.stride},
              s = {slopes.data, slopes.stride};
  for (int64_t begin = whole.begin; begin < whole.end; begin += blocks.memory) {
    Range range = {begin, std::min(begin + blocks.memory, whole.end)};
    int64_t n = range.end - range.begin;
    Input keys = memoryOf(tensors.key, attention.key, begin);
    Input values = memoryOf(tensors.value, attention.value, begin);
    multiplyQueries(row, count, range);
    Product{count,  n,    attention.values, gradient, false,
            values, true, slopes,           false}
        .run(scratch);
    for (int64_t i = 0; i < count; ++i) {
      Range allowed = finishRow(row + i, i, range);
      float *share = scores.row(i), *slope = slopes.row(i);
      int64_t width = allowed.end - allowed.begin;
      loops.exponentiate(share + allowed.begin, width, *logs.row(i));
      std::fill(slope, slope + allowed.begin, 0.0f);
      std::fill(slope + allowed.end, slope + n, 0.0f);
      loops.findSlopes(slope + allowed.begin, share + allowed.begin, width,
                       inner[i], attention.scale);
    }
    Product{n,     attention.values,
            count, p,
            true,  gradient,
            false, memoryOf(ofValue, attention.value, begin),
            true}
        .run(scratch);
    Product{n,    attention.keys, count, s,
            true, query,          false, memoryOf(ofKey, attention.key, begin),
            true}
        .run(scratch);
    Product{count,  attention.keys,      n, s, false, keys, false,
            ofRows, begin != whole.begin}
        .run(scratch);
  }
}

/// Calls `body(worker, task)` for all tasks, on the threads that have blocks.
template <typename Body>
static void forEachTask(const MeshcAttention &attention,
                        const int64_t *coordinates,
                        const AttentionTensors &tensors, const Blocks &blocks,
                        bool isGradient, const GemmScratch &scratch,
                        int64_t tasks, const Body &body) {
  std::atomic<int64_t> next{0};
  auto work = [&](int64_t thread) {
    SingleThread alone; // products run on this thread
    Worker worker(attention, coordinates, tensors, blocks, isGradient,
                  scratch.data + thread * blocks.bytes);
    for (int64_t task = next++; task < tasks; task = next++)
      body(worker, task);
  };
  if (blocks.threads == 1)
    return work(0);
  parallelTeam([&](int64_t thread, int64_t) {
    if (thread < blocks.threads)
      work(thread);
  });
}

void meshc::runtime::runAttention(const MeshcAttention &attention,
                                  const int64_t *coordinates,
                                  const AttentionTensors &tensors,
                                  float *output, float *logSums,
                                  const GemmScratch &scratch) {
  Blocks blocks = Blocks::choose(attention, false, scratch.bytes);
  int64_t parts = (attention.rows + blocks.rows - 1) / blocks.rows;
  int64_t entries = countEntries(attention, 0, attention.outerCount);
  // Of a causal mask, the last rows take longest, and come first.
  forEachTask(attention, coordinates, tensors, blocks, false, scratch,
              parts * entries, [&](Worker &worker, int64_t task) {
                worker.moveTo(task % entries, 0, attention.outerCount);
                int64_t row = (parts - 1 - task / entries) * blocks.rows;
                worker.computeRows(row,
                                   std::min(blocks.rows, attention.rows - row),
                                   output, logSums);
              });
}

void meshc::runtime::runAttentionGradient(
    const MeshcAttention &attention, const int64_t *coordinates,
    const AttentionTensors &tensors, const AttentionResults &results,
    float *ofQuery, float *ofKey, float *ofValue, const GemmScratch &scratch) {
  Blocks blocks = Blocks::choose(attention, true, scratch.bytes);
  int64_t shared = attention.sharedCount, last = attention.outerCount;
  int64_t groups = countEntries(attention, shared, last);
  forEachTask(
      attention, coordinates, tensors, blocks, true, scratch,
      countEntries(attention, 0, shared), [&](Worker &worker, int64_t task) {
        worker.moveTo(task, 0, shared);
        for (int64_t group = 0; group < groups; ++group) {
          worker.moveTo(group, shared, last);
          worker.clearGradients(ofKey, ofValue);
        }
        for (int64_t group = 0; group < groups; ++group) {
          worker.moveTo(group, shared, last);
          for (int64_t row = 0; row < attention.rows; row += blocks.rows)
            worker.addGradients(row,
                                std::min(blocks.rows, attention.rows - row),
                                results, ofQuery, ofKey, ofValue);
        }
      });
}
