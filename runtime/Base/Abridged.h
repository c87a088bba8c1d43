//===- Abridged.h - long texts in messages ----------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_BASE_ABRIDGED_H
#define MESHC_RUNTIME_BASE_ABRIDGED_H

#include <algorithm>
#include <cstddef>
#include <string>

namespace meshc::runtime {

inline bool isControl(char letter) {
  return static_cast<unsigned char>(letter) < ' ' || letter == '\x7f';
}

/// A text of UTF-8 for a message: its first `most` bytes and "…" if it is
/// longer; control characters as "\x0a".
inline std::string abridged(const std::string &text, size_t most = 200) {
  size_t end = std::min(text.size(), most);
  while (end < text.size() && end > 0 &&
         (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80)
    --end; // not within a character
  std::string result;
  for (char letter : text.substr(0, end)) {
    static const char digits[] = "0123456789abcdef";
    if (isControl(letter))
      result += {'\\', 'x', digits[letter >> 4 & 15], digits[letter & 15]};
    else
      result += letter;
  }
  return result + (end < text.size() ? "…" : "");
}

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_BASE_ABRIDGED_H
