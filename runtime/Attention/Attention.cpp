//===- Attention.cpp - attention that stores no scores --------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Attention/Attention.h"

#include "runtime/Attention/AttentionEntry.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

using namespace meshc::runtime;

static constexpr float infinity = std::numeric_limits<float>::infinity();

/// For so few rows, packing keys and values would take longer than products of
/// single rows.
static constexpr int64_t fewRows = 2;

namespace {

/// One thread's work on blocks of rows.
class ForwardWorker {
public:
  ForwardWorker(const MeshcAttention &attention, const int64_t *coordinates,
                const AttentionTensors &tensors,
                const MeshcAttentionBlocks &blocks, ScratchBlocks scratch);

  /// Computes a block of rows of an entry of the outer dims.
  void run(int64_t outer, int64_t row, void *output, float *logSums);

private:
  /// Entries [begin, end) of the memory, of one block.
  void addBlock(Range range, bool isFirst);
  void findScores(Range range, const Band &band);
  void continueSoftmax(Range range, const Band &band, bool isFirst);
  void addValues(Range range, const Band &band, bool isFirst);
  void finish(void *output, float *logSums);

  const MeshcAttention &attention;
  AttentionEntry entry;
  const RowLoops &loops;
  int64_t firstRow = 0, count = 0; ///< of the block of rows
  FloatRows query;
  float *queryCopy, *widened, *keysAlong, *valuesAcross, *scores, *output;
  int64_t scoreStride, outputStride;
  float largest[MESHC_ATTENTION_ROWS], sums[MESHC_ATTENTION_ROWS];
};

} // namespace

ForwardWorker::ForwardWorker(const MeshcAttention &attention,
                             const int64_t *coordinates,
                             const AttentionTensors &tensors,
                             const MeshcAttentionBlocks &blocks,
                             ScratchBlocks scratch)
    : attention(attention),
      entry(attention, coordinates, tensors, scratch.take(blocks.ranges)),
      loops(entry.loops) {
  queryCopy = scratch.take(blocks.query);
  widened = scratch.take(blocks.widened);
  keysAlong = scratch.take(blocks.keysAlong);
  valuesAcross = scratch.take(blocks.valuesAcross);
  scores = scratch.take(blocks.scores);
  output = scratch.take(blocks.output);
  scoreStride = meshcAttentionStride(blocks.memory);
  outputStride = meshcAttentionStride(attention.values);
}

void ForwardWorker::findScores(Range range, const Band &band) {
  FloatRows keys = asFloats(
      entry, entry.memoryOf(entry.tensors.key, attention.key, range.begin),
      range.size(), attention.keys, widened);
  if (count > fewRows) {
    BlockProduct product{asRows(query), packAlong(keys, keysAlong),
                         band,          scores,
                         scoreStride,   false};
    return product.findColumns();
  }
  for (int64_t i = 0; i < count; ++i)
    loops.sumRowProducts(query.data + i * query.stride, keys,
                         scores + i * scoreStride);
}

void ForwardWorker::addValues(Range range, const Band &band, bool isFirst) {
  FloatRows values = asFloats(
      entry, entry.memoryOf(entry.tensors.value, attention.value, range.begin),
      range.size(), attention.values, widened);
  if (count > fewRows) {
    FloatRows shares = {scores, scoreStride, count, range.size()};
    BlockProduct product{asRows(shares), packAcross(values, valuesAcross),
                         band,           output,
                         outputStride,   !isFirst};
    return product.sumDepth();
  }
  for (int64_t i = 0; i < count; ++i)
    loops.addRows(scores + i * scoreStride, values, !isFirst,
                  output + i * outputStride);
}

