//===- ParseExpression.cpp - operators, calls, arguments ------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "lib/Frontend/Syntax/ForeignNames.h"
#include "lib/Frontend/Syntax/Parser.h"

#include <charconv>
#include <cmath>

using namespace meshc::syntax;

namespace {

/// Binding strengths, weakest first. [L5.1]
enum Precedence : unsigned {
  AnyOperator,
  OrOperator,
  AndOperator,
  NotOperator,
  Comparison,
  Sum,
  Product,
  Sign,
  Exponent,
};

struct BinaryOperator {
  TokenKind token;
  BinaryKind kind;
  Precedence precedence;
};

constexpr BinaryOperator binaryOperators[] = {
    {TokenKind::Or, BinaryKind::Or, OrOperator},
    {TokenKind::And, BinaryKind::And, AndOperator},
    {TokenKind::Equal, BinaryKind::Equal, Comparison},
    {TokenKind::NotEqual, BinaryKind::NotEqual, Comparison},
    {TokenKind::Less, BinaryKind::Less, Comparison},
    {TokenKind::LessEqual, BinaryKind::LessEqual, Comparison},
    {TokenKind::Greater, BinaryKind::Greater, Comparison},
    {TokenKind::GreaterEqual, BinaryKind::GreaterEqual, Comparison},
    {TokenKind::Plus, BinaryKind::Add, Sum},
    {TokenKind::Minus, BinaryKind::Subtract, Sum},
    {TokenKind::Star, BinaryKind::Multiply, Product},
    {TokenKind::Slash, BinaryKind::Divide, Product},
    {TokenKind::Power, BinaryKind::Power, Exponent},
};

const BinaryOperator *findOperator(TokenKind token) {
  for (const BinaryOperator &entry : binaryOperators)
    if (entry.token == token)
      return &entry;
  return nullptr;
}

/// The height of the highest of the trees below a node.
unsigned depthBelow(const decltype(Expr::node) &node) {
  unsigned depth = 0;
  auto look = [&](const ExprPtr &child) {
    if (child)
      depth = std::max(depth, child->depth);
  };
  if (const auto *unary = std::get_if<UnaryExpr>(&node))
    look(unary->operand);
  if (const auto *binary = std::get_if<BinaryExpr>(&node)) {
    look(binary->left);
    look(binary->right);
  }
  if (const auto *entry = std::get_if<EntryExpr>(&node)) {
    look(entry->operand);
    look(entry->index);
  }
  if (const auto *table = std::get_if<TableExpr>(&node))
    for (const ExprPtr &entry : table->entries)
      look(entry);
  if (const auto *call = std::get_if<CallExpr>(&node))
    for (const Argument &argument : call->arguments)
      look(argument.value);
  return depth;
}

} // namespace

/// A node, unless its tree would be too high. [L5.9]
ExprPtr Parser::makeExpr(Span span, decltype(Expr::node) node) {
  auto expr = std::make_unique<Expr>();
  expr->span = span;
  expr->depth = depthBelow(node) + 1;
  expr->node = std::move(node);
  // A name or number is no operation.
  if (expr->depth <= maxDepth + 1)
    return expr;
  diagnostics.error(span, "expression is more than " +
                              std::to_string(maxDepth) +
                              " operations high; give parts of it names");
  return nullptr;
}

/// Enters one more level of nesting, which the caller leaves again. At the
/// limit, reports an error and returns false.
bool Parser::enter() {
  if (nesting < maxDepth) {
    ++nesting;
    return true;
  }
  diagnostics.error(peek().span, "nested more than " +
                                     std::to_string(maxDepth) +
                                     " deep; give parts of it names");
  return false;
}

ExprPtr Parser::parseExpression() { return parseBinary(AnyOperator); }

/// Operators that bind at least as strongly as `minimum`. [L5.1]
ExprPtr Parser::parseBinary(unsigned minimum) {
  ExprPtr left = parsePrefix();
  while (left) {
    const BinaryOperator *op = findOperator(peek().kind);
    if (!op || op->precedence < minimum)
      break;
    Span operatorSpan = next().span;
    // ** groups to the right and takes a sign there: 2 ** -x ** 2.
    bool toTheRight = op->precedence == Exponent;
    ExprPtr right = toTheRight ? parseOperand(op->precedence)
                               : parseBinary(op->precedence + 1);
    if (!right) {
      left = nullptr;
      break;
    }
    Span span = Span::join(left->span, right->span);
    left = makeExpr(span, BinaryExpr{op->kind, operatorSpan, std::move(left),
                                     std::move(right)});
    const BinaryOperator *second = findOperator(peek().kind);
    if (op->precedence == Comparison && second &&
        second->precedence == Comparison) {
      diagnostics.error(peek().span, "comparisons do not chain; write "
                                     "'a < b and b < c'");
      left = nullptr;
    }
  }
  return left;
}

