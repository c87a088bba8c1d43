//===- AttentionGradient.cpp - the gradient of attention ------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A task is a block of the memory: it adds up the gradients of its keys and
/// values over all rows, and adds its share to the gradients of the rows'
/// queries. Threads take the tasks in order. The shares of a block of rows are
/// added in the order of the memory, whichever thread computes them: a task
/// waits until the one before it has added to these rows. It began later, so it
/// mostly need not wait; and the first task that is not done waits for none.
/// The gradient of a bias by distance is added up in the same way.
///
//===----------------------------------------------------------------------===//
#include "runtime/Attention/Attention.h"
#include "runtime/Attention/AttentionEntry.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>

using namespace meshc::runtime;

namespace {

/// What threads share of an entry of the shared dims while tasks of it run. The
/// memory serves one entry after another.
class Slot {
public:
  Slot(const MeshcAttention &attention, const GemmScratch &scratch,
       int64_t entry, WaitingRoom &room)
      : room(room), blocks(meshcAttentionSlotBlocks(&attention)),
        count(meshcAttentionSlotCounters(&attention)),
        tasks(meshcDivideUp(attention.memory, MESHC_ATTENTION_MEMORY)),
        turn(entry / meshcAttentionSlots(&attention)) {
    char *memory = scratch.data + entry % meshcAttentionSlots(&attention) *
                                      meshcAttentionSlotBytes(&attention);
    counters = reinterpret_cast<std::atomic<int64_t> *>(memory);
    sums = reinterpret_cast<float *>(memory + meshcRoundUp(8 * count, 64));
  }

  /// Before any task runs.
  void clear() const {
    for (int64_t i = 0; i < count; ++i)
      new (&counters[i]) std::atomic<int64_t>(0);
  }
  /// Waits for the tasks of the entry that had the slot before.
  void open() const { waitFor(counters[blocks], turn * tasks); }
  /// A task of the entry is done.
  void close() const {
    ++counters[blocks];
    room.notify();
  }

  /// Waits until `count` shares have been added to a block of rows, all that
  /// come before the caller's.
  void awaitShares(int64_t block, int64_t count) const {
    if (count > 0)
      waitFor(counters[block], turn * (tasks + 1) + count);
  }
  /// The caller has added one more.
  void addShare(int64_t block, int64_t count) const {
    counters[block].store(turn * (tasks + 1) + count + 1,
                          std::memory_order_release);
    room.notify();
  }

  /// The same for the gradient of the `group`-th bias, to which each task adds.
  void awaitBias(int64_t group, int64_t count) const {
    waitFor(counters[blocks + 1 + group], turn * tasks + count);
  }
  void addBias(int64_t group, int64_t count) const {
    counters[blocks + 1 + group].store(turn * tasks + count + 1,
                                       std::memory_order_release);
    room.notify();
  }

  float *sums; ///< of the query's gradient, for 16 bits

private:
  void waitFor(const std::atomic<int64_t> &counter, int64_t least) const {
    room.wait([&] { return counter.load(std::memory_order_acquire) >= least; });
  }

  WaitingRoom &room; ///< of all slots
  int64_t blocks, count, tasks, turn;
  std::atomic<int64_t> *counters;
};

/// Keys or values of a task: f32 sums of their gradient, and where it goes.
struct MemorySums {
  float *sums;
  int64_t stride, width;
  int64_t offset = -1; ///< of the block in its tensor; -1: none is open
  TensorRows target = {};
};

/// One thread's work on blocks of the memory.
class GradientWorker {
public:
  GradientWorker(const MeshcAttention &attention, const int64_t *coordinates,
                 const AttentionTensors &tensors,
                 const AttentionResults &results,
                 const AttentionGradients &gradients,
                 const MeshcAttentionBlocks &sizes, ScratchBlocks scratch);