/// Turns scores into exponentials relative to the largest score so far, and
/// scales what earlier blocks have computed to that.
void ForwardWorker::continueSoftmax(Range range, const Band &band,
                                    bool isFirst) {
  for (int64_t i = 0; i < count; ++i) {
    float *s = scores + i * scoreStride;
    FinishedRow row =
        entry.finishRow(s, firstRow, i, range.begin, range.size(), band);
    s += row.allowed.begin;
    int64_t n = row.allowed.size();
    float next = std::max(largest[i], loops.findLargest(s, n) * row.scale);
    float shift = next == -infinity ? 0 : next;
    float sum = loops.exponentiate(s, n, row.scale, shift);
    if (!isFirst && next != largest[i]) {
      float factor = std::exp(largest[i] - shift);
      sums[i] *= factor;
      loops.multiply(output + i * outputStride, attention.values, factor);
    }
    sums[i] += sum;
    largest[i] = next;
  }
}

void ForwardWorker::addBlock(Range range, bool isFirst) {
  Band band = entry.bandOf(firstRow, range.begin, {0, range.size()});
  findScores(range, band);
  continueSoftmax(range, band, isFirst);
  addValues(range, band, isFirst);
}

void ForwardWorker::finish(void *to, float *logSums) {
  TensorRows rows = entry.rowsOf(to, attention.output, firstRow);
  float *logs = logSums + entry.offsetOf(attention.logSums) +
                firstRow * attention.logSums.row;
  float factors[MESHC_ATTENTION_ROWS];
  for (int64_t i = 0; i < count; ++i) {
    // A NaN among the scores makes the sum NaN.
    bool isEmpty = sums[i] == 0;
    logs[i * attention.logSums.row] =
        isEmpty ? infinity : largest[i] + std::log(sums[i]);
    factors[i] = isEmpty ? 1 : 1 / sums[i];
    float *from = output + i * outputStride;
    if (isEmpty)
      std::fill(from, from + attention.values, 0.0f);
  }
  loops.narrow(attention.type, {output, outputStride, count, attention.values},
               factors, rows.data, rows.rowBytes);
}

void ForwardWorker::run(int64_t outer, int64_t row, void *to, float *logSums) {
  entry.moveTo(outer, 0, attention.outerCount);
  firstRow = row;
  count = std::min<int64_t>(MESHC_ATTENTION_ROWS, attention.rows - row);
  query =
      widenRows(entry, entry.rowsOf(entry.tensors.query, attention.query, row),
                count, attention.keys, queryCopy);
  std::fill(largest, largest + count, -infinity);
  std::fill(sums, sums + count, 0.0f);
  constexpr int64_t step = MESHC_ATTENTION_MEMORY;
  Range whole = entry.rangeOf(row, count);
  for (int64_t begin = whole.begin, end; begin < whole.end; begin = end) {
    end = std::min((begin / step + 1) * step, whole.end);
    addBlock({begin, end}, begin == whole.begin);
  }
  finish(to, logSums);
}

void meshc::runtime::runAttention(const MeshcAttention &attention,
                                  const int64_t *coordinates,
                                  const AttentionTensors &tensors, void *output,
                                  float *logSums, const GemmScratch &scratch) {
  MeshcAttentionBlocks blocks = meshcAttentionBlocks(&attention, false);
  int64_t bytes = meshcAttentionThreadBytes(&attention, false);
  int64_t parts = meshcDivideUp(attention.rows, MESHC_ATTENTION_ROWS);
  int64_t tasks = meshcAttentionTasks(&attention, false);
  std::atomic<int64_t> next{0};
  runAttentionThreads(
      chooseAttentionThreads(attention, false, scratch.bytes),
      [&](int64_t thread) {
        ForwardWorker worker(attention, coordinates, tensors, blocks,
                             ScratchBlocks(scratch.data + thread * bytes));
        // Of a causal mask, the last rows take longest, and
        // come first.
        for (int64_t task = next++; task < tasks; task = next++)
          worker.run(task / parts,
                     (parts - 1 - task % parts) * MESHC_ATTENTION_ROWS, output,
                     logSums);
      });
}
