//===- Constant.h - numbers known at compile time -------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_FRONTEND_SYNTAX_CONSTANT_H
#define MESHC_FRONTEND_SYNTAX_CONSTANT_H

#include "lib/Frontend/Syntax/Ast.h"
#include "lib/Frontend/Syntax/Diagnostic.h"

namespace meshc::syntax {

/// A number known at compile time: whole numbers are exact in 64 bits, all
/// others are f64. `real` always holds the value; `integer` where isInteger.
/// [L2.3]
struct Constant {
  double real = 0;
  int64_t integer = 0;
  bool isInteger = false;

  static Constant whole(int64_t value) {
    return {static_cast<double>(value), value, true};
  }
  static Constant number(double value) { return {value, 0, false}; }
};

/// `512`, `0.05`, as messages show it.
std::string toString(const Constant &constant);

/// The same where a whole number is wanted: what looks like one and is not,
/// such as 1e3, is shown with a point and with what to write.
std::string describeNotWhole(const Constant &constant);

/// A value, or a message that says why there is none.
struct Folded {
  Constant value;
  std::string problem;
  bool ok() const { return problem.empty(); }
};

/// The result of an arithmetic operator on two constants; `problem` if it
/// overflows, divides by zero, is not a number, or if the operator is not
/// arithmetic. [L2.3]
Folded fold(BinaryKind kind, const Constant &left, const Constant &right);

/// The result of a pointwise function of one constant (exp, sqrt, …), or
/// nothing if `function` is not one of them. [L2.3]
std::optional<Folded> fold(std::string_view function, const Constant &argument);

/// Resolves the names in a constant expression.
class ConstantScope {
public:
  virtual ~ConstantScope() = default;
  /// The value of a constant; empty after an error if there is none.
  virtual std::optional<Constant> constant(const Name &name) = 0;
  /// The size of a dim, for size(d); empty after an error if there is none.
  virtual std::optional<Constant> dimSize(const Name &name) = 0;
  /// The value of a constant of an imported file; empty after an error.
  /// [L10.3]
  virtual std::optional<Constant> member(const Name &module,
                                         const Name &name) = 0;
  /// Notes where a dim or constant of that name is declared, if there is one.
  virtual void noteDeclaration(Diagnostic &diagnostic,
                               std::string_view name) const = 0;
};

/// The value of a constant expression: numbers, names of `scope`, arithmetic,
/// size(d), pointwise functions. Reports what is wrong. [L2.3]
std::optional<Constant> evaluate(const Expr &expr, ConstantScope &scope,
                                 Diagnostics &diagnostics);

} // namespace meshc::syntax

#endif // MESHC_FRONTEND_SYNTAX_CONSTANT_H
