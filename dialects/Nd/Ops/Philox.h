//===- Philox.h - counter-based random numbers ----------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Philox 4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy
/// as 1, 2, 3. SC 2011), written once for numbers and for emitted code.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_ND_OPS_PHILOX_H
#define MESHC_DIALECTS_ND_OPS_PHILOX_H

#include "llvm/ADT/StringRef.h"
#include <array>
#include <cstdint>
#include <utility>

namespace meshc::nd {

/// Philox on host integers. `runPhilox` needs the type `Word`, the low and high
/// word of a product, exclusive or, and the sum modulo 2^32.
struct NumberWords {
  using Word = uint32_t;
  std::pair<Word, Word> multiply(Word a, uint32_t b) const {
    uint64_t product = uint64_t(a) * b;
    return {Word(product), Word(product >> 32)};
  }
  Word exclusiveOr(Word a, Word b) const { return a ^ b; }
  Word add(Word a, uint32_t b) const { return a + b; }
};

/// Four random words for each counter and key.
template <typename Words>
std::array<typename Words::Word, 4>
runPhilox(Words words, std::array<typename Words::Word, 4> counter,
          std::array<typename Words::Word, 2> key) {
  for (int round = 0; round < 10; ++round) {
    if (round > 0) {
      key[0] = words.add(key[0], 0x9E3779B9u);
      key[1] = words.add(key[1], 0xBB67AE85u);
    }
    auto [low0, high0] = words.multiply(counter[0], 0xD2511F53u);
    auto [low1, high1] = words.multiply(counter[2], 0xCD9E8D57u);
    counter = {
        words.exclusiveOr(words.exclusiveOr(high1, counter[1]), key[0]), low1,
        words.exclusiveOr(words.exclusiveOr(high0, counter[3]), key[1]), low0};
  }
  return counter;
}

/// The prime of 32-bit FNV-1a.
inline constexpr uint32_t hashPrime = 16777619u;

/// 32-bit FNV-1a.
inline uint32_t hashStream(llvm::StringRef stream) {
  uint32_t hash = 2166136261u;
  for (unsigned char c : stream)
    hash = (hash ^ c) * hashPrime;
  return hash;
}

/// One step of FNV-1a on words of this process.
struct HashNumber {
  using Word = uint32_t;
  uint32_t addByte(uint32_t hash, uint32_t number, unsigned index,
                   uint32_t prime) const {
    return (hash ^ (number >> (8 * index) & 255)) * prime;
  }
};

/// FNV-1a over the four bytes of `number`, the lowest first, from `hash` on.
/// `steps` computes on its words: numbers or emitted values.
template <typename Steps>
typename Steps::Word continueHash(const Steps &steps, typename Steps::Word hash,
                                  typename Steps::Word number) {
  for (unsigned index = 0; index < 4; ++index)
    hash = steps.addByte(hash, number, index, hashPrime);
  return hash;
}

} // namespace meshc::nd

#endif // MESHC_DIALECTS_ND_OPS_PHILOX_H
