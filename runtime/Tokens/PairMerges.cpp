//===- PairMerges.cpp - byte-pair encoding --------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Tokens/PairMerges.h"

#include <algorithm>
#include <array>
#include <limits>

using namespace meshc::runtime;

static constexpr uint64_t noPair = ~uint64_t(0);
static constexpr int32_t noRank = std::numeric_limits<int32_t>::max();

static uint64_t pairOf(int32_t left, int32_t right) {
  return uint64_t(static_cast<uint32_t>(left)) << 32 |
         static_cast<uint32_t>(right);
}

PairMerges::PairMerges(size_t count) : shift(60) {
  while ((size_t(1) << (64 - shift)) < 2 * count)
    --shift;
  slots.assign(size_t(1) << (64 - shift), {noPair, {noRank, -1}});
}

/// The slot of `pair`, or the free one where it belongs. Multiplies by the
/// golden ratio (Knuth, The Art of Computer Programming, 6.4).
size_t PairMerges::slotOf(uint64_t pair) const {
  uint64_t mixed = (pair ^ pair >> 29) * 0x9e3779b97f4a7c15u;
  size_t slot = mixed >> shift;
  while (slots[slot].pair != pair && slots[slot].pair != noPair)
    slot = (slot + 1) & (slots.size() - 1);
  return slot;
}

bool PairMerges::add(int32_t left, int32_t right, Merge merge) {
  uint64_t pair = pairOf(left, right);
  Slot &slot = slots[slotOf(pair)];
  if (slot.pair == pair)
    return false;
  slot = {pair, merge};
  return true;
}

const PairMerges::Merge *PairMerges::find(int32_t left, int32_t right) const {
  const Slot &slot = slots[slotOf(pairOf(left, right))];
  return slot.pair == noPair ? nullptr : &slot.merge;
}

/// Up to so many tokens, a scan for the lowest rank is faster than a heap.
static constexpr size_t fewTokens = 48;

void PairMerges::apply(std::vector<int32_t> &tokens) const {
  if (tokens.size() <= fewTokens)
    applyToFew(tokens);
  else
    applyToMany(tokens);
}

void PairMerges::applyToFew(std::vector<int32_t> &tokens) const {
  size_t count = tokens.size();
  std::array<Merge, fewTokens> merges; // of each token with the next
  auto look = [&](size_t i) {
    const Merge *merge = find(tokens[i], tokens[i + 1]);
    merges[i] = merge ? *merge : Merge{noRank, -1};
  };
  for (size_t i = 0; i + 1 < count; ++i)
    look(i);
  while (count > 1) {
    size_t best = 0;
    for (size_t i = 1; i + 1 < count; ++i)
      if (merges[i].rank < merges[best].rank)
        best = i;
    if (merges[best].rank == noRank)
      break;
    tokens[best] = merges[best].token;
    --count;
    for (size_t i = best + 1; i < count; ++i) {
      tokens[i] = tokens[i + 1];
      merges[i - 1] = merges[i];
    }
    if (best + 1 < count)
      look(best);
    if (best > 0)
      look(best - 1);
  }
  tokens.resize(count);
}

namespace {
/// A pair that may be merged, if its tokens are still there.
struct Candidate {
  int32_t rank;
  int32_t left, right; ///< tokens
  int32_t token;
  size_t at; ///< of the left token

  /// For a heap with the best one at its front.
  bool operator<(const Candidate &other) const {
    return rank != other.rank ? rank > other.rank : at > other.at;
  }
};

/// The links of a list in an array: a token's neighbours.
struct Links {
  size_t before, after;
};
} // namespace

void PairMerges::applyToMany(std::vector<int32_t> &tokens) const {
  const size_t count = tokens.size();
  std::vector<Links> links(count);
  std::vector<Candidate> heap;
  auto push = [&](size_t at) {
    size_t after = links[at].after;
    if (after == count)
      return;
    if (const Merge *merge = find(tokens[at], tokens[after])) {
      heap.push_back(
          {merge->rank, tokens[at], tokens[after], merge->token, at});
      std::push_heap(heap.begin(), heap.end());
    }
  };
  for (size_t i = 0; i < count; ++i)
    links[i] = {i - 1, i + 1};
  for (size_t i = 0; i < count; ++i)
    push(i);
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end());
    Candidate best = heap.back();
    heap.pop_back();
    size_t at = best.at, after = links[at].after;
    // A token that was merged into its neighbour is -1.
    if (after == count || tokens[at] != best.left ||
        tokens[after] != best.right)
      continue;
    tokens[at] = best.token;
    tokens[after] = -1;
    links[at].after = links[after].after;
    if (links[at].after != count)
      links[links[at].after].before = at;
    push(at);
    if (at != 0)
      push(links[at].before);
  }
  tokens.erase(std::remove(tokens.begin(), tokens.end(), -1), tokens.end());
}
