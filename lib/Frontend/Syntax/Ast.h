//===- Ast.h - a program as it is written ---------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The syntax tree. Names are views of the text, which the SourceSet keeps.
/// Nothing is resolved here: the emitter decides whether `model` is a dim, a
/// value or a mistake.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_FRONTEND_SYNTAX_AST_H
#define MESHC_FRONTEND_SYNTAX_AST_H

#include "lib/Frontend/Syntax/Source.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace meshc::syntax {

/// A name and its place in the text.
struct Name {
  std::string_view text;
  Span span;
};

struct Expr;
using ExprPtr = std::unique_ptr<Expr>;

/// A number. If it was written without point and exponent, `isInteger` is true
/// and `integer` is its value too.
struct NumberExpr {
  double value = 0;
  int64_t integer = 0;
  bool isInteger = false;
};

struct NameExpr {
  Name name;
};

/// nn.tiny: a name of an imported file. [L10.3]
struct MemberExpr {
  Name module;
  Name name;
};

enum class UnaryKind { Negate, Not };

struct UnaryExpr {
  UnaryKind kind;
  ExprPtr operand;
};

enum class BinaryKind {
  Or,
  And,
  Equal,
  NotEqual,
  Less,
  LessEqual,
  Greater,
  GreaterEqual,
  Add,
  Subtract,
  Multiply,
  Divide,
  Power,
};

struct BinaryExpr {
  BinaryKind kind;
  Span operatorSpan;
  ExprPtr left;
  ExprPtr right;
};

/// One argument of a call. [L5.3]
struct Argument {
  enum class Kind {
    Value,  ///< an expression; the name of a dim looks like one
    Named,  ///< key = expression
    Rename, ///< a -> b, a -> (b, c), (a, b) -> c
    Result, ///< -> [a, b]
  };
  Kind kind = Kind::Value;
  Span span;
  Name key;               ///< Named
  ExprPtr value;          ///< Value, Named
  std::vector<Name> from; ///< Rename
  std::vector<Name> to;   ///< Rename, Result
};

struct CallExpr {
  std::optional<Name> module; ///< of nn.dense(…). [L10.3]
  Name callee;
  std::vector<Argument> arguments;
  Span close; ///< the closing parenthesis
};

/// x at dim = index. [L5.15]
struct EntryExpr {
  ExprPtr operand;
  Name dim;
  ExprPtr index;
};

/// [[1, 2], [3, 4]] over (row, column): i32. There are as many dims as levels
/// of lists. [L5.17]
struct TableExpr {
  std::vector<ExprPtr> entries; ///< row-major
  std::vector<int64_t> sizes;   ///< of the lists, outermost first
  std::vector<Name> dims;
  std::optional<Name> type;
};

/// An expression. `depth` is the height of its tree, kept below
/// Parser's limit, so that recursion over a tree is safe. [L5.9]
struct Expr {
  Span span;
  unsigned depth = 1;
  std::variant<NumberExpr, NameExpr, UnaryExpr, BinaryExpr, CallExpr, EntryExpr,
               MemberExpr, TableExpr>
      node;

  /// The name, if the expression is one; null otherwise.
  const Name *asName() const {
    const auto *name = std::get_if<NameExpr>(&node);
    return name ? &name->name : nullptr;
  }
};

/// name = expression, of `dim`, `let` and `mesh`; the value is null after a
/// parse error. [L2]
struct Definition {
  Name name;
  ExprPtr value;
};

/// The scope of a rule: a class of tensors, or the name of one tensor. The name
/// of a parameter in a loop or function has several parts, as in
/// layers.attention.wq. [L3.3]
struct RuleScope {
  std::string text; ///< without blanks
  Span span;
};

/// One rule of a layout: [scope.]dim -> axis | (axis, axis). [L3.2]
struct LayoutRule {
  std::optional<RuleScope> scope;
  Name dim;
  std::vector<Name> axes;
  bool isOptional = false; ///< written with ->? or ~>?
  bool isWeak = false;     ///< written with ~> or ~>?
  Span span;
};

/// An argument of a function or an input of a model: x, gain[model]: f32,
/// dim d, fn f, epsilon = 1e-5. Also what an assignment or a `param` declares.
/// [L4.1], [L4.18], [L6.1]
struct TensorDeclaration {
  enum class Kind { Tensor, Dim, Function };
  Name name;
  Kind kind = Kind::Tensor;
  std::optional<std::vector<Name>> dims;
  std::optional<Name> type;
  ExprPtr defaultValue; ///< null if the argument must be given
};

/// name = expression; name, name = call; h[batch, model]: f32 = expression. The
/// value is null after a parse error; the names are known, and their uses
/// report no further error. [L4.12], [L4.18]
struct AssignStatement {
  /// The names, with the dims and types that they are declared with. Each is a
  /// tensor without a default value.
  std::vector<TensorDeclaration> targets;
  ExprPtr value;
};

