//===- EscapeControls.h - foreign names in what people read -----*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Names of files, of tensors in files, and arguments may hold any bytes. The
/// compiler and the runtime print them through this function, so that none can
/// begin a line, move the cursor, or change the order of what is shown.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_ESCAPECONTROLS_H
#define MESHC_ESCAPECONTROLS_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace meshc {

/// A character of UTF-8 at the beginning of a text.
struct Utf8Character {
  uint32_t code;
  size_t bytes; ///< 0 if the text begins with no character of UTF-8
};

/// The first character of `text`, which is not empty (Unicode 15, table 3-7).
inline Utf8Character decodeUtf8(std::string_view text) {
  auto at = [&](size_t i) -> uint32_t {
    return static_cast<unsigned char>(text[i]);
  };
  const uint32_t first = at(0);
  if (first < 0x80)
    return {first, 1};
  const size_t bytes = first >= 0xc2 && first <= 0xdf   ? 2
                       : first >= 0xe0 && first <= 0xef ? 3
                       : first >= 0xf0 && first <= 0xf4 ? 4
                                                        : 0;
  if (bytes == 0 || text.size() < bytes)
    return {0, 0};
  uint32_t code = first & (0xffU >> (bytes + 1));
  for (size_t i = 1; i < bytes; ++i) {
    if ((at(i) & 0xc0U) != 0x80)
      return {0, 0};
    code = code << 6 | (at(i) & 0x3fU);
  }
  const bool isShorter = (bytes == 3 && code < 0x800) ||
                         (bytes == 4 && (code < 0x10000 || code > 0x10ffff));
  const bool isSurrogate = code >= 0xd800 && code <= 0xdfff;
  return isShorter || isSurrogate ? Utf8Character{0, 0}
                                  : Utf8Character{code, bytes};
}

/// Whether a terminal may do something else than show the character: control
/// characters (C0, C1 and delete), ends of lines and paragraphs, and marks that
/// change the direction of text (UAX #9).
inline bool isControl(uint32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x61c ||
         code == 0x200e || code == 0x200f ||
         (code >= 0x2028 && code <= 0x202e) ||
         (code >= 0x2066 && code <= 0x2069);
}

/// The text with "\n", "\r", "\t" or "\x1b" in place of control characters and
/// of bytes that are not UTF-8; characters in `kept` stay. The result is UTF-8.
inline std::string escapeControls(std::string_view text,
                                  std::string_view kept = "") {
  static constexpr char digits[] = "0123456789abcdef";
  std::string escaped;
  while (!text.empty()) {
    const Utf8Character next = decodeUtf8(text);
    const size_t bytes = next.bytes > 0 ? next.bytes : 1;
    const bool isShown =
        next.bytes > 0 && (!isControl(next.code) ||
                           kept.find(text.front()) != std::string_view::npos);
    for (size_t i = 0; i < bytes; ++i) {
      const char c = text[i];
      const auto byte = static_cast<unsigned char>(c);
      if (isShown)
        escaped += c;
      else if (c == '\n' || c == '\r' || c == '\t')
        escaped += c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t";
      else
        (escaped += "\\x") += {digits[byte >> 4], digits[byte & 15]};
    }
    text.remove_prefix(bytes);
  }
  return escaped;
}

} // namespace meshc

#endif // MESHC_ESCAPECONTROLS_H
