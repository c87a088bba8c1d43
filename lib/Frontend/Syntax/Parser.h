//===- Parser.h - the recursive-descent parser ----------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Private to this folder. A function of the parser reports its errors and then
/// returns nothing (null, nullopt, false); the caller continues at the next
/// token that can begin a statement or declaration.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_FRONTEND_SYNTAX_PARSER_H
#define MESHC_FRONTEND_SYNTAX_PARSER_H

#include "lib/Frontend/Syntax/Parse.h"
#include "lib/Frontend/Syntax/Token.h"

namespace meshc::syntax {

class Parser {
public:
  /// The greatest height of an expression, and the greatest nesting of
  /// parentheses and blocks. [L5.9]
  static constexpr unsigned maxDepth = 256;
  /// The most entries of a literal table. [L5.17]
  static constexpr size_t maxTableEntries = 64;
  /// What may follow an optimizer. [L7.5] to [L7.10]
  static constexpr std::string_view trainClauses =
      "set, clip, accumulate, precision or average";

  Parser(const SourceSet &sources, uint32_t source, Diagnostics &diagnostics);

  // ParseDeclaration.cpp
  Program parseProgram();
  std::vector<Definition> parseCommandLineDefinitions();
  std::vector<LayoutRule> parseCommandLineLayout();

private:
  // Parser.cpp: tokens, messages, recovery.
  const Token &peek(size_t ahead = 0) const;
  Token next();
  bool at(TokenKind kind) const { return peek().kind == kind; }
  bool accept(TokenKind kind);
  bool atWord(std::string_view word) const;
  std::string_view textOf(const Token &token) const;
  std::string describe(const Token &token) const;
  Span placeOf(const Token &token) const;
  Diagnostic &unexpected(std::string wanted);
  bool expect(TokenKind kind, std::string_view what);
  bool expectClose(TokenKind kind, std::string_view what, Span open);
  std::optional<Name> expectName(std::string_view what);
  bool atDeclaration() const;
  bool atStatement() const;
  size_t skipTarget(size_t ahead, bool onOneLine) const;
  bool atAssignment(bool onOneLine) const;
  bool atRecompute() const;
  bool atRequire() const;
  bool skipTo(bool (Parser::*isStart)() const);
  bool endsStatement() const;
  bool finishStatement(std::string_view after);

  // ParseDeclaration.cpp
  std::optional<Declaration> parseDeclaration();
  bool finishDeclaration();
  void rejectDeclaration(const Token &word);
  void markIncomplete(std::string_view word, Program &program) const;
  bool parseImports(std::vector<Import> &list);
  std::optional<Import> parseImport();
  bool parseDefinitions(std::string_view what, std::vector<Definition> &list);
  std::optional<LayoutRule> parseLayoutRule(bool onCommandLine);
  bool parseRuleAxes(LayoutRule &rule, bool onCommandLine);
  bool parseLayoutRules(std::vector<LayoutRule> &list, bool onCommandLine);
  std::optional<Declaration> parseFunctionOrModel(bool isModel);
  bool parseGradient(GradientDeclaration &gradient);
  std::optional<Declaration> parseGenerate();
  bool parseTensorList(std::vector<TensorDeclaration> &list);
  std::optional<TensorDeclaration> parseTensor(std::string_view what);
  bool parseDefault(TensorDeclaration &tensor,
                    const std::vector<TensorDeclaration> &before);
  bool skipToBody();

  // ParseTrain.cpp
  std::optional<Declaration> parseTrain();
  bool parseTrainClauses(TrainDeclaration &train);
  bool rejectSecond(Span at, std::string_view clause, Span first);
  bool parseOnce(ExprPtr &expr, std::string_view clause, Span start);
  bool parseClip(TrainDeclaration &train, Span start);
  bool parsePrecision(TrainDeclaration &train, Span start);
  std::optional<SettingRule> parseSettingRule();
  std::optional<SettingRule::Pattern> parsePattern();

  // ParseStatement.cpp
  Body parseBody(std::string_view owner);
  void parseStatements(std::vector<Statement> &list, Span open,
                       std::string_view owner);
  bool parseStatement(std::vector<Statement> &list);
  bool parseAssignment(std::vector<Statement> &list, Span start, bool isMetric);
  TensorDeclaration parseTarget();
  bool checkMetric(const std::vector<TensorDeclaration> &targets);
  bool parseReturn(std::vector<Statement> &list);
  bool rejectStatement();
  bool rejectControl();
  void skipBraces();
  bool parseParam(std::vector<Statement> &list);
  bool parseFor(std::vector<Statement> &list);
  bool parseRecompute(std::vector<Statement> &list);
  bool parseRequire(std::vector<Statement> &list);
  bool parseBlock(std::vector<Statement> &list, std::string_view owner);
  bool parseForHeader(ForStatement &loop);

  // ParseExpression.cpp
  ExprPtr parseExpression();
  ExprPtr parseBinary(unsigned minimum);
  ExprPtr parsePrefix();
  ExprPtr parsePrimary();
  ExprPtr parseAtom();
  ExprPtr parseEntry(ExprPtr operand);
  ExprPtr parseNumber();
  ExprPtr parseParenthesized();
  ExprPtr parseOperand(unsigned minimum);
  ExprPtr parseTable();
  bool parseTableEntry(TableExpr &table, size_t level);
  bool parseRow(TableExpr &table, size_t level);
  bool parseTableDims(TableExpr &table, Span open);
  ExprPtr rejectMember(const Expr &value);
  ExprPtr parseMember(Name module);
  ExprPtr parseCall(Name callee, std::optional<Name> module = std::nullopt);
  bool parseArguments(CallExpr &call, Span open);
  std::optional<Argument> parseArgument();
  bool atEntry() const;
  bool atRename() const;
  bool parseRename(Argument &argument);
  bool parseNames(TokenKind open, TokenKind close, std::vector<Name> &names);
  ExprPtr makeExpr(Span span, decltype(Expr::node) node);
  bool enter();

  const SourceSet &sources;
  Diagnostics &diagnostics;
  std::vector<Token> tokens;
  size_t position = 0;
  unsigned nesting = 0; ///< parentheses, calls, blocks, operators in a row
  /// What the declaration being read came to: all well, wrong but read to its
  /// end, or wrong with something left to skip.
  enum class Outcome { Read, Recovered, Lost } outcome = Outcome::Read;
  bool isBehindTrain = false; ///< a `train` was the last declaration
};

} // namespace meshc::syntax

#endif // MESHC_FRONTEND_SYNTAX_PARSER_H
