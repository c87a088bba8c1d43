//===- CauseName.h - the name by which a reader knows a value -------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_PARTITION_CAUSENAME_H
#define MESHC_LIB_PARTITION_CAUSENAME_H

#include "mlir/IR/Value.h"

namespace meshc::partition {

/// The name of the value, that of the named value which it goes into, or that
/// of the partial value which it comes from; null if there is none. `isPartial`
/// tells of a value whether its op made a partial one.
mlir::StringAttr getCauseName(mlir::Value value,
                              llvm::function_ref<bool(mlir::Value)> isPartial);

/// Gives what is said of an op, its name among others, to a later op, which now
/// makes the result.
void moveAttributes(mlir::Operation *from, mlir::Operation *to);

/// Says that the op, a window, moves entries for the value, unless it has a
/// name of its own.
void setCause(mlir::Operation *window, mlir::Value value);

} // namespace meshc::partition

#endif // MESHC_LIB_PARTITION_CAUSENAME_H
