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
  /// `name`, if the size of a declared dim is their product.
  void noteTwin(mlir::StringAttr name, llvm::ArrayRef<mlir::StringAttr> merged);
  /// Warns if the operands of arithmetic on two tensors have one dim by two
  /// names: each is broadcast along the other's.
  void warnOfTwins(llvm::ArrayRef<mlir::Value> operands, syntax::Span at);
  /// Warns of attention in which no position meets another one. To be called at
  /// the end of the model.
  void warnOfScores();

private:
  Emission &emission;
  /// Dims that `merge` has introduced, and the declared dim of each whose size
  /// is the product of the same dims.
  std::map<std::string_view, std::string_view> twins;
};

} // namespace meshc::frontend

#endif // MESHC_FRONTEND_SUSPECTDIMS_H
