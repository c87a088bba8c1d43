//===- BlockCalls.h - the calls that a block's plan leads to ----*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_PARTITION_BLOCKCALLS_H
#define MESHC_LIB_PARTITION_BLOCKCALLS_H

#include "lib/Partition/PlanCalls.h"
#include "llvm/ADT/MapVector.h"
#include <numeric>

namespace meshc::partition {

/// Makes the calls of one block.
class BlockCalls {
public:
  BlockCalls(const BlockPlan &plan, mlir::Block &block, FunctionCalls &all,
             reshard::ReshardPlanner &planner, nd::MeshAttr mesh,
             BlockCalls *parent = nullptr)
      : plan(plan), block(block), all(all), planner(planner), mesh(mesh),
        parent(parent), unions(plan.steps.size()) {
    std::iota(unions.begin(), unions.end(), 0);
  }

  CallList run();

private:
  enum class Becomes {
    Nothing, ///< another name for a form, or what is not stored
    Kernel,  ///< a part of one
    Call     ///< a call of its own, collectives, or a loop
  };
  struct Step {
    Becomes becomes = Becomes::Nothing;
    llvm::SmallVector<Form, 4> used;
    llvm::SmallVector<Form, 2> made;
    int64_t level = 0; ///< calls and kernels on the longest way to it
    bool isDone = false;
  };

  // What becomes of the steps.
  void addArguments();
  void describe(size_t index);
  Becomes classify(const PlanStep &step);
  Becomes classifyOp(const PlanStep &step);
  void join(size_t index);
  size_t getUnit(size_t index);
  void findStored();
  void placeEnds();
  Form resolve(Form form) const;

  // Their calls.
  void require(size_t index);
  void addUnit(size_t unit);
  void addKernel(llvm::ArrayRef<size_t> parts);
  void addPart(size_t index, Call &kernel,
               llvm::MapVector<int64_t, double> &reads);
  void addCall(size_t index);
  void addProduct(size_t index);
  void addExchange(size_t index);
  void addMove(const PlanStep &step);
  void addLoop(size_t index);
  void addCopy(int64_t from, int64_t to, double bytes);
  Call &addCollective(spmd::CollectiveKind kind, spmd::AxisList axes,
                      double wholeBytes, int64_t from, int64_t to);

  int64_t makePiece(double bytes, int64_t stack = -1);
  /// The piece of the form; -1 if it is not stored.
  int64_t getPiece(const Form &form);
  double getBytes(nd::TensorType type) const {
    return double(type.getLocalBytes(mesh));
  }

  const BlockPlan &plan;
  mlir::Block &block;
  FunctionCalls &all;
  reshard::ReshardPlanner &planner;
  nd::MeshAttr mesh;
  BlockCalls *parent; ///< of the block around the loop whose body this is
  CallList list;
  std::vector<Step> steps;
  llvm::DenseMap<Form, size_t, FormInfo> producers; ///< steps
  llvm::DenseMap<Form, Form, FormInfo> names;       ///< of the same contents
  llvm::DenseMap<Form, int64_t, FormInfo> pieces;
  FormSet stored;             ///< what others than its own kernel use
  std::vector<size_t> unions; ///< of the steps of a kernel (union-find)
  llvm::DenseMap<size_t, llvm::SmallVector<size_t>> parts; ///< by unit
  /// What loops of this block keep for later ones: stacks, by the form in the
  /// loop's body.
  llvm::DenseMap<Form, int64_t, FormInfo> keptStacks;
  /// Of a body: the stacks to which its ends are written, or -1.
  llvm::SmallVector<int64_t> endStacks;
};

} // namespace meshc::partition

#endif // MESHC_LIB_PARTITION_BLOCKCALLS_H
