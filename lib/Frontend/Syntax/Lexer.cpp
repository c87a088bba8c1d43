//===- Lexer.cpp - bytes to tokens ----------------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "lib/Frontend/Syntax/Lexer.h"

#include <algorithm>

using namespace meshc::syntax;

namespace {

bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool isNameByte(char c) { return isLetter(c) || isDigit(c); }

/// Characters that are often typed or pasted instead of one of the language's,
/// and the token that replaces them (End: none).
struct Lookalike {
  std::string_view bytes;
  std::string_view hint;
  TokenKind kind;
};
constexpr Lookalike lookalikes[] = {
    {"\xe2\x86\x92", "->", TokenKind::Arrow},
    {"\xe2\x88\x92", "-", TokenKind::Minus},
    {"\xe2\x80\x93", "-", TokenKind::Minus},
    {"\xc3\x97", "*", TokenKind::Star},
    {"\xc2\xb7", "*", TokenKind::Star},
    {"\xe2\x89\xa4", "<=", TokenKind::LessEqual},
    {"\xe2\x89\xa5", ">=", TokenKind::GreaterEqual},
    {"\xe2\x89\xa0", "!=", TokenKind::NotEqual},
    {"\xe2\x88\x9e", "inf", TokenKind::Inf},
    {"\xc2\xa0", "a blank", TokenKind::End},
    {"&&", "and", TokenKind::And},
    {"||", "or", TokenKind::Or},
    {"&", "and", TokenKind::And},
    {"|", "or", TokenKind::Or},
    {"!", "not", TokenKind::Not},
    {"^", "**", TokenKind::Power},
    {"@", "dot(a, b, d)", TokenKind::Star},
    {"#", "//", TokenKind::End},
};

class Lexer {
public:
  Lexer(const SourceSet &sources, uint32_t source, Diagnostics &diagnostics)
      : text(sources[source].text()), source(source), diagnostics(diagnostics) {
  }

  std::vector<Token> run();

private:
  char at(size_t i) const { return i < text.size() ? text[i] : '\0'; }
  Span span(size_t begin, size_t end) const {
    return {source, static_cast<uint32_t>(begin), static_cast<uint32_t>(end)};
  }
  void push(TokenKind kind, size_t length);
  bool skipBlank();
  void skipComment();
  void lexWord();
  void lexNumber();
  void lexString();
  bool lexPunctuation();
  void rejectBytes();

  std::string_view text;
  uint32_t source;
  Diagnostics &diagnostics;
  std::vector<Token> tokens;
  size_t position = 0;
  bool startsLine = true;
};

} // namespace

void Lexer::push(TokenKind kind, size_t length) {
  tokens.push_back({kind, startsLine, span(position, position + length)});
  position += length;
  startsLine = false;
}

/// Skips one blank byte or one comment; false if there is neither.
bool Lexer::skipBlank() {
  char c = at(position);
  if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
    startsLine |= c == '\n';
    ++position;
    return true;
  }
  if (c == '/' && (at(position + 1) == '/' || at(position + 1) == '*')) {
    skipComment();
    return true;
  }
  return false;
}

/// [L1.2] `//` to the end of the line, `/*` to the next `*/`.
void Lexer::skipComment() {
  if (at(position + 1) != '*') {
    size_t end = text.find('\n', position);
    position = end == std::string_view::npos ? text.size() : end;
    return;
  }
  size_t end = text.find("*/", position + 2);
  if (end == std::string_view::npos) {
    diagnostics.error(span(position, position + 2),
                      "comment is not closed; expected '*/' before the end of "
                      "the file");
    position = text.size();
    return;
  }
  startsLine |= text.substr(position, end - position).find('\n') !=
                std::string_view::npos;
  position = end + 2;
}

/// The token that a word is. [L1.4]
static TokenKind kindOfWord(std::string_view word) {
  return word == "and"      ? TokenKind::And
         : word == "or"     ? TokenKind::Or
         : word == "not"    ? TokenKind::Not
         : word == "inf"    ? TokenKind::Inf
         : word == "for"    ? TokenKind::For
         : word == "return" ? TokenKind::Return
                            : TokenKind::Name;
}

/// [L1.3], [L1.4]
void Lexer::lexWord() {
  size_t end = position;
  while (isNameByte(at(end)))
    ++end;
  std::string_view word = text.substr(position, end - position);
  push(kindOfWord(word), word.size());
}

/// [L1.5] 12, 0.5, 3e-4; a name may not follow directly.
void Lexer::lexNumber() {
  size_t end = position;
  TokenKind kind = TokenKind::Integer;
  while (isDigit(at(end)))
    ++end;
  if (at(end) == '.' && isDigit(at(end + 1))) {
    kind = TokenKind::Real;
    for (++end; isDigit(at(end));)
      ++end;
  }
  if (at(end) == 'e' || at(end) == 'E') {
    size_t digits = end + 1 + (at(end + 1) == '-' || at(end + 1) == '+');
    if (isDigit(at(digits))) {
      kind = TokenKind::Real;
      for (end = digits; isDigit(at(end));)
        ++end;
    }
  }
  if (isNameByte(at(end)) || (at(end) == '.' && !isLetter(at(end + 1)))) {
    size_t bad = end;
    while (isNameByte(at(bad)) || at(bad) == '.')
      ++bad;
    diagnostics.error(span(position, bad),
                      quote(text.substr(position, bad - position)) +
                          " is neither a number nor a name; numbers look like "
                          "12, 0.5 or 3e-4, names start with a letter");
    end = bad;
  }
  push(kind, end - position);
}

