//===- Lexer.cpp - words of PTX -------------------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/gpu/ptx/Lexer.h"

#include <algorithm>
#include <cctype>

namespace meshc::ptx {

static bool isWordPart(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' ||
         c == '%' || c == '.';
}

/// The length of the comment at the beginning of `text`; 0: there is none.
static size_t getCommentLength(std::string_view text) {
  if (text.substr(0, 2) == "//")
    return std::min(text.find('\n'), text.size());
  if (text.substr(0, 2) == "/*") {
    size_t end = text.find("*/", 2);
    return end == std::string_view::npos ? text.size() : end + 2;
  }
  return 0;
}

/// The length of the token at the beginning of `text`, which is no space.
static size_t getTokenLength(std::string_view text) {
  if (text[0] == '"') {
    size_t end = text.find('"', 1);
    return end == std::string_view::npos ? text.size() : end + 1;
  }
  size_t length = 0;
  while (length < text.size() && isWordPart(text[length]))
    ++length;
  // `::` is part of an opcode, as in "shared::cta".
  while (length > 0 && length + 2 < text.size() &&
         text.substr(length, 2) == "::" && isWordPart(text[length + 2])) {
    length += 2;
    while (length < text.size() && isWordPart(text[length]))
      ++length;
  }
  return std::max<size_t>(length, 1);
}

Lexer::Lexer(std::string_view text) {
  int line = 1;
  auto skip = [&](size_t length) {
    line += static_cast<int>(std::count(
        text.begin(), text.begin() + static_cast<long>(length), '\n'));
    text.remove_prefix(length);
  };
  while (!text.empty()) {
    if (size_t length = getCommentLength(text)) {
      skip(length);
    } else if (std::isspace(static_cast<unsigned char>(text[0])) || !text[0]) {
      skip(1);
    } else {
      size_t tokenLength = getTokenLength(text);
      tokens.push_back({text.substr(0, tokenLength), line});
      skip(tokenLength);
    }
  }
  tokens.push_back({{}, line});
}

const Token &Lexer::peekSecond() const {
  return tokens[std::min(at + 1, tokens.size() - 1)];
}

Token Lexer::take() {
  Token token = peek();
  if (!isAtEnd())
    ++at;
  return token;
}

bool Lexer::takeIf(std::string_view text) {
  if (peek().text != text)
    return false;
  take();
  return true;
}

void Lexer::expect(std::string_view text) {
  if (!takeIf(text))
    fail("expected '" + std::string(text) + "', found '" +
         std::string(peek().text) + "'");
}

void Lexer::fail(const std::string &what) const {
  throw Fault("PTX line " + std::to_string(peek().line) + ": " + what);
}

} // namespace meshc::ptx
