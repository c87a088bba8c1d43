//===- Constant.cpp - numbers known at compile time -----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "lib/Frontend/Syntax/Constant.h"

#include <charconv>
#include <cmath>

using namespace meshc::syntax;

std::string meshc::syntax::toString(const Constant &constant) {
  char text[32];
  std::to_chars_result end =
      constant.isInteger
          ? std::to_chars(text, text + sizeof text, constant.integer)
          : std::to_chars(text, text + sizeof text, constant.real);
  return std::string(text, end.ptr);
}

std::string meshc::syntax::describeNotWhole(const Constant &constant) {
  constexpr double exact = 9007199254740992.0; // 2^53
  bool looksWhole = !constant.isInteger && std::fabs(constant.real) <= exact &&
                    constant.real == std::floor(constant.real);
  if (!looksWhole)
    return toString(constant);
  std::string whole = std::to_string(static_cast<int64_t>(constant.real));
  return whole +
         ".0; numbers with a point or an exponent are not whole, write " +
         whole;
}

static Folded overflow() { return {{}, "the result does not fit in 64 bits"}; }

/// `base` to the whole power `exponent` >= 0.
static Folded wholePower(int64_t base, int64_t exponent) {
  int64_t result = 1;
  while (exponent > 0) {
    if ((exponent & 1) && __builtin_mul_overflow(result, base, &result))
      return overflow();
    exponent >>= 1;
    if (exponent > 0 && __builtin_mul_overflow(base, base, &base))
      return overflow();
  }
  return {Constant::whole(result), {}};
}

/// Arithmetic on two whole numbers, where its result is whole.
static std::optional<Folded> foldWhole(BinaryKind kind, int64_t left,
                                       int64_t right) {
  int64_t result = 0;
  switch (kind) {
  case BinaryKind::Add:
    if (__builtin_add_overflow(left, right, &result))
      return overflow();
    return Folded{Constant::whole(result), {}};
  case BinaryKind::Subtract:
    if (__builtin_sub_overflow(left, right, &result))
      return overflow();
    return Folded{Constant::whole(result), {}};
  case BinaryKind::Multiply:
    if (__builtin_mul_overflow(left, right, &result))
      return overflow();
    return Folded{Constant::whole(result), {}};
  case BinaryKind::Divide:
    // -1 apart: the least number divided by it does not fit.
    if (right == 0 || right == -1 || left % right != 0)
      return std::nullopt;
    return Folded{Constant::whole(left / right), {}};
  case BinaryKind::Power:
    if (right < 0)
      return std::nullopt;
    return wholePower(left, right);
  default:
    return std::nullopt;
  }
}

Folded meshc::syntax::fold(BinaryKind kind, const Constant &left,
                           const Constant &right) {
  if (left.isInteger && right.isInteger)
    if (std::optional<Folded> whole =
            foldWhole(kind, left.integer, right.integer))
      return *whole;
  double result = 0;
  switch (kind) {
  case BinaryKind::Add:
    result = left.real + right.real;
    break;
  case BinaryKind::Subtract:
    result = left.real - right.real;
    break;
  case BinaryKind::Multiply:
    result = left.real * right.real;
    break;
  case BinaryKind::Divide:
    if (right.real == 0)
      return {{}, "division by zero"};
    if (left.isInteger && right.isInteger && right.integer == -1)
      return foldWhole(BinaryKind::Subtract, 0, left.integer).value();
    result = left.real / right.real;
    break;
  case BinaryKind::Power:
    result = std::pow(left.real, right.real);
    break;
  default:
    return {{},
            "comparisons, 'and' and 'or' take tensors; both operands "
            "here are constants"};
  }
  if (std::isnan(result))
    return {{}, "the result is not a number"};
  if (std::isinf(result) && !std::isinf(left.real) && !std::isinf(right.real))
    return {{}, "the result is beyond the range of f64"};
  return {Constant::number(result), {}};
}

std::optional<Folded> meshc::syntax::fold(std::string_view function,
                                          const Constant &argument) {
  struct Entry {
    std::string_view name;
    double (*apply)(double);
  };
  static constexpr Entry entries[] = {
      {"exp", [](double x) { return std::exp(x); }},
      {"log", [](double x) { return std::log(x); }},
      {"sqrt", [](double x) { return std::sqrt(x); }},
      {"rsqrt", [](double x) { return 1 / std::sqrt(x); }},
      {"tanh", [](double x) { return std::tanh(x); }},
      {"sin", [](double x) { return std::sin(x); }},
      {"cos", [](double x) { return std::cos(x); }},
      {"abs", [](double x) { return std::fabs(x); }},
      {"square", [](double x) { return x * x; }},
      {"floor", [](double x) { return std::floor(x); }},
      {"reciprocal", [](double x) { return 1 / x; }},
  };
  for (const Entry &entry : entries) {
    if (entry.name != function)
      continue;
    double result = entry.apply(argument.real);
    if (std::isnan(result) ||
        (std::isinf(result) && !std::isinf(argument.real)))
      return Folded{{},
                    "'" + std::string(function) + "' of " + toString(argument) +
                        " is not a finite number"};
    // Beyond 2^53 a double may differ from the whole number that was meant.
    constexpr double exact = 9007199254740992.0;
    bool staysWhole = argument.isInteger || function == "floor";
    if (staysWhole && std::fabs(result) <= exact &&
        result == std::floor(result))
      return Folded{Constant::whole(static_cast<int64_t>(result)), {}};
    return Folded{Constant::number(result), {}};
  }
  return std::nullopt;
}

