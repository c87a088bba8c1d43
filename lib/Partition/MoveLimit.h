//===- MoveLimit.h - what a trial of the phase may do -----------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_PARTITION_MOVELIMIT_H
#define MESHC_LIB_PARTITION_MOVELIMIT_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include <optional>

namespace meshc::partition {

/// The function by whose time programs are compared, as nd::findComparedStep
/// and Trial::getStep in lib/Pipeline. Null if there is none.
mlir::func::FuncOp findCompared(mlir::ModuleOp module);

/// What the blocks of a function may do to send less, and what they then send
/// and refuse: where axes may move to other dims (AxisMoves), and what copies
/// cost. The usual program has the initial values; trials have others
/// (lib/Pipeline, partitionProgram).
struct MoveLimit {
  /// A block's axes move if it then sends at most this share of what it sends
  /// otherwise. With a half, the layouts of the literature keep their
  /// collectives.
  double share = 0.5;

  /// Whether blocks may cut placed dims further where no axes move. So may
  /// those of trials that allow more moves than usual, and of trials that cut
  /// what loops carry (cutCarried): what these send is compared with the usual
  /// program as a whole.
  bool mayCutFurther = false;

  /// What a byte costs that a loop keeps as a copy of what it moves, for later
  /// loops that would move it as well (LoopPartitioner), beside a byte that is
  /// sent (spmd::ReshardPlanner). Without it, loops keep no copies.
  std::optional<double> keptByteCost;

  /// What a block sends and computes in a step: bytes, and points of the
  /// iteration spaces of its ops.
  struct Amount {
    double bytes = 0, points = 0;
  };
  /// Notes what a block will send and compute.
  void noteUsed(const Amount &amount) {
    used.bytes += amount.bytes;
    used.points += amount.points;
  }
  /// Notes that a block stays as it is, which would cost less with moves, send
  /// this share of its bytes, and save so much.
  void noteRefused(double refusedShare, const Amount &saved) {
    refused.push_back({refusedShare, saved});
  }
  /// The least share of the refused blocks that are worth a trial: that would
  /// save enough of what all blocks send, or of what they compute. Nothing if
  /// there is none.
  std::optional<double> getRefusedShare() const;

private:
  struct Refused {
    double share;
    Amount saved;
  };
  Amount used;
  llvm::SmallVector<Refused, 4> refused;
};

/// Gives the module the attributes `spmd.move_share` and, as setMayCutFurther
/// does, `spmd.may_cut_further`, which the partition phase reads. The share is
/// at least 0.
void setMoveShare(mlir::ModuleOp module, double share);
void setMayCutFurther(mlir::ModuleOp module);

/// Gives the module the attribute `spmd.kept_byte_cost`, which the partition
/// phase reads: MoveLimit::keptByteCost, at least 0.
void setKeptByteCost(mlir::ModuleOp module, double cost);

/// The limit that the module's attributes set; the usual values where it has
/// none.
MoveLimit readMoveLimit(mlir::ModuleOp module);

/// Notes the limit's refused share by the attribute `spmd.refused_share`, or
/// removes the attribute if there is none.
void setRefusedShare(mlir::ModuleOp module, const MoveLimit &limit);

/// What setRefusedShare noted, if anything. Removes this attribute and those
/// of setMoveShare, setMayCutFurther and setKeptByteCost.
std::optional<double> takeRefusedShare(mlir::ModuleOp module);

} // namespace meshc::partition

#endif // MESHC_LIB_PARTITION_MOVELIMIT_H
