//===- FactorSearch.h - the best ways to cut an op -------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// findFactorChoices: finds the best combinations of candidates for the factors
/// of an op, by a best-first search (A*: Hart, Nilsson and Raphael, IEEE Trans.
/// Systems Science and Cybernetics 4, 1968). Factors take their candidates one
/// after another. What has taken some has a bound: the least that the values
/// send whose cut these decide, and the least work. The beginning of the least
/// bound goes on first, until no other can be among the best. Only complete
/// combinations that come so far plan their reshards, which takes most of the
/// time. Many combinations cut one value alike: what an operand sends, and what
/// a result costs, is computed once for each way to cut it (OpCuts).
///
//===----------------------------------------------------------------------===//

#ifndef MESHC_LIB_PARTITION_FACTORSEARCH_H
#define MESHC_LIB_PARTITION_FACTORSEARCH_H

#include "lib/Partition/FactorCandidates.h"
#include "lib/Partition/OpCuts.h"
#include <map>

namespace meshc::partition {

/// The search of findFactorChoices, for one op.
class FactorSearch {
public:
  FactorSearch(OpCuts &known, llvm::ArrayRef<OperandForms> operands,
               reshard::ReshardPlanner &planner, nd::MeshAttr mesh,
               const LinkedCuts &cuts, AxisMoves moves, size_t count);

  llvm::SmallVector<FactorChoice> run();

private:
  /// Axes over which operands stay partial, and which operands do.
  struct Kept {
    spmd::AxisList axes;
    llvm::SmallVector<unsigned> operands;
  };
  using CutOperand = OpCuts::CutOperand;
  using CutResult = OpCuts::CutResult;
  /// A candidate: its axes, also as bits, and how many ranks they have.
  struct Candidate {
    unsigned number; ///< of the axes: OpCuts::getNumber
    uint32_t axes;
    double ranks;
    bool isMoved;
  };
  /// Candidates for the first factors.
  struct Beginning {
    double leastCost; ///< of all combinations that begin so
    unsigned size;    ///< factors
    uint32_t used;    ///< axes
    bool hasMoved;
    double ofRank;     ///< points
    double leastBytes; ///< of the values whose cut is decided
    double work;       ///< in points, that these take
    /// Where its candidates, and then its nodes in the trees, are in `places`.
    size_t first;
  };
  /// A combination that is among the best.
  struct Found {
    double bytes = 0, haloBytes = 0, work = 0;
    size_t way = 0; ///< in which sums stay, by number
    bool movesAxes = false, staysPartial = false;
    llvm::SmallVector<unsigned, 8> chosen; ///< candidates, by factor
    llvm::SmallVector<nd::TensorType, 6> operandTypes, resultTypes;

    /// What a choice costs: its bytes, and its work at the rate of one
    /// multiply-add of a product per byte. Products that the layout splits are
    /// then never computed twice for the sake of a few bytes: the gradient of a
    /// weight is summed over the ranks, not computed everywhere from a gathered
    /// batch, unless the batch is tiny.
    double getCost() const { return bytes + work; }
  };

  bool mayStayPartial(unsigned operand) const;
  bool mayBecomePartial(unsigned operand) const;
  bool keepsWide() const;
  Kept keepAll() const;
  llvm::SmallVector<Kept> collectKept() const;
  void collectCandidates();
  void search(const Kept &kept);
  uint32_t getBits(llvm::ArrayRef<mlir::StringAttr> axes);
  void extend(const Beginning &beginning);
  void add(Beginning beginning);
  bool addDecided(Beginning &beginning);
  void recall(const Beginning &beginning);
  void evaluate(const Beginning &combination);
  bool mayTakeAlternatives();
  bool sendsFewHalos(unsigned alternative, unsigned halo);
  const spmd::AxisList &getAxes(unsigned factor) const {
    return known.getAxes(candidates[factor][chosen[factor]].number);
  }
  llvm::SmallVector<spmd::AxisList> getAxesOfFactors() const;
  CutOperand &getOperand(unsigned operand);
  CutResult &getResult(unsigned result);
  bool isRepeated(unsigned operand);
  bool reduceAlike() const;
  bool isTooDear(double cost) const;
  bool addOperandCosts(Found &found);
  std::optional<double> getOperandBytes(
      const OperandForms &forms, nd::TensorType type,
      llvm::function_ref<double(nd::TensorType, nd::TensorType)> getCost) const;
  bool addHaloCosts(Found &found) const;
  void setTypes(Found &found);
  FactorChoice getChoice(const Found &found);
  static bool isBetter(const Found &a, const Found &b);
  static bool comesLater(const Beginning &a, const Beginning &b);

  OpCuts &known;
  mlir::Operation *op;
  const nd::PartitionRule &rule;
  AxisMoves moves;
  size_t count;
  double pointCost; ///< of a point
  llvm::ArrayRef<OperandForms> operands;
  llvm::ArrayRef<WantedResult> wanted;
  reshard::ReshardPlanner &planner;
  nd::MeshAttr mesh;
  const LinkedCuts &cuts;
  std::vector<llvm::SmallVector<Candidate, 8>> candidates; ///< of each factor
  /// What sendsFewHalos says, by alternative and candidate: an op has one Halo
  /// factor that is no alternative.
  std::map<std::pair<unsigned, unsigned>, bool> fewHalos;
  /// The most ranks among which the factors from this one on divide the points.
  llvm::SmallVector<double> mostRanks;
  /// For the sums that stay now.
  const Kept *kept = nullptr;
  llvm::SmallVector<bool> isKept; ///< by operand
  bool keepsPartial = false;      ///< what no loop reduces while it goes on
  size_t number = 0;              ///< OpCuts::beginSearch
  /// The combination at hand, or its beginning: factors that have no candidate
  /// yet are not cut. And where each value is in its tree.
  llvm::SmallVector<unsigned, 8> chosen;
  llvm::SmallVector<unsigned, 6> nodes;
  /// What may begin one of the best combinations: a heap, the least cost first.
  std::vector<Beginning> beginnings;
  /// For each beginning, what `chosen` and `nodes` were.
  std::vector<unsigned> places;
  size_t way = 0; ///< in which sums stay, by number

  std::vector<Found> best; ///< at most `count`, the best one first
  /// The least cost of a choice that moves no axes. Choices that cost more than
  /// all of `best` do not count.
  double leastInPlace = std::numeric_limits<double>::infinity();
  int64_t tried = 0; ///< beginnings
};

} // namespace meshc::partition

#endif // MESHC_LIB_PARTITION_FACTORSEARCH_H
