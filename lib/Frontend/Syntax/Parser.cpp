//===- Parser.cpp - tokens, messages and recovery -------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "lib/Frontend/Syntax/Parser.h"

#include "lib/Frontend/Syntax/Lexer.h"

#include <algorithm>

using namespace meshc::syntax;

Parser::Parser(const SourceSet &sources, uint32_t source,
               Diagnostics &diagnostics)
    : sources(sources), diagnostics(diagnostics),
      tokens(lex(sources, source, diagnostics)) {}

/// [L1.4]
static bool isReserved(TokenKind kind) {
  return kind >= TokenKind::And && kind <= TokenKind::Return;
}

const Token &Parser::peek(size_t ahead) const {
  return tokens[std::min(position + ahead, tokens.size() - 1)];
}

Token Parser::next() {
  Token token = peek();
  if (position + 1 < tokens.size())
    ++position;
  return token;
}

bool Parser::accept(TokenKind kind) {
  if (!at(kind))
    return false;
  next();
  return true;
}

/// True at a name that reads `word`.
bool Parser::atWord(std::string_view word) const {
  return at(TokenKind::Name) && textOf(peek()) == word;
}

std::string_view Parser::textOf(const Token &token) const {
  return sources.text(token.span);
}

std::string Parser::describe(const Token &token) const {
  if (token.kind == TokenKind::End)
    return "the end of the text";
  // What begins the text ends no line.
  if (token.startsLine && position > 0)
    return "the end of the line";
  return quote(textOf(token));
}

/// Where to report an unexpected token. Something that is missing at the end of
/// a line is reported after the last token, not at the next line's first one.
Span Parser::placeOf(const Token &token) const {
  bool missing = token.kind == TokenKind::End ||
                 (token.startsLine && token.kind != TokenKind::Unknown);
  if (!missing || position == 0)
    return token.span;
  Span last = tokens[position - 1].span;
  return {last.source, last.end, last.end};
}

Diagnostic &Parser::unexpected(std::string wanted) {
  return diagnostics.error(placeOf(peek()), "expected " + std::move(wanted) +
                                                ", got " + describe(peek()));
}

bool Parser::expect(TokenKind kind, std::string_view what) {
  if (accept(kind))
    return true;
  unexpected(std::string(what));
  return false;
}

/// Expects what closes `open`, and points there otherwise.
bool Parser::expectClose(TokenKind kind, std::string_view what, Span open) {
  if (accept(kind))
    return true;
  unexpected(std::string(what)).note(open, "to close this one");
  return false;
}

std::optional<Name> Parser::expectName(std::string_view what) {
  if (at(TokenKind::Name)) {
    Token token = next();
    return Name{textOf(token), token.span};
  }
  if (isReserved(peek().kind))
    diagnostics.error(peek().span, "expected " + std::string(what) + ", got " +
                                       quote(textOf(peek())) +
                                       ", which is a reserved word");
  else
    unexpected(std::string(what));
  return std::nullopt;
}

/// True at the first word of a declaration: one of the words, at the start of
/// a line, with a name behind it. [L1.6]
bool Parser::atDeclaration() const {
  static constexpr std::string_view words[] = {"dim",   "let",    "const",
                                               "mesh",  "layout", "fn",
                                               "model", "train",  "generate"};
  TokenKind second = peek(1).kind;
  if (!at(TokenKind::Name) || !peek().startsLine)
    return false;
  if (atWord("import"))
    return second == TokenKind::Name || second == TokenKind::String;
  if (second != TokenKind::Name && !isReserved(second))
    return false;
  return std::find(std::begin(words), std::end(words), textOf(peek())) !=
         std::end(words);
}

/// True where a statement begins, or the body ends: recovery stops here.
bool Parser::atStatement() const {
  if (at(TokenKind::RightBrace) || atDeclaration())
    return true;
  if (!peek().startsLine)
    return false;
  if (at(TokenKind::Return) || at(TokenKind::For) || atRecompute() ||
      atRequire())
    return true;
  // Names on further lines may be arguments, and are many in some texts.
  return atAssignment(/*onOneLine=*/true) ||
         (at(TokenKind::Name) && peek(1).kind == TokenKind::Name &&
          !peek(1).startsLine);
}

/// How many tokens ahead the name that is `ahead` tokens from here ends, with
/// the dims and the type that may follow it; 0 if there is no name. What
/// follows it may be wrong or end at the `=`: it is checked when it is read.
/// [L4.18]
size_t Parser::skipTarget(size_t ahead, bool onOneLine) const {
  if (peek(ahead).kind != TokenKind::Name)
    return 0;
  ++ahead;
  if (peek(ahead).kind == TokenKind::LeftBracket && !peek(ahead).startsLine) {
    do {
      TokenKind kind = peek(++ahead).kind;
      if (kind == TokenKind::Assign)
        return ahead;
      if (kind == TokenKind::End || kind == TokenKind::LeftBrace ||
          kind == TokenKind::RightBrace ||
          (onOneLine && peek(ahead).startsLine))
        return 0;
    } while (peek(ahead).kind != TokenKind::RightBracket);
    ++ahead;
  }
  if (peek(ahead).kind == TokenKind::Colon)
    ahead += peek(ahead + 1).kind == TokenKind::Name ? 2 : 1;
  return ahead;
}

/// True at `name =`, `name, name =` and `name[dims]: type =`.
bool Parser::atAssignment(bool onOneLine) const {
  size_t ahead = skipTarget(0, onOneLine);
  while (ahead > 0 && peek(ahead).kind == TokenKind::Comma &&
         !(onOneLine && peek(ahead + 1).startsLine))
    ahead = skipTarget(ahead + 1, onOneLine);
  return ahead > 0 && peek(ahead).kind == TokenKind::Assign;
}

bool Parser::atRecompute() const {
  return atWord("recompute") && peek(1).kind == TokenKind::LeftBrace;
}

/// True at `require` with the first token of a condition behind it; a value may
/// be called `require`. [L1.4]
bool Parser::atRequire() const {
  switch (peek(1).kind) {
  case TokenKind::Name:
  case TokenKind::Integer:
  case TokenKind::Real:
  case TokenKind::LeftParen:
  case TokenKind::Not:
  case TokenKind::Minus:
    return atWord("require") && !peek(1).startsLine;
  default:
    return false;
  }
}

/// Skips tokens up to a place that `isStart` knows; false at the end.
bool Parser::skipTo(bool (Parser::*isStart)() const) {
  while (!at(TokenKind::End) && !(this->*isStart)())
    next();
  return !at(TokenKind::End);
}

/// [L1.6] A statement ends at a line's end, `;`, `}` or the text's end.
bool Parser::endsStatement() const {
  return peek().startsLine || at(TokenKind::Semicolon) ||
         at(TokenKind::RightBrace) || at(TokenKind::End);
}

bool Parser::finishStatement(std::string_view after) {
  if (!endsStatement()) {
    unexpected("a new line or ';' after " + std::string(after));
    return false;
  }
  while (accept(TokenKind::Semicolon)) {
  }
  return true;
}
