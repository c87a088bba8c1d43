//===- EpiloguePatterns.h - fusions that a product's call can do ----------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_KERNELS_EPILOGUEPATTERNS_H
#define MESHC_LIB_KERNELS_EPILOGUEPATTERNS_H

#include "dialects/Exec/Order.h"
#include "dialects/Nd/Ops/ContractionOps.h"

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

  static std::optional<ResultMatrix> of(nd::EinsumOp product);
  bool operator==(const ResultMatrix &other) const {
    return rows == other.rows && columns == other.columns &&
           columnDims == other.columnDims;
  }
};

/// Whether a call for the product may also sum its operand (0 or 1) over what
/// is contracted: of one batch, with what is contracted along the operand's
/// columns as cublasLt lays it (BGRADA wants A, BGRADB B so).
bool canSumFactor(nd::EinsumOp product, unsigned operand);

/// Bytes of relu's mask: a bit for each element, in rows of a multiple of 128.
inline int64_t getMaskBytes(const ResultMatrix &matrix) {
  return (matrix.columns + 127) / 128 * 16 * matrix.rows;
}

} // namespace meshc::kernels

#endif // MESHC_LIB_KERNELS_EPILOGUEPATTERNS_H
