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
#include <functional>
#include <optional>

namespace meshc::nd {

/// What cutting a factor does to the results.
enum class FactorEffect {
  Parallel, ///< every rank computes its own blocks of the results
  Reduce,   ///< every rank gets a partial result; `reduction` combines them.
            ///< A result that has a dim along the factor is cut instead
  Whole     ///< must not be cut: every rank needs all entries
};

/// Which entries of a value belong to an entry of a factor, along the value's
/// dim. An operand is read there, a result is written there.
struct Access {
  enum class Kind {
    Aligned, ///< entry i has entries stride · i … stride · i + stride - 1: one,
             ///< or a group of them
    Windows  ///< entry i has entries stride · i + low … stride · i + high,
             ///< which may overlap those of others, or lie beyond the value.
             ///< The results of overlapping entries are added up
  };
  Kind kind = Kind::Aligned;
  int64_t stride = 1;
  int64_t low = 0, high = 0; ///< for Kind::Windows

  static Access groups(int64_t size) { return {Kind::Aligned, size}; }
  static Access windows(int64_t stride, int64_t low, int64_t high) {
    return {Kind::Windows, stride, low, high};
  }
  bool isWindows() const { return kind == Kind::Windows; }
  bool isGroups() const { return kind == Kind::Aligned && stride > 1; }
};

/// Entries at … at + size - 1 of a result along a factor in segments: they are
/// the entries from … from + size - 1 of an operand (by number).
struct Segment {
  unsigned operand = 0;
  int64_t at = 0, from = 0, size = 0;
};

/// One direction of an op's iteration space: what cutting it does to the
/// results (`effect`), and which entries of each value a block of it needs (the
/// accesses, or `segments`). The two do not depend on each other: a weight
/// gradient reduces over lines whose windows overlap.
struct Factor {
  FactorEffect effect = FactorEffect::Parallel;
  ReductionKind reduction = ReductionKind::Sum; ///< for FactorEffect::Reduce
  int64_t size = 1;
  /// Per operand and per result: the name of the dim that runs along this
  /// factor, or null if the value has no such dim (it is then used whole).
  llvm::SmallVector<mlir::StringAttr, 3> operandDims;
  llvm::SmallVector<mlir::StringAttr, 2> resultDims;
  /// Per operand and per result: the access along that dim. A list that is too
  /// short means Access() for the others.
  llvm::SmallVector<Access, 0> operandAccesses = {}, resultAccesses = {};
  /// The operand (by number) whose elements number the entries of a value that
  /// is accessed in windows, as those of a gather do. On blocks that are
  /// widened, they must number the entries of these.
  std::optional<unsigned> indices = {};
  /// Where the entries of the only result come from, in the result's order, if
  /// the op does nothing but move entries along the factor: a slice, a padding,
  /// or a concatenation. Entries of no segment are `fill`. The result has a dim
  /// along the factor, and so has each operand, of sizes of their own. In an
  /// alternative, operands may be used whole: their `operandDims` are null,
  /// although they have the dim.
  llvm::SmallVector<Segment, 1> segments = {};
  double fill = 0;
  /// For a Whole factor: an element that leaves the results of all other
  /// entries alone where it stands behind them, such as 0 in a prefix sum.
  /// Nothing if there is none, or if it is not known.
  std::optional<double> neutral = {};
  bool isAlternative = false; ///< one of the rule's; set by joinAlternatives
  /// The op is one on blocks that were widened (ExchangeOpInterface): blocks of
  /// its values belong together whatever their sizes are.
  bool isOfWidenedBlocks = false;
  /// For FactorEffect::Reduce by a sum: of the ranks' parts of an entry, at
  /// most one is not zero. So the sum of parts of 16 bits is exact.
  bool isSelection = false;

  Access getOperandAccess(size_t operand) const {
    return operand < operandAccesses.size() ? operandAccesses[operand]
                                            : Access();
  }
  Access getResultAccess(size_t result) const {
    return result < resultAccesses.size() ? resultAccesses[result] : Access();
  }
  /// Whether an entry of the factor has a group of entries of some value, as
  /// in split and merge. Ranks can exchange the entries that their blocks lack.
  /// So the factor may be cut where mayCut says no (mayCutOrExchange).
  bool isGrouped() const {
    return llvm::any_of(operandAccesses, std::mem_fn(&Access::isGroups)) ||
           llvm::any_of(resultAccesses, std::mem_fn(&Access::isGroups));
  }
  /// Whether ranks add up blocks of a result that overlap.
  bool addsOverlaps() const {
    return llvm::any_of(resultAccesses, std::mem_fn(&Access::isWindows));
  }
  /// Whether a block needs entries of others' blocks wherever it is cut.
  bool needsNeighbours() const {
    return !segments.empty() || addsOverlaps() ||
           llvm::any_of(operandAccesses, std::mem_fn(&Access::isWindows));
  }
  /// Whether block i of the results needs only block i of the operands, if
  /// these are blocks of the same entries (mayCut).
  bool isLocal() const {
    return effect == FactorEffect::Parallel && !needsNeighbours();
  }
};

struct PartitionRule {
  llvm::SmallVector<Factor, 4> factors;
  /// Other ways to cut: factors that run along dims which have factors already.
  /// Where one of them is cut, these are not. All factors of gathers and
  /// scatters in windows are such.
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
/// where they are not equal. If ranks exchange what blocks lack
/// (Factor::needsNeighbours), blocks may be any.
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
