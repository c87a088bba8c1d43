//===- TieForms.h - forms at the border of loops ----------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_PARTITION_TIEFORMS_H
#define MESHC_LIB_PARTITION_TIEFORMS_H

#include "lib/Partition/DesiredSharding.h"
#include "llvm/ADT/DenseSet.h"

namespace meshc::partition {

/// What moves on a plan (PlanMoves.h) say of the ties of loops, in place of
/// what the layout wants: of the values that loops carry or keep for other
/// loops.
class TieForms {
public:
  /// What is wanted of the result: by a move, or by the layout (readDesired).
  std::optional<DesiredSharding> getDesired(mlir::OpResult result) const;
  /// Places the dims of a result as `type` does, except for the open ones.
  void setDesired(mlir::OpResult result, nd::TensorType type,
                  spmd::AxisList open);

  /// Whether the entries of the stacked result are kept as they are wanted, and
  /// not cut further where their op makes them so.
  bool isExact(mlir::OpResult stack) const { return exact.contains(stack); }
  void setExact(mlir::OpResult stack) { exact.insert(stack); }

  /// The axes that cut what a loop carries although the layout does not say so:
  /// their ranks share its work.
  spmd::AxisList getSharedAxes(mlir::Operation *loop) const {
    return shared.lookup(loop);
  }
  void addSharedAxis(mlir::Operation *loop, mlir::StringAttr axis);

private:
  llvm::DenseMap<mlir::Value, DesiredSharding> desired;
  llvm::DenseSet<mlir::Value> exact;
  llvm::DenseMap<mlir::Operation *, spmd::AxisList> shared;
};

} // namespace meshc::partition

#endif // MESHC_LIB_PARTITION_TIEFORMS_H
