//===- CheapOps.h - ops that are made again rather than resharded ---------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_PARTITION_CHEAPOPS_H
#define MESHC_LIB_PARTITION_CHEAPOPS_H

#include "dialects/Nd/NdInterfaces.h"

namespace meshc::partition {

/// Whether the value is used by exactly one op, however often.
bool hasOneUser(mlir::Value value);

/// Whether any rank can compute any block of the op's result: the op needs
/// nothing but numbers. False for null.
bool isRecomputable(mlir::Operation *op);

/// Whether the op only copies elements of its operand, each rank its own: a
/// rename, a broadcast. False for null.
bool isCopy(mlir::Operation *op);

/// Another value with the same elements, from which a value can be copied.
struct CopySource {
  mlir::Value value;
  mlir::Operation *op; ///< the copy that makes one of them from the other
  bool isResult;       ///< `value` is what `op` makes: the copy goes back

  /// The sharding in which `value` is copied to one with the sharding `type`,
  /// and the other way around; null as for mapThroughCopy.
  nd::TensorType getNeeded(nd::TensorType type) const;
  nd::TensorType getCopied(nd::TensorType type) const;
};

/// The values from which `value` can be copied: the operand of the copy that
/// makes it, and what renames in its block make of it.
llvm::SmallVector<CopySource, 1> findCopySources(mlir::Value value);

/// The sharding of the result of a copy whose operand has the sharding `type`;
/// if not `forward`, that of the operand for a result with it. Null if a block
/// of one is no block of the other.
nd::TensorType mapThroughCopy(mlir::Operation *op, nd::TensorType type,
                              bool forward);

} // namespace meshc::partition

#endif // MESHC_LIB_PARTITION_CHEAPOPS_H
