//===- ParseStatement.cpp - statements of a body --------------------------===//
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

/// Statements up to the closing brace, which is not consumed. At a declaration
/// the brace is missing, and the body ends. [L4.2]
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
    if (!parseStatement(list) || !finishStatement("a statement"))
      skipTo(&Parser::atStatement);
  }
}

/// Adds one statement. After an error in its expression it is added all the
/// same, without it, so that its name is known.
bool Parser::parseStatement(std::vector<Statement> &list) {
  Span start = peek().span;
  if (at(TokenKind::For))
    return parseFor(list);
  if (atRecompute())
    return parseRecompute(list);
  if (atRequire())
    return parseRequire(list);
  if (at(TokenKind::Return))
    return parseReturn(list);
  bool hasKeyword = at(TokenKind::Name) && peek(1).kind == TokenKind::Name &&
                    !peek(1).startsLine;
  if (hasKeyword && atWord("param"))
    return parseParam(list);
  bool isMetric = hasKeyword && atWord("metric");
  if (isMetric)
    next();
  return atAssignment(/*onOneLine=*/false)
             ? parseAssignment(list, start, isMetric)
             : rejectStatement();
}

/// h, h[batch, model], h[batch]: i32 = …; atAssignment has found a `=`. After
/// an error in the list of dims, the name alone. [L4.18]
TensorDeclaration Parser::parseTarget() {
  Name name{textOf(peek()), peek().span};
  TokenKind first = peek(2).kind;
  bool isIndexed = peek(1).kind == TokenKind::LeftBracket &&
                   first != TokenKind::Name && first != TokenKind::RightBracket;
  std::optional<TensorDeclaration> target;
  if (isIndexed)
    diagnostics.error(peek(2).span,
                      "no entry is assigned by its position; a name gets a new "
                      "value as a whole, as in where(iota(seq) == 0, a, x)");
  else
    target = parseTensor("a name");
  if (target)
    return std::move(*target);
  while (!at(TokenKind::Assign) && !at(TokenKind::End))
    next();
  TensorDeclaration alone;
  alone.name = name;
  return alone;
}

/// Whether the targets are that of a metric: one name. [L6.4]
bool Parser::checkMetric(const std::vector<TensorDeclaration> &targets) {
  if (targets.size() > 1) {
    diagnostics.error(targets[1].name.span,
                      "a metric is one value; assign the values of the "
                      "function to names, and give each metric one of them");
    return false;
  }
  if (targets[0].dims || targets[0].type)
    diagnostics.error(targets[0].name.span,
                      "a metric is always a scalar f32; leave its dims and its "
                      "type out");
  return true;
}

/// name = expression, name, name = call, metric name = expression: from the
/// first name on. [L4.12], [L4.18], [L6.4]
bool Parser::parseAssignment(std::vector<Statement> &list, Span start,
                             bool isMetric) {
  std::vector<TensorDeclaration> targets;
  do {
    targets.push_back(parseTarget());
  } while (accept(TokenKind::Comma));
  next();
  ExprPtr value = parseExpression();
  bool ok = value != nullptr;
  if (isMetric && !checkMetric(targets))
    return false;
  if (targets.size() > 1 && at(TokenKind::Comma) && ok) {
    diagnostics.error(peek().span,
                      "several names take the values of one function call; "
                      "assign other values one by one");
    value = nullptr;
    ok = false;
  }
  if (isMetric)
    list.push_back({start, MetricStatement{targets[0].name, std::move(value)}});
  else
    list.push_back(
        {start, AssignStatement{std::move(targets), std::move(value)}});
  return ok;
}

/// return expression, expression. [L4.12]
bool Parser::parseReturn(std::vector<Statement> &list) {
  Span start = next().span;
  ReturnStatement returned;
  bool ok = true;
  do {
    returned.values.push_back(parseExpression());
    ok = returned.values.back() != nullptr;
  } while (ok && accept(TokenKind::Comma));
  if (!ok)
    returned.values.clear();
  list.push_back({start, std::move(returned)});
  return ok;
}

/// Skips { … } with all that is inside.
void Parser::skipBraces() {
  unsigned open = 0;
  do {
    if (at(TokenKind::LeftBrace))
      ++open;
    else if (at(TokenKind::RightBrace))
      --open;
    next();
  } while (open > 0 && !at(TokenKind::End));
}

