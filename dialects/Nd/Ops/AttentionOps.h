//===- AttentionOps.h - the Attention op family -----------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_ND_OPS_ATTENTIONOPS_H
#define MESHC_DIALECTS_ND_OPS_ATTENTIONOPS_H

#include "dialects/Nd/NdInterfaces.h"
#include "dialects/Nd/Ops/Precision.h"

#define GET_OP_CLASSES
#include "dialects/Nd/Ops/Attention.h.inc"

namespace meshc::nd {

/// What nd.attention and its gradient have in common: the operands of the
/// scores, and the names of their dims.
struct AttentionScores {
  mlir::Value query, keys, values;
  mlir::Value mask, bias;              ///< null if there is none
  mlir::Value rowLabels, memoryLabels; ///< null without `predicate`
  mlir::StringAttr key, memory;
  mlir::StringAttr position; ///< of band and distance; null without both
  std::optional<int64_t> lowest, highest;
  mlir::StringAttr distance; ///< dim of a bias by distance; null for others
  std::optional<Predicate> predicate; ///< memory label PREDICATE row label

  /// `op` is nd.attention or nd.attention_gradient.
  static AttentionScores of(mlir::Operation *op);

  /// The dims of the query but `key`, as they are cut.
  llvm::SmallVector<DimAttr> getRows() const;
  /// The dims of the gradient of a bias by distance, as they are cut.
  llvm::SmallVector<DimAttr> getBiasGradientDims() const;
  /// The dims of the values that are neither `memory` nor rows.
  llvm::SmallVector<DimAttr> getValueDims() const;
  bool isRow(mlir::StringAttr dim) const;
  /// The last index along `position`.
  int64_t getLastPosition() const;
  /// 1 / sqrt(size of key), as an f32.
  float getScale() const;
};

/// Reference semantics of both ops.
llvm::SmallVector<HostTensor>
evaluateAttention(mlir::Operation *op,
                  llvm::ArrayRef<const HostTensor *> operands,
                  const EvaluationContext &context);

} // namespace meshc::nd

#endif // MESHC_DIALECTS_ND_OPS_ATTENTIONOPS_H
