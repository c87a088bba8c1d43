//===- CallCosts.h - what calls of collectives cost ----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_RESHARD_CALLCOSTS_H
#define MESHC_LIB_RESHARD_CALLCOSTS_H

#include "lib/Reshard/ReshardPlan.h"
#include "llvm/ADT/StringMap.h"

namespace meshc::reshard {

/// What a call of a collective costs on a machine beside its bytes, and how
/// much of it computations hide.
struct CallCosts {
  /// Of each axis, the bytes that a rank sends over it in the latency of one
  /// message: alpha times beta of the model of Hockney (Parallel Computing 20,
  /// 1994).
  llvm::SmallDenseMap<mlir::StringAttr, double, 4> latencyBytes;
  /// The share of a collective's time in which a rank also computes, from 0 to
  /// 1. Without one, calls have no costs here.
  double overlap = 0;

  /// By element type ("f32", which also stands for absent ones), the operations
  /// of matrix products that a rank computes while it sends a byte over the
  /// fastest axis.
  llvm::StringMap<double> flopsPerByte;

  /// Those in the attributes `spmd.latency_bytes`, `spmd.flops_per_byte` and
  /// `spmd.overlap` of the module around `op`; none where they are absent, or
  /// no positive numbers.
  static CallCosts of(mlir::Operation *op);

  /// The cost of each byte of a whole (Traffic.h) that a collective over the
  /// axes sends, where a byte over the fastest axis costs 1.
  static double getByteCost(spmd::CollectiveKind kind,
                            llvm::ArrayRef<mlir::StringAttr> axes,
                            nd::MeshAttr mesh, const ReshardPlanner &planner);
  /// The bytes of a whole that one collective over the axes sends
  /// in the time of its latencies: a call of so many bytes takes twice as long
  /// as their transfer. 0 if there are no costs.
  double getLatencyBytes(spmd::CollectiveKind kind,
                         llvm::ArrayRef<mlir::StringAttr> axes,
                         nd::MeshAttr mesh,
                         const ReshardPlanner &planner) const;
  /// The bytes that a rank can send over the fastest axis while it computes
  /// these operations.
  double getBytesDuring(double flops, mlir::Type element) const;
};

/// Gives the module these attributes.
void setCallCosts(mlir::Operation *module, const CallCosts &costs);

} // namespace meshc::reshard

#endif // MESHC_LIB_RESHARD_CALLCOSTS_H