/// Reports an 'if' or 'while' and skips it with its blocks; false where the
/// statement is neither.
bool Parser::rejectControl() {
  bool isBranch = atWord("if") || atWord("else") || atWord("elif");
  if (!isBranch && !atWord("while"))
    return false;
  std::string word = quote(textOf(peek()));
  diagnostics.error(
      peek().span,
      "the language has no " + word +
          (isBranch ? "; where(condition, a, b) chooses between two values, "
                      "element by element"
                    : " of its own; repeat statements by a loop over a dim, "
                      "whose 'while' stands behind its '}', on the same line: "
                      "for steps { … } while condition"));
  do {
    next();
    while (!endsStatement() && !at(TokenKind::LeftBrace))
      next();
    if (at(TokenKind::LeftBrace))
      skipBraces();
  } while (atWord("else") || atWord("elif"));
  return true;
}

/// Reports a token that begins no statement, and skips it.
bool Parser::rejectStatement() {
  if (rejectControl())
    return true;
  std::string got = quote(textOf(peek()));
  if (at(TokenKind::Name))
    got += " followed by " + describe(peek(1));
  diagnostics.error(peek().span, "expected a statement (name = expression, "
                                 "param, metric, for, recompute, require or "
                                 "return), got " +
                                     got);
  next();
  return false;
}

/// What stands for a declaration of the name that could not be read.
static AssignStatement makeUnread(const Name &name) {
  AssignStatement unread;
  unread.targets.emplace_back().name = name;
  return unread;
}

/// param w[a, b]: f32 ~ normal(0.02). [L6.2]
bool Parser::parseParam(std::vector<Statement> &list) {
  Span start = next().span;
  Name name{textOf(peek()), peek().span};
  std::optional<TensorDeclaration> tensor = parseTensor("a parameter's name");
  if (!tensor) {
    list.push_back({start, makeUnread(name)});
    return false;
  }
  ParamStatement param{std::move(*tensor), nullptr};
  bool ok = true;
  if (accept(TokenKind::Tilde)) {
    param.initializer = parseExpression();
    ok = param.initializer != nullptr;
  }
  if (ok)
    list.push_back({start, std::move(param)});
  else
    list.push_back({start, makeUnread(name)});
  return ok;
}

/// The dim and direction of a loop. False after an error; the dim is then empty
/// if it is missing.
bool Parser::parseForHeader(ForStatement &loop) {
  std::optional<Name> dim = expectName("the name of the dim to loop over");
  if (!dim)
    return false;
  loop.dim = *dim;
  loop.isBackwards = atWord("backwards");
  if (loop.isBackwards)
    next();
  if (at(TokenKind::LeftBrace))
    return true;
  unexpected(loop.isBackwards ? "'{' to open the loop's body"
                              : "'{' to open the loop's body, or 'backwards'");
  return false;
}

/// for layers { … }, for seq backwards { … }, for steps { … } while a > b.
/// After an error in the header the body is read all the same. [L4.6], [L4.16]
bool Parser::parseFor(std::vector<Statement> &list) {
  Span start = next().span;
  ForStatement loop;
  if (!parseForHeader(loop)) {
    while (!endsStatement() && !at(TokenKind::LeftBrace))
      next();
    if (!at(TokenKind::LeftBrace))
      return false;
  }
  if (!parseBlock(loop.body, "the loop"))
    return false;
  loop.endsEarly = atWord("while") && !peek().startsLine;
  if (loop.endsEarly) {
    next();
    loop.condition = parseExpression();
  }
  bool ok = !loop.endsEarly || loop.condition;
  list.push_back({start, std::move(loop)});
  return ok;
}

/// recompute { … }. [L4.11]
bool Parser::parseRecompute(std::vector<Statement> &list) {
  Span start = next().span;
  RecomputeStatement block;
  if (!parseBlock(block.body, "the block"))
    return false;
  list.push_back({start, std::move(block)});
  return true;
}

/// require condition, "message". [L4.17]
bool Parser::parseRequire(std::vector<Statement> &list) {
  Span start = next().span;
  RequireStatement statement{parseExpression(), {}};
  bool ok = statement.condition != nullptr;
  if (ok)
    ok = expect(TokenKind::Comma,
                "',' and a message in quotation marks, which says what the "
                "condition demands");
  // Two bytes are the quotation marks alone.
  if (ok && at(TokenKind::String) && textOf(peek()).size() > 2) {
    std::string_view quoted = textOf(next());
    statement.message = quoted.substr(1, quoted.size() - 2);
  } else if (ok) {
    unexpected("a message in quotation marks, which says what the condition "
               "demands");
    ok = false;
  }
  if (!ok)
    statement.condition = nullptr;
  list.push_back({start, std::move(statement)});
  return ok;
}

/// { statements } within a body.
bool Parser::parseBlock(std::vector<Statement> &list, std::string_view owner) {
  if (!enter())
    return false;
  Span open = next().span;
  parseStatements(list, open, owner);
  --nesting;
  accept(TokenKind::RightBrace);
  return true;
}
