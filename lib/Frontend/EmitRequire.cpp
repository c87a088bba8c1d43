//===- EmitRequire.cpp - conditions on the arguments of a call ------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// require condition, "message". [L4.17] The condition is judged when the
/// program is compiled. It compares numbers, so it leaves no ops.
///
//===----------------------------------------------------------------------===//
#include "lib/Frontend/EmitRequire.h"

#include "lib/Frontend/Emitter.h"

using namespace mlir;
using namespace meshc;
using namespace meshc::frontend;
using syntax::BinaryKind;
using syntax::quote;

/// The comparison of two numbers; nothing if the operator is none.
static std::optional<bool> compare(BinaryKind kind,
                                   const syntax::Constant &left,
                                   const syntax::Constant &right) {
  bool isExact = left.isInteger && right.isInteger;
  bool isLess = isExact ? left.integer < right.integer : left.real < right.real;
  bool isEqual =
      isExact ? left.integer == right.integer : left.real == right.real;
  switch (kind) {
  case BinaryKind::Equal:
    return isEqual;
  case BinaryKind::NotEqual:
    return !isEqual;
  case BinaryKind::Less:
    return isLess;
  case BinaryKind::LessEqual:
    return isLess || isEqual;
  case BinaryKind::Greater:
    return !isLess && !isEqual;
  case BinaryKind::GreaterEqual:
    return !isLess;
  default:
    return std::nullopt;
  }
}

/// The number that one side of a comparison is; nothing after an error.
std::optional<syntax::Constant>
RequireJudge::judgedNumber(const syntax::Expr &expr) {
  Operand operand = emitter.emit(expr);
  if (operand.value)
    emitter.noteOrigin(
        emitter.error(expr.span,
                      "a requirement must be known at compile time: it "
                      "compares numbers and sizes of dims, got " +
                          describe(nd::getTensorType(operand.value))),
        expr.span);
  return operand.constant;
}

std::optional<RequireJudge::Verdict>
RequireJudge::judgeComparison(const syntax::Expr &expr,
                              const syntax::BinaryExpr &binary) {
  std::optional<syntax::Constant> left = judgedNumber(*binary.left);
  std::optional<syntax::Constant> right =
      left ? judgedNumber(*binary.right) : std::nullopt;
  if (!right)
    return std::nullopt;
  return Verdict{*compare(binary.kind, *left, *right), &expr};
}

/// 'and' and 'or'. The right side counts only where the left one does not
/// decide.
std::optional<RequireJudge::Verdict>
RequireJudge::judgeBoth(const syntax::Expr &expr,
                        const syntax::BinaryExpr &binary) {
  bool isAnd = binary.kind == BinaryKind::And;
  std::optional<Verdict> left = judge(*binary.left);
  if (!left || left->holds != isAnd)
    return left;
  std::optional<Verdict> right = judge(*binary.right);
  if (right && !isAnd)
    right->blamed = &expr;
  return right;
}

std::optional<RequireJudge::Verdict>
RequireJudge::judge(const syntax::Expr &expr) {
  if (const auto *unary = std::get_if<syntax::UnaryExpr>(&expr.node);
      unary && unary->kind == syntax::UnaryKind::Not) {
    std::optional<Verdict> verdict = judge(*unary->operand);
    return verdict ? std::optional(Verdict{!verdict->holds, &expr}) : verdict;
  }
  if (const auto *binary = std::get_if<syntax::BinaryExpr>(&expr.node)) {
    if (binary->kind == BinaryKind::And || binary->kind == BinaryKind::Or)
      return judgeBoth(expr, *binary);
    if (compare(binary->kind, {}, {}))
      return judgeComparison(expr, *binary);
  }
  emitter.error(expr.span,
                "'require' takes comparisons of numbers, as in size(d) > 1, "
                "joined by 'and', 'or' and 'not'");
  return std::nullopt;
}

