//===- MoveLimit.h - how readily axes move to other dims --------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_PARTITION_MOVELIMIT_H
#define MESHC_LIB_PARTITION_MOVELIMIT_H

#include "mlir/IR/BuiltinOps.h"
#include <limits>
#include <optional>

namespace meshc::partition {

/// Where axes may move to other dims (AxisMoves), in all blocks of a program.
struct MoveLimit {
  /// A block's axes move if it then sends at most this share of what it sends
  /// otherwise. With a half, the layouts of the literature keep their
  /// collectives.
  double share = 0.5;
  /// The least share, above that one, of the blocks whose axes could have moved
  /// at a lower cost; infinite if there is none.
  double refused = std::numeric_limits<double>::infinity();
};

/// Gives the module the attribute `spmd.move_share`, which the partition phase
/// reads. The share is from 0 to 1.
void setMoveShare(mlir::ModuleOp module, double share);

/// The limit that a module's attribute sets, or the usual one.
MoveLimit readMoveLimit(mlir::ModuleOp module);

/// Notes, by the attribute `spmd.refused_share`, what the phase refused.
void setRefusedShare(mlir::ModuleOp module, const MoveLimit &limit);

/// What setRefusedShare noted; nothing if no block was refused. Removes both
/// attributes.
std::optional<double> takeRefusedShare(mlir::ModuleOp module);

} // namespace meshc::partition

#endif // MESHC_LIB_PARTITION_MOVELIMIT_H
