//===- SpmdOps.h - the ops of the spmd dialect ----------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The dialect and all its ops; SpmdDialect.td documents them.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_SPMD_SPMDOPS_H
#define MESHC_DIALECTS_SPMD_SPMDOPS_H

#include "dialects/Nd/NdInterfaces.h"
#include "dialects/Spmd/PlanValue.h"
#include "dialects/Spmd/Sharding.h"
#include "dialects/Spmd/SharedObjects.h"
#include "dialects/Spmd/Traffic.h"
#include "dialects/Spmd/WindowSegments.h"
#include "meshc/CollectiveBlocks.h"

#include "dialects/Spmd/SpmdDialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Spmd/SpmdAttrs.h.inc"

#include "dialects/Spmd/Interfaces/SpmdInterfaces.h.inc"

#define GET_OP_CLASSES
#include "dialects/Spmd/Ops/Collective.h.inc"
#define GET_OP_CLASSES
#include "dialects/Spmd/Ops/Window.h.inc"

namespace meshc::spmd {

/// The source value that causes a collective or reshard to move its operand
/// `index`: its name ("" if it has none) and its source location.
struct Cause {
  mlir::StringRef name;
  mlir::Location location;
};
Cause getCause(mlir::Operation *op, unsigned index);
/// Says that a window, or a permute that it became, moves data for the value
/// `name`. Only for ops without a name of their own.
void setCause(mlir::Operation *op, mlir::StringAttr name);
void removeCause(mlir::Operation *op);
/// Gives `to` the name and the cause of `from`, if it has them.
void copyCause(mlir::Operation *from, mlir::Operation *to);

/// Of an all_gather that sends again what an earlier one sends: the number of
/// the use, from 2. Gathers that differ in it are not the same op.
inline constexpr llvm::StringLiteral useAttrName = "spmd.use";

/// Whether the collective is in the body of a loop (nd.scan) and sends nothing
/// but entries of the loop's stacked operands. They exist before the loop, so
/// the collective can begin an iteration early.
bool sendsEntries(CollectiveOpInterface collective);

} // namespace meshc::spmd

#endif // MESHC_DIALECTS_SPMD_SPMDOPS_H
