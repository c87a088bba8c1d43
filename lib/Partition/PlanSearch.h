//===- PlanSearch.h - the best plans of a program ---------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_PARTITION_PLANSEARCH_H
#define MESHC_LIB_PARTITION_PLANSEARCH_H

#include "lib/Cost/CostModel.h"
#include "lib/Cost/Outcome.h"
#include "mlir/IR/BuiltinOps.h"

namespace meshc::partition {

/// What a search of plans is for.
struct SearchGoals {
  const cost::CostModel &model; ///< of the machine and the program's mesh
  /// Whether memory is bounded: then a program that fits is better than one
  /// that does not, and no other price is put on memory.
  bool hasMemoryBudget = false;
  /// Builds the program of these plans and compiles it up to the schedule.
  /// Nothing if a phase refuses it.
  llvm::function_ref<std::optional<cost::Outcome>(mlir::DictionaryAttr)>
      compile;
};

/// Chooses the plans of a program after the phase layout, which stays as it is.
///
/// The usual plans move axes to other dims only where this halves the bytes of
/// a block, and give each tie of a loop the form that the layout wants. Then
/// *moves* change what the search may do and which forms ties have
/// (PlanOptions, PlanMoves.h), one after another, and plans are chosen again.
/// The price of the train step's plan (getPrice) says whether they are better.
/// The moves, in their order:
///
/// 1. Parameters are gathered once for all micro-batches.
/// 2. Axes move in blocks that save less: at most three shares, the one nearest
///    to a half first. The step must be shorter by 1 %.
/// 3. Where ranks repeat work or wait for collectives, a dim of what loops
/// carry
///    is cut: one dim of all carried values, or the first dim of each value,
///    over one of the axes or over all of them. Axes in the bodies stay or
///    move. Such plans send other values than the layout suggests. So one that
///    sends more bytes than the usual plan must take at most nine tenths of its
///    time, and each must be shorter than the best one so far by 1 %. If the
///    step has become a tenth shorter, this is repeated. If a plan was kept,
///    axes move once more.
/// 4. Axes move while loops carry their values as before (keepCarried), or with
///    their open dims whole (uncutCarried).
/// 5. Loops keep values as the loops that use them have them (keepAsUsed).
/// 6. Loops keep copies of what later loops move as well (LoopCopies), at a
///    price per byte.
/// 7. Loops keep values exactly as other loops use them, and no parts beside
///    them (KeptForm).
/// 8. Pointwise ops have the machine's price, where a point costs less than a
///    fourth of a byte (CostModel::getPointCost). Then 7 once more.
///
/// What 1 and 5 to 8 change is small, and is weighed against memory: their gain
/// is the share of the step that they save, less a twentieth of the share by
/// which the arena grows. It must be at least 0.02 %. For a smaller arena, the
/// step may be longer by 0.02 %. All of them together enlarge the arena by at
/// most a fourth.
///
/// Prices are estimates: of time within a few percent, of arenas within a
/// half. So plans are compiled where their price is too close to what it must
/// be, and where memory counts. With a memory budget, all are compiled. At the
/// end, the best plans and the usual ones are compiled, and the better ones
/// stay.
///
/// The search is deterministic, and bounded by counts. Fails, with an error, if
/// the program cannot be partitioned.
mlir::FailureOr<mlir::DictionaryAttr> searchPlans(mlir::ModuleOp layout,
                                                  const SearchGoals &goals);

} // namespace meshc::partition

#endif // MESHC_LIB_PARTITION_PLANSEARCH_H
