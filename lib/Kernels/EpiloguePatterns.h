//===- EpiloguePatterns.h - fusions that a product's call can do ----------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_KERNELS_EPILOGUEPATTERNS_H
#define MESHC_LIB_KERNELS_EPILOGUEPATTERNS_H

#include "dialects/Exec/Order.h"

namespace meshc::kernels {

/// What the body of a fusion of one result computes, in the terms of
/// exec.product; the table there says what each epilogue is.
struct EpiloguePattern {
  exec::Epilogue epilogue;
  /// Of the fusion: c (of a bias' gradient: what is summed), and the bias, or
  /// what the gradient is taken at.
  unsigned product;
  std::optional<unsigned> other;
  /// Inside: c + bias, or c, that an activation is applied to; null otherwise.
  mlir::Value argument;

  /// The body's first result as an epilogue; nothing where it is none. Says
  /// nothing of memory orders. Of a bias' gradient: that of `a`.
  static std::optional<EpiloguePattern> of(exec::FusionOp fusion);
};

/// Where a product leaves its result: row by row, without gaps, in one batch.
struct ResultMatrix {
  int64_t rows = 0, columns = 0; ///< local sizes, each at least 2
  exec::Order columnDims;        ///< in memory order
  bool isSwapped = false;        ///< rows are of the product's second operand

  static std::optional<ResultMatrix> of(nd::EinsumOp product);
  bool operator==(const ResultMatrix &other) const {
    return rows == other.rows && columns == other.columns &&
           columnDims == other.columnDims;
  }
};

} // namespace meshc::kernels

#endif // MESHC_LIB_KERNELS_EPILOGUEPATTERNS_H
