//===- LoopPlanner.h - how the body of a loop is partitioned --------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_PARTITION_LOOPPLANNER_H
#define MESHC_LIB_PARTITION_LOOPPLANNER_H

#include "lib/Partition/BlockPlanner.h"

namespace meshc::partition {

/// Plans the body of a loop.
///
/// - A carried value has the sharding that the layout wants for its result, at
///   both ends of an iteration.
/// - Stacked tensors enter as the layout wants them; their entries are
///   resharded inside. Partial entries of a stacked result stay partial until
///   the stack is used. If its user needs it reduced, the entries are reduced
///   inside; a sum of gradients from several loops is reduced as a whole.
/// - Whole tensors are resharded outside: the parent makes each form that the
///   body asks for, once, and the form becomes one more whole operand. But a
///   loop over micro-batches reshards parameters inside, for each use, unless
///   the module says `gathersOnce` (dialects/Spmd/ParameterGathers.h).
/// - A carried sum that starts at zero takes the sharding of what is added to
///   it, partial sums included. It is resharded once, after the loop. But where
///   the layout cuts a gradient over one of its partial axes, each iteration
///   scatters its gradient, so that no rank holds more than its part of the
///   sum.
/// - If the program keeps copies (PlanOptions::keptByteCost), the body may take
///   what an earlier loop has moved, instead of moving it once more.
class LoopPlanner final : public BlockPlanner {
public:
  /// `parent` plans the block around the loop and knows the shardings that the
  /// layout wants for the loop's results.
  LoopPlanner(nd::ScanOp loop, BlockPlanner &parent,
              reshard::ReshardPlanner &planner, nd::MeshAttr mesh,
              MoveLimit &limit);

  /// After run(): lets the parent have what the loop carries and the stacks
  /// whose entries it reads. What it has whole, the parent has already.
  void needOperands();

  /// Adds to `copies` what the body moves to other shardings, for later loops.
  /// To be called before takePlan().
  void offerCopies(llvm::SmallVectorImpl<LoopCopies> &copies);

  OperandForms describe(mlir::Value value,
                        const AvailableForms &available) override;
  double obtain(mlir::Value value, nd::TensorType type,
                AvailableForms &available) override;
  void needForm(mlir::Value value, nd::TensorType type) override;
  bool isZero(mlir::Value value) override;
  bool isOuter(mlir::Value value) override { return bool(getOuter(value)); }
  WantedResult getWanted(mlir::OpResult result) override;
  llvm::ArrayRef<nd::TensorType> getFixedEnds() override;
  bool isStackForOps(unsigned end) override;

private:
  /// A carried value that does nothing but collect a sum.
  struct Sum {
    unsigned carried;          ///< its number
    mlir::BlockArgument total; ///< the sum so far
    mlir::Value summand;
  };

  bool isPlannedLast(mlir::Operation &op) override;
  void planLast(mlir::Operation &op) override;
  void chooseEnds() override;
  llvm::ArrayRef<OfferedForm> getKept(mlir::Value value) override;
  void takeKept(mlir::Value value, nd::TensorType type) override;

  void enter(mlir::Value argument, nd::TensorType type);
  void findKept();
  bool isStacked(const Form &form);
  void addMoved(mlir::Value value, const FormSet &movedForms,
                llvm::SmallVectorImpl<Form> &moved);
  llvm::DenseSet<mlir::Value> findTwins();
  nd::TensorType getStackType(mlir::Value stack);
  void findSum(unsigned carried);
  nd::TensorType getScattered(mlir::Value summand) const;
  nd::TensorType chooseSharding(const Sum &sum);
  void planSum(mlir::Operation &op, const Sum &sum);
  mlir::Value getOuter(mlir::Value value);

  nd::ScanOp loop;
  BlockPlanner &parent;
  llvm::DenseMap<mlir::Operation *, Sum> sums; ///< by their additions
  /// What only sums use, with the numbers of the sums.
  llvm::DenseMap<mlir::Value, unsigned> summands;
  /// What earlier loops may keep of a value.
  llvm::DenseMap<mlir::Value, llvm::SmallVector<OfferedForm, 1>> kept;
  /// Whole operands that are resharded inside.
  llvm::DenseSet<mlir::Value> parameters;
};

} // namespace meshc::partition

#endif // MESHC_LIB_PARTITION_LOOPPLANNER_H