  /// Computes a task: a block of the memory of an entry of the shared dims.
  /// `second`: the one that the worker is likely to compute then, or one that
  /// does not exist.
  void run(int64_t first, int64_t second, const Slot &slot);

private:
  void openKeys();
  void openValues();
  bool open(MemorySums &of, void *gradient,
            const MeshcAttentionStrides &strides);
  void close(MemorySums &of);
  void addRows(int64_t group, int64_t part, const Slot &slot);
  void clearRows();
  void clearBias();
  void addBias(int64_t group, const Slot &slot);
  int64_t countRows(int64_t part) const;
  void moveTo(int64_t ofTask, int64_t group);
  void planAhead(int64_t group, int64_t part);
  void addPartAhead(int64_t part, int64_t block);
  void addTaskAhead();
  void loadRows();
  void findSlopes(const Band &band);
  void addToMemory(const Band &band);
  void addToRows(const Band &band, int64_t block, Range tasks,
                 const Slot &slot);

  const MeshcAttention &attention;
  const AttentionResults &results;
  const AttentionGradients &gradients;
  AttentionEntry entry;
  const RowLoops &loops;
  int64_t blockIndex = 0, begin = 0, size = 0; ///< of the block of the memory
  int64_t firstRow = 0, count = 0;             ///< of the block of rows
  float *queryCopy, *gradientCopy, *widened;
  float *keysAlong, *keysAcross, *valuesAlong, *queryAcross, *gradientAcross;
  PackedFactor keysAlongFactor, keysAcrossFactor, valuesFactor, queryFactor,
      gradientFactor;
  FloatRows query, gradient;
  float *scores, *slopes;
  int64_t scoreStride;
  MemorySums ofKeys, ofValues;
  /// Of the bias: for each difference of an entry of the block and a row, from
  /// that of the first entry and the last row on; still times the scale.
  float *ofBias;
  float inner[MESHC_ATTENTION_ROWS]; ///< sum(gradient · output) of each row
  const int64_t taskCount, blockCount, partCount, groupCount;
  int64_t task = 0, nextTask = 0;
  RowsAhead ahead;
};

} // namespace

GradientWorker::GradientWorker(const MeshcAttention &attention,
                               const int64_t *coordinates,
                               const AttentionTensors &tensors,
                               const AttentionResults &results,
                               const AttentionGradients &gradients,
                               const MeshcAttentionBlocks &sizes,
                               ScratchBlocks scratch)
    : attention(attention), results(results), gradients(gradients),
      entry(attention, coordinates, tensors, scratch.take(sizes.ranges)),
      loops(entry.loops), taskCount(meshcAttentionTasks(&attention, true)),
      blockCount(meshcDivideUp(attention.memory, MESHC_ATTENTION_MEMORY)),
      partCount(meshcDivideUp(attention.rows, MESHC_ATTENTION_ROWS)),
      groupCount(meshcAttentionEntries(&attention, attention.sharedCount,
                                       attention.outerCount)) {
  queryCopy = scratch.take(sizes.query);
  gradientCopy = scratch.take(sizes.gradient);
  widened = scratch.take(sizes.widened);
  keysAlong = scratch.take(sizes.keysAlong);
  keysAcross = scratch.take(sizes.keysAcross);
  valuesAlong = scratch.take(sizes.valuesAlong);
  queryAcross = scratch.take(sizes.queryAcross);
  gradientAcross = scratch.take(sizes.gradientAcross);
  scores = scratch.take(sizes.scores);
  slopes = scratch.take(sizes.slopes);
  scoreStride = meshcAttentionStride(sizes.memory);
  ofKeys.sums = scratch.take(sizes.ofKeys);
  ofKeys.width = attention.keys;
  ofKeys.stride = meshcAttentionStride(attention.keys);
  ofValues.sums = scratch.take(sizes.ofValues);
  ofValues.width = attention.values;
  ofValues.stride = meshcAttentionStride(attention.values);
  ofBias = scratch.take(sizes.ofBias);
}

//===----------------------------------------------------------------------===//
// Keys and values
//===----------------------------------------------------------------------===//

