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

/// A value, or the words that say what is wrong with it.
struct Folded {
  Constant value;
  std::string problem;
  bool ok() const { return problem.empty(); }
};

/// The result of an arithmetic operator on two constants; `problem` where it
/// overflows, divides by zero, is not a number or is no arithmetic. [L2.3]
Folded fold(BinaryKind kind, const Constant &left, const Constant &right);

/// The result of a pointwise function of one constant (exp, sqrt, …), or
/// nothing where `function` is none of them. [L2.3]
std::optional<Folded> fold(std::string_view function, const Constant &argument);

/// What names in a constant expression mean.
class ConstantScope {
public:
  virtual ~ConstantScope() = default;
  /// The value of a constant; where there is none, reports and is empty.
  virtual std::optional<Constant> constant(const Name &name) = 0;
  /// The size of a dim, for size(d); where there is none, reports.
  virtual std::optional<Constant> dimSize(const Name &name) = 0;
};

/// The value of a constant expression: numbers, names of `scope`, arithmetic,
/// size(d), pointwise functions. Reports what is wrong. [L2.3]
std::optional<Constant> evaluate(const Expr &expr, ConstantScope &scope,
                                 Diagnostics &diagnostics);

} // namespace meshc::syntax

#endif // MESHC_FRONTEND_SYNTAX_CONSTANT_H
