//===- IndexOverlap.h - affine indices and the blocks they need -*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What a gather and a scatter whose indices are affine share: their iteration
/// space may be cut along a dim of the indices and the table's dim at once. An
/// entry of the indices has a window of the table's entries.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_ND_OPS_INDEXOVERLAP_H
#define MESHC_DIALECTS_ND_OPS_INDEXOVERLAP_H

#include "dialects/Nd/NdInterfaces.h"

namespace meshc::nd {

/// The windows of the table that belong to the entries of one dim of the
/// indices.
struct IndexOverlap {
  Access windows;
  mlir::StringAttr line;
  int64_t size; ///< of the line
};

/// The overlap of the i32 indices that number entries of `table` along `dim`:
/// along that dim of the indices, absent from the table, along which they grow
/// the most. Nothing if they are not affine, or grow along no such dim.
std::optional<IndexOverlap> findOverlap(mlir::Value indices, TensorType table,
                                        llvm::StringRef dim);

/// The factor of the overlap for a gather along `dim` of its first operand.
Factor makeGatherFactor(const IndexOverlap &overlap, mlir::StringAttr dim);
/// The same for a scatter along `dim` of its result.
Factor makeScatterFactor(const IndexOverlap &overlap, mlir::StringAttr dim);

/// What `factor`, of one of these functions, is once its blocks are widened and
/// the indices number their entries.
Factor makeWidenedFactor(Factor factor);

/// Reports unless `along` is null or a dim of the op's indices that the table
/// lacks and that is cut as the table's `dim` is.
mlir::LogicalResult verifyAlong(mlir::Operation *op, mlir::StringAttr along,
                                TensorType indices, TensorType table,
                                llvm::StringRef dim);

} // namespace meshc::nd

#endif // MESHC_DIALECTS_ND_OPS_INDEXOVERLAP_H