/// param w[a, b]: f32 ~ normal(0.02). [L6.2]
struct ParamStatement {
  TensorDeclaration tensor;
  ExprPtr initializer; ///< null if missing
};

/// metric accuracy = expression. [L6.4]
struct MetricStatement {
  Name name;
  ExprPtr value;
};

/// return expression, expression. There are no values after a parse error.
struct ReturnStatement {
  std::vector<ExprPtr> values;
};

struct Statement;

/// for layers { … }, for seq backwards { … }. [L4.6]
/// for steps { … } while error > 1e-6. [L4.16]
struct ForStatement {
  Name dim; ///< empty after a parse error
  bool isBackwards = false;
  std::vector<Statement> body;
  bool endsEarly = false; ///< there is a 'while'
  ExprPtr condition;      ///< null without it, and after a parse error
};

/// recompute { … }. [L4.11]
struct RecomputeStatement {
  std::vector<Statement> body;
};

/// require size(key) > 1, "a message". The condition is null after a parse
/// error. [L4.17]
struct RequireStatement {
  ExprPtr condition;
  std::string_view message; ///< without its quotation marks
};

struct Statement {
  Span span; ///< of its first word
  std::variant<AssignStatement, ParamStatement, MetricStatement,
               ReturnStatement, ForStatement, RecomputeStatement,
               RequireStatement>
      node;
};

struct Body {
  std::vector<Statement> statements;
  Span close; ///< the closing brace
};

/// gradient(g) { … }, behind the body of a function. [L4.15]
struct GradientDeclaration {
  Span span; ///< of the first word
  std::vector<Name> results;
  Body body;
};

struct FunctionDeclaration {
  Name name;
  std::vector<TensorDeclaration> arguments;
  Body body;
  std::optional<GradientDeclaration> gradient;
};

struct ModelDeclaration {
  Name name;
  std::vector<TensorDeclaration> inputs;
  Body body;
};

/// set *.bias, *.gain -> (weight_decay = 0). [L7.5]
struct SettingRule {
  struct Pattern {
    std::string text; ///< without blanks
    Span span;
  };
  std::vector<Pattern> patterns;
  bool isOptional = false; ///< written with ->?
  CallExpr settings;       ///< its arguments; there is no callee
};

/// clip 1.0 as gradient_norm. [L7.6]
struct ClipClause {
  ExprPtr bound;
  std::optional<Name> metric;
};

/// train gpt minimize loss with adamw(lr = 3e-4) … [L7.1]
struct TrainDeclaration {
  Span span;
  Name model;
  Name loss;
  ExprPtr optimizer; ///< a CallExpr
  std::vector<SettingRule> rules;
  std::optional<ClipClause> clip;
  ExprPtr average;               ///< average 0.999 [L7.10]; null without
  ExprPtr microBatches;          ///< accumulate 4 [L7.7]; null for 1
  std::optional<Name> precision; ///< precision bf16 [L7.8]
  /// (sums = f32) behind it, without a callee [L7.8] [L7.9]
  CallExpr precisionSettings;
};

/// generate gpt from tokens with logits over vocab along seq. [L11.1]
struct GenerateDeclaration {
  Span span;
  Name model;
  Name tokens, logits;   ///< an input, a value of the model
  Name vocab, positions; ///< dims
};

/// nn, "layers/mine.mesh" as mine. [L10.1]
struct Import {
  Name file; ///< a module's name, or a path without its quotation marks
  bool isPath = false;
  Name name; ///< by which this file knows it
};

struct ImportDeclaration {
  Span span;
  std::vector<Import> imports;
};

struct DimDeclaration {
  std::vector<Definition> dims;
};
struct ConstantDeclaration {
  std::vector<Definition> constants;
};
struct MeshDeclaration {
  Span span;
  std::vector<Definition> axes;
};
struct LayoutDeclaration {
  Span span;
  std::vector<LayoutRule> rules;
};

using Declaration =
    std::variant<ImportDeclaration, DimDeclaration, ConstantDeclaration,
                 MeshDeclaration, LayoutDeclaration, FunctionDeclaration,
                 ModelDeclaration, TrainDeclaration, GenerateDeclaration>;

/// Kinds of names with a declaration that could not be parsed: unknown names of
/// these kinds are not reported.
struct Incomplete {
  bool dims = false; ///< and constants
  bool axes = false;
  bool functions = false;
  bool imports = false;
};

/// A whole file, in the order of its text.
struct Program {
  std::vector<Declaration> declarations;
  Incomplete incomplete;
};

} // namespace meshc::syntax

#endif // MESHC_FRONTEND_SYNTAX_AST_H
