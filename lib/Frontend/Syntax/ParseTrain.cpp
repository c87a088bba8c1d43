//===- ParseTrain.cpp - how the model is trained --------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "lib/Frontend/Syntax/Lexer.h"
#include "lib/Frontend/Syntax/Parser.h"
#include "lib/Frontend/Syntax/Spelling.h"

using namespace meshc::syntax;

/// [L7.1]
std::optional<Declaration> Parser::parseTrain() {
  TrainDeclaration train;
  train.span = next().span;
  std::optional<Name> model = expectName("the name of the model to train");
  if (!model)
    return std::nullopt;
  train.model = *model;
  if (!atWord("minimize")) {
    unexpected("'minimize' and the name of the loss");
    return std::nullopt;
  }
  next();
  std::optional<Name> loss = expectName("the name of the loss");
  if (!loss)
    return std::nullopt;
  train.loss = *loss;
  if (!atWord("with")) {
    unexpected("'with' and an optimizer, as in with adamw(lr = 3e-4)");
    return std::nullopt;
  }
  next();
  std::optional<Name> optimizer = expectName("an optimizer");
  if (!optimizer)
    return std::nullopt;
  if (!at(TokenKind::LeftParen)) {
    unexpected("'(' and the optimizer's settings");
    return std::nullopt;
  }
  train.optimizer = parseCall(*optimizer);
  if (!train.optimizer || !parseTrainClauses(train))
    return std::nullopt;
  return train;
}

/// Reports that a clause is given twice; returns false.
bool Parser::rejectSecond(Span at, std::string_view clause, Span first) {
  diagnostics.error(at, quote(clause) + " is given twice")
      .note(first, "first given here");
  return false;
}

/// The expression of a clause that a train has once, behind the clause's name.
bool Parser::parseOnce(ExprPtr &expr, std::string_view clause, Span start) {
  if (expr)
    return rejectSecond(start, clause, expr->span);
  expr = parseExpression();
  return expr != nullptr;
}

/// 1.0 as gradient_norm, behind 'clip'. [L7.6]
bool Parser::parseClip(TrainDeclaration &train, Span start) {
  if (train.clip)
    return rejectSecond(start, "clip", train.clip->bound->span);
  ClipClause clip{parseExpression(), std::nullopt};
  if (!clip.bound)
    return false;
  if (atWord("as")) {
    next();
    clip.metric = expectName("a metric's name after 'as'");
    if (!clip.metric)
      return false;
  }
  train.clip = std::move(clip);
  return true;
}

/// bf16, or f16(scale = 1024), behind 'precision'. [L7.8]
bool Parser::parsePrecision(TrainDeclaration &train, Span start) {
  if (train.precision)
    return rejectSecond(start, "precision", train.precision->span);
  train.precision = expectName("a type after 'precision': bf16, f16 or f32");
  if (!train.precision)
    return false;
  Span open = peek().span;
  return !accept(TokenKind::LeftParen) ||
         parseArguments(train.precisionSettings, open);
}

/// set …, clip …, average …, accumulate …, precision …; in any order, also on
/// lines of their own.
bool Parser::parseTrainClauses(TrainDeclaration &train) {
  for (;;) {
    Span start = peek().span;
    if (atWord("set")) {
      next();
      do {
        std::optional<SettingRule> rule = parseSettingRule();
        if (!rule)
          return false;
        train.rules.push_back(std::move(*rule));
      } while (accept(TokenKind::Comma));
    } else if (atWord("clip")) {
      next();
      if (!parseClip(train, start))
        return false;
    } else if (atWord("accumulate")) {
      next();
      if (!parseOnce(train.microBatches, "accumulate", start))
        return false;
    } else if (atWord("average")) {
      next();
      if (!parseOnce(train.average, "average", start))
        return false;
    } else if (atWord("precision")) {
      next();
      if (!parsePrecision(train, start))
        return false;
    } else {
      return true;
    }
  }
}

/// *.bias, *.gain -> (weight_decay = 0), or with ->?  [L7.5]
std::optional<SettingRule> Parser::parseSettingRule() {
  SettingRule rule;
  do {
    std::optional<SettingRule::Pattern> pattern = parsePattern();
    if (!pattern)
      return std::nullopt;
    rule.patterns.push_back(std::move(*pattern));
  } while (accept(TokenKind::Comma));
  rule.isOptional = accept(TokenKind::OptionalArrow);
  if (!rule.isOptional && !accept(TokenKind::Arrow)) {
    unexpected("',' or '->' and settings, as in set *.bias -> (lr = 0)");
    return std::nullopt;
  }
  Span open = peek().span;
  if (!expect(TokenKind::LeftParen, "'(' and settings") ||
      !parseArguments(rule.settings, open))
    return std::nullopt;
  return rule;
}

/// The name of a parameter, in which `*` stands for any characters.
std::optional<SettingRule::Pattern> Parser::parsePattern() {
  SettingRule::Pattern pattern{"", peek().span};
  bool afterName = false;
  for (;;) {
    // A name ends in digits, as in *2.
    bool isName = at(TokenKind::Name) || at(TokenKind::Integer);
    bool isStar = at(TokenKind::Star) || at(TokenKind::Power);
    if ((isName && afterName) || !(isName || isStar || at(TokenKind::Dot)))
      break;
    Token token = next();
    pattern.text += textOf(token);
    pattern.span = Span::join(pattern.span, token.span);
    afterName = isName;
  }
  if (!pattern.text.empty())
    return pattern;
  unexpected("a parameter's name or a pattern of names, as in *.bias");
  return std::nullopt;
}
