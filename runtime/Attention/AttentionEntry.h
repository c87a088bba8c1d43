//===- AttentionEntry.h - one entry of the outer dims -----------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Private to this folder: what a thread knows of the entry of the outer dims
/// that it works on. Where its tensors lie, and which scores are allowed.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_ATTENTION_ATTENTIONENTRY_H
#define MESHC_RUNTIME_ATTENTION_ATTENTIONENTRY_H

#include "meshc/AttentionScratch.h"
#include "runtime/Attention/Attention.h"
#include "runtime/Attention/BlockProducts.h"
#include "runtime/Base/Parallel.h"

namespace meshc::runtime {

/// Rows of a tensor of the call's type.
struct TensorRows {
  char *data;
  int64_t rowBytes;

  char *row(int64_t i) const { return data + i * rowBytes; }
};

/// Rows of tensors that are used next. They are fetched into the second-level
/// cache while the rows of a block of scores are computed, some for each row:
/// the processor does not foresee rows that lie far apart, and too many fetches
/// at once would wait for each other.
class RowsAhead {
public:
  /// Forgets the rows of the last block. `steps`: rows of scores of this one.
  void begin(int64_t steps) {
    this->steps = steps;
    count = 0;
  }
  /// Adds `rows` rows of `bytes` bytes each. At most `most` times.
  void add(const TensorRows &from, int64_t rows, int64_t bytes) {
    parts[count++] = {from.data, from.rowBytes, meshcDivideUp(bytes, line),
                      rows, meshcDivideUp(rows, steps)};
  }
  bool isEmpty() const { return count == 0; }
  /// Fetches what is to be fetched beside a row of the scores.
  void fetch() {
    for (Part *part = parts; part < parts + count; ++part)
      for (int64_t i = 0; i < part->perStep && part->rows > 0;
           ++i, --part->rows, part->next += part->rowBytes)
        for (int64_t n = 0; n < part->lines; ++n)
          __builtin_prefetch(part->next + n * line, /*writes=*/0,
                             /*locality=*/2);
  }

  static constexpr int64_t most = 8;

private:
  static constexpr int64_t line = 64; ///< bytes of a cache line
  struct Part {
    const char *next;
    int64_t rowBytes, lines;
    int64_t rows, perStep; ///< that are left, and for each row of scores
  };
  Part parts[most];
  int64_t count = 0, steps = 1;
};

/// Scratch memory that is handed out in order.
class ScratchBlocks {
public:
  explicit ScratchBlocks(char *memory)
      : next(reinterpret_cast<float *>(memory)) {}
  float *take(int64_t floats) {
    float *begin = next;
    next += floats;
    return begin;
  }

private:
  float *next;
};

/// What softmax and its gradient read of a row of a block of scores.
struct FinishedRow {
  Range allowed; ///< in the block
  float scale;   ///< that the scores still lack
};

class AttentionEntry {
public:
  /// `ranges`: memory for what is allowed (MeshcAttentionBlocks).
  AttentionEntry(const MeshcAttention &attention, const int64_t *coordinates,
                 const AttentionTensors &tensors, float *ranges);

  /// Goes to an entry of dims [firstDim, lastDim); the others stay.
  void moveTo(int64_t entry, int64_t firstDim, int64_t lastDim);

  /// In elements.
  int64_t offsetOf(const MeshcAttentionStrides &strides) const;
  TensorRows rowsOf(const void *data, const MeshcAttentionStrides &strides,
                    int64_t row) const;
  TensorRows memoryOf(const void *data, const MeshcAttentionStrides &strides,
                      int64_t begin) const;

  /// Bytes of `width` elements of the tensors.
  int64_t bytesOf(int64_t width) const {
    return width * (attention.type == MESHC_F32 ? 4 : 2);
  }
  /// Adds rows from `row` on of a tensor of queries or results, and of the
  /// memory from `begin` on, to those that are used next.
  void addRowsAhead(RowsAhead &ahead, const void *data,
                    const MeshcAttentionStrides &strides, int64_t row,
                    int64_t count, int64_t width) const;
  void addMemoryAhead(RowsAhead &ahead, const void *data,
                      const MeshcAttentionStrides &strides, int64_t begin,
                      int64_t count, int64_t width) const;

  /// Entries of the memory that the band allows for any of the rows of a block.
  Range rangeOfBand(int64_t row, int64_t count) const {
    return bandOf(row, 0, {0, attention.memory}).of(0, count);
  }
  /// The same, without what mask or labels forbid to all of them at both ends.
  Range rangeOf(int64_t row, int64_t count);
  /// The band of a block of scores, of rows from `row` on and of the memory
  /// from `begin` on, within a part of the memory.
  Band bandOf(int64_t row, int64_t begin, Range within) const;
  /// Of a bias by distance: the entry for an index of the memory that is `more`
  /// than that of the row among the rank's.
  int64_t distanceOf(int64_t more) const {
    return more - firstRow + attention.lastRow;
  }
  /// Makes the entries of row `i` of the block, `s`, that the band does not
  /// allow 0; adds the bias to the others, and applies mask and labels. The
  /// block has `count` entries of the memory from `begin` on; its first row is
  /// `row`.
  FinishedRow finishRow(float *s, int64_t row, int64_t i, int64_t begin,
                        int64_t count, const Band &band);

  const MeshcAttention &attention;
  const AttentionTensors &tensors;
  const RowLoops &loops;

private:
  /// Where the tensors begin that say what is allowed.
  struct Origin {
    int64_t mask = -1, rowLabels = -1, memoryLabels = -1;
    bool operator==(const Origin &other) const {
      return mask == other.mask && rowLabels == other.rowLabels &&
             memoryLabels == other.memoryLabels;
    }
  };

  void applyMask(float *s, int64_t row, int64_t begin, int64_t count);
  void applyLabels(float *s, int64_t row, int64_t begin, int64_t count);
  Range findAllowed(int64_t row, int64_t count) const;
  Range findByMask(int64_t row, int64_t count) const;
  Range findByLabels(int64_t row, int64_t count) const;
  void trim(Range &range, int64_t row, int64_t count);

  int64_t firstRow = 0; ///< global index
  int64_t lowest, highest;
  int64_t position[MESHC_ATTENTION_DIMS] = {};
  /// What mask and labels from `origin` on allow to each block of rows, as far
  /// as it is known; mostly some entries of the outer dims, such as heads,
  /// share them.
  Range *known;
  Origin origin;
  float bias[MESHC_ATTENTION_MEMORY];     ///< of a row, in f32
  uint8_t mask[MESHC_ATTENTION_MEMORY];   ///< of a row
  int32_t labels[MESHC_ATTENTION_MEMORY]; ///< of the memory
};

/// Copies `count` rows of `width` elements to f32, meshcAttentionStride(width)
/// apart.
FloatRows widenRows(const AttentionEntry &entry, const TensorRows &rows,
                    int64_t count, int64_t width, float *to);

/// The rows as they lie if they are f32, or a copy at `to`.
FloatRows asFloats(const AttentionEntry &entry, const TensorRows &rows,
                   int64_t count, int64_t width, float *to);

/// How many threads share the work, with so many bytes of scratch memory.
int64_t chooseAttentionThreads(const MeshcAttention &attention, bool isGradient,
                               int64_t bytes);

/// Runs `body(thread)` for so many threads.
template <typename Body>
void runAttentionThreads(int64_t threads, const Body &body) {
  if (threads == 1)
    return body(0);
  parallelTeam([&](int64_t thread, int64_t) {
    if (thread < threads)
      body(thread);
  });
}

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_ATTENTION_ATTENTIONENTRY_H