/// [L1.7] "layers/mine.mesh"
void Lexer::lexString() {
  size_t end = position + 1;
  while (end < text.size() && text[end] != '"' && text[end] != '\n' &&
         text[end] != '\r')
    ++end;
  bool isClosed = at(end) == '"';
  if (!isClosed)
    diagnostics.error(span(position, end),
                      "string is not closed; expected '\"' before the end of "
                      "the line");
  push(isClosed ? TokenKind::String : TokenKind::Unknown,
       end + isClosed - position);
}

bool Lexer::lexPunctuation() {
  struct Entry {
    std::string_view text;
    TokenKind kind;
  };
  // Longer ones first.
  static constexpr Entry entries[] = {
      {"->?", TokenKind::OptionalArrow},
      {"~>?", TokenKind::WeakOptionalArrow},
      {"~>", TokenKind::WeakArrow},
      {":~?", TokenKind::WeakOptionalColon},
      {":~", TokenKind::WeakColon},
      {":?", TokenKind::OptionalColon},
      {"->", TokenKind::Arrow},
      {"**", TokenKind::Power},
      {"==", TokenKind::Equal},
      {"!=", TokenKind::NotEqual},
      {"<=", TokenKind::LessEqual},
      {">=", TokenKind::GreaterEqual},
      {"(", TokenKind::LeftParen},
      {")", TokenKind::RightParen},
      {"[", TokenKind::LeftBracket},
      {"]", TokenKind::RightBracket},
      {"{", TokenKind::LeftBrace},
      {"}", TokenKind::RightBrace},
      {",", TokenKind::Comma},
      {";", TokenKind::Semicolon},
      {":", TokenKind::Colon},
      {".", TokenKind::Dot},
      {"~", TokenKind::Tilde},
      {"=", TokenKind::Assign},
      {"<", TokenKind::Less},
      {">", TokenKind::Greater},
      {"+", TokenKind::Plus},
      {"-", TokenKind::Minus},
      {"*", TokenKind::Star},
      {"/", TokenKind::Slash},
  };
  for (const Entry &entry : entries)
    if (text.substr(position, entry.text.size()) == entry.text) {
      push(entry.kind, entry.text.size());
      return true;
    }
  return false;
}

/// Reports one character that is not a token: a whole UTF-8 sequence, or a run
/// of bytes that are not UTF-8, is one error.
void Lexer::rejectBytes() {
  for (const Lookalike &lookalike : lookalikes)
    if (text.substr(position, lookalike.bytes.size()) == lookalike.bytes) {
      size_t length = lookalike.bytes.size();
      diagnostics.error(span(position, position + length),
                        "unexpected character '" +
                            std::string(lookalike.bytes) + "'; write " +
                            quote(lookalike.hint) + " instead");
      if (lookalike.bytes == "#")
        skipComment();
      else if (lookalike.kind == TokenKind::End)
        position += length;
      else
        push(lookalike.kind, length);
      return;
    }
  size_t end = position + 1;
  if (static_cast<unsigned char>(text[position]) >= 0x80)
    while (static_cast<unsigned char>(at(end)) >= 0x80)
      ++end;
  diagnostics.error(span(position, end),
                    "unexpected character " +
                        quote(text.substr(position, end - position)));
  push(TokenKind::Unknown, end - position);
}

std::vector<Token> Lexer::run() {
  if (text.size() > Source::maxBytes) {
    diagnostics.error(span(0, 0), "text is " + std::to_string(text.size()) +
                                      " bytes long; at most " +
                                      std::to_string(Source::maxBytes) +
                                      " are accepted");
    text = {};
  }
  while (position < text.size()) {
    if (skipBlank())
      continue;
    char c = text[position];
    if (isLetter(c))
      lexWord();
    else if (isDigit(c))
      lexNumber();
    else if (c == '"')
      lexString();
    else if (!lexPunctuation())
      rejectBytes();
  }
  startsLine = true;
  push(TokenKind::End, 0);
  return std::move(tokens);
}

bool meshc::syntax::isName(std::string_view text) {
  return !text.empty() && isLetter(text[0]) &&
         std::all_of(text.begin(), text.end(), isNameByte) &&
         kindOfWord(text) == TokenKind::Name;
}

std::vector<Token> meshc::syntax::lex(const SourceSet &sources, uint32_t source,
                                      Diagnostics &diagnostics) {
  return Lexer(sources, source, diagnostics).run();
}
