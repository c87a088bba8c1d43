//===- FactorSearch.h - the best ways to cut an op -------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// findFactorChoices: tries all combinations of candidates for the factors of
/// an op. Many combinations cut one value alike. What an operand sends, and
/// what a result costs, is computed once for each way to cut it (CutTree), so
/// that a combination takes a few additions. Most of the time would go into
/// plans for reshards. So each combination first has a bound of its cost, and
/// those of the least bounds are planned first, until no other can be among the
/// best.
///
//===----------------------------------------------------------------------===//

#ifndef MESHC_LIB_PARTITION_FACTORSEARCH_H
#define MESHC_LIB_PARTITION_FACTORSEARCH_H

#include "lib/Partition/CutTree.h"
#include "lib/Partition/FactorCandidates.h"
#include "lib/Partition/MovedWindows.h"
#include <map>

namespace meshc::partition {

/// The search of findFactorChoices, for one op.
class FactorSearch {
public:
  FactorSearch(mlir::Operation *op, llvm::ArrayRef<OperandForms> operands,
               llvm::ArrayRef<WantedResult> wanted,
               spmd::ReshardPlanner &planner, nd::MeshAttr mesh,
               const LinkedCuts &cuts, AxisMoves moves, size_t count);

  llvm::SmallVector<FactorChoice> run();

private:
  /// Axes over which operands stay partial, and which operands do.
  struct Kept {
    spmd::AxisList axes;
    llvm::SmallVector<unsigned> operands;
  };
  /// A candidate: its axes as bits, and how many ranks they have.
  struct Candidate {
    uint32_t axes;
    double ranks;
    bool isMoved;
  };
  /// An operand as some candidates cut it.
  struct CutOperand {
    bool isKnown = false;
    nd::TensorType type;  ///< that the op needs; null if it cannot have it so
    nd::TensorType moved; ///< to which its forms are moved for that
    /// What it sends to be there, once in `OperandForms::share` executions of
    /// the op, and at least that much.
    std::optional<double> bytes;
    double leastBytes = 0;
    /// What it takes to make a whole value a part of a sum.
    double work = 0;
  };
  /// A result as some candidates cut it.
  struct CutResult {
    bool isKnown = false;
    nd::TensorType type;         ///< that the op makes; null if it cannot
    std::optional<double> bytes; ///< WantedResult::getCost
    double leastBytes = 0;
  };
  /// A combination that is possible, and what it costs at least.
  struct Combination {
    double leastCost, work;
    int64_t number;
    bool hasMoved;
    /// Where its candidates, and then its nodes in the trees, are in `places`.
    size_t first;
  };
  /// A combination that is among the best.
  struct Found {
    double bytes = 0, haloBytes = 0, work = 0;
    int64_t number = 0; ///< of the combination
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
  void collectValues();
  void search(const Kept &kept);
  uint32_t getBits(llvm::ArrayRef<mlir::StringAttr> axes);
  void visit(unsigned factor, uint32_t used, bool hasMoved, double ofRank);
  void collect(bool hasMoved, double ofRank);
  void evaluateAll();
  void evaluate(const Combination &combination);
  bool mayTakeAlternatives();
  bool sendsFewHalos(unsigned alternative, unsigned halo);
  spmd::AxisList getAxes(unsigned factor) const {
    return candidates[factor][chosen[factor]].axes;
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

  mlir::Operation *op;
  AxisMoves moves;
  size_t count;
  nd::PartitionRule rule;
  MovedWindows movedWindows;
  double points; ///< of the op on one device
  bool isProduct;
  double pointCost; ///< of a point
  llvm::ArrayRef<OperandForms> operands;
  llvm::ArrayRef<WantedResult> wanted;
  spmd::ReshardPlanner &planner;
  nd::MeshAttr mesh;
  const LinkedCuts &cuts;
  bool hasAlternatives = false, hasWindows = false;      ///< factors
  llvm::SmallVector<FactorCandidates> candidates;        ///< of each factor
  std::vector<llvm::SmallVector<Candidate, 8>> numbered; ///< the same
  /// What sendsFewHalos says, by alternative and candidate: an op has one Halo
  /// factor that is no alternative.
  std::map<std::pair<unsigned, unsigned>, bool> fewHalos;
  /// The values along each factor: operands, then results. A result is also
  /// partial over the axes of a reduced factor.
  std::vector<llvm::SmallVector<unsigned, 4>> valuesAlong;
  /// For each operand, the earlier ones that are the same value.
  llvm::SmallVector<llvm::SmallVector<unsigned, 1>> same;

  /// For the sums that stay now: how each value is cut in what was tried.
  const Kept *kept = nullptr;
  llvm::SmallVector<bool> isKept; ///< by operand
  bool keepsPartial = false;      ///< what no loop reduces while it goes on
  std::vector<CutTree> trees;
  std::vector<std::vector<CutOperand>> cutOperands; ///< by nodes of the trees
  std::vector<std::vector<CutResult>> cutResults;
  /// Where each value is in its tree after so many factors.
  std::vector<llvm::SmallVector<unsigned, 6>> nodes;
  llvm::SmallVector<unsigned, 8> chosen; ///< the combination at hand
  /// The combinations that are not evaluated yet, and for each what `chosen`
  /// and the last of `nodes` were.
  std::vector<Combination> combinations;
  std::vector<unsigned> places;

  std::vector<Found> best; ///< at most `count`, the best one first
  /// The least cost of a choice that moves no axes. Choices that cost more than
  /// all of `best` do not count.
  double leastInPlace = std::numeric_limits<double>::infinity();
  int64_t tried = 0; ///< combinations
};

} // namespace meshc::partition

#endif // MESHC_LIB_PARTITION_FACTORSEARCH_H
