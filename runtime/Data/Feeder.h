//===- Feeder.h - filling a rank's inputs -----------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Fills the inputs of a rank with its own part of a batch.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_DATA_FEEDER_H
#define MESHC_RUNTIME_DATA_FEEDER_H

#include "runtime/Base/TensorBlock.h"
#include "runtime/Data/Dataset.h"
#include "runtime/Data/Shuffle.h"

#include <functional>

namespace meshc::runtime {

/// Fills the input buffers of one rank. Allocates only at construction; reads
/// no byte that belongs to other ranks.
class Feeder {
public:
  /// `coords`: the rank's coordinate on each mesh axis. `program` and
  /// `dataset` outlive the feeder.
  Feeder(const MeshcProgram &program, const Dataset &dataset,
         const int64_t *coords);

  /// Writes this rank's block of every input to the address that `place`
  /// returns: row r of the batch is example `selection.example(r)`. Padding of
  /// the block becomes 0, rows that are not selected included. Throws
  /// Failure(Data) if a value of a file does not fit the input's type, a token
  /// is not below the model's vocabulary, or the file can no longer be read.
  void fill(const std::function<char *(const MeshcTensor &input)> &place,
            const Selection &selection);

  /// Whether fill() writes 0 in place of targets of a `cross_entropy` that are
  /// no classes and are not ignored. It does not at first.
  void replaceBadTargets(bool isWanted) { replacesBadTargets = isWanted; }

  /// Starts to read from the disk what fill() with this selection will need,
  /// and returns at once: the system reads it in the background. Does nothing
  /// if all of the last batches were in memory.
  void prefetch(const Selection &selection);

private:
  /// A dim of a row: this rank's entries that exist, and strides.
  struct Loop {
    int64_t size;
    int64_t sourceBytes; ///< between elements in the file
    int64_t stride;      ///< between elements in the block, in elements
  };
  /// The rows of a batch that a rank holds, without padding, and their current
  /// examples. Inputs whose first dim is cut alike share them.
  struct Rows {
    int64_t first, count;
    std::vector<int64_t> examples; ///< of the selected rows alone
  };
  struct Input {
    const Source *source;
    size_t rows;             ///< index into rowSets
    int64_t rowStride;       ///< between rows in the block, in elements
    int64_t sourceOffset;    ///< bytes from a row's start in the file
    int64_t sourceSpan;      ///< bytes of a row from there to this rank's last
    bool isPrefetched;       ///< no earlier input reads the same file
    bool hasPadding;         ///< the block has entries that do not exist
    bool isEmpty;            ///< a row has no entry that exists
    std::vector<Loop> outer; ///< all loops of a row but the innermost
    Loop run;                ///< contiguous in the file
    int64_t elementBytes;    ///< of the tensor
    std::vector<int32_t> scratch; ///< of rows that are not in a file
  };

  /// The index in rowSets of the rows of a rank's block, which it adds if they
  /// are not there yet.
  size_t findRows(const BlockRange &range);
  Input planInput(const MeshcProgram &program, const Source &source,
                  const int64_t *coords);
  static bool fillRow(const Input &input, char *target, const uint8_t *row);
  [[noreturn]] static void failAt(const Source &source, int64_t example);

  static void replaceBadTargets(const Input &input, char *block);
  static int64_t countSelected(const Rows &rows, const Selection &selection);
  void noteDiskReads(int64_t before);

  bool replacesBadTargets = false;
  std::vector<Rows> rowSets;
  std::vector<Input> inputs;
  /// For how many more batches to read ahead: 0 if the files are in memory.
  int64_t prefetches = 0;
};

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_DATA_FEEDER_H
