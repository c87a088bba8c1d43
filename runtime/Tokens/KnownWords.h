//===- KnownWords.h - tokens of words met before ----------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_TOKENS_KNOWNWORDS_H
#define MESHC_RUNTIME_TOKENS_KNOWNWORDS_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace meshc::runtime {

/// Remembers the tokens of words, up to a limit of words, and of bytes in a
/// word. A hash table.
class KnownWords {
public:
  KnownWords();

  /// Appends the tokens of `word` to `out`; returns false if it is not known.
  bool append(std::string_view word, std::vector<int32_t> &out) const;

  /// Remembers the tokens of a word that is not known, unless that exceeds a
  /// limit.
  void add(std::string_view word, const std::vector<int32_t> &tokens);

private:
  struct Slot {
    uint32_t hash;
    uint32_t bytesAt, tokensAt; ///< in `bytes` and `tokens`
    uint16_t size, count;       ///< of bytes, 0 if the slot is free; of tokens
  };
  size_t slotOf(std::string_view word, uint32_t hash) const;
  void grow();

  std::vector<Slot> slots; ///< a power of two, at most half full
  size_t words = 0;
  std::string bytes;
  std::vector<int32_t> tokens;
};

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_TOKENS_KNOWNWORDS_H
