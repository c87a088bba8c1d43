//===- LoopDistances.h - which iterations of a loop meet in memory --------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_SCHEDULE_LOOPDISTANCES_H
#define MESHC_LIB_SCHEDULE_LOOPDISTANCES_H

#include "dialects/Exec/Exec.h"

namespace meshc::schedule {

/// The bytes that a buffer has in these iterations of the outermost loops
/// around it, over all iterations of the others.
exec::ArenaPiece getExtent(mlir::Value buffer, nd::MeshAttr mesh,
                           llvm::ArrayRef<int64_t> iterations);

/// Whether the pieces of `a` in some iteration of the loop number `level`
/// around both (0 is the outermost; the loops outside of it are in equal
/// iterations) and of `b` in the iteration `distance` numbers later may
/// overlap. Loops further inside are in any iteration. If there is no such
/// loop, in all iterations.
bool mayMeet(mlir::Value a, mlir::Value b, size_t level, int64_t distance,
             nd::MeshAttr mesh);

/// Whether accesses to moving pieces meet only those of the same iteration and
/// of the one before and after; an error at an access that does not, with a
/// note at the other. Then all iterations after the first do the same to what
/// lies in the arena. `iterations` are those of the loops around `loop`.
llvm::LogicalResult checkDistances(exec::LoopOp loop,
                                   llvm::ArrayRef<int64_t> iterations);

} // namespace meshc::schedule

#endif // MESHC_LIB_SCHEDULE_LOOPDISTANCES_H