/// The operand of an operator that may follow itself without end: -x, a ** b.
ExprPtr Parser::parseOperand(unsigned minimum) {
  if (!enter())
    return nullptr;
  ExprPtr operand = parseBinary(minimum);
  --nesting;
  return operand;
}

/// -x and not x.
ExprPtr Parser::parsePrefix() {
  Span start = peek().span;
  bool isNegation = at(TokenKind::Minus);
  if (!isNegation && !at(TokenKind::Not)) {
    accept(TokenKind::Plus);
    return parsePrimary();
  }
  next();
  ExprPtr operand = parseOperand(isNegation ? Sign : NotOperator);
  if (!operand)
    return nullptr;
  Span span = Span::join(start, operand->span);
  return makeExpr(span,
                  UnaryExpr{isNegation ? UnaryKind::Negate : UnaryKind::Not,
                            std::move(operand)});
}

/// An atom, and neither [ ] nor a member behind it.
ExprPtr Parser::parsePrimary() {
  ExprPtr value = parseAtom();
  while (value && atEntry())
    value = parseEntry(std::move(value));
  if (value && at(TokenKind::Dot) && !peek().startsLine)
    return rejectMember(*value);
  if (!value || !at(TokenKind::LeftBracket) || peek().startsLine)
    return value;
  diagnostics.error(peek().span,
                    "values are not indexed by position; 'x at dim = index' "
                    "takes one entry, slice(x, dim, start, size) some, and "
                    "gather(x, indices, dim) those at computed indices");
  return nullptr;
}

/// True at the `at` of an entry, on the line on which the operand ends.
bool Parser::atEntry() const {
  return atWord("at") && !peek().startsLine && peek(1).kind == TokenKind::Name;
}

/// x at dim = index, from `at` on. The index is a number, a name, a call or in
/// parentheses; what an operator behind it belongs to would be ambiguous.
/// [L5.15]
ExprPtr Parser::parseEntry(ExprPtr operand) {
  next();
  Name dim = *expectName("a dim's name");
  if (!expect(TokenKind::Assign, "'=' and the index along " + quote(dim.text)))
    return nullptr;
  Span start = peek().span;
  bool isNegative = accept(TokenKind::Minus);
  ExprPtr index = parseAtom();
  if (index && isNegative) {
    Span span = Span::join(start, index->span);
    index = makeExpr(span, UnaryExpr{UnaryKind::Negate, std::move(index)});
  }
  if (!index)
    return nullptr;
  if (findOperator(peek().kind)) {
    std::string sign(textOf(peek()));
    std::string of = " at " + std::string(dim.text) + " = ";
    diagnostics.error(peek().span,
                      quote(sign) + " after an index is ambiguous; write (x" +
                          of + "…) " + sign + " … or x" + of + "(… " + sign +
                          " …)");
    return nullptr;
  }
  Span span = Span::join(operand->span, index->span);
  return makeExpr(span, EntryExpr{std::move(operand), dim, std::move(index)});
}

/// (x).T, x.y.sum(d): what other languages have.
ExprPtr Parser::rejectMember(const Expr &value) {
  Span dot = next().span;
  std::string_view member = at(TokenKind::Name) ? textOf(peek()) : "";
  std::string_view of = value.asName() ? value.asName()->text : "x";
  bool isCall = peek(1).kind == TokenKind::LeftParen;
  diagnostics.error(dot, describeMember(of, member, isCall));
  return nullptr;
}

std::string meshc::syntax::describeMember(std::string_view value,
                                          std::string_view member,
                                          bool isCall) {
  std::string of(value), name(member), instead = describeForeign(member);
  if (instead.empty())
    instead = isCall ? "write '" + name + "(" + of + ", …)'"
                     : "a tensor has a name, a type and dims alone, which "
                       "meshc --shapes lists";
  return "values have no members, got " + quote("." + name) + "; " + instead;
}

ExprPtr Parser::parseAtom() {
  if (at(TokenKind::LeftBracket))
    return parseTable();
  if (at(TokenKind::Integer) || at(TokenKind::Real))
    return parseNumber();
  if (at(TokenKind::Inf)) {
    NumberExpr number;
    number.value = INFINITY;
    return makeExpr(next().span, number);
  }
  if (at(TokenKind::LeftParen))
    return parseParenthesized();
  // A name at a line's start that begins a statement is no operand: the one
  // before it is cut short.
  if (!at(TokenKind::Name) || (peek().startsLine && atStatement())) {
    unexpected("an expression");
    return nullptr;
  }
  Token token = next();
  Name name{textOf(token), token.span};
  if (at(TokenKind::Dot) && !peek().startsLine &&
      peek(1).kind == TokenKind::Name)
    return parseMember(name);
  if (at(TokenKind::LeftParen))
    return parseCall(name);
  return makeExpr(token.span, NameExpr{name});
}

/// module.name, module.callee(argument, …); the current token is the point.
/// [L10.3]
ExprPtr Parser::parseMember(Name module) {
  next();
  Name name = *expectName("a name");
  if (at(TokenKind::LeftParen))
    return parseCall(name, module);
  return makeExpr(Span::join(module.span, name.span), MemberExpr{module, name});
}