namespace {

/// One walk over an expression. Recursion is safe: the parser bounds heights.
class Evaluator {
public:
  Evaluator(ConstantScope &scope, Diagnostics &diagnostics)
      : scope(scope), diagnostics(diagnostics) {}

  std::optional<Constant> visit(const Expr &expr);

private:
  std::optional<Constant> visitCall(const Expr &expr, const CallExpr &call);
  std::optional<Constant> settle(Folded folded, Span at,
                                 std::initializer_list<const Expr *> operands);

  ConstantScope &scope;
  Diagnostics &diagnostics;
};

} // namespace

/// Reports a failed operation, with notes at the constants that it names.
std::optional<Constant>
Evaluator::settle(Folded folded, Span at,
                  std::initializer_list<const Expr *> operands) {
  if (folded.ok())
    return folded.value;
  Diagnostic &error = diagnostics.error(at, std::move(folded.problem));
  for (const Expr *operand : operands)
    if (const Name *name = operand->asName())
      scope.noteDeclaration(error, name->text);
  return std::nullopt;
}

std::optional<Constant> Evaluator::visit(const Expr &expr) {
  if (const auto *number = std::get_if<NumberExpr>(&expr.node))
    return Constant{number->value, number->integer, number->isInteger};
  if (const Name *name = expr.asName())
    return scope.constant(*name);
  if (const auto *member = std::get_if<MemberExpr>(&expr.node))
    return scope.member(member->module, member->name);
  if (const auto *unary = std::get_if<UnaryExpr>(&expr.node)) {
    std::optional<Constant> operand = visit(*unary->operand);
    if (!operand)
      return std::nullopt;
    if (unary->kind == UnaryKind::Negate)
      return settle(
          operand->isInteger
              ? fold(BinaryKind::Subtract, Constant::whole(0), *operand)
              : Folded{Constant::number(-operand->real), {}},
          expr.span, {unary->operand.get()});
    diagnostics.error(expr.span, "'not' has no constant value");
    return std::nullopt;
  }
  if (const auto *binary = std::get_if<BinaryExpr>(&expr.node)) {
    std::optional<Constant> left = visit(*binary->left);
    std::optional<Constant> right = visit(*binary->right);
    if (!left || !right)
      return std::nullopt;
    return settle(fold(binary->kind, *left, *right), binary->operatorSpan,
                  {binary->left.get(), binary->right.get()});
  }
  if (const auto *entry = std::get_if<EntryExpr>(&expr.node)) {
    diagnostics.error(expr.span, "an entry along " + quote(entry->dim.text) +
                                     " has no constant value");
    return std::nullopt;
  }
  if (std::holds_alternative<TableExpr>(expr.node)) {
    diagnostics.error(expr.span, "a table has no constant value");
    return std::nullopt;
  }
  return visitCall(expr, std::get<CallExpr>(expr.node));
}

std::optional<Constant> Evaluator::visitCall(const Expr &expr,
                                             const CallExpr &call) {
  const Argument *only = call.arguments.size() == 1 &&
                                 call.arguments[0].kind == Argument::Kind::Value
                             ? &call.arguments[0]
                             : nullptr;
  bool isOwn = !call.module;
  if (isOwn && call.callee.text == "size" && only && only->value->asName())
    return scope.dimSize(*only->value->asName());
  if (!isOwn || !only || !fold(call.callee.text, Constant::whole(1))) {
    diagnostics.error(call.callee.span,
                      quote(call.callee.text) +
                          " has no constant value; constants are made of "
                          "numbers, + - * / **, size(dim) and functions of one "
                          "number such as sqrt");
    return std::nullopt;
  }
  std::optional<Constant> argument = visit(*only->value);
  if (!argument)
    return std::nullopt;
  return settle(*fold(call.callee.text, *argument), expr.span,
                {only->value.get()});
}

std::optional<Constant> meshc::syntax::evaluate(const Expr &expr,
                                                ConstantScope &scope,
                                                Diagnostics &diagnostics) {
  return Evaluator(scope, diagnostics).visit(expr);
}
