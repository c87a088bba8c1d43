//===- ChoosePlans.h - how the functions of a program are partitioned -----===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_PARTITION_CHOOSEPLANS_H
#define MESHC_LIB_PARTITION_CHOOSEPLANS_H

#include "lib/Partition/PlanMoves.h"
#include "lib/Partition/PlanOptions.h"
#include "lib/Partition/PlanPrice.h"
#include "mlir/IR/BuiltinOps.h"

namespace meshc::partition {

/// The plans of a program's functions.
struct ChosenPlans {
  mlir::DictionaryAttr plans; ///< #spmd.plan, by the functions' names
  /// PlanOptions::moveShare with which the search would move more axes, and
  /// that is worth a trial. Of the function findCompared; nothing if there is
  /// none.
  std::optional<double> refusedShare;
  /// The same, with the ops of the program, in its order.
  std::vector<FunctionPlan> functions;
  /// Of the function findCompared, if there is one and a price was asked for.
  std::optional<PlanPrice> price;
};

/// For which functions plans are chosen.
enum class Planned { All, Compared };

/// Chooses the plan of each function of a program after the phase layout, which
/// stays as it is (the pass meshc-choose-plan describes the search). Fails,
/// with an error at the op, if one cannot be partitioned. With a cost model,
/// prices the plan of the function by whose time programs are compared
/// (findCompared). If there is one, `planned` may leave out the others.
mlir::FailureOr<ChosenPlans> choosePlans(mlir::ModuleOp layout,
                                         const PlanOptions &options,
                                         const cost::CostModel *model = nullptr,
                                         Planned planned = Planned::All);

} // namespace meshc::partition

#endif // MESHC_LIB_PARTITION_CHOOSEPLANS_H
