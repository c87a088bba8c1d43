//===- Builtins.h - the functions of the language -------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Private to this folder. Each family of functions is one table in one file.
/// An entry holds the number of arguments, the usage, and the function that
/// builds the op from a Call.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_FRONTEND_BUILTINS_H
#define MESHC_FRONTEND_BUILTINS_H

#include "lib/Frontend/Emitter.h"

namespace meshc::frontend {

class Call;

/// One function of the language. [L5.5]
struct Builtin {
  llvm::StringRef name;
  /// As the manual writes it: `softmax(x, dim)`.
  llvm::StringRef usage;
  unsigned minArguments;
  unsigned maxArguments;
  Operand (*emit)(Call &call);
  /// For functions that are one op of the same form: the op and its types.
  llvm::StringRef op = {};
  ElementKinds kinds = Floats;
  /// For functions that return several values, instead of `emit`: their number,
  /// and what builds them, missing after an error. [L4.12]
  unsigned resultCount = 1;
  llvm::SmallVector<Operand> (*emitAll)(Call &call) = nullptr;
  /// The name of a setting, `name = expression`, that may be the last of
  /// `maxArguments` arguments; empty if there is none.
  llvm::StringRef setting = {};
};

/// Any number of arguments.
inline constexpr unsigned anyNumber = ~0u;

llvm::ArrayRef<Builtin> pointwiseBuiltins();
llvm::ArrayRef<Builtin> reductionBuiltins();
llvm::ArrayRef<Builtin> shapeBuiltins();
llvm::ArrayRef<Builtin> indexingBuiltins();
llvm::ArrayRef<Builtin> sourceBuiltins();
llvm::ArrayRef<Builtin> attentionBuiltins();
llvm::ArrayRef<Builtin> sortingBuiltins();

/// The function of that name, or null.
const Builtin *findBuiltin(llvm::StringRef name);
/// All names, for hints.
std::vector<std::string_view> builtinNames();

/// A call of a function of the language, and access to its arguments. A method
/// that fails reports an error and returns null or an empty value.
class Call {
public:
  Call(Emitter &emitter, const Builtin &builtin, const syntax::Expr &expr,
       const syntax::CallExpr &ast)
      : emitter(emitter), builtin(builtin), ast(ast), span(expr.span) {}

  /// Checks the number of arguments, and that none but the setting is named.
  bool checkArguments();

  /// Emits the operands that introduce a dim which one before them uses.
  void emitEarly();

  unsigned size() const { return ast.arguments.size(); }
  syntax::Span place(unsigned i) const { return ast.arguments[i].span; }
  /// The argument as an expression's value.
  Operand operand(unsigned i);
  /// The argument as a tensor; a number becomes a scalar of `elementType`.
  mlir::Value tensor(unsigned i, mlir::Type elementType = nullptr);
  /// The same, of one of the element types.
  mlir::Value tensorOf(unsigned i, ElementKinds kinds);
  /// The argument as the name of a dim, which `tensor`, if given, must have.
  mlir::StringAttr dim(unsigned i, mlir::Value tensor = nullptr);
  /// The argument as the name of a new dim of the result; an error if a loop
  /// runs over it. [L4.6]
  mlir::StringAttr newDim(unsigned i);
  /// Arguments first, first + 1, … as dims of `tensor`, or as new dims if it is
  /// null; duplicates are errors.
  std::optional<llvm::SmallVector<mlir::StringAttr>> dims(unsigned first,
                                                          mlir::Value tensor);
  /// The argument as a number known at compile time.
  std::optional<syntax::Constant> number(unsigned i);
  /// The argument as a whole number of at least `least`.
  std::optional<int64_t> whole(unsigned i, int64_t least);
  /// The argument as the name of an element type.
  mlir::Type type(unsigned i);
  /// Arguments first, first + 1, … as words, which become unit attributes.
  std::optional<llvm::SmallVector<mlir::NamedAttribute>>
  words(unsigned first, llvm::ArrayRef<llvm::StringRef> known);
  /// The argument as a rename; null after an error if it is not one.
  const syntax::Argument *rename(unsigned i);

  /// Reports at the place of the call.
  Operand fail(std::string message);
  /// Reports at the place of an argument, with a note where the value that it
  /// names is defined.
  Operand fail(unsigned i, std::string message);

  mlir::Value create(llvm::StringRef op, mlir::ValueRange operands,
                     nd::TensorType result,
                     llvm::ArrayRef<mlir::NamedAttribute> attributes = {}) {
    return emitter.create(op, span, operands, result, attributes);
  }
  mlir::NamedAttribute attribute(llvm::StringRef name,
                                 mlir::Attribute value) const {
    return emitter.builder.getNamedAttr(name, value);
  }
  mlir::ArrayAttr names(llvm::ArrayRef<mlir::StringAttr> list) const;

  Emitter &emitter;
  const Builtin &builtin;
  const syntax::CallExpr &ast;
  syntax::Span span;

private:
  std::map<unsigned, Operand> early; ///< by their number
};

/// Reports that `tensor`, the value of the expression at `tensorPlace`, lacks a
/// dim, which ones it has, and where it lost the dim, if it did.
void reportMissingDim(Emitter &emitter, syntax::Span at, llvm::StringRef dim,
                      mlir::Value tensor, syntax::Span tensorPlace);

} // namespace meshc::frontend

#endif // MESHC_FRONTEND_BUILTINS_H