/// Begins the sums of the block's keys or values of the entry that the worker
/// is at, unless it has begun them.
bool GradientWorker::open(MemorySums &of, void *gradient,
                          const MeshcAttentionStrides &strides) {
  int64_t offset = entry.offsetOf(strides);
  if (offset == of.offset)
    return false;
  close(of);
  of.offset = offset;
  of.target = entry.memoryOf(gradient, strides, begin);
  std::fill(of.sums, of.sums + size * of.stride, 0.0f);
  return true;
}

void GradientWorker::close(MemorySums &of) {
  if (of.offset < 0)
    return;
  loops.narrow(attention.type, {of.sums, of.stride, size, of.width}, nullptr,
               of.target.data, of.target.rowBytes);
  of.offset = -1;
}

void GradientWorker::openKeys() {
  if (!open(ofKeys, gradients.key, attention.key))
    return;
  FloatRows keys =
      asFloats(entry, entry.memoryOf(entry.tensors.key, attention.key, begin),
               size, attention.keys, widened);
  keysAlongFactor = packAlong(keys, keysAlong);
  keysAcrossFactor = packAcross(keys, keysAcross);
}

void GradientWorker::openValues() {
  if (!open(ofValues, gradients.value, attention.value))
    return;
  FloatRows values = asFloats(
      entry, entry.memoryOf(entry.tensors.value, attention.value, begin), size,
      attention.values, widened);
  valuesFactor = packAlong(values, valuesAlong);
}

//===----------------------------------------------------------------------===//
// What is used next
//===----------------------------------------------------------------------===//

int64_t GradientWorker::countRows(int64_t part) const {
  return std::min<int64_t>(MESHC_ATTENTION_ROWS,
                           attention.rows - part * MESHC_ATTENTION_ROWS);
}

void GradientWorker::moveTo(int64_t ofTask, int64_t group) {
  entry.moveTo(ofTask / blockCount, 0, attention.sharedCount);
  entry.moveTo(group, attention.sharedCount, attention.outerCount);
}

/// Adds the first block of rows from the `part`-th on that a block of the
/// memory meets, if there is one.
void GradientWorker::addPartAhead(int64_t part, int64_t block) {
  constexpr int64_t step = MESHC_ATTENTION_MEMORY;
  for (; part < partCount; ++part) {
    int64_t row = part * MESHC_ATTENTION_ROWS, n = countRows(part);
    Range met = entry.rangeOfBand(row, n);
    if (met.end <= block * step || met.begin >= (block + 1) * step)
      continue;
    entry.addRowsAhead(ahead, entry.tensors.query, attention.query, row, n,
                       attention.keys);
    entry.addRowsAhead(ahead, results.gradient, attention.output, row, n,
                       attention.values);
    entry.addRowsAhead(ahead, results.output, attention.output, row, n,
                       attention.values);
    return;
  }
}

void GradientWorker::addTaskAhead() {
  int64_t block = nextTask % blockCount, first = block * MESHC_ATTENTION_MEMORY;
  int64_t n =
      std::min<int64_t>(MESHC_ATTENTION_MEMORY, attention.memory - first);
  moveTo(nextTask, 0);
  entry.addMemoryAhead(ahead, entry.tensors.key, attention.key, first, n,
                       attention.keys);
  entry.addMemoryAhead(ahead, entry.tensors.value, attention.value, first, n,
                       attention.values);
  addPartAhead(0, block);
}

/// Plans what is fetched beside the `part`-th block of rows of a group: the
/// next block of rows, or the results of the task and what the next one reads.
void GradientWorker::planAhead(int64_t group, int64_t part) {
  ahead.begin(count);
  if (addPartAhead(part + 1, blockIndex); !ahead.isEmpty())
    return;
  if (group + 1 < groupCount) {
    moveTo(task, group + 1);
    addPartAhead(0, blockIndex);
  } else {
    ahead.add(ofKeys.target, size, entry.bytesOf(attention.keys));
    ahead.add(ofValues.target, size, entry.bytesOf(attention.values));
    if (nextTask < taskCount)
      addTaskAhead();
  }
  moveTo(task, group);
}

//===----------------------------------------------------------------------===//
// Blocks of rows
//===----------------------------------------------------------------------===//