/// The dim of size(d); null if the expression is something else.
static const syntax::Name *findSizedDim(const syntax::Expr &expr) {
  const auto *call = std::get_if<syntax::CallExpr>(&expr.node);
  bool isSize = call && !call->module && call->callee.text == "size" &&
                call->arguments.size() == 1;
  return isSize ? call->arguments[0].value->asName() : nullptr;
}

/// Calls `visit` with each name and each size(d) in an expression.
static void visitNamed(const syntax::Expr &expr,
                       llvm::function_ref<void(const syntax::Expr &)> visit) {
  if (const auto *unary = std::get_if<syntax::UnaryExpr>(&expr.node)) {
    visitNamed(*unary->operand, visit);
  } else if (const auto *binary = std::get_if<syntax::BinaryExpr>(&expr.node)) {
    visitNamed(*binary->left, visit);
    visitNamed(*binary->right, visit);
  } else if (const auto *call = std::get_if<syntax::CallExpr>(&expr.node);
             call && !findSizedDim(expr)) {
    for (const syntax::Argument &argument : call->arguments)
      if (argument.value)
        visitNamed(*argument.value, visit);
  } else if (!std::holds_alternative<syntax::NumberExpr>(expr.node)) {
    visit(expr);
  }
}

/// "; size(key) is 5, limit is 2": what the names in a condition are. Adds
/// notes at the declarations of dims and constants.
std::string RequireJudge::describeUnmet(const syntax::Expr &expr,
                                        std::vector<syntax::Note> &notes) {
  std::set<std::string_view> seen;
  std::string text;
  syntax::Diagnostic declared;
  visitNamed(expr, [&](const syntax::Expr &part) {
    std::string_view shown = emitter.sources.text(part.span);
    if (!seen.insert(shown).second)
      return;
    if (Operand value = emitter.emit(part); value.constant)
      text += (text.empty() ? "; " : ", ") + std::string(shown) + " is " +
              toString(*value.constant);
    if (const syntax::Name *dim = findSizedDim(part))
      emitter.noteDim(declared, emitter.scope->findDim(dim->text));
    else if (!emitter.scope->findValue(shown))
      emitter.noteName(declared, shown);
  });
  notes.insert(notes.end(), declared.notes.begin(), declared.notes.end());
  return text;
}

/// Reports at the innermost call in the model's file, which made the mistake;
/// a requirement of the model itself at its own place.
void RequireJudge::reportUnmet(const syntax::RequireStatement &require,
                               syntax::Span at, const syntax::Expr &blamed) {
  std::vector<syntax::Note> notes;
  uint32_t modelFile = emitter.declarations.model->name.span.source;
  size_t outer = emitter.frames.size(); // calls around the one that is reported
  if (!emitter.frames.empty()) {
    notes.push_back({at, "required here"});
    for (--outer; outer > 0 && emitter.frames[outer].call.source != modelFile;
         --outer)
      notes.push_back({emitter.frames[outer].call,
                       "in this call of " +
                           quote(emitter.frames[outer].function->name.text)});
  }
  std::string message(require.message);
  message += describeUnmet(blamed, notes);
  for (size_t i = outer; i < emitter.frames.size(); ++i)
    emitter.diagnostics.leave();
  syntax::Diagnostic &unmet = emitter.error(
      outer < emitter.frames.size() ? emitter.frames[outer].call : at, message);
  unmet.notes.insert(unmet.notes.begin(), notes.begin(), notes.end());
  for (size_t i = outer; i < emitter.frames.size(); ++i)
    emitter.diagnostics.enter(emitter.frames[i].call,
                              "in this call of " +
                                  quote(emitter.frames[i].function->name.text));
}

/// [L4.17]
void RequireJudge::check(const syntax::Statement &statement) {
  const auto &require = std::get<syntax::RequireStatement>(statement.node);
  if (!require.condition)
    return;
  std::optional<Verdict> verdict = judge(*require.condition);
  if (!verdict || verdict->holds)
    return;
  reportUnmet(require, statement.span, *verdict->blamed);
  emitter.isUnmet = true;
}
