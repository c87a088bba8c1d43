//===- LoopOps.h - the ops of the family Loop -------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_ND_OPS_LOOPOPS_H
#define MESHC_DIALECTS_ND_OPS_LOOPOPS_H

#include "dialects/Nd/Ops/ModelOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace meshc::nd {

/// How a value takes part in a loop.
enum class TieKind { Carried, StackedOperand, Whole, StackedResult };

/// What belongs together at the border of a loop's body (see nd.scan). A member
/// that the kind does not have is null.
struct Tie {
  TieKind kind;
  mlir::Value operand;
  mlir::BlockArgument argument;
  mlir::Value yielded;
  mlir::OpResult result;
};

/// The type of one entry along `dim` of a tensor whose `dim` is whole on every
/// rank. A partial sum stays one.
TensorType getEntryType(TensorType stacked, llvm::StringRef dim);

/// The type of `size` entries stacked along `dim`, which `entry` does not have.
TensorType getStackedType(TensorType entry, llvm::StringRef dim, int64_t size);

/// Entry `index` along `dim` of a block with the type `type` of an entry.
HostTensor takeEntry(const HostTensor &stacked, llvm::StringRef dim,
                     int64_t index, TensorType type);

/// Writes `entry` to entry `index` along `dim` of `stacked`.
void putEntry(const HostTensor &entry, llvm::StringRef dim, int64_t index,
              HostTensor &stacked);

/// How often the op runs for each call of its function: the product of the
/// sizes of the loops around it. A loop with `while` may end earlier.
int64_t countRuns(mlir::Operation *op);

/// The block of the function and those of the loops in it, outer ones first;
/// nothing for a declaration.
llvm::SmallVector<mlir::Block *> getBlocks(mlir::FunctionOpInterface function);

/// Whether the block computes all of a step: that of a function, or the body of
/// a loop over micro-batches.
bool isStepBlock(mlir::Block &block);

} // namespace meshc::nd

#define GET_OP_CLASSES
#include "dialects/Nd/Ops/Loop.h.inc"

#endif // MESHC_DIALECTS_ND_OPS_LOOPOPS_H