/// [L1.5]
ExprPtr Parser::parseNumber() {
  Token token = next();
  std::string_view text = textOf(token);
  const char *last = text.data() + text.size();
  NumberExpr number;
  auto [end, error] = std::from_chars(text.data(), last, number.value);
  bool fits = error == std::errc();
  if (fits && token.kind == TokenKind::Integer) {
    number.isInteger = true;
    fits = std::from_chars(text.data(), last, number.integer).ec == std::errc();
  }
  if (!fits)
    diagnostics.error(token.span, "number " + quote(text) +
                                      (token.kind == TokenKind::Integer
                                           ? " does not fit in 64 bits"
                                           : " is beyond the range of f64"));
  return makeExpr(token.span, number);
}

ExprPtr Parser::parseParenthesized() {
  if (!enter())
    return nullptr;
  Span open = next().span;
  ExprPtr inner = parseExpression();
  --nesting;
  if (!inner)
    return nullptr;
  Span close = peek().span;
  if (!expectClose(TokenKind::RightParen, "')'", open))
    return nullptr;
  inner->span = Span::join(open, close);
  return inner;
}

/// callee(argument, …); the current token is the parenthesis.
ExprPtr Parser::parseCall(Name callee, std::optional<Name> module) {
  CallExpr call{module, callee, {}, {}};
  if (!enter())
    return nullptr;
  Span open = next().span;
  bool ok = parseArguments(call, open);
  --nesting;
  if (!ok)
    return nullptr;
  Span span = Span::join(module.value_or(callee).span, call.close);
  return makeExpr(span, std::move(call));
}

bool Parser::parseArguments(CallExpr &call, Span open) {
  while (!at(TokenKind::RightParen)) {
    std::optional<Argument> argument = parseArgument();
    if (!argument)
      return false;
    call.arguments.push_back(std::move(*argument));
    // einsum(a, b -> [dims]): the result needs no comma before it.
    if (at(TokenKind::Arrow))
      continue;
    if (!accept(TokenKind::Comma))
      break;
  }
  call.close = peek().span;
  return expectClose(TokenKind::RightParen, "',' or ')'", open);
}

/// True at `a ->` and `(a, b) ->`, but not at `a -> [`.
bool Parser::atRename() const {
  size_t ahead = 1;
  if (at(TokenKind::LeftParen)) {
    while (peek(ahead).kind == TokenKind::Name ||
           peek(ahead).kind == TokenKind::Comma)
      ++ahead;
    if (peek(ahead).kind != TokenKind::RightParen)
      return false;
    ++ahead;
  } else if (!at(TokenKind::Name)) {
    return false;
  }
  return peek(ahead).kind == TokenKind::Arrow &&
         peek(ahead + 1).kind != TokenKind::LeftBracket;
}

/// [L5.3]
std::optional<Argument> Parser::parseArgument() {
  Argument argument;
  argument.span = peek().span;
  if (atRename()) {
    argument.kind = Argument::Kind::Rename;
    if (!parseRename(argument))
      return std::nullopt;
  } else if (accept(TokenKind::Arrow)) {
    argument.kind = Argument::Kind::Result;
    if (!parseNames(TokenKind::LeftBracket, TokenKind::RightBracket,
                    argument.to))
      return std::nullopt;
  } else {
    if (at(TokenKind::Name) && peek(1).kind == TokenKind::Assign) {
      argument.kind = Argument::Kind::Named;
      argument.key = *expectName("a name");
      next();
    }
    argument.value = parseExpression();
    if (!argument.value)
      return std::nullopt;
  }
  argument.span = Span::join(argument.span, tokens[position - 1].span);
  return argument;
}

/// a -> b, a -> (b, c), (a, b) -> c.
bool Parser::parseRename(Argument &argument) {
  auto parseSide = [&](std::vector<Name> &names) {
    if (at(TokenKind::LeftParen))
      return parseNames(TokenKind::LeftParen, TokenKind::RightParen, names);
    std::optional<Name> name = expectName("a dim's name");
    if (name)
      names.push_back(*name);
    return name.has_value();
  };
  return parseSide(argument.from) && expect(TokenKind::Arrow, "'->'") &&
         parseSide(argument.to);
}

/// A list of names within brackets or parentheses; it may be empty only within
/// brackets: x[] is a scalar.
bool Parser::parseNames(TokenKind open, TokenKind close,
                        std::vector<Name> &names) {
  bool isBracket = open == TokenKind::LeftBracket;
  Span start = peek().span;
  if (!expect(open, isBracket ? "'[' and a list of dims" : "'('"))
    return false;
  while (!at(close) || (names.empty() && !isBracket)) {
    std::optional<Name> name = expectName("a name");
    if (!name)
      return false;
    names.push_back(*name);
    if (!accept(TokenKind::Comma))
      break;
  }
  return expectClose(close, isBracket ? "',' or ']'" : "',' or ')'", start);
}
