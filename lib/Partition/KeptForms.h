//===- KeptForms.h - how a loop keeps values for another one ----*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The body of a forward loop is partitioned before that of its backward loop,
/// and does not know what the latter needs of the values that it keeps for it.
/// Once both are known, the program can be partitioned again with that
/// knowledge: if the gradients of experts need their hidden values cut by
/// experts, say, the forward loop may as well compute them so.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_PARTITION_KEPTFORMS_H
#define MESHC_LIB_PARTITION_KEPTFORMS_H

#include "dialects/Nd/Ops/LoopOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace meshc::partition {

/// How keepAsUsed gives a value a sharding.
enum class KeptForm {
  Placed, ///< as a rule would: the value may still be cut further
  Exact   ///< exactly, even where the value's op makes it cut further
};

/// Looks at a program after the phase partition for values that a loop keeps
/// for another one (its stacked results), where the other one moves them to
/// another sharding, or the loop keeps a copy in another sharding. If the rules
/// of the layout allow that sharding, perhaps with further axes behind theirs,
/// gives it to the values in `layout`: the same program before the phase.
///
/// Returns whether there are such values. If `layout` is another program, there
/// are none. Does not follow stacks that an outer loop hands on.
bool keepAsUsed(mlir::ModuleOp layout, mlir::ModuleOp partitioned,
                KeptForm form);

/// Whether the stacked result is marked as exact: its entries are kept as the
/// layout has them, and not cut further where their op makes them so.
bool isExact(mlir::OpResult stack);
/// Removes the marks.
void dropExact(nd::ScanOp loop);

} // namespace meshc::partition

#endif // MESHC_LIB_PARTITION_KEPTFORMS_H
