//===- MovedWindows.h - windows at values with fewer elements ---*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A convolution in two dims is a chain of two gathers: the second one finds
/// windows of columns in windows of rows, which have each row several times. If
/// both dims are cut, ranks need not exchange columns of these windows. They
/// exchange columns of the image, after its rows, and the first gather runs on
/// wider blocks. So each entry is sent once, and those at the corners come from
/// the neighbour in the second direction. In the gradient, a chain of two
/// scatters, columns are likewise exchanged after both scatters.
///
/// meshc-move-windows moves the windows; the search of shardings counts what
/// they send there.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_PARTITION_MOVEDWINDOWS_H
#define MESHC_LIB_PARTITION_MOVEDWINDOWS_H

#include "dialects/Nd/NdInterfaces.h"
#include "lib/Reshard/ExchangePlan.h"

namespace meshc::partition {

/// Whether entries along `dim` of the op's only result are computed from the
/// same entries of operand 0 and of no other operand, by at most one operation
/// for each element of it. A window of the result is then the op on a window of
/// operand 0.
bool keepsEntries(mlir::Operation *op, mlir::StringAttr dim);

/// The op that makes `value`, if a window that widens blocks of `value` along
/// `dim` shall be one of that op's operand 0, which has fewer elements on a
/// rank. Null if there is none.
mlir::Operation *findExpansion(mlir::Value value, mlir::StringAttr dim,
                               nd::MeshAttr mesh);

/// The only user of `value`, its operand 0, if windows that narrow blocks of
/// `value` along `dim` shall be windows of that op's result, which has fewer
/// elements on a rank. The op is linear in `value`. Null if there is none.
mlir::Operation *findReduction(mlir::Value value, mlir::StringAttr dim,
                               nd::MeshAttr mesh);

/// The ops behind which, or before which, the windows of one op move, one after
/// another.
class MovedWindows {
public:
  /// For the accesses in windows of this rule of the op, whose values are not
  /// cut yet.
  MovedWindows(mlir::Operation *op, const nd::PartitionRule &rule,
               nd::MeshAttr mesh);

  /// Which part of its bytes the exchange, one of the plan for the op, sends
  /// after its windows have moved.
  double getShare(const reshard::BlockExchange &exchange, bool isOperand) const;
  /// The ops, in an order that depends on the rule alone.
  llvm::SmallVector<mlir::Operation *> getOps() const;

private:
  struct Passed {
    mlir::Operation *op;
    nd::PartitionRule rule;
  };
  /// What one value's windows along one factor pass.
  struct Way {
    unsigned factor, value;
    bool isOperand;
    llvm::SmallVector<Passed, 1> ops;
  };
  nd::TensorType follow(const Passed &passed, nd::TensorType type,
                        bool isOperand) const;

  nd::MeshAttr mesh;
  llvm::SmallVector<Way, 0> ways;
};

} // namespace meshc::partition

#endif // MESHC_LIB_PARTITION_MOVEDWINDOWS_H
