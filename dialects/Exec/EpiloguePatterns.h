//===- EpiloguePatterns.h - fusions that a product's call can do ----------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_EXEC_EPILOGUEPATTERNS_H
#define MESHC_DIALECTS_EXEC_EPILOGUEPATTERNS_H

#include "dialects/Exec/Epilogues.h"
#include "dialects/Exec/Order.h"
#include "dialects/Nd/Ops/ContractionOps.h"

namespace meshc::exec {

/// The epilogue that the body of a fusion with one result computes.
struct EpiloguePattern {
  const EpilogueTraits &epilogue;
  /// Inputs of the fusion: c (for a bias gradient, the summed tensor), and the
  /// bias or the argument at which the gradient is taken.
  unsigned product;
  std::optional<unsigned> other;
  /// The value inside to which an activation is applied (c + bias or c), or
  /// null.
  mlir::Value argument;

  /// Matches the body's first result; nothing if it is not an epilogue. Memory
  /// orders are not checked. The sums of a factor are reported as those of `a`.
  static std::optional<EpiloguePattern> of(FusionOp fusion);
};

/// The result of a product: rows without gaps, in one batch.
struct ResultMatrix {
  int64_t rows = 0, columns = 0; ///< local sizes, each at least 2
  Order columnDims;              ///< in memory order

  static std::optional<ResultMatrix> of(nd::EinsumOp product);
  bool operator==(const ResultMatrix &other) const {
    return rows == other.rows && columns == other.columns &&
           columnDims == other.columnDims;
  }
};

/// Whether the product's call may also sum its operand (0 or 1) over the
/// contracted dims. The product must have one batch, and the contracted dims
/// must be the operand's columns in cublasLt's layout (of A for BGRADA, of B
/// for BGRADB).
bool canSumFactor(nd::EinsumOp product, unsigned operand);

/// Bytes of a mask: a bit for each element, in rows of a multiple of 128.
inline int64_t getMaskBytes(const ResultMatrix &matrix) {
  return (matrix.columns + 127) / 128 * 16 * matrix.rows;
}

} // namespace meshc::exec

#endif // MESHC_DIALECTS_EXEC_EPILOGUEPATTERNS_H
