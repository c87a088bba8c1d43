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

#include "lib/Partition/OpCuts.h"
#include "lib/Partition/SearchKey.h"

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
  BlockSearch(BlockPlanner &block, reshard::ReshardPlanner &planner,
              nd::MeshAttr mesh, AxisMoves moves)
      : block(block), planner(planner), mesh(mesh), moves(moves) {}

  /// The choice for each of `ops`, which follow one another in the block. The
  /// planner of the block has planned the ops before them.
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

  using Choices = llvm::SmallVector<FactorChoice, 0>;

  /// The last choice of a state, and those before it.
  struct Decision {
    std::shared_ptr<const FactorChoice> choice;
    llvm::SmallVector<Form, 4> added;
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
    // Lists are short, and copied for each op.
    /// By the sum that the values become parts of; see getSumRoot.
    llvm::SmallVector<std::pair<mlir::Value, PendingCost>, 4> pendingCosts;
    /// The values that these are of.
    llvm::SmallVector<mlir::Value, 4> pending;
    /// Forms that not all states have, of values that are used later.
    std::vector<Form> forms;
    size_t hash = 0;      ///< of these forms, whatever their order
    size_t largeHash = 0; ///< of those of large values
    ProductCuts products;
    std::shared_ptr<const Decision> last;
  };
  /// What a choice for the op at hand does to states that know its operands in
  /// the same forms.
  struct Effect {
    std::shared_ptr<const FactorChoice> choice;
    llvm::SmallVector<double, 4> obtained; ///< bytes, by operand
    /// Bytes by result: now, or an estimate of what is pending.
    llvm::SmallVector<std::pair<double, bool>, 2> results;
    llvm::SmallVector<Form, 4> added;
    size_t hash = 0, largeHash = 0; ///< of what is added and used later
    size_t cut = 0; ///< a hash of how the op is cut, if it is a product
  };
  using Effects = std::vector<Effect>;
  /// A choice for the op at hand in a state.
  struct Step {
    const State *state;
    const Effect *effect;
    double total;           ///< of the state after it
    size_t hash, largeHash; ///< of the state after it
  };
  /// The sums that values of the op at hand become parts of.
  struct Sums {
    llvm::SmallVector<mlir::Value, 4> roots;
    llvm::SmallVector<unsigned, 4> ofOperands, ofResults; ///< in `roots`
  };
  /// A state before the op at hand: the costs that are pending for each of
  /// these sums, and which operands are among what is pending. An operand that
  /// is there twice is so once.
  struct Before {
    llvm::SmallVector<PendingCost, 4> costs;
    llvm::SmallVector<bool, 4> isPending;
  };
  /// The forms of a state, and those that a step adds to them.
  class StepForms final : public AvailableForms {
  public:
    StepForms(const BlockSearch &search, const State &state,
              llvm::SmallVectorImpl<Form> &added)
        : search(search), state(state), added(added) {}

    llvm::SmallVector<nd::TensorType> get(mlir::Value value) const override {
      auto types = search.block.getPlanned().get(value);
      if (auto known = search.common.find(value); known != search.common.end())
        types.append(known->second);
      for (llvm::ArrayRef<Form> forms :
           {llvm::ArrayRef(state.forms), llvm::ArrayRef(added)})
        for (auto [other, type] : forms)
          if (other == value)
            types.push_back(type);
      return types;
    }
    void add(mlir::Value value, nd::TensorType type) override {
      added.emplace_back(value, type);
    }

  private:
    const BlockSearch &search;
    const State &state;
    llvm::SmallVectorImpl<Form> &added;
  };
  static size_t hashForm(mlir::Value value, nd::TensorType type) {
    return llvm::hash_combine(value.getAsOpaquePointer(),
                              type.getAsOpaquePointer());
  }

  void findLarge(llvm::ArrayRef<mlir::Operation *> ops);
  SearchKey getKeyOfOp(mlir::Operation *op);
  std::shared_ptr<const Choices> findChoices(mlir::Operation *op,
                                             const AvailableForms &forms);
  std::vector<Effects> findEffects(mlir::Operation *op,
                                   llvm::SmallVectorImpl<size_t> &ofState);
  Effects findEffects(mlir::Operation *op, const State &state);
  Effect makeEffect(const State &state, mlir::Operation *op,
                    std::shared_ptr<const FactorChoice> choice);
  void addResult(Effect &effect, const State &state, mlir::OpResult result,
                 nd::TensorType made);
  llvm::SmallVector<mlir::Value> findRelevant(mlir::Operation *op);
  mlir::Value getSumRoot(mlir::Value value);
  Sums findSums(mlir::Operation *op);
  static Before getBefore(const State &state, mlir::Operation *op,
                          const Sums &sums);
  static void setPendingCosts(State &state, const Sums &sums,
                              llvm::ArrayRef<PendingCost> costs);
  static double addCosts(double total, const Effect &effect, const Sums &sums,
                         Before &before);
  bool isLarge(mlir::Value value) const;
  void hashEffect(Effect &effect, mlir::Operation *op) const;
  std::pair<size_t, size_t> hashDying(const State &state,
                                      mlir::Operation *op) const;
  size_t hashProducts(const Step &step, bool isProduct) const;
  std::vector<Step> makeSteps(mlir::Operation *op, const Sums &sums,
                              llvm::ArrayRef<size_t> ofState,
                              llvm::ArrayRef<Effects> effects) const;
  llvm::SmallVector<const Step *> selectSteps(llvm::ArrayRef<Step> next,
                                              bool isProduct) const;
  void advance(mlir::Operation *op);
  State apply(const Step &step, mlir::Operation *op, const Sums &sums,
              bool isProduct) const;
  llvm::ArrayRef<mlir::Value> getDying(mlir::Operation *op) const;
  void decideFirst();
  void finish(State &state);

  BlockPlanner &block;
  reshard::ReshardPlanner &planner;
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
  SearchKey keyOfOp;              ///< of the op at hand
  std::optional<OpCuts> cutsOfOp; ///< the same, once a search needs it
  int64_t leastOfLarge = 0;       ///< elements of a large value
  bool hasProducts = false;
  size_t steps = 0; ///< ops that the states have behind them
  double cost = 0, bytes = 0;
};

} // namespace meshc::partition

#endif // MESHC_LIB_PARTITION_BLOCKSEARCH_H
