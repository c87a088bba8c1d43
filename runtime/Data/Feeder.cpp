//===- Feeder.cpp - filling a rank's inputs -------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Data/Feeder.h"

#include "runtime/Base/Failure.h"
#include "runtime/Base/Parallel.h"
#include "runtime/Base/TensorBlock.h"
#include "runtime/Comm/Pulse.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
#include <sys/resource.h>

using namespace meshc::runtime;

/// Loops of a row that do not merge with the next.
static constexpr size_t maxLoops = 32;

Feeder::Feeder(const MeshcProgram &program, const Dataset &dataset,
               const int64_t *coords) {
  for (const Source &source : dataset.sources())
    inputs.push_back(planInput(program, source, coords));
}

size_t Feeder::findRows(const BlockRange &range) {
  auto same = std::find_if(rowSets.begin(), rowSets.end(), [&](const Rows &r) {
    return r.first == range.first && r.count == range.count;
  });
  if (same != rowSets.end())
    return static_cast<size_t>(same - rowSets.begin());
  Rows rows{range.first, range.count, {}};
  rows.examples.reserve(static_cast<size_t>(range.count));
  rowSets.push_back(std::move(rows));
  return rowSets.size() - 1;
}

Feeder::Input Feeder::planInput(const MeshcProgram &program,
                                const Source &source, const int64_t *coords) {
  const MeshcTensor &tensor = *source.input;
  Input input;
  input.source = &source;
  input.elementBytes = sizeOf(typeOf(tensor));
  input.rowStride = tensor.dims[0].localStride;
  input.hasPadding = hasPadding(program, tensor, coords);
  input.rows = findRows(blockRange(program, tensor.dims[0], coords));
  input.isEmpty = false;
  input.sourceOffset = 0;
  input.sourceSpan = source.elementBytes;
  // The windows of a corpus for several inputs lie on the same pages.
  input.isPrefetched =
      source.role == WindowRole::Tokens &&
      std::none_of(inputs.begin(), inputs.end(), [&](const Input &other) {
        return other.source->bytes == source.bytes;
      });

  // From the innermost dim outwards. A dim that is contiguous with the next
  // one, in the file and in the block, merges with it into one loop.
  std::vector<Loop> loops;
  int64_t sourceBytes = source.elementBytes;
  for (uint32_t i = tensor.rank; i-- > 1;) {
    const MeshcDim &dim = tensor.dims[i];
    const auto [first, count] = blockRange(program, dim, coords);
    input.isEmpty |= count == 0;
    input.sourceOffset += first * sourceBytes;
    input.sourceSpan += (count - 1) * sourceBytes;
    Loop loop{count, sourceBytes, dim.localStride};
    sourceBytes *= dim.size;
    if (loop.size == 1)
      continue;
    if (!loops.empty() &&
        loop.sourceBytes == loops.back().sourceBytes * loops.back().size &&
        loop.stride == loops.back().stride * loops.back().size)
      loops.back().size *= loop.size;
    else
      loops.push_back(loop);
  }
  input.run = Loop{1, source.elementBytes, 1};
  if (!loops.empty() && loops.front().sourceBytes == source.elementBytes) {
    input.run = loops.front();
    loops.erase(loops.begin());
  }
  if (loops.size() > maxLoops)
    throw Failure(ExitCode::Internal, std::string("input '") + tensor.name +
                                          "' has more than 32 dims");
  input.outer = std::move(loops);
  if (source.role != WindowRole::Tokens)
    input.scratch.resize(
        static_cast<size_t>(rowSets[input.rows].count * source.rowElements));
  return input;
}

/// Whether all of `count` tokens, `stride` elements apart, are from 0 to below
/// `vocabulary`.
static bool areBelow(const char *tokens, int64_t stride, int64_t count,
                     int64_t vocabulary) {
  const auto *at = reinterpret_cast<const uint32_t *>(tokens);
  const auto limit = static_cast<uint32_t>(
      std::min<int64_t>(vocabulary, std::numeric_limits<int32_t>::max()));
  bool below = true;
  if (stride == 1)
    for (int64_t i = 0; i < count; ++i)
      below &= at[i] < limit;
  else
    for (int64_t i = 0; i < count; ++i)
      below &= at[i * stride] < limit;
  return below;
}

bool Feeder::fillRow(const Input &input, char *target, const uint8_t *row) {
  int64_t place[maxLoops] = {};
  const size_t depth = input.outer.size();
  bool fits = true;
  for (;;) {
    fits &=
        input.source->convert(target, input.run.stride, row, input.run.size);
    if (input.source->vocabulary)
      fits &= areBelow(target, input.run.stride, input.run.size,
                       input.source->vocabulary);
    size_t i = 0;
    for (; i < depth; ++i) {
      const Loop &loop = input.outer[i];
      target += loop.stride * input.elementBytes;
      row += loop.sourceBytes;
      if (++place[i] < loop.size)
        break;
      place[i] = 0;
      target -= loop.size * loop.stride * input.elementBytes;
      row -= loop.size * loop.sourceBytes;
    }
    if (i == depth)
      return fits;
  }
}

