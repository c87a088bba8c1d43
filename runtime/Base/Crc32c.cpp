//===- Crc32c.cpp - the checksum of checkpoints ---------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Base/Crc32c.h"

#include "runtime/Base/ProcessorFeatures.h"

#include <array>
#include <cstdio>
#include <cstring>
#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

using namespace meshc::runtime;

namespace {

/// The polynomial with its bits reversed.
constexpr uint32_t polynomial = 0x82f63b78u;

using Tables = std::array<std::array<uint32_t, 256>, 8>;

/// Entry [k][b] is the effect of byte b on a checksum k + 1 bytes later
/// ("slicing by 8", Kounavis and Berry, 2005).
constexpr Tables makeTables() {
  Tables tables = {};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t value = byte;
    for (int bit = 0; bit < 8; ++bit)
      value = value >> 1 ^ (value & 1 ? polynomial : 0);
    tables[0][byte] = value;
  }
  for (size_t k = 1; k < 8; ++k)
    for (size_t byte = 0; byte < 256; ++byte) {
      uint32_t before = tables[k - 1][byte];
      tables[k][byte] = before >> 8 ^ tables[0][before & 255];
    }
  return tables;
}

constexpr Tables tables = makeTables();

} // namespace

uint32_t meshc::runtime::crc32cByTable(const void *data, size_t bytes,
                                       uint32_t before) {
  const auto *at = static_cast<const uint8_t *>(data);
  uint32_t value = ~before;
  for (; bytes >= 8; at += 8, bytes -= 8) {
    value ^= uint32_t(at[0]) | uint32_t(at[1]) << 8 | uint32_t(at[2]) << 16 |
             uint32_t(at[3]) << 24;
    value = tables[7][value & 255] ^ tables[6][value >> 8 & 255] ^
            tables[5][value >> 16 & 255] ^ tables[4][value >> 24] ^
            tables[3][at[4]] ^ tables[2][at[5]] ^ tables[1][at[6]] ^
            tables[0][at[7]];
  }
  for (; bytes > 0; ++at, --bytes)
    value = value >> 8 ^ tables[0][(value ^ *at) & 255];
  return ~value;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) static uint32_t
crc32cBySse(const void *data, size_t bytes, uint32_t before) {
  const auto *at = static_cast<const uint8_t *>(data);
  uint64_t value = ~before;
  for (; bytes >= 8; at += 8, bytes -= 8) {
    uint64_t word;
    std::memcpy(&word, at, 8);
    value = _mm_crc32_u64(value, word);
  }
  auto rest = static_cast<uint32_t>(value);
  for (; bytes > 0; ++at, --bytes)
    rest = _mm_crc32_u8(rest, *at);
  return ~rest;
}

uint32_t meshc::runtime::crc32c(const void *data, size_t bytes,
                                uint32_t before) {
  static const bool hasInstruction = hasProcessorFeature("sse4.2");
  return hasInstruction ? crc32cBySse(data, bytes, before)
                        : crc32cByTable(data, bytes, before);
}
#else
uint32_t meshc::runtime::crc32c(const void *data, size_t bytes,
                                uint32_t before) {
  return crc32cByTable(data, bytes, before);
}
#endif

std::string meshc::runtime::formatCrc32c(uint32_t checksum) {
  char text[9];
  std::snprintf(text, sizeof(text), "%08x", checksum);
  return text;
}
