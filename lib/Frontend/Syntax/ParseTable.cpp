//===- ParseTable.cpp - literal tables of numbers -------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "lib/Frontend/Syntax/Parser.h"

using namespace meshc::syntax;

static std::string countEntries(int64_t count) {
  return std::to_string(count) + (count == 1 ? " entry" : " entries");
}

/// One entry of a list: a list in turn, or a number. The first entry says how
/// many levels there are.
bool Parser::parseTableEntry(TableExpr &table, size_t level) {
  bool isList = at(TokenKind::LeftBracket);
  bool isLastLevel = level + 1 == table.sizes.size();
  if (!table.entries.empty() && isList == isLastLevel) {
    diagnostics.error(peek().span,
                      isList ? "expected a number, as the entries before it, "
                               "got a list"
                             : "expected a list, as the entries before it");
    return false;
  }
  if (isList) {
    if (!enter())
      return false;
    bool ok = parseRow(table, level + 1);
    --nesting;
    return ok;
  }
  if (table.entries.size() == maxTableEntries) {
    diagnostics.error(peek().span, "a table has at most " +
                                       std::to_string(maxTableEntries) +
                                       " entries; compute it from iota(dim), "
                                       "or read it as an input");
    return false;
  }
  ExprPtr entry = parseExpression();
  if (!entry)
    return false;
  table.entries.push_back(std::move(entry));
  return true;
}

/// One list of a table, from its bracket on. The first list of each level says
/// how many entries the others have.
bool Parser::parseRow(TableExpr &table, size_t level) {
  Span open = next().span;
  bool isFirst = level == table.sizes.size();
  if (isFirst)
    table.sizes.push_back(0);
  int64_t count = 0;
  do {
    if (!parseTableEntry(table, level))
      return false;
    ++count;
  } while (accept(TokenKind::Comma));
  if (!expectClose(TokenKind::RightBracket, "',' or ']'", open))
    return false;
  if (isFirst)
    table.sizes[level] = count;
  else if (table.sizes[level] != count)
    diagnostics.error(open, "this list has " + countEntries(count) +
                                ", the first one " +
                                countEntries(table.sizes[level]));
  return table.sizes[level] == count;
}

/// over d, over (a, b), and the type.
bool Parser::parseTableDims(TableExpr &table, Span open) {
  if (!atWord("over")) {
    unexpected("'over' and the names of the table's dims, as in [1, 2] over d");
    return false;
  }
  next();
  if (at(TokenKind::LeftParen)) {
    if (!parseNames(TokenKind::LeftParen, TokenKind::RightParen, table.dims))
      return false;
  } else if (std::optional<Name> dim = expectName("a dim's name")) {
    table.dims.push_back(*dim);
  } else {
    return false;
  }
  if (table.dims.size() != table.sizes.size()) {
    diagnostics
        .error(table.dims.front().span,
               "a table has one dim for each level of its lists; "
               "expected " +
                   std::to_string(table.sizes.size()) + ", got " +
                   std::to_string(table.dims.size()))
        .note(open, "the lists begin here");
    return false;
  }
  if (!accept(TokenKind::Colon))
    return true;
  table.type = expectName("a type (f32, bf16, f16 or i32)");
  return table.type.has_value();
}

/// [[1, 2], [3, 4]] over (row, column): i32. [L5.17]
ExprPtr Parser::parseTable() {
  Span open = peek().span;
  TableExpr table;
  if (!parseRow(table, 0) || !parseTableDims(table, open))
    return nullptr;
  return makeExpr(Span::join(open, tokens[position - 1].span),
                  std::move(table));
}
