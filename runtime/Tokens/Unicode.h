//===- Unicode.h - characters of UTF-8 text ---------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The characters of a text in UTF-8, and their classes.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_TOKENS_UNICODE_H
#define MESHC_RUNTIME_TOKENS_UNICODE_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace meshc::runtime {

/// What regular expressions distinguish: \p{L}, \p{N}, \s (White_Space), and
/// the rest.
enum class CharacterClass : uint8_t { Other, Letter, Number, Space };

/// A character of a text, or a byte that belongs to none.
struct Character {
  uint32_t code; ///< code point; that of the byte if not `isValid`
  uint32_t size; ///< bytes: 1 to 4
  bool isValid;  ///< false: the byte is not part of well-formed UTF-8
};

/// The character at byte `at` < text.size(). Overlong forms, surrogates and
/// codes above U+10FFFF are not well-formed (Unicode 15, table 3-7).
Character characterAt(std::string_view text, size_t at);

/// The class of a code point in the version of Unicode that UnicodeClasses.inc
/// names. Takes one table lookup.
CharacterClass classOf(uint32_t code);

/// The class of a character; invalid bytes are Other.
inline CharacterClass classOf(const Character &character) {
  return character.isValid ? classOf(character.code) : CharacterClass::Other;
}

/// Appends a code point ≤ U+10FFFF in UTF-8.
void appendUtf8(std::string &text, uint32_t code);

/// A character as messages show it: "U+00E9".
std::string describeCode(uint32_t code);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_TOKENS_UNICODE_H
