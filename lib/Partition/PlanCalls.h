//===- PlanCalls.h - the calls that a plan leads to -------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What a rank will do if a program is built from a plan: an estimate of the
/// calls that the later phases make of it. A product is a call of its own.
/// Other ops that follow one another are one kernel, unless a product, a loop
/// or a collective lies between them: these phases fuse them so, by and large.
/// What only its own kernel uses takes no memory.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_PARTITION_PLANCALLS_H
#define MESHC_LIB_PARTITION_PLANCALLS_H

#include "lib/Cost/StepSimulation.h"
#include "lib/Partition/Plan.h"
#include "lib/Reshard/ReshardPlan.h"

namespace meshc::partition {

/// Memory that holds a form of a value on a rank.
struct Piece {
  double bytes = 0;
  /// The stack whose entry it is: another one in each iteration; -1 otherwise.
  int64_t stack = -1;
};

struct CallList;

/// A call, a collective, or a loop.
struct Call {
  enum class Kind { Compute, Collective, Loop } kind = Kind::Compute;
  llvm::SmallVector<int64_t, 4> reads, writes; ///< pieces
  /// Of Compute: the work, and the bytes of each of `reads` and `writes`.
  cost::CallWork work = {};
  llvm::SmallVector<double, 4> bytes = {};
  /// Of Collective.
  spmd::CollectiveKind collective = spmd::CollectiveKind::AllReduce;
  spmd::AxisList axes = {}; ///< in the mesh's order
  double wholeBytes = 0;    ///< Traffic.h
  int64_t number = 0;       ///< among all collectives
  /// Nothing of its iteration is needed, so that the iteration before begins
  /// it.
  bool isAhead = false;
  /// Of Loop.
  std::shared_ptr<CallList> body = {};
  int64_t size = 1;
};

/// The calls of a block, in their order.
struct CallList {
  std::vector<Call> calls;
  llvm::SmallVector<int64_t> arguments; ///< pieces, of a function
  llvm::SmallVector<int64_t> carried;   ///< pieces, of a loop's body
  /// Pieces that are needed after it, those that are carried on first.
  llvm::SmallVector<int64_t> ends;
};

/// The calls of a function.
struct FunctionCalls {
  CallList list;
  std::vector<Piece> pieces;
  int64_t collectives = 0;

  /// The piece that has the memory of this one: of an entry, the outermost
  /// stack.
  int64_t getOwner(int64_t piece) const {
    while (pieces[piece].stack >= 0)
      piece = pieces[piece].stack;
    return piece;
  }
};

/// The calls that the plan of a function's block leads to.
FunctionCalls getCalls(const BlockPlan &plan, mlir::Block &block,
                       reshard::ReshardPlanner &planner, nd::MeshAttr mesh);

} // namespace meshc::partition

#endif // MESHC_LIB_PARTITION_PLANCALLS_H
