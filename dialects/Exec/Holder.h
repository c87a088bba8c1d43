//===- Holder.h - ops that hold others ------------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What exec.fusion and exec.product answer as nd ops: no dim may be cut, the
/// work is that of all that they hold, on their own operands and results, and
/// they have no gradient.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_EXEC_HOLDER_H
#define MESHC_DIALECTS_EXEC_HOLDER_H

#include "dialects/Nd/NdInterfaces.h"

namespace meshc::exec {

nd::PartitionRule getHolderRule(mlir::Operation *holder);
nd::OpCost getHolderCost(mlir::Operation *holder);
/// Fails, with an error at the op.
mlir::LogicalResult reportHolderGradient(mlir::Operation *holder);

} // namespace meshc::exec

#endif // MESHC_DIALECTS_EXEC_HOLDER_H
