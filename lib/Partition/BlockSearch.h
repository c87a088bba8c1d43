//===- BlockSearch.h - the shardings of the ops of a block ----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Chooses how the ops of a block are cut, so that all of them together move
/// and compute the least: a beam search over the ops in program order (Lowerre,
/// The HARPY speech recognition system, 1976).
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_PARTITION_BLOCKSEARCH_H
#define MESHC_LIB_PARTITION_BLOCKSEARCH_H

#include "lib/Partition/BlockPartitioner.h"
#include <memory>

namespace meshc::partition {

/// The bounds of a search.
struct SearchBounds {
  size_t states;  ///< that are followed since they are the best
  size_t others;  ///< more of them, whose recent products are cut otherwise
  size_t choices; ///< for each op, in each state
  /// A choice is final when the search is so many ops ahead of it.
  size_t lookahead = 64;

  /// For so many ops and axes of the mesh: wide for short blocks, and for long
  /// ones such that time is linear in the ops (a thousand take about 0.1 s).
  static SearchBounds of(size_t ops, size_t axes);
};

/// A state says how the ops so far are cut. Its cost is what its choices move
/// and compute, plus an estimate for values that are still partial: what it
/// takes to reduce them. Of the states that the next op leads to, those of the
/// least cost are followed; of states with the same forms of all values that
/// are used later, the best one.
///
/// The best states may all cut the large values alike, and differ in small
/// ones. A choice that pays off a few ops later would be lost among them. So
/// only the best state is followed of those with the same forms of all large
/// values, unless there is room for more. And some others are followed, a few
/// for each way to cut the products of the last ops (stratified beam search;
/// the idea is that of Vijayakumar et al., Diverse Beam Search, arXiv
/// 1610.02424).
class BlockSearch {
public:
  BlockSearch(BlockPartitioner &partitioner, spmd::ReshardPlanner &planner,
              nd::MeshAttr mesh, AxisMoves moves)
      : partitioner(partitioner), planner(planner), mesh(mesh), moves(moves) {}

  /// The choice for each of `ops`, which follow one another in the block. The
  /// partitioner has built the ops before them.
  llvm::SmallVector<FactorChoice> run(llvm::ArrayRef<mlir::Operation *> ops);
  /// The cost of the choices that run() returned, with the ends of the block.
  double getCost() const { return cost; }
  /// The bytes in it, at the costs of their axes.
  double getBytes() const { return bytes; }

private:
  using Form = std::pair<mlir::Value, nd::TensorType>;
  using FormMap =
      llvm::DenseMap<mlir::Value, llvm::SmallVector<nd::TensorType, 2>>;

  /// The numbers of the last ops that are products, and hashes of their cuts.
  using ProductCuts = llvm::SmallVector<std::pair<size_t, size_t>, 4>;

  /// The last choice of a state, and those before it.
  struct Decision {
    FactorChoice choice;
    llvm::SmallVector<Form> added;
    mutable std::shared_ptr<const Decision> previous;
  };
  /// An estimate of what it takes to reduce values, or to move them where they
  /// are wanted, which no choice has done yet. Values of one sum count once.
  struct PendingCost {
    unsigned values = 0;
    double bytes = 0;
  };
  struct State {
    double total = 0; ///< bytes moved, work, and pending costs
    double work = 0;  ///< in it
    /// By the sum that the values become parts of; see getSumRoot.
    llvm::DenseMap<mlir::Value, PendingCost> pendingCosts;
    /// The values that these are of.
    llvm::DenseSet<mlir::Value> pending;
    /// Forms that not all states have, of values that are used later.
    FormMap forms;
    size_t hash = 0;      ///< of these forms, whatever their order
    size_t largeHash = 0; ///< of those of large values
    ProductCuts products;
    std::shared_ptr<const Decision> last;
  };
  /// What a choice for the next op adds to a state.
  struct Step {
    const State *state = nullptr;
    const FactorChoice *choice = nullptr;
    llvm::SmallVector<Form> added;
    /// Values whose cost is not pending any more, and those whose cost is new.
    llvm::SmallVector<mlir::Value> resolved, pending;
    /// The costs that these change, as they are after the step.
    llvm::SmallDenseMap<mlir::Value, PendingCost, 4> pendingCosts;
    double total = 0;               ///< of the state after it
    size_t hash = 0, largeHash = 0; ///< of the state after it
  };
  class StepForms;
  using Choices = llvm::SmallVector<FactorChoice, 0>;

  void findLarge(llvm::ArrayRef<mlir::Operation *> ops);
  void findOutgoing(llvm::ArrayRef<mlir::Operation *> ops);
  Choices findChoices(mlir::Operation *op, const AvailableForms &forms);
  std::vector<Choices> findChoices(mlir::Operation *op,
                                   llvm::SmallVectorImpl<size_t> &ofState);
  Step makeStep(const State &state, mlir::Operation *op,
                const FactorChoice &choice);
  void addResult(Step &step, mlir::OpResult result, nd::TensorType made);
  mlir::Value getSumRoot(mlir::Value value);
  PendingCost &getPendingCost(Step &step, mlir::Value value);
  void resolve(Step &step, mlir::Value value);
  void defer(Step &step, mlir::Value value, double bytes);
  bool isLarge(mlir::Value value) const;
  void hashStep(Step &step, mlir::Operation *op);
  ProductCuts getProducts(const Step &step, mlir::Operation *op,
                          bool isProduct) const;
  static size_t hashProducts(const ProductCuts &products);
  std::vector<Step *> selectSteps(std::vector<Step> &next, mlir::Operation *op,
                                  bool isProduct) const;
  void advance(mlir::Operation *op);
  State apply(Step &step, mlir::Operation *op);
  void dropDead(FormMap &forms, mlir::Operation *op);
  void decideFirst();
  void finish(State &state);

  BlockPartitioner &partitioner;
  spmd::ReshardPlanner &planner;
  nd::MeshAttr mesh;
  AxisMoves moves;
  SearchBounds bounds = SearchBounds::of(0, 0);
  std::vector<State> states; ///< the best one first
  FormMap common;            ///< forms that all states have
  llvm::DenseMap<mlir::Value, mlir::Value> sumRoots;
  /// The values that nothing uses after the op.
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Value>> dying;
  /// What ops outside of the search use, loops and updates included.
  llvm::SmallVector<mlir::Value> outgoing;
  llvm::SmallVector<FactorChoice> decided;
  /// What is wanted of the results of the op at hand, and where they settle, by
  /// their numbers and by how they are made.
  llvm::SmallVector<WantedResult> wantedResults;
  llvm::DenseMap<std::pair<unsigned, nd::TensorType>, nd::TensorType>
      settledResults;
  int64_t leastOfLarge = 0; ///< elements of a large value
  size_t steps = 0;         ///< ops that the states have behind them
  double cost = 0, bytes = 0;
};

} // namespace meshc::partition

#endif // MESHC_LIB_PARTITION_BLOCKSEARCH_H
