//===- BlockPlanner.h - how one block is partitioned ----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Plans a block: that of a function, or the body of a loop (LoopPlanner.h).
/// The shardings of the block's arguments and of the values at its end are
/// known in advance, so one pass over its ops suffices. BlockBuilder makes the
/// program from the plan.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_PARTITION_BLOCKPLANNER_H
#define MESHC_LIB_PARTITION_BLOCKPLANNER_H

#include "dialects/Nd/Ops/LoopOps.h"
#include "lib/Partition/CheapOps.h"
#include "lib/Partition/FactorChoice.h"
#include "lib/Partition/LoopCopies.h"
#include "lib/Partition/MoveLimit.h"
#include "lib/Partition/Plan.h"

namespace meshc::partition {

/// Whether the value is a stacked result of a loop.
bool isStack(mlir::Value value);

/// The shardings in which the values of a block are available: those that are
/// planned, or those of one state of the search.
class AvailableForms {
public:
  virtual ~AvailableForms() = default;
  /// The first one is that in which the value's op made it; none before that.
  virtual llvm::SmallVector<nd::TensorType> get(mlir::Value value) const = 0;
  virtual void add(mlir::Value value, nd::TensorType type) = 0;
};

/// Plans one block. Each of its values will be there in one or several forms:
/// values of the new block that hold it in different shardings.
class BlockPlanner {
public:
  /// Notes in `limit` what the search refuses. Moves ops of the block
  /// (sinkToUses).
  BlockPlanner(mlir::Block &block, reshard::ReshardPlanner &planner,
               nd::MeshAttr mesh, MoveLimit &limit)
      : block(block), planner(planner), mesh(mesh), limit(limit),
        plan(std::make_shared<BlockPlan>()), planned(*this) {}
  virtual ~BlockPlanner() = default;

  /// Says that the argument has the sharding.
  void addArgument(mlir::BlockArgument argument, nd::TensorType sharding);
  /// Sets the sharding of each operand of the terminator.
  void setEnds(llvm::ArrayRef<nd::TensorType> shardings) {
    plan->ends.assign(shardings.begin(), shardings.end());
  }
  /// Plans all ops. Fails, with an error on the op, if one cannot be cut.
  mlir::LogicalResult run();
  /// The plan, after run().
  std::shared_ptr<BlockPlan> takePlan() { return std::move(plan); }
  /// The part of run() before a search: collects what is wanted of the values.
  mlir::LogicalResult prepare();

  /// What the choice of an op's sharding knows of its operand `value`.
  virtual OperandForms describe(mlir::Value value,
                                const AvailableForms &available);
  /// The bytes that each rank sends to hold `value` in the sharding, too.
  /// Enters the forms that needForm would make.
  virtual double obtain(mlir::Value value, nd::TensorType type,
                        AvailableForms &available);
  /// Lets the block have `value` in the sharding.
  virtual void needForm(mlir::Value value, nd::TensorType type);
  /// What is planned so far.
  const AvailableForms &getPlanned() const { return planned; }
  /// Whether the value is zero everywhere, so that it is a partial sum, too.
  virtual bool isZero(mlir::Value value);
  /// Whether the value is an operand of a loop that its body has whole, so that
  /// the block around the loop reshards it.
  virtual bool isOuter(mlir::Value) { return false; }
  /// Whether any rank can compute any block of the value.
  bool isRecomputed(mlir::Value value) {
    return getFacts(value).isRecomputable;
  }
  /// The values from which the value can be copied.
  llvm::ArrayRef<CopySource> getCopySources(mlir::Value value) {
    return getFacts(value).copySources;
  }
  /// The sharding in which the value lies unless a user needs another one.
  nd::TensorType getSettled(mlir::Value value,
                            const AvailableForms &available) const;
  /// That in which a loop carries the value, whose result is to lie as `result`
  /// says.
  nd::TensorType getSettled(mlir::Value value, const DesiredSharding &result);
  const DesiredSharding &getDesired(mlir::Value value) const {
    return desired.find(value)->second;
  }
  /// Whether placed dims of what these ops make may be cut further
  /// (DesiredSharding::mayCutFurther).
  void setMayCutFurther(llvm::ArrayRef<mlir::Operation *> ops, bool mayCut);
  /// How the layout cuts dims that ops of the block link to one another.
  const LinkedCuts &getLinkedCuts() const { return cuts; }
  /// What is wanted of the result of an op of the block.
  virtual WantedResult getWanted(mlir::OpResult result) {
    return {getDesired(result), /*share=*/1, /*scattered=*/{}};
  }
  /// The forms of a value that an earlier loop may keep for this block.
  virtual llvm::ArrayRef<OfferedForm> getKept(mlir::Value) { return {}; }
  /// What the loops that are planned offer to later ones.
  llvm::ArrayRef<LoopCopies> getCopies() const { return copies; }

