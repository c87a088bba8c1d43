//===- SuspectDims.h - dims that are probably a mistake ---------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_FRONTEND_SUSPECTDIMS_H
#define MESHC_FRONTEND_SUSPECTDIMS_H

#include "lib/Frontend/Emission.h"

namespace meshc::frontend {

/// Warns of programs that are valid but hardly what was meant.
class SuspectDims {
public:
  explicit SuspectDims(Emission &emission) : emission(emission) {}

  /// Warns if an operation on a tensor of type `of` introduces a dim that looks
  /// like another one of its size. To be called before introduceDim.
  void warnOfLookalike(const syntax::Name &name, int64_t size,
                       nd::TensorType of);
  /// Remembers for warnOfTwins that the dims `merged` became one, called
  /// `name`, if a declared dim has the same entries by another name: its size
  /// is a number, or the product of the same dims.
  void noteTwin(mlir::StringAttr name, llvm::ArrayRef<mlir::StringAttr> merged,
                int64_t size);
  /// Warns if two operands that share a dim have another one by two names: each
  /// is broadcast along the other's.
  void warnOfTwins(llvm::ArrayRef<mlir::Value> operands, nd::TensorType result,
                   syntax::Span at);
  /// The same of a product with parameters.
  void warnOfProduct(llvm::ArrayRef<mlir::Value> factors, nd::TensorType result,
                     syntax::Span at);
  /// Warns of attention in which no position meets another one. To be called at
  /// the end of the model.
  void warnOfScores();

private:
  using KnownDim = std::pair<const std::string_view, syntax::DimInfo>;
  const KnownDim *findLookalike(std::string_view name, int64_t size,
                                nd::TensorType of) const;

  Emission &emission;
  /// Dims that `merge` has introduced, and declared dims of each that may have
  /// the same entries.
  std::set<std::pair<std::string_view, std::string_view>> twins;
  /// Introduced dims that a warning has named.
  std::set<std::string_view> misspelled;
};

} // namespace meshc::frontend

#endif // MESHC_FRONTEND_SUSPECTDIMS_H
