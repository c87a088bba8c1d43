//===- PairMerges.h - byte-pair encoding ------------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Byte-pair encoding (Sennrich, Haddow and Birch, "Neural machine translation
/// of rare words with subword units", 2016): neighbouring tokens are replaced
/// by their merged token, the pair of the lowest rank first.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_TOKENS_PAIRMERGES_H
#define MESHC_RUNTIME_TOKENS_PAIRMERGES_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace meshc::runtime {

/// The pairs of tokens that are merged.
class PairMerges {
public:
  struct Merge {
    int32_t rank;  ///< lower is earlier; ≥ 0
    int32_t token; ///< what the pair becomes
  };

  /// `count`: how many pairs will be added, at most.
  explicit PairMerges(size_t count);

  /// Adds a pair of tokens ≥ 0. Returns false if it is there already; nothing
  /// changes then.
  bool add(int32_t left, int32_t right, Merge merge);

  /// The merge of a pair; null if there is none.
  const Merge *find(int32_t left, int32_t right) const;

  /// Merges pairs of `tokens`, in place, until none is left: always one of the
  /// lowest rank, of these the leftmost. Takes O(n log n) for n tokens.
  void apply(std::vector<int32_t> &tokens) const;

private:
  struct Slot {
    uint64_t pair;
    Merge merge;
  };
  size_t slotOf(uint64_t pair) const;

  void applyToFew(std::vector<int32_t> &tokens) const;
  void applyToMany(std::vector<int32_t> &tokens) const;

  std::vector<Slot> slots; ///< a hash table of 2^n slots, at most half full
  int shift;               ///< 64 - n
};

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_TOKENS_PAIRMERGES_H
