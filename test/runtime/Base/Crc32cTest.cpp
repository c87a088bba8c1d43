//===- Crc32cTest.cpp - tests of the checksum -----------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Base/Crc32c.h"

#include <gtest/gtest.h>
#include <string>

using namespace meshc::runtime;

static void expectChecksum(const std::string &bytes, uint32_t expected) {
  EXPECT_EQ(formatCrc32c(crc32c(bytes.data(), bytes.size())),
            formatCrc32c(expected));
  EXPECT_EQ(formatCrc32c(crc32cByTable(bytes.data(), bytes.size())),
            formatCrc32c(expected));
}

/// The examples of RFC 3720, appendix B.4, and the usual check value.
TEST(Crc32c, matchesTheTestVectors) {
  std::string rising, falling;
  for (int i = 0; i < 32; ++i) {
    rising += static_cast<char>(i);
    falling += static_cast<char>(31 - i);
  }
  const unsigned char read[48] = {
      0x01, 0xc0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,    0, 0, 0, 0,
      0x14, 0,    0, 0, 0, 0, 4, 0, 0, 0, 0, 0x14, 0, 0, 0, 0x18,
      0x28, 0,    0, 0, 0, 0, 0, 0, 2, 0, 0, 0,    0, 0, 0, 0};
  expectChecksum(std::string(32, '\0'), 0x8a9136aa);
  expectChecksum(std::string(32, '\xff'), 0x62a8ab43);
  expectChecksum(rising, 0x46dd794e);
  expectChecksum(falling, 0x113fdb5c);
  expectChecksum(std::string(reinterpret_cast<const char *>(read), 48),
                 0xd9963a56);
  expectChecksum("123456789", 0xe3069283);
  expectChecksum("", 0);
}

/// At any alignment and length, in one piece or in two.
TEST(Crc32c, isOneFunction) {
  std::string bytes(300, '\0');
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<char>(i * 37 + i / 7);
  for (size_t begin = 0; begin < 9; ++begin)
    for (size_t length : {0, 1, 7, 8, 9, 63, 64, 65, 290}) {
      const char *at = bytes.data() + begin;
      uint32_t whole = crc32c(at, length);
      EXPECT_EQ(whole, crc32cByTable(at, length));
      size_t part = length / 3;
      uint32_t first = crc32c(at, part);
      EXPECT_EQ(whole, crc32c(at + part, length - part, first));
      EXPECT_EQ(whole, crc32cByTable(at + part, length - part, first));
    }
}
