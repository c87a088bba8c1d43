//===- AttentionParts.h - attention as primitive ops ------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Private to the Attention family: what its gradients and its fallback build.
/// All values are f32.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_ND_OPS_ATTENTIONPARTS_H
#define MESHC_DIALECTS_ND_OPS_ATTENTIONPARTS_H

#include "dialects/Nd/Ops/AttentionOps.h"
#include "dialects/Nd/Ops/ValueBuilder.h"

namespace meshc::nd {

class AttentionParts {
public:
  AttentionParts(mlir::OpBuilder &builder, mlir::Location loc,
                 AttentionScores scores)
      : builder(builder), build(builder, loc), scores(std::move(scores)) {}

  /// The scores, [rows, memory]; -inf where they are not allowed.
  mlir::Value getScores();
  /// Output and logarithms of sums.
  std::pair<mlir::Value, mlir::Value> getOutputs();
  /// The softmax of the scores, [rows, memory].
  mlir::Value getProbabilities(mlir::Value logSums);
  /// The gradient of the scores, [rows, memory], from that of the output.
  mlir::Value getScoreGradient(mlir::Value output, mlir::Value logSums,
                               mlir::Value gradient);
  /// The gradient of a bias by distance, not summed over rows but `position`.
  mlir::Value getBiasGradient(mlir::Value output, mlir::Value logSums,
                              mlir::Value gradient);
  /// The gradients of query, keys and values.
  llvm::SmallVector<mlir::Value>
  getGradients(mlir::Value output, mlir::Value logSums, mlir::Value gradient);

private:
  mlir::Value toF32(mlir::Value value);
  /// The product summed over all dims that `like` lacks.
  mlir::Value productLike(mlir::Value a, mlir::Value b, mlir::Value like);
  mlir::Value makeAllowed();
  mlir::Value makeBand();
  mlir::Value getNumbers(mlir::Value like, mlir::StringAttr dim);
  mlir::Value getDistances();
  mlir::Value scale(mlir::Value value);
  mlir::ArrayAttr getMemory() { return builder.getArrayAttr({scores.memory}); }
  mlir::ArrayAttr getValueNames();

  mlir::OpBuilder &builder;
  ValueBuilder build;
  AttentionScores scores;
};

} // namespace meshc::nd

#endif // MESHC_DIALECTS_ND_OPS_ATTENTIONPARTS_H
