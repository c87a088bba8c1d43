//===- Lexer.h - words of PTX -----------------------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_TEST_GPU_PTX_LEXER_H
#define MESHC_TEST_GPU_PTX_LEXER_H

#include "test/gpu/ptx/Syntax.h"

#include <string_view>

namespace meshc::ptx {

/// A name, a number, an opcode with its modifiers, a directive, a string in
/// quotes, or one punctuation mark; empty at the end of the text.
struct Token {
  std::string_view text;
  int line = 0;
};

/// Splits a text into tokens. Comments are left out.
class Lexer {
public:
  explicit Lexer(std::string_view text);

  /// The token that comes next, and the one after it.
  const Token &peek() const { return tokens[at]; }
  const Token &peekSecond() const;
  Token take();
  /// Takes the next token if it has that text.
  bool takeIf(std::string_view text);
  /// Takes the next token, which must have that text.
  void expect(std::string_view text);
  bool isAtEnd() const { return peek().text.empty(); }
  /// Throws a Fault about the next token's line.
  [[noreturn]] void fail(const std::string &what) const;

private:
  std::vector<Token> tokens; ///< the last one is empty
  size_t at = 0;
};

} // namespace meshc::ptx

#endif // MESHC_TEST_GPU_PTX_LEXER_H
