//===- Holder.h - nd interface of ops that contain other ops --------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The nd interface of exec.fusion and of library ops. No dim may be cut. The
/// work is the sum over the contained ops; the bytes are those of the holder's
/// own operands and results. There is no gradient.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_EXEC_HOLDER_H
#define MESHC_DIALECTS_EXEC_HOLDER_H

#include "dialects/Nd/NdInterfaces.h"

namespace meshc::exec {

nd::PartitionRule getHolderRule(mlir::Operation *holder);
nd::OpCost getHolderCost(mlir::Operation *holder);
/// Always fails, with an error at the op.
mlir::LogicalResult reportHolderGradient(mlir::Operation *holder);

} // namespace meshc::exec

#endif // MESHC_DIALECTS_EXEC_HOLDER_H