void GradientWorker::loadRows() {
  query = widenRows(
      entry, entry.rowsOf(entry.tensors.query, attention.query, firstRow),
      count, attention.keys, queryCopy);
  gradient = widenRows(
      entry, entry.rowsOf(results.gradient, attention.output, firstRow), count,
      attention.values, gradientCopy);
  queryFactor = packAcross(query, queryAcross);
  gradientFactor = packAcross(gradient, gradientAcross);
  FloatRows output =
      asFloats(entry, entry.rowsOf(results.output, attention.output, firstRow),
               count, attention.values, widened);
  loops.sumProducts(gradient, output, inner);
}

/// With the probabilities P, the gradient g of the output o and that of P,
/// dP = g · values: the gradient of the scores is P · (dP - sum(g · o)).
void GradientWorker::findSlopes(const Band &band) {
  BlockProduct{asRows(query), keysAlongFactor, band, scores, scoreStride, false}
      .findColumns();
  BlockProduct{asRows(gradient), valuesFactor, band, slopes, scoreStride, false}
      .findColumns();
  const float *logs = results.logSums + entry.offsetOf(attention.logSums) +
                      firstRow * attention.logSums.row;
  for (int64_t i = 0; i < count; ++i) {
    float *share = scores + i * scoreStride, *slope = slopes + i * scoreStride;
    FinishedRow row = entry.finishRow(share, firstRow, i, begin, size, band);
    Range allowed = row.allowed;
    std::fill(slope, slope + allowed.begin, 0.0f);
    std::fill(slope + allowed.end, slope + size, 0.0f);
    loops.findSlopes(slope + allowed.begin, share + allowed.begin,
                     allowed.size(), row.scale, logs[i * attention.logSums.row],
                     inner[i], attention.scale);
    ahead.fetch();
    if (attention.hasBiasGradient)
      loops.addBias(ofBias + attention.rows - 1 - (firstRow + i) +
                        allowed.begin,
                    allowed.size(), 1, slope + allowed.begin);
  }
}

void GradientWorker::addToMemory(const Band &band) {
  Band rows = band.transposed(count);
  FloatRows shares = {scores, scoreStride, count, size},
            steps = {slopes, scoreStride, count, size};
  BlockProduct{asColumns(shares), gradientFactor,  rows,
               ofValues.sums,     ofValues.stride, true}
      .sumDepth();
  BlockProduct{asColumns(steps), queryFactor,   rows,
               ofKeys.sums,      ofKeys.stride, true}
      .sumDepth();
}

/// `tasks`: those that have a share of the block of rows, by their place in the
/// memory.
void GradientWorker::addToRows(const Band &band, int64_t block, Range tasks,
                               const Slot &slot) {
  TensorRows target = entry.rowsOf(gradients.query, attention.query, firstRow);
  bool isF32 = attention.type == MESHC_F32;
  int64_t stride = meshcAttentionStride(attention.keys),
          rows = std::min<int64_t>(attention.rows, MESHC_ATTENTION_ROWS);
  float *sums = isF32 ? reinterpret_cast<float *>(target.data)
                      : slot.sums + block * rows * stride;
  if (isF32)
    stride = attention.query.row;
  int64_t before = blockIndex - tasks.begin;
  FloatRows steps = {slopes, scoreStride, count, size};
  slot.awaitShares(block, before);
  BlockProduct{asRows(steps), keysAcrossFactor, band, sums, stride, before > 0}
      .sumDepth();
  if (!isF32 && blockIndex + 1 == tasks.end)
    loops.narrow(attention.type, {sums, stride, count, attention.keys}, nullptr,
                 target.data, target.rowBytes);
  slot.addShare(block, before);
}

void GradientWorker::clearRows() {
  TensorRows rows = entry.rowsOf(gradients.query, attention.query, firstRow);
  auto bytes = static_cast<size_t>(entry.bytesOf(attention.keys));
  for (int64_t i = 0; i < count; ++i)
    std::memset(rows.row(i), 0, bytes);
}

