//===- MoveLimit.h - moves of axes that blocks refuse -----------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_PARTITION_MOVELIMIT_H
#define MESHC_LIB_PARTITION_MOVELIMIT_H

#include "lib/Partition/PlanOptions.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include <optional>

namespace meshc::partition {

/// The function by whose time plans are compared (nd::findComparedStep). Null
/// if there is none.
mlir::func::FuncOp findCompared(mlir::ModuleOp module);

/// The options of a search, what blocks of the function send, and the moves of
/// axes that they refuse.
class MoveLimit {
public:
  explicit MoveLimit(const PlanOptions &options) : options(options) {}

  const PlanOptions options;

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

} // namespace meshc::partition

#endif // MESHC_LIB_PARTITION_MOVELIMIT_H
