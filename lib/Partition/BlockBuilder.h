//===- BlockBuilder.h - a block from its plan -------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_PARTITION_BLOCKBUILDER_H
#define MESHC_LIB_PARTITION_BLOCKBUILDER_H

#include "dialects/Nd/Ops/LoopOps.h"
#include "dialects/Spmd/SpmdOps.h"

namespace meshc::partition {

/// Makes the block of a function, or the body of a loop, from its plan. It
/// decides nothing: each step of the plan becomes the ops that it stands for.
/// The plan may have been read from a file: what does not fit the block is an
/// error, at the op or at the function.
class BlockBuilder {
public:
  /// The new ops go to the end of `made`, which has no arguments yet. `parent`
  /// builds the block around the loop whose body this is; null for a function.
  BlockBuilder(mlir::Block &old, mlir::Block &made, spmd::PlanAttr plan,
               nd::MeshAttr mesh, BlockBuilder *parent = nullptr);

  /// Builds the block with its terminator. Moves ops of the old block into the
  /// order of the plan.
  mlir::LogicalResult run();

private:
  /// What a loop keeps for later ones.
  struct Kept {
    mlir::Operation *loop;  ///< the old one
    spmd::PlanValue source; ///< the value of its body
    mlir::Value value;      ///< an entry; then the stack of all entries
  };

  mlir::LogicalResult addArguments();
  void sortOps();
  mlir::LogicalResult build(spmd::StepAttr step);
  mlir::LogicalResult make(spmd::StepAttr step, mlir::Operation *op);
  mlir::LogicalResult same(spmd::StepAttr step, mlir::Operation *op);
  mlir::LogicalResult repeat(spmd::StepAttr step, mlir::Operation *op);
  mlir::LogicalResult giveBack(spmd::StepAttr step, mlir::Operation *op);
  mlir::LogicalResult makeZero(spmd::StepAttr step, mlir::Operation *op);
  mlir::LogicalResult move(spmd::StepAttr step, mlir::Value value);
  mlir::LogicalResult enter(spmd::StepAttr step, mlir::Value argument);
  mlir::LogicalResult take(spmd::StepAttr step, mlir::Value value);
  mlir::LogicalResult keep(spmd::StepAttr step, mlir::Value value);
  mlir::LogicalResult buildLoop(spmd::StepAttr step, mlir::Operation *op);
  mlir::FailureOr<nd::ScanOp> createLoop(nd::ScanOp loop, BlockBuilder &inside,
                                         std::unique_ptr<mlir::Block> body);
  void addKept(nd::ScanOp loop, BlockBuilder &inside, nd::ScanOp &local);

  mlir::Operation *getOp(int64_t number) const;
  mlir::Value getValue(spmd::PlanValue place) const;
  mlir::FailureOr<nd::TensorType> getType(mlir::Value value,
                                          spmd::FormAttr form);
  mlir::FailureOr<mlir::Value> find(mlir::Value value, nd::TensorType type);
  mlir::FailureOr<llvm::SmallVector<mlir::Value>>
  findAll(mlir::ValueRange values, llvm::ArrayRef<spmd::FormAttr> forms);
  /// An error about the step that is built.
  mlir::InFlightDiagnostic fail();

  mlir::Block &old, &made;
  spmd::PlanAttr plan;
  nd::MeshAttr mesh;
  BlockBuilder *parent;
  mlir::OpBuilder builder;
  std::vector<mlir::Operation *> ops; ///< of the old block, by number
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Value>> forms;
  size_t number = 0; ///< of the step that is built

  // Of the body of a loop.
  llvm::SmallVector<mlir::Value> taken, whole; ///< operands of the new loop
  llvm::SmallVector<Kept> entries;             ///< that the loop keeps

  llvm::SmallVector<Kept> stacks; ///< that loops of this block keep
};

} // namespace meshc::partition

#endif // MESHC_LIB_PARTITION_BLOCKBUILDER_H
