//===- KnownWords.cpp - tokens of words met before ------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Tokens/KnownWords.h"

#include <cstring>

using namespace meshc::runtime;

static constexpr size_t mostWords = size_t(1) << 18;
static constexpr size_t longestWord = 64;

/// Multiplies and folds eight bytes at a time, as SplitMix64's finalizer does.
static uint32_t hashOf(std::string_view word) {
  uint64_t state = word.size();
  auto mix = [&](uint64_t part) {
    state = (state ^ part) * 0xbf58476d1ce4e5b9u;
    state ^= state >> 31;
  };
  for (; word.size() >= 8; word.remove_prefix(8)) {
    uint64_t part;
    std::memcpy(&part, word.data(), 8);
    mix(part);
  }
  uint64_t rest = 0;
  for (char byte : word)
    rest = rest << 8 | static_cast<uint8_t>(byte);
  mix(rest);
  return static_cast<uint32_t>(state >> 32 ^ state);
}

KnownWords::KnownWords() : slots(size_t(1) << 12) {}

size_t KnownWords::slotOf(std::string_view word, uint32_t hash) const {
  size_t at = hash & (slots.size() - 1);
  for (;; at = (at + 1) & (slots.size() - 1)) {
    const Slot &slot = slots[at];
    if (slot.size == 0 ||
        (slot.hash == hash && slot.size == word.size() &&
         std::memcmp(&bytes[slot.bytesAt], word.data(), word.size()) == 0))
      return at;
  }
}

bool KnownWords::append(std::string_view word,
                        std::vector<int32_t> &out) const {
  const Slot &slot = slots[slotOf(word, hashOf(word))];
  if (slot.size == 0)
    return false;
  const int32_t *first = &tokens[slot.tokensAt];
  if (slot.count == 1) // most words
    out.push_back(*first);
  else
    out.insert(out.end(), first, first + slot.count);
  return true;
}

void KnownWords::add(std::string_view word,
                     const std::vector<int32_t> &wordTokens) {
  if (word.size() > longestWord || words == mostWords)
    return;
  if (2 * ++words > slots.size())
    grow();
  uint32_t hash = hashOf(word);
  slots[slotOf(word, hash)] = {hash, static_cast<uint32_t>(bytes.size()),
                               static_cast<uint32_t>(tokens.size()),
                               static_cast<uint16_t>(word.size()),
                               static_cast<uint16_t>(wordTokens.size())};
  bytes += word;
  tokens.insert(tokens.end(), wordTokens.begin(), wordTokens.end());
}

void KnownWords::grow() {
  std::vector<Slot> before(2 * slots.size());
  before.swap(slots);
  for (const Slot &slot : before) {
    if (slot.size == 0)
      continue;
    size_t at = slot.hash & (slots.size() - 1);
    while (slots[at].size != 0)
      at = (at + 1) & (slots.size() - 1);
    slots[at] = slot;
  }
}
