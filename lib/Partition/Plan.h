//===- Plan.h - how a block is partitioned ----------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A plan while it is made. It becomes an attribute (#spmd.plan), from which
/// BlockBuilder makes the program.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_PARTITION_PLAN_H
#define MESHC_LIB_PARTITION_PLAN_H

#include "dialects/Nd/Ops/LoopOps.h"
#include "dialects/Spmd/SpmdOps.h"

namespace meshc::partition {

struct BlockPlan;

/// A value of a block before the phase, in one sharding.
struct Form {
  mlir::Value value;
  nd::TensorType type;

  bool operator==(const Form &other) const {
    return value == other.value && type == other.type;
  }
};

/// Forms, in no order.
struct FormInfo {
  static Form getEmptyKey() {
    return {llvm::DenseMapInfo<mlir::Value>::getEmptyKey(), {}};
  }
  static Form getTombstoneKey() {
    return {llvm::DenseMapInfo<mlir::Value>::getTombstoneKey(), {}};
  }
  static unsigned getHashValue(const Form &form) {
    return llvm::hash_combine(form.value.getAsOpaquePointer(),
                              form.type.getAsOpaquePointer());
  }
  static bool isEqual(const Form &a, const Form &b) { return a == b; }
};
using FormSet = llvm::DenseSet<Form, FormInfo>;

/// One step; Spmd_StepAttr says what each kind has.
struct PlanStep {
  spmd::StepKind kind;
  mlir::Operation *op = nullptr; ///< unless the step names a value
  mlir::Value value;             ///< of Move, Enter, Take and Keep
  llvm::SmallVector<spmd::AxisList> axes = {};
  llvm::SmallVector<nd::TensorType, 3> operands = {}, results = {};
  mlir::StringAttr cause = {};
  nd::ScanOp loop = {};                 ///< of Take: the earlier loop
  mlir::Value source = {};              ///< of Take: the value of its body
  std::shared_ptr<BlockPlan> body = {}; ///< of Loop

  /// The forms that the step makes.
  llvm::SmallVector<Form, 2> getMade() const;
  /// The forms of the step's block that the step uses.
  llvm::SmallVector<Form, 4> getUsed() const;
};

/// The plan of a block.
struct BlockPlan {
  /// Of the block's arguments, but for operands that a loop has whole: Enter
  /// steps name their forms.
  llvm::SmallVector<nd::TensorType> arguments;
  std::vector<PlanStep> steps;            ///< add() adds one
  llvm::SmallVector<nd::TensorType> ends; ///< of the terminator's operands

  void add(PlanStep step);
  /// Removes steps whose forms nothing uses. `terminator` is that of the block.
  void dropUnused(mlir::Operation *terminator);
  /// How often steps and the end of the block use the form.
  size_t countUses(const Form &form, mlir::Operation *terminator) const;
  /// The form whose value in the new block is that of `form`, since a cast of
  /// it does nothing (StepKind::Same); `form` itself if there is none.
  Form resolve(Form form) const;
  /// Gives a form another type, and those that are the same value. Nothing uses
  /// them.
  void retype(const Form &form, nd::TensorType type);

private:
  void noteCast(size_t number);

  /// The numbers of the Same steps, by what their casts make.
  llvm::DenseMap<mlir::Value, size_t> casts;
};

/// The numbers of the ops in their blocks, before any op is moved.
using OpNumbers = llvm::DenseMap<mlir::Operation *, int64_t>;
OpNumbers numberOps(mlir::Block &block);
/// Puts the ops of the block, and of those inside, back into their order.
void sortOps(mlir::Block &block, const OpNumbers &numbers);

/// The plan of `block` as an attribute.
spmd::PlanAttr getAttribute(const BlockPlan &plan, mlir::Block &block,
                            const OpNumbers &numbers, bool gathersOnce);

} // namespace meshc::partition

#endif // MESHC_LIB_PARTITION_PLAN_H
