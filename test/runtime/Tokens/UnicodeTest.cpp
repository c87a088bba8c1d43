//===- UnicodeTest.cpp - characters of UTF-8 text -------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Tokens/Unicode.h"

#include <gtest/gtest.h>

using namespace meshc::runtime;

namespace {

TEST(Unicode, ReadsEveryCodePoint) {
  for (uint32_t code = 0; code <= 0x10ffff; ++code) {
    std::string text;
    appendUtf8(text, code);
    Character character = characterAt(text, 0);
    if (code >= 0xd800 && code <= 0xdfff) {
      EXPECT_FALSE(character.isValid) << code;
      continue;
    }
    ASSERT_TRUE(character.isValid) << code;
    ASSERT_EQ(character.code, code);
    ASSERT_EQ(character.size, text.size());
    ASSERT_TRUE(
        text.size() == 1 ||
        !characterAt(std::string_view(text).substr(0, text.size() - 1), 0)
             .isValid);
  }
}

TEST(Unicode, RefusesWhatIsNotUtf8) {
  for (std::string_view text :
       {"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80",
        "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff",
        "\xc3(", "\xe2\x82", "\xe2(\xac", "\xf0\x9f\x99"}) {
    Character character = characterAt(text, 0);
    EXPECT_FALSE(character.isValid) << text;
    EXPECT_EQ(character.size, 1u) << text;
    EXPECT_EQ(classOf(character), CharacterClass::Other) << text;
  }
}

TEST(Unicode, KnowsTheClasses) {
  for (uint32_t code : std::initializer_list<uint32_t>{
           'a', 'Z', 0xaa, 0xe9, 0x3a9, 0x4e00, 0x9fff, 0xac00, 0xd7a3, 0x2b81d,
           0x31350})
    EXPECT_EQ(classOf(code), CharacterClass::Letter) << describeCode(code);
  for (uint32_t code : std::initializer_list<uint32_t>{'0', '9', 0xb2, 0xbd,
                                                       0x663, 0x2167, 0x3007})
    EXPECT_EQ(classOf(code), CharacterClass::Number) << describeCode(code);
  for (uint32_t code :
       std::initializer_list<uint32_t>{'\t', '\n', '\v', '\r', ' ', 0x85, 0xa0,
                                       0x1680, 0x2003, 0x2028, 0x202f, 0x3000})
    EXPECT_EQ(classOf(code), CharacterClass::Space) << describeCode(code);
  for (uint32_t code : std::initializer_list<uint32_t>{
           0, 0x1c, '!', '_', 0x301, 0x200b, 0xfeff, 0x1f642, 0xe000, 0x10ffff})
    EXPECT_EQ(classOf(code), CharacterClass::Other) << describeCode(code);
  EXPECT_EQ(describeCode(0xe9), "U+00E9");
}

} // namespace
