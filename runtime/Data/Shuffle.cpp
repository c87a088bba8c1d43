//===- Shuffle.cpp - the order of examples --------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Data/Shuffle.h"

using namespace meshc::runtime;

/// The finalizer of SplitMix64 (Steele, Lea and Flood, 2014).
static uint64_t mix(uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9u;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

Shuffle::Shuffle(uint64_t seed, int64_t count) : seed(seed), count(count) {
  int bits = 2; // each half has at least one
  while (bits < 62 && (int64_t(1) << bits) < count)
    ++bits;
  leftBits = bits / 2;
  rightBits = bits - leftBits;
}

Shuffle Shuffle::inFileOrder(int64_t count) {
  Shuffle order(0, count);
  order.isFileOrder = true;
  return order;
}

int64_t Shuffle::at(int64_t position) const {
  if (isFileOrder || count == 1)
    return position % count;
  uint64_t epoch = static_cast<uint64_t>(position / count);
  uint64_t key = mix(seed * 0x9e3779b97f4a7c15u + mix(epoch + 1));
  uint64_t value = static_cast<uint64_t>(position % count);
  uint64_t leftMask = (uint64_t(1) << leftBits) - 1;
  uint64_t rightMask = (uint64_t(1) << rightBits) - 1;
  do {
    uint64_t left = value >> rightBits, right = value & rightMask;
    for (int round = 0; round < rounds; round += 2) {
      left ^= mix(key + 2 * round + (right << 8)) & leftMask;
      right ^= mix(key + 2 * round + 1 + (left << 8)) & rightMask;
    }
    value = left << rightBits | right;
  } while (value >= static_cast<uint64_t>(count));
  return static_cast<int64_t>(value);
}
