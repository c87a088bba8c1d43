//===- PlanMoves.h - other plans, from what one says ------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Plans are chosen block by block: the body of a forward loop before that of
/// its backward loop, with what the layout wants of the ties between them. A
/// move looks at plans, finds ties that other forms may suit better, and says
/// so (TieForms). The search then chooses plans once more.
///
/// - A loop may keep values as the loops that use them have them: if the
///   gradients of experts need their hidden values cut by experts, say, the
///   forward loop may as well compute them so.
/// - Where ranks along an axis repeat work, the axis may cut a dim of what the
///   loops carry.
/// - What loops carry may stay as it is where other blocks move axes.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_PARTITION_PLANMOVES_H
#define MESHC_LIB_PARTITION_PLANMOVES_H

#include "lib/Partition/Plan.h"
#include "lib/Partition/TieForms.h"
#include "lib/Reshard/ReshardPlan.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace meshc::partition {

/// The plan of a function of the program after the phase layout.
struct FunctionPlan {
  mlir::func::FuncOp function;
  std::shared_ptr<const BlockPlan> plan;
};
using FunctionPlans = llvm::ArrayRef<FunctionPlan>;

/// Calls `use` with each loop of the plan and the plan of its body, the outer
/// ones first; with the plan of the block around it, too.
void forEachLoop(const BlockPlan &plan,
                 llvm::function_ref<void(nd::ScanOp, const BlockPlan &body,
                                         const BlockPlan &around)>
                     use);

/// How keepAsUsed gives a value a form.
enum class KeptForm {
  Placed, ///< as a rule would: the value may still be cut further
  Exact   ///< exactly, even where the value's op makes it cut further
};

/// Looks for values that a loop keeps for another one (its stacked results),
/// where the other one moves them to another form, or the loop keeps a copy in
/// another form. If the rules of the layout allow that form, perhaps with
/// further axes behind theirs, wants the values so. If there are several, takes
/// the form that is costliest to move to.
///
/// Returns whether there are such values. Does not follow stacks that an outer
/// loop hands on.
bool keepAsUsed(FunctionPlans plans, KeptForm form,
                reshard::ReshardPlanner &planner, TieForms &ties);

/// The axes over which the ranks repeat a part of their work that is worth a
/// trial: more than a tenth of what a rank computes in products
/// (hasMostPoints). An axis that cuts nothing of the function does not count:
/// the layout does not use it.
spmd::AxisList findRepeatedAxes(const BlockPlan &plan, nd::MeshAttr mesh);

/// The names of the dims that cutCarried can cut over the axis in a loop of the
/// function; in the order of their first loop.
spmd::AxisList findCarriedDims(mlir::func::FuncOp function,
                               mlir::StringAttr axis, const TieForms &ties);

/// Cuts what loops of the function carry over the axis, too: each value along
/// the first of `dims` that is open or for which a rule names axes, and that
/// has at least as many entries as there are parts. A value is left alone if
/// something else of it lies on the axis. Loops of the module's other functions
/// follow for values of the same type: evaluation carries what training does.
/// Carried sums that start at zero (findAddition), such as gradients, stay as
/// they are: their shardings follow from their summands. Plans should then cut
/// placed dims further where that helps (PlanOptions::mayCutFurther).
void cutCarried(mlir::func::FuncOp function,
                llvm::ArrayRef<mlir::StringAttr> dims, mlir::StringAttr axis,
                TieForms &ties);

/// Wants what loops carry as the plans have it. Where other blocks move axes,
/// loops then do not follow them. Sums that start at zero stay as they are.
/// Returns whether this places a dim that was open.
bool keepCarried(FunctionPlans plans, TieForms &ties);

/// Wants what loops carry cut as the layout says, and open dims whole. Sums
/// that start at zero stay as they are. Returns whether the plans cut an open
/// dim of what they carry.
bool uncutCarried(FunctionPlans plans, TieForms &ties);

} // namespace meshc::partition

#endif // MESHC_LIB_PARTITION_PLANMOVES_H
