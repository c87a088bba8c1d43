//===- PartitionRule.h - how an op may be cut - ---===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A partition rule says, as data, along which dims an op may be cut over the
/// mesh so that every rank computes on its blocks alone. Layout, partition and
/// cost share it. After Shardy's sharding rules and GSPMD (arXiv 2105.04663).
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_ND_INTERFACES_PARTITIONRULE_H
#define MESHC_DIALECTS_ND_INTERFACES_PARTITIONRULE_H

#include "dialects/Nd/NdTypes.h"

namespace meshc::nd {

/// What cutting a factor does to the results.
enum class FactorKind {
  Parallel, ///< block i of the results needs only block i of the operands
  Reduce,   ///< every rank gets a partial result, to be combined by `reduction`
  Whole,    ///< must not be cut: every rank needs all of it
  Halo      ///< like Parallel, with neighbouring entries from other blocks
};

/// One direction of an op's iteration space.
struct Factor {
  FactorKind kind = FactorKind::Parallel;
  ReductionKind reduction = ReductionKind::Sum; ///< of FactorKind::Reduce
  int64_t size = 1;
  /// Per operand and per result: the name of the dim that runs along this
  /// factor, or null where the value does not have it (it is then used whole).
  llvm::SmallVector<mlir::StringAttr, 3> operandDims;
  llvm::SmallVector<mlir::StringAttr, 2> resultDims;
  /// Of FactorKind::Halo: entries needed before and after the block.
  int64_t haloLow = 0, haloHigh = 0;
};

struct PartitionRule {
  llvm::SmallVector<Factor, 4> factors;
  /// Operands (by number) in which the op is linear, each alone, the others
  /// fixed: a sum-partial operand gives a sum-partial result, so that its
  /// all-reduce may be delayed. `add` is special: see `jointlyLinear`.
  llvm::SmallVector<unsigned, 2> linearOperands;
  /// Linear in all operands together (add, sub, concat): all of them must be
  /// partial over the same axes for the result to be.
  bool jointlyLinear = false;
};

/// The rule of most ops: one Parallel factor for each dim name, running along
/// all operands and results that have it; dims of operands that no result has
/// are Reduce (Sum).
PartitionRule getRuleByNames(mlir::Operation *op);

/// Turns the factor of result or operand dim `name` into a whole one.
void makeWhole(PartitionRule &rule, llvm::StringRef name);

} // namespace meshc::nd

#endif // MESHC_DIALECTS_ND_INTERFACES_PARTITIONRULE_H
