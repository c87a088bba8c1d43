//===- SinkToUses.h - cheap ops close to their users ----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The order in which the ops of a block are decided on.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_PARTITION_SINKTOUSES_H
#define MESHC_LIB_PARTITION_SINKTOUSES_H

namespace mlir {
class Block;
} // namespace mlir

namespace meshc::partition {

/// Moves each op that is no product to the first op that needs it and stays in
/// place, in linear time. It moves neither past a loop nor to the terminator.
/// Ops that move to the same place keep their order. A rename moves to the
/// first op that needs its operand, which can then be copied from its result. A
/// backward loop begins with what it computes again from kept values. There a
/// search would decide how these values lie long before it meets the product
/// that needs them, and would have given up the dearer way by then.
void sinkToUses(mlir::Block &block);

} // namespace meshc::partition

#endif // MESHC_LIB_PARTITION_SINKTOUSES_H
