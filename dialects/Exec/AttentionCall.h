//===- AttentionCall.h - attention in the terms of the runtime --*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_EXEC_ATTENTIONCALL_H
#define MESHC_DIALECTS_EXEC_ATTENTIONCALL_H

#include "dialects/Exec/Exec.h"
#include "meshc/RuntimeAbi.h"

namespace meshc::exec {

/// How loops run over an nd.attention or its gradient: over the rows of one dim
/// and the memory inside, over all other rows outside.
struct AttentionLoops {
  mlir::StringAttr row; ///< null: one row
  mlir::StringAttr key, memory, value;
  /// The first `shared` ones are dims of both keys and values.
  llvm::SmallVector<mlir::StringAttr> outer;
  unsigned shared = 0;

  /// Nothing if there are no such loops: if the op has no or several value
  /// dims, a band along a dim of keys or values, or more outer dims than
  /// MeshcAttention; or if the keys have a dim that the values lack, and these
  /// one that the keys lack.
  static std::optional<AttentionLoops> of(mlir::Operation *op);
};

/// The call of the op, whose operands and results lie in these orders; with the
/// scratch memory that it needs. The op's last dims must be key and value.
MeshcAttention describeAttention(mlir::Operation *op,
                                 llvm::ArrayRef<Order> operands,
                                 llvm::ArrayRef<Order> results);

/// The same without what depends on the orders: sizes, scale, and scratch
/// memory.
MeshcAttention describeAttentionSizes(mlir::Operation *op);

/// The nd.attention or gradient that the kernel computes, or null.
mlir::Operation *getAttention(KernelOp kernel);

} // namespace meshc::exec

#endif // MESHC_DIALECTS_EXEC_ATTENTIONCALL_H
