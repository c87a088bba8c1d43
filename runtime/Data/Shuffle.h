//===- Shuffle.h - the order of examples ------------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The order in which a training run sees the examples: the order of the files,
/// or a function of the seed and the epoch alone, so the same under every
/// layout. Any position is computed without memory, so that a resumed run
/// continues where it stopped.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_DATA_SHUFFLE_H
#define MESHC_RUNTIME_DATA_SHUFFLE_H

#include <cstdint>

namespace meshc::runtime {

/// An endless stream of examples: position p is in epoch p / count, and every
/// epoch is a permutation of 0 … count-1. The permutation is a Feistel network
/// on the smallest number of bits that can number the examples, iterated until
/// the value falls below `count` (Black and Rogaway, "Ciphers with arbitrary
/// finite domains", 2002).
class Shuffle {
public:
  /// `count` ≥ 1 examples.
  Shuffle(uint64_t seed, int64_t count);
  /// Every epoch uses the order of the files.
  static Shuffle inFileOrder(int64_t count);

  /// The example at `position` ≥ 0 of the stream.
  int64_t at(int64_t position) const;

private:
  static constexpr int rounds = 6;

  uint64_t seed;
  int64_t count;
  int leftBits, rightBits;
  bool isFileOrder = false;
};

/// Selects the examples of a batch.
struct Selection {
  const Shuffle *order; ///< null: in file order
  int64_t first;        ///< position of row 0 in the order
  int64_t rows;         ///< those behind them are padding

  /// The example in a row below `rows`.
  int64_t example(int64_t row) const {
    return order ? order->at(first + row) : first + row;
  }
};

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_DATA_SHUFFLE_H
