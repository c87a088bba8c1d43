//===- DeclaredTypes.h - dims and types that the text states ----*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_FRONTEND_DECLAREDTYPES_H
#define MESHC_FRONTEND_DECLAREDTYPES_H

#include "lib/Frontend/OpEmitter.h"

namespace meshc::frontend {

/// The types that declarations state, and whether values have them.
class DeclaredTypes {
public:
  explicit DeclaredTypes(OpEmitter &emitter) : emitter(emitter) {}

  /// The type of an input or parameter, which `what` says; null after an error.
  /// [L6.1]
  nd::TensorType getType(const syntax::TensorDeclaration &tensor,
                         llvm::StringRef what);
  /// Whether the value has the dims and the type that `declared` states; the
  /// value gets its dims in this order. A number becomes a tensor. Reports an
  /// error at `at`, where `origin` has the names of the text. `what` is
  /// "argument" or "value". [L4.3], [L4.18]
  bool check(llvm::StringRef what, const syntax::TensorDeclaration &declared,
             Operand &operand, syntax::Span at, Scope &origin);

private:
  bool convertNumber(llvm::StringRef what,
                     const syntax::TensorDeclaration &declared,
                     Operand &operand, syntax::Span at);
  nd::TensorType wantedType(const syntax::TensorDeclaration &declared,
                            nd::TensorType got, syntax::Span at,
                            llvm::SmallVectorImpl<llvm::StringRef> &order);
  void noteDims(syntax::Diagnostic &mismatch, mlir::Value value,
                nd::TensorType wanted) const;

  OpEmitter &emitter;
};

} // namespace meshc::frontend

#endif // MESHC_FRONTEND_DECLAREDTYPES_H
