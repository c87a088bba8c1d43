//===- Token.h - the words of the language --------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_FRONTEND_SYNTAX_TOKEN_H
#define MESHC_FRONTEND_SYNTAX_TOKEN_H

#include "lib/Frontend/Syntax/Source.h"

namespace meshc::syntax {

/// Kinds of tokens. [L1] Words such as `dim` or `model` are names to the
/// lexer: only their position makes them keywords, so that a dim may be
/// called `model`. The reserved words are the exception. [L1.4]
enum class TokenKind : uint8_t {
  End,
  Name,
  Integer,
  Real,
  String, ///< with its quotation marks
  // Reserved words.
  And,
  Or,
  Not,
  Inf,
  For,
  Return,
  // Punctuation.
  LeftParen,
  RightParen,
  LeftBracket,
  RightBracket,
  LeftBrace,
  RightBrace,
  Comma,
  Semicolon,
  Colon,
  Dot,
  Tilde,
  Assign,
  Equal,
  NotEqual,
  Less,
  LessEqual,
  Greater,
  GreaterEqual,
  Plus,
  Minus,
  Star,
  Slash,
  Power,
  Arrow,
  OptionalArrow,
  WeakArrow,
  WeakOptionalArrow,
  OptionalColon,     ///< :? for ->? on the command line
  WeakColon,         ///< :~ for ~> there
  WeakOptionalColon, ///< :~? for ~>? there
  Unknown,           ///< what the lexer has reported already
};

/// One token. Its text is the span's.
struct Token {
  TokenKind kind = TokenKind::End;
  /// True where only blanks and comments stand before it on its line.
  bool startsLine = false;
  Span span;
};

} // namespace meshc::syntax

#endif // MESHC_FRONTEND_SYNTAX_TOKEN_H
