//===- ParseStatement.cpp - what stands in a body -------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "lib/Frontend/Syntax/Parser.h"

using namespace meshc::syntax;

Body Parser::parseBody(std::string_view owner) {
  Body body;
  Span open = next().span;
  parseStatements(body.statements, open, owner);
  body.close = peek().span;
  if (at(TokenKind::RightBrace))
    next();
  return body;
}

/// Statements up to the closing brace, which stays. Where a declaration stands
/// instead, the brace is missing and the body ends. [L4.2]
void Parser::parseStatements(std::vector<Statement> &list, Span open,
                             std::string_view owner) {
  while (!at(TokenKind::RightBrace) && !diagnostics.isFull()) {
    if (accept(TokenKind::Semicolon))
      continue;
    if (at(TokenKind::End) || atDeclaration()) {
      diagnostics
          .error(placeOf(peek()),
                 "expected '}' to end " + std::string(owner) + ", got " +
                     (at(TokenKind::End) ? describe(peek()) : "a declaration"))
          .note(open, "its body begins here");
      return;
    }
    std::optional<Statement> statement = parseStatement();
    if (statement)
      list.push_back(std::move(*statement));
    if (!statement || !finishStatement("a statement"))
      skipTo(&Parser::atStatement);
  }
}

std::optional<Statement> Parser::parseStatement() {
  Span start = peek().span;
  if (at(TokenKind::For))
    return parseFor();
  if (accept(TokenKind::Return)) {
    ExprPtr value = parseExpression();
    if (!value)
      return std::nullopt;
    return Statement{start, ReturnStatement{std::move(value)}};
  }
  bool hasKeyword = at(TokenKind::Name) && peek(1).kind == TokenKind::Name &&
                    !peek(1).startsLine;
  if (hasKeyword && atWord("param"))
    return parseParam();
  bool isMetric = hasKeyword && atWord("metric");
  if (isMetric)
    next();
  if (!at(TokenKind::Name) || peek(1).kind != TokenKind::Assign) {
    std::string got = describe(peek(at(TokenKind::Name) ? 1 : 0));
    if (at(TokenKind::Name))
      diagnostics.error(placeOf(peek()),
                        "expected a statement (name = expression, param, "
                        "metric or return), got " +
                            quote(textOf(peek())) + " followed by " + got);
    else
      unexpected("a statement (name = expression, param, metric or return)");
    next();
    return std::nullopt;
  }
  Name name = *expectName("a name");
  next();
  ExprPtr value = parseExpression();
  if (!value)
    return std::nullopt;
  if (isMetric)
    return Statement{start, MetricStatement{name, std::move(value)}};
  return Statement{start, AssignStatement{name, std::move(value)}};
}

/// param w[a, b]: f32 ~ normal(0.02). [L6.2]
std::optional<Statement> Parser::parseParam() {
  Span start = next().span;
  std::optional<TensorDeclaration> tensor = parseTensor("a parameter's name");
  if (!tensor)
    return std::nullopt;
  ParamStatement param{std::move(*tensor), nullptr};
  if (at(TokenKind::Tilde)) {
    next();
    param.initializer = parseExpression();
    if (!param.initializer)
      return std::nullopt;
  }
  return Statement{start, std::move(param)};
}

/// for layers { … }. [L4.6]
std::optional<Statement> Parser::parseFor() {
  Span start = next().span;
  std::optional<Name> dim = expectName("the name of the dim to scan over");
  if (!dim)
    return std::nullopt;
  Span open = peek().span;
  if (!expect(TokenKind::LeftBrace, "'{' to open the loop's body"))
    return std::nullopt;
  ForStatement loop{*dim, {}};
  if (!enter())
    return std::nullopt;
  parseStatements(loop.body, open, "the loop");
  --nesting;
  accept(TokenKind::RightBrace);
  return Statement{start, std::move(loop)};
}
