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

  /// Computes a task: a block of rows of an entry of the outer dims. `second`:
  /// the one that the worker is likely to compute then, or one that does not
  /// exist.
  void run(int64_t first, int64_t second, void *output, float *logSums);

private:
  void moveTo(int64_t task);
  Range blockFrom(int64_t begin, const Range &whole) const;
  void planAhead(const Range &next, int64_t nextTask, const TensorRows &target);
  void addMemoryAhead(const Range &range);
  /// Entries [begin, end) of the memory, of one block.
  void addBlock(Range range, bool isFirst);
  void findScores(Range range, const Band &band);
  void continueSoftmax(Range range, const Band &band, bool isFirst);
  void addValues(Range range, const Band &band, bool isFirst);
  void finish(const TensorRows &target, float *logSums);

  const MeshcAttention &attention;
  AttentionEntry entry;
  const RowLoops &loops;
  const int64_t taskCount, partCount; ///< blocks of rows
  int64_t task = 0;
  int64_t firstRow = 0, count = 0; ///< of the block of rows
  RowsAhead ahead;
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
      loops(entry.loops), taskCount(meshcAttentionTasks(&attention, false)),
      partCount(meshcDivideUp(attention.rows, MESHC_ATTENTION_ROWS)) {
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
    ahead.fetch();
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

void ForwardWorker::finish(const TensorRows &target, float *logSums) {
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
               factors, target.data, target.rowBytes);
}

/// Goes to a task's block of rows. Of a causal mask, the last rows take
/// longest, and come first.
void ForwardWorker::moveTo(int64_t to) {
  entry.moveTo(to / partCount, 0, attention.outerCount);
  firstRow = (partCount - 1 - to % partCount) * MESHC_ATTENTION_ROWS;
  count = std::min<int64_t>(MESHC_ATTENTION_ROWS, attention.rows - firstRow);
}

/// The block of the memory that begins there.
Range ForwardWorker::blockFrom(int64_t begin, const Range &whole) const {
  constexpr int64_t step = MESHC_ATTENTION_MEMORY;
  return {begin, std::min((begin / step + 1) * step, whole.end)};
}

void ForwardWorker::addMemoryAhead(const Range &range) {
  entry.addMemoryAhead(ahead, entry.tensors.key, attention.key, range.begin,
                       range.size(), attention.keys);
  entry.addMemoryAhead(ahead, entry.tensors.value, attention.value, range.begin,
                       range.size(), attention.values);
}

/// Plans what is fetched beside a block of scores: the next block of the
/// memory, or the results of the task and what the next one reads.
void ForwardWorker::planAhead(const Range &next, int64_t nextTask,
                              const TensorRows &target) {
  ahead.begin(count);
  if (count <= fewRows)
    return;
  if (!next.isEmpty())
    return addMemoryAhead(next);
  ahead.add(target, count, entry.bytesOf(attention.values));
  if (nextTask >= taskCount)
    return;
  moveTo(nextTask);
  entry.addRowsAhead(ahead, entry.tensors.query, attention.query, firstRow,
                     count, attention.keys);
  Range whole = entry.rangeOfBand(firstRow, count);
  addMemoryAhead(blockFrom(whole.begin, whole));
  moveTo(task);
}

void ForwardWorker::run(int64_t first, int64_t second, void *to,
                        float *logSums) {
  task = first;
  moveTo(task);
  query = widenRows(
      entry, entry.rowsOf(entry.tensors.query, attention.query, firstRow),
      count, attention.keys, queryCopy);
  std::fill(largest, largest + count, -infinity);
  std::fill(sums, sums + count, 0.0f);
  TensorRows target = entry.rowsOf(to, attention.output, firstRow);
  Range whole = entry.rangeOf(firstRow, count);
  for (Range range = blockFrom(whole.begin, whole); !range.isEmpty();) {
    Range next = blockFrom(range.end, whole);
    planAhead(next, second, target);
    addBlock(range, range.begin == whole.begin);
    range = next;
  }
  finish(target, logSums);
}

void meshc::runtime::runAttention(const MeshcAttention &attention,
                                  const int64_t *coordinates,
                                  const AttentionTensors &tensors, void *output,
                                  float *logSums, const GemmScratch &scratch) {
  MeshcAttentionBlocks blocks = meshcAttentionBlocks(&attention, false);
  int64_t bytes = meshcAttentionThreadBytes(&attention, false);
  int64_t tasks = meshcAttentionTasks(&attention, false);
  int64_t threads = chooseAttentionThreads(attention, false, scratch.bytes);
  std::atomic<int64_t> next{0};
  runAttentionThreads(threads, [&](int64_t thread) {
    ForwardWorker worker(attention, coordinates, tensors, blocks,
                         ScratchBlocks(scratch.data + thread * bytes));
    for (int64_t task = next++; task < tasks; task = next++)
      worker.run(task, task + threads, output, logSums);
  });
}
