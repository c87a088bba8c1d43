//===- PartitionRule.h - how an op may be partitioned ---------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A partition rule describes, as data, along which dims an op may be cut over
/// the mesh so that every rank needs only its own blocks. Layout, partition and
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
  Reduce,   ///< every rank gets a partial result; `reduction` combines them.
            ///< A result that has a dim along the factor is cut instead
  Whole,    ///< must not be cut: every rank needs all entries
  Halo,     ///< a block of the result needs entries of the operands' blocks
        ///< that lie elsewhere, perhaps on other ranks: see Factor::segments
  Overlap ///< blocks of the indices need blocks of the table that are wider
          ///< than its own, and overlap: see Overlap
};

/// Entries at … at + size - 1 of a result along a Halo factor: they are the
/// entries from … from + size - 1 of an operand (by number).
struct Segment {
  unsigned operand = 0;
  int64_t at = 0, from = 0, size = 0;
};

/// Of a gather or scatter with affine indices (AffineIndex): entry i of the
/// indices along one of their dims needs only entries stride · i + low …
/// stride · i + high of the table, wherever it is along the others.
struct Overlap {
  int64_t stride = 1, low = 0, high = 0;
  /// The table is the scatter's result, and not the gather's first operand.
  /// The indices are the second operand of both.
  bool isOfResult = false;
};

/// One direction of an op's iteration space.
struct Factor {
  FactorKind kind = FactorKind::Parallel;
  ReductionKind reduction = ReductionKind::Sum; ///< for FactorKind::Reduce
  int64_t size = 1;
  /// Per operand and per result: the name of the dim that runs along this
  /// factor, or null if the value has no such dim (it is then used whole).
  llvm::SmallVector<mlir::StringAttr, 3> operandDims;
  llvm::SmallVector<mlir::StringAttr, 2> resultDims;
  /// For FactorKind::Halo: where the entries of the only result come from, in
  /// the result's order. Entries of no segment are `fill`. The result has a dim
  /// along the factor, and so has each operand, of sizes of their own. In an
  /// alternative, operands may be used whole: their `operandDims` are null,
  /// although they have the dim.
  llvm::SmallVector<Segment, 1> segments = {};
  double fill = 0;
  /// For a Whole factor: an element that leaves the results of all other
  /// entries alone where it stands behind them, such as 0 in a prefix sum.
  /// Nothing if there is none, or if it is not known.
  std::optional<double> neutral = {};
  Overlap overlap = {}; ///< for FactorKind::Overlap
  /// For a Parallel factor of an op with one operand and one result, such as
  /// split and merge: each entry along the factor is a group of entries of one
  /// of the two dims. Ranks can exchange the entries that their blocks lack, so
  /// the factor may be cut where mayCut says no (mayCutOrExchange).
  bool isGrouped = false;
  bool isAlternative = false; ///< one of the rule's; set by joinAlternatives
  /// For FactorKind::Reduce by a sum: of the ranks' parts of an entry, at most
  /// one is not zero. So the sum of parts of 16 bits is exact.
  bool isSelection = false;
};

struct PartitionRule {
  llvm::SmallVector<Factor, 4> factors;
  /// Other ways to cut: factors that run along dims which have factors already.
  /// Where one of them is cut, these are not. All Overlap factors are such.
  llvm::SmallVector<Factor, 0> alternatives;
  /// Operands (by number) in which the op is linear while the other operands
  /// are fixed. A sum-partial operand then gives a sum-partial result, so that
  /// its all-reduce may be delayed. `add` is special: see `jointlyLinear`.
  llvm::SmallVector<unsigned, 2> linearOperands;
  /// Linear in all operands together (add, sub, concat): the result is partial
  /// only if all operands are partial over the same axes.
  bool jointlyLinear = false;
  /// The result is zero everywhere, and so also a partial sum over any axes.
  bool isZero = false;
};

/// The rule of most ops: one Parallel factor for each dim name, along all
/// operands and results that have it. Dims of operands that no result has are
/// Reduce (Sum).
PartitionRule getRuleByNames(mlir::Operation *op);

/// The same, but the dim `whole` must not be cut.
PartitionRule getRuleByNames(mlir::Operation *op, llvm::StringRef whole);

/// Whether `blocks` blocks of the factor are blocks of each dim of the op's
/// values along it: they are equal, or these dims all have the factor's size. A
/// dim that merges the factor with another one has blocks of other entries
/// where they are not equal. Along a Halo or Overlap factor, blocks may be any.
bool mayCut(mlir::Operation *op, const Factor &factor, int64_t blocks);

/// Whether mayCut says yes, or ranks can exchange the entries that their blocks
/// lack (Factor::isGrouped).
bool mayCutOrExchange(mlir::Operation *op, const Factor &factor,
                      int64_t blocks);

/// The rule with its alternatives after its other factors.
PartitionRule joinAlternatives(PartitionRule rule);

/// Whether two factors of an op run along one dim of one of its values.
bool shareDim(const Factor &a, const Factor &b);

/// Makes the factor of result or operand dim `name` a Whole one, with the
/// `neutral` element.
void makeWhole(PartitionRule &rule, llvm::StringRef name,
               std::optional<double> neutral = {});

/// The rule of an op whose only result has along `dim` these segments of the
/// operands, and `fill` elsewhere; along other dims it is as getRuleByNames.
PartitionRule getWindowRule(mlir::Operation *op, llvm::StringRef dim,
                            llvm::ArrayRef<Segment> segments, double fill = 0);

} // namespace meshc::nd

#endif // MESHC_DIALECTS_ND_INTERFACES_PARTITIONRULE_H
