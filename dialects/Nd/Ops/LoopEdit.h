//===- LoopEdit.h - changes of a loop's ties --------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Finds, adds, and drops ties of an nd.scan. Operands and arguments change in
/// place. Op results cannot, so that functions that change them replace the op.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_ND_OPS_LOOPEDIT_H
#define MESHC_DIALECTS_ND_OPS_LOOPEDIT_H

#include "dialects/Nd/NdInterfaces.h"
#include "dialects/Nd/Ops/LoopOps.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/BitVector.h"

namespace meshc::nd {

/// The first stacked result whose entries are `yielded`; null if there is none.
mlir::OpResult findStackedResult(ScanOp scan, mlir::Value yielded);

/// The argument of the stacked (whole) operand. Adds the operand, as the last
/// of its kind, if the loop does not have it.
mlir::BlockArgument getStackedArgument(ScanOp scan, mlir::Value operand);
mlir::BlockArgument getWholeArgument(ScanOp scan, mlir::Value operand);

/// The whole operand that the value, an argument of a loop, is; null if it is
/// something else.
mlir::OpOperand *getWholeOperand(mlir::Value value);

/// The value that loops take whole as `value`; itself if it is none of a loop.
mlir::Value getOutsideLoops(mlir::Value value);

/// The addition to what the loop carries, or the subtraction with it, if it is
/// a sum once it starts at zero. All that happens to it is this one op, whose
/// result is only carried on. Null if it is none. A loop with `while` has no
/// sums: what it carries is whole when it ends.
NamedOpInterface findAddition(ScanOp loop, unsigned carried);

/// Drops a stacked operand. Nothing uses its argument, which is erased.
void dropStackedOperand(ScanOp scan, mlir::BlockArgument argument);

/// Erases the ops of the block whose results nothing uses, those that only
/// erased ops use included.
void eraseDeadOps(mlir::RewriterBase &rewriter, mlir::Block &block);

/// Replaces the loop by one with further stacked results, the last ones. Their
/// entries are values of the body without the loop's dim. A result has the
/// name, class and parameter of its entry.
ScanOp addStackedResults(mlir::RewriterBase &rewriter, ScanOp scan,
                         mlir::ValueRange entries);

/// Replaces the loop by one with the given arguments (and their operands) and
/// results (and what they yield); the two bits of a carried tie are equal. Ops
/// whose results only the other ties use are erased; apart from them, the other
/// arguments and results have no uses.
ScanOp keepTies(mlir::RewriterBase &rewriter, ScanOp scan,
                const llvm::BitVector &arguments,
                const llvm::BitVector &results);

} // namespace meshc::nd

#endif // MESHC_DIALECTS_ND_OPS_LOOPEDIT_H