void GradientWorker::clearBias() {
  std::fill(ofBias, ofBias + attention.rows + size, 0.0f);
}

/// Adds the block's share to the gradient of the bias. The first block finds
/// no sums there yet.
void GradientWorker::addBias(int64_t group, const Slot &slot) {
  float *target = gradients.bias + entry.offsetOf(attention.biasGradient);
  slot.awaitBias(group, blockIndex);
  if (blockIndex == 0)
    std::fill(target, target + attention.lastRow + attention.memory, 0.0f);
  if (int64_t differences = attention.rows + size - 1; attention.rows > 0) {
    target += entry.distanceOf(begin - (attention.rows - 1));
    loops.addBias(ofBias, differences, 1 / attention.scale, target);
    std::memcpy(target, ofBias, 4 * static_cast<size_t>(differences));
  }
  slot.addBias(group, blockIndex);
}

/// Adds what a block of rows, the `part`-th of a group, gives to the block of
/// the memory, and this one to the rows.
void GradientWorker::addRows(int64_t group, int64_t part, const Slot &slot) {
  constexpr int64_t step = MESHC_ATTENTION_MEMORY;
  firstRow = part * MESHC_ATTENTION_ROWS;
  count = countRows(part);
  Range whole = entry.rangeOf(firstRow, count);
  if (whole.isEmpty()) {
    if (blockIndex == 0)
      clearRows();
    return;
  }
  Range tasks = {whole.begin / step, meshcDivideUp(whole.end, step)};
  if (blockIndex < tasks.begin || blockIndex >= tasks.end)
    return;
  Range within = {std::max<int64_t>(whole.begin - begin, 0),
                  std::min(whole.end - begin, size)};
  Band band = entry.bandOf(firstRow, begin, within);
  planAhead(group, part);
  loadRows();
  findSlopes(band);
  addToMemory(band);
  addToRows(band, group * partCount + part, tasks, slot);
}

void GradientWorker::run(int64_t first, int64_t second, const Slot &slot) {
  task = first;
  nextTask = second;
  blockIndex = task % blockCount;
  begin = blockIndex * MESHC_ATTENTION_MEMORY;
  size = std::min<int64_t>(MESHC_ATTENTION_MEMORY, attention.memory - begin);
  slot.open();
  for (int64_t group = 0; group < groupCount; ++group) {
    moveTo(task, group);
    openKeys();
    openValues();
    if (attention.hasBiasGradient)
      clearBias();
    for (int64_t part = 0; part < partCount; ++part)
      addRows(group, part, slot);
    if (attention.hasBiasGradient)
      addBias(group, slot);
  }
  close(ofKeys);
  close(ofValues);
  slot.close();
}

void meshc::runtime::runAttentionGradient(const MeshcAttention &attention,
                                          const int64_t *coordinates,
                                          const AttentionTensors &tensors,
                                          const AttentionResults &results,
                                          const AttentionGradients &gradients,
                                          const GemmScratch &scratch) {
  MeshcAttentionBlocks sizes = meshcAttentionBlocks(&attention, true);
  int64_t slots = meshcAttentionSlots(&attention),
          slotBytes = slots * meshcAttentionSlotBytes(&attention),
          bytes = meshcAttentionThreadBytes(&attention, true);
  WaitingRoom room;
  for (int64_t slot = 0; slot < slots; ++slot)
    Slot(attention, scratch, slot, room).clear();
  int64_t blocks = meshcDivideUp(attention.memory, MESHC_ATTENTION_MEMORY);
  int64_t tasks = meshcAttentionTasks(&attention, true);
  int64_t threads =
      chooseAttentionThreads(attention, true, scratch.bytes - slotBytes);
  std::atomic<int64_t> next{0};
  runAttentionThreads(threads, [&](int64_t thread) {
    GradientWorker worker(
        attention, coordinates, tensors, results, gradients, sizes,
        ScratchBlocks(scratch.data + slotBytes + thread * bytes));
    for (int64_t task = next++; task < tasks; task = next++)
      worker.run(task, task + threads,
                 Slot(attention, scratch, task / blocks, room));
  });
}
