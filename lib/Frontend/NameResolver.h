//===- NameResolver.h - what the names of the text mean ---------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Private to this folder: dims, types and values by name, and notes where
/// these come from.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_FRONTEND_NAMERESOLVER_H
#define MESHC_FRONTEND_NAMERESOLVER_H

#include "lib/Frontend/Emission.h"

namespace meshc::frontend {

/// The names at the current place.
class NameResolver : public Emission {
public:
  using Emission::Emission;

  /// The dim with this name; the name of an argument `dim d` is resolved to the
  /// caller's dim. Null after an error if there is no such dim.
  mlir::StringAttr resolveDim(const syntax::Name &name);
  /// The same for a dim that the operation introduces with `size`; an error if
  /// a loop runs over it. [L2.5], [L4.6]
  mlir::StringAttr introduceDim(const syntax::Name &name, int64_t size);
  /// Whether an operation may give a dim of this size the name. [L2.5]
  bool canIntroduce(llvm::StringRef name, int64_t size) const;
  /// Whether a tensor made at the current place may have `dim`; reports an
  /// error if a loop runs over it.
  bool checkNotLooped(mlir::StringAttr dim, syntax::Span at);
  /// Whether the name is that of a known dim.
  bool isKnownDim(const syntax::Name &name) const;
  /// Whether an operation has introduced the dim, which is not declared. [L2.5]
  bool isIntroduced(std::string_view dim) const;
  int64_t dimSize(mlir::StringAttr dim) const;
  /// The dim of a declaration or list, with the size that it was declared with.
  nd::DimAttr declaredDim(const syntax::Name &name);
  /// Whether i32 can index the dim; reports an error if not. [L2.7]
  bool checkIndexable(mlir::StringAttr dim, syntax::Span at);
  /// A function has failed that was to introduce the dim: uses of it are no
  /// errors of their own.
  void noteLost(std::string_view dim) { lostDims.insert(dim); }

  /// The element type of that name; null after an error. [L2.7]
  mlir::Type resolveType(const syntax::Name &name);
  /// Whether the name is that of a value or constant.
  bool isKnownValue(const syntax::Name &name) const;
  /// Reports a name whose value is missing, unless that is an error already
  /// reported.
  void rejectUnusable(const syntax::Name &name);
  /// Gives the model a name of its own, an input, a parameter or a metric;
  /// false after an error. [L6.3]
  bool declare(const syntax::Name &name);
  /// What the model assigned to the name; null after an error.
  const Operand *findModelValue(const syntax::Name &name);
  /// Whether the program's model has the name; reports an error if not.
  bool checkModel(const syntax::Name &name);

  /// If the text at `at` is the name of a value or a constant, notes where it
  /// is defined.
  void noteOrigin(syntax::Diagnostic &diagnostic, syntax::Span at) const;
  /// Notes where a value or constant of that name is defined, if there is one.
  void noteName(syntax::Diagnostic &diagnostic, std::string_view name) const;
  /// noteOrigin for each operand of an operation.
  void noteOrigins(syntax::Diagnostic &diagnostic,
                   llvm::ArrayRef<syntax::Span> operands) const;
  /// Notes where a dim got its size.
  void noteDim(syntax::Diagnostic &diagnostic, llvm::StringRef dim) const;
  /// A hint at the one of the dims that resembles `name`, if there is one; for
  /// noteDim, `near` is that dim. A dim that an operation has introduced may be
  /// the one that is misspelled.
  std::string hintAtDim(std::string_view name,
                        const std::vector<std::string_view> &dims,
                        std::string_view &near) const;

private:
  mlir::StringAttr rejectImportedDim(const syntax::Name &name);
  void rejectUnknownDim(const syntax::Name &name, Scope *around);

  /// Dims that a function would have introduced, but for an error in it.
  std::set<std::string_view> lostDims;
};

} // namespace meshc::frontend

#endif // MESHC_FRONTEND_NAMERESOLVER_H