  /// The shardings at the end of the block that are known before its ops are
  /// planned: those of the first operands of its terminator.
  virtual llvm::ArrayRef<nd::TensorType> getFixedEnds() { return plan->ends; }
  mlir::Operation *getTerminator() const { return block.getTerminator(); }
  /// Whether the operand of the terminator is an entry of a stack that ops
  /// other than loops use: a gradient, say, which an update reads as its
  /// parameter lies. What loops use enters them as it lies.
  virtual bool isStackForOps(unsigned) { return false; }

protected:
  /// Whether the op is no part of a search, but planned by planLast() once all
  /// others are: nothing but the terminator uses what it makes.
  virtual bool isPlannedLast(mlir::Operation &) { return false; }
  virtual void planLast(mlir::Operation &) {}
  /// Lets the earlier loop keep the form of this type, which is one of
  /// getKept.
  virtual void takeKept(mlir::Value, nd::TensorType) {}
  /// Settles the shardings at the end of the block once its ops are planned.
  virtual void chooseEnds() {}
  /// Enters a form that the block will have.
  void addForm(mlir::Value value, nd::TensorType type) {
    forms[value].push_back(type);
  }

  mlir::Block &block;
  reshard::ReshardPlanner &planner;
  nd::MeshAttr mesh;
  MoveLimit &limit;
  /// The first form of a value is that in which its op makes it.
  llvm::DenseMap<mlir::Value, llvm::SmallVector<nd::TensorType>> forms;
  DesiredShardings desired;
  LinkedCuts cuts;
  std::shared_ptr<BlockPlan> plan;

private:
  /// The forms that this planner has planned.
  class Planned final : public AvailableForms {
  public:
    explicit Planned(const BlockPlanner &block) : block(block) {}
    llvm::SmallVector<nd::TensorType> get(mlir::Value value) const override {
      return block.forms.lookup(value);
    }
    void add(mlir::Value, nd::TensorType) override {} // needForm adds the form

  private:
    const BlockPlanner &block;
  };
  /// What does not depend on shardings.
  struct Facts {
    bool isRecomputable = false, hasOneUser = false, isGradient = false;
    llvm::SmallVector<CopySource, 1> copySources;
  };
  enum class MoveKind {
    None,      ///< the form is there
    Recompute, ///< the op once more
    Settle,    ///< first reduce the value to `from`, then look again
    ToPartial, ///< of the whole form `from`: a partial sum
    Copy,      ///< of the form `from` of a value with the same elements
    Kept,      ///< of the form `from`, which an earlier loop keeps
    Reshard    ///< of the form `from`
  };
  /// How a form comes about.
  struct Move {
    MoveKind kind;
    nd::TensorType from;
    double bytes;                       ///< that each rank sends
    const CopySource *source = nullptr; ///< of a Copy
  };

  const Facts &getFacts(mlir::Value value);
  Move findReshard(llvm::ArrayRef<nd::TensorType> types, nd::TensorType type);
  Move findDirect(mlir::Value value, nd::TensorType type,
                  llvm::ArrayRef<nd::TensorType> types);
  Move findPartial(llvm::ArrayRef<nd::TensorType> types, nd::TensorType type,
                   bool isRecomputable);
  Move findMove(mlir::Value value, nd::TensorType type,
                const AvailableForms &available);
  mlir::LogicalResult collectDesired(mlir::Operation &op);
  void planOp(mlir::Operation &op, const FactorChoice &choice);
  mlir::LogicalResult planLoop(nd::ScanOp loop);
  void planEnd();
  void addResult(mlir::OpResult result, nd::TensorType made);
  void recompute(mlir::Operation *op, nd::TensorType type);
  void repeat(mlir::Operation *op, llvm::ArrayRef<nd::TensorType> operands,
              nd::TensorType type);
  void copy(const CopySource &source, nd::TensorType from, nd::TensorType type);
  void reshard(mlir::Value value, nd::TensorType from, nd::TensorType type);
  void retype(const Form &form, nd::TensorType type);
  nd::TensorType reduceEntries(mlir::Value value, nd::TensorType from,
                               nd::TensorType type, mlir::StringAttr cause);

  llvm::DenseMap<mlir::Value, std::unique_ptr<Facts>> facts;
  llvm::SmallVector<LoopCopies> copies;

protected:
  Planned planned;
};

} // namespace meshc::partition

#endif // MESHC_LIB_PARTITION_BLOCKPLANNER_H
