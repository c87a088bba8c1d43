//===- BlockPartitioner.h - the ops of one block on shards ----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Rebuilds a block with sharded types: that of a function, or the body of a
/// loop (LoopPartitioner.h). The shardings of the block's arguments and of the
/// values at its end are known in advance, so one pass over its ops suffices.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_PARTITION_BLOCKPARTITIONER_H
#define MESHC_LIB_PARTITION_BLOCKPARTITIONER_H

#include "dialects/Nd/Ops/LoopOps.h"
#include "lib/Partition/CheapOps.h"
#include "lib/Partition/FactorChoice.h"
#include "lib/Partition/LoopCopies.h"
#include "lib/Partition/MoveLimit.h"

namespace meshc::partition {

/// Whether the value is a stacked result of a loop.
bool isStack(mlir::Value value);

/// The shardings in which the values of a block are available: those that were
/// built, or those of one state of the search.
class AvailableForms {
public:
  virtual ~AvailableForms() = default;
  /// The first one is that in which the value's op made it; none before that.
  virtual llvm::SmallVector<nd::TensorType> get(mlir::Value value) const = 0;
  virtual void add(mlir::Value value, nd::TensorType type) = 0;
};

/// Rebuilds one block. A value of the old block is known in one or several
/// forms: values of the new block that hold it in different shardings.
class BlockPartitioner {
public:
  /// The new ops go to the end of `made`. Notes in `limit` what it refuses.
  BlockPartitioner(mlir::Block &old, mlir::Block &made,
                   spmd::ReshardPlanner &planner, nd::MeshAttr mesh,
                   MoveLimit &limit)
      : old(old), made(made), planner(planner), mesh(mesh), limit(limit),
        builder(mesh.getContext()), built(*this) {
    builder.setInsertionPointToEnd(&made);
  }
  virtual ~BlockPartitioner() = default;

  /// Adds an argument with the sharding to the new block; it holds `argument`
  /// of the old one.
  void addArgument(mlir::BlockArgument argument, nd::TensorType sharding);
  /// Sets the sharding of each operand of the terminator.
  void setEnds(llvm::ArrayRef<nd::TensorType> shardings) {
    ends.assign(shardings.begin(), shardings.end());
  }
  /// Rebuilds all ops. Fails, with an error on the op, if one cannot be cut.
  mlir::LogicalResult run();
  /// To be called once the block is complete: until then, the stacks that loops
  /// in it offer to later ones are values of the block.
  void dropUnusedCopies();
  /// The part of run() before a search: collects what is wanted of the values.
  mlir::LogicalResult prepare();

  /// What the choice of an op's sharding knows of its operand `value`.
  virtual OperandForms describe(mlir::Value value,
                                const AvailableForms &available);
  /// The bytes that each rank sends to hold `value` in the sharding, too.
  /// Enters the forms that getForm would create.
  virtual double obtain(mlir::Value value, nd::TensorType type,
                        AvailableForms &available);
  /// The value of the new block that holds `value` in the sharding; created on
  /// first use.
  virtual mlir::Value getForm(mlir::Value value, nd::TensorType type);
  /// What was built so far.
  const AvailableForms &getBuilt() const { return built; }
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
  /// What the loops that were rebuilt offer to later ones.
  llvm::ArrayRef<LoopCopies> getCopies() const { return copies; }

  /// The shardings at the end of the block that are known before its ops are
  /// rebuilt: those of the first operands of its terminator.
  virtual llvm::ArrayRef<nd::TensorType> getFixedEnds() { return ends; }
  mlir::Operation *getTerminator() const { return old.getTerminator(); }
  /// Whether the operand of the terminator is an entry of a stack that ops
  /// other than loops use: a gradient, say, which an update reads as its
  /// parameter lies. What loops use enters them as it lies.
  virtual bool isStackForOps(unsigned) { return false; }

protected:
  /// Whether the op is no part of a search, but built by buildLast() once all
  /// others are: nothing but the terminator uses what it makes.
  virtual bool isBuiltLast(mlir::Operation &) { return false; }
  virtual void buildLast(mlir::Operation &) {}
  /// Lets the earlier loop keep the form of this type, which is one of
  /// getKept. Returns the value of the new block that holds its entry.
  virtual mlir::Value takeKept(mlir::Value, nd::TensorType) { return {}; }
  /// Settles the shardings at the end of the block once its ops are rebuilt.
  virtual void chooseEnds() {}

  mlir::Block &old, &made;
  spmd::ReshardPlanner &planner;
  nd::MeshAttr mesh;
  MoveLimit &limit;
  mlir::OpBuilder builder;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Value>> forms;
  DesiredShardings desired;
  LinkedCuts cuts;
  llvm::SmallVector<nd::TensorType> ends;

private:
  /// The forms that this partitioner has built.
  class Built final : public AvailableForms {
  public:
    explicit Built(const BlockPartitioner &block) : block(block) {}
    llvm::SmallVector<nd::TensorType> get(mlir::Value value) const override;
    void add(mlir::Value, nd::TensorType) override {} // getForm adds the value

  private:
    const BlockPartitioner &block;
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
  void build(mlir::Operation &op, const FactorChoice &choice);
  mlir::Value round(mlir::Value computed, nd::TensorType type);
  mlir::LogicalResult partitionLoop(nd::ScanOp loop);
  void partitionEnd(mlir::Operation &terminator);
  void addResult(mlir::OpResult result, mlir::Value computed);
  mlir::Value recompute(mlir::Operation *op, nd::TensorType type);
  mlir::Value copy(const CopySource &source, mlir::Value form,
                   nd::TensorType type);
  mlir::Value repeat(mlir::Operation *op, mlir::ValueRange operands,
                     nd::TensorType type);
  mlir::Value reshard(mlir::Value value, mlir::Value from, nd::TensorType type);

  llvm::DenseMap<mlir::Value, std::unique_ptr<Facts>> facts;
  llvm::SmallVector<LoopCopies> copies;

protected:
  Built built;
};

} // namespace meshc::partition

#endif // MESHC_LIB_PARTITION_BLOCKPARTITIONER_H