/// Reports what does not fit in an example. This rank read a part of it.
void Feeder::failAt(const Source &source, int64_t example) {
  const std::string where = "data file '" + source.bytes->path() + "': ";
  if (source.vocabulary) {
    std::vector<int32_t> tokens(static_cast<size_t>(source.rowElements));
    source.convert(tokens.data(), 1, source.row(example, nullptr),
                   source.rowElements);
    for (size_t i = 0; i < tokens.size(); ++i)
      if (tokens[i] < 0 || tokens[i] >= source.vocabulary)
        throw Failure(
            ExitCode::Data,
            where + "example " + std::to_string(example) + " has token " +
                std::to_string(tokens[i]) + " for input '" +
                source.input->name + "', its element " + std::to_string(i) +
                "; expected 0 to " + std::to_string(source.vocabulary - 1) +
                ", the model's vocabulary");
  }
  throw Failure(ExitCode::Data, where + "example " + std::to_string(example) +
                                    " holds a value that does not fit input '" +
                                    source.input->name + "' (" +
                                    nameOf(typeOf(*source.input)) + ")");
}

/// How often the process has waited for a page of a file so far.
static int64_t countDiskReads() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_majflt;
}

/// A file that was read from the disk is larger than the memory that is left
/// for it, or new. Advice on each row of a file that is in memory would cost
/// more than it saves.
void Feeder::noteDiskReads(int64_t before) {
  constexpr int64_t batches = 256;
  if (countDiskReads() > before)
    prefetches = batches;
  else if (prefetches > 0)
    --prefetches;
}

/// How many of a rank's rows are selected: the first ones.
int64_t Feeder::countSelected(const Rows &rows, const Selection &selection) {
  return std::clamp<int64_t>(selection.rows - rows.first, 0, rows.count);
}

void Feeder::prefetch(const Selection &selection) {
  if (prefetches == 0)
    return;
  for (const Input &input : inputs) {
    const Rows &rows = rowSets[input.rows];
    const Source &source = *input.source;
    if (!input.isPrefetched || input.isEmpty)
      continue;
    for (int64_t i = 0; i < countSelected(rows, selection); ++i)
      source.bytes->willRead(
          source.row(selection.example(rows.first + i), nullptr) +
              input.sourceOffset,
          static_cast<size_t>(input.sourceSpan));
  }
}

void Feeder::replaceBadTargets(const Input &input, char *block) {
  const Source &source = *input.source;
  if (source.input->type != MESHC_I32)
    return;
  const int64_t count = localElements(*source.input);
  for (int64_t i = 0; i < count; ++i) {
    int32_t number = 0;
    char *at = block + i * input.elementBytes;
    std::memcpy(&number, at, sizeof(number));
    if (source.isBadTarget(number))
      std::memset(at, 0, sizeof(number));
  }
}

void Feeder::fill(const std::function<char *(const MeshcTensor &input)> &place,
                  const Selection &selection) {
  for (Rows &rows : rowSets) {
    rows.examples.clear();
    for (int64_t i = 0; i < countSelected(rows, selection); ++i)
      rows.examples.push_back(selection.example(rows.first + i));
  }
  const int64_t diskReads = countDiskReads();

  for (Input &input : inputs) {
    const Source &source = *input.source;
    const Rows &rows = rowSets[input.rows];
    char *base = place(*source.input);
    const auto blockBytes =
        static_cast<size_t>(localElements(*source.input) * input.elementBytes);
    // Kernels may take padding for indices, which must be valid. The block may
    // have held other things since the last batch.
    const auto count = static_cast<int64_t>(rows.examples.size());
    if (input.hasPadding || count < rows.count)
      std::memset(base, 0, blockBytes);
    if (input.isEmpty)
      continue;
    std::atomic<int64_t> misfit{-1};
    // About 64 KiB of elements justify waking a thread.
    int64_t rowWork = static_cast<int64_t>(blockBytes) /
                      std::max<int64_t>(source.input->dims[0].localSize, 1);
    int64_t grain = std::max<int64_t>(1, 65536 / std::max<int64_t>(rowWork, 1));
    parallelFor(count, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        int64_t example = rows.examples[static_cast<size_t>(i)];
        int32_t *scratch = input.scratch.data();
        if (scratch)
          scratch += i * source.rowElements;
        if (!fillRow(input, base + i * input.rowStride * input.elementBytes,
                     source.row(example, scratch) + input.sourceOffset))
          misfit = example;
      }
    });
    source.bytes->checkIntact();
    noteProgress();
    if (misfit >= 0)
      failAt(source, misfit);
    if (replacesBadTargets)
      replaceBadTargets(input, base);
  }
  noteDiskReads(diskReads);
}
