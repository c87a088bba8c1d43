//===- CarriedCuts.h - dims of what loops carry, cut ------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A carried value has one sharding at both ends of an iteration, so no search
/// of a body can choose it. Where the layout leaves its dims open, they are
/// whole, and the ranks of an axis that cuts nothing of the body compute the
/// same. Instead, the axis may cut a dim of what the loops carry, if the step
/// of that program is shorter (lib/Pipeline, partitionProgram).
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_PARTITION_CARRIEDCUTS_H
#define MESHC_LIB_PARTITION_CARRIEDCUTS_H

#include "dialects/Spmd/Sharding.h"
#include "mlir/IR/BuiltinOps.h"

namespace meshc::partition {

/// The axes over which the ranks repeat a part of their work that is worth a
/// trial: more than a tenth of what a rank computes in products
/// (hasMostPoints) of the function findCompared, after the phase partition. An
/// axis that cuts nothing of the function does not count: the layout does not
/// use it.
spmd::AxisList findRepeatedAxes(mlir::ModuleOp partitioned);

/// The names of the dims that cutCarried can cut over the axis in a loop of
/// this function, in a program before the phase; in the order of their first
/// loop.
spmd::AxisList findCarriedDims(mlir::ModuleOp layout, mlir::StringAttr axis);

/// Cuts what loops of this function carry over the axis, too: each value along
/// the first of `dims` that is open or for which a rule names axes, and that
/// has at least as many entries as there are parts. A value is left alone if
/// something else of it lies on the axis. Loops of other functions follow for
/// values of the same type: evaluation carries what training does. Carried sums
/// that start at zero (findAddition), such as gradients, stay as they are:
/// their shardings follow from their summands. Plans should then cut placed
/// dims further where that helps (PlanOptions::mayCutFurther).
void cutCarried(mlir::ModuleOp layout, llvm::ArrayRef<mlir::StringAttr> dims,
                mlir::StringAttr axis);

/// Gives what loops carry the shardings that `partitioned` has: the same
/// program after the phase. Where other blocks move axes, loops then do not
/// follow them. Sums that start at zero stay as they are. Returns whether this
/// places a dim that was open.
bool keepCarried(mlir::ModuleOp layout, mlir::ModuleOp partitioned);

} // namespace meshc::partition

#endif // MESHC_LIB_PARTITION_CARRIEDCUTS_H
