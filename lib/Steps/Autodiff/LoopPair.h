//===- LoopPair.h - loops that run over the same entries --------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_STEPS_AUTODIFF_LOOPPAIR_H
#define MESHC_LIB_STEPS_AUTODIFF_LOOPPAIR_H

#include "dialects/Nd/Ops/LoopOps.h"
#include <optional>

namespace meshc::steps {

/// A loop, and one behind it over the same dim that reads its stacked results.
/// Both are in one block, or in the bodies of such a pair.
struct LoopPair {
  nd::ScanOp producer, consumer;

  /// The pair of the loops around these; nothing if they are in one block.
  std::optional<LoopPair> getOuter();

  /// Whether the consumer's body can have a value of the producer's body for
  /// the same entry without computing it: the value is a constant, an entry of
  /// a stacked operand, a whole operand, or stacked by the producer.
  bool canLoad(mlir::Value value);
  /// That value in the consumer's body, which may add an operand.
  mlir::Value load(mlir::Value value);

private:
  /// The same for values of the block around the producer.
  bool canReach(mlir::Value value);
  mlir::Value reach(mlir::Value value);
};

/// A loop that reads a stacked result by entry, and the argument of its body
/// that is the entry.
struct EntryReader {
  LoopPair pair;
  mlir::BlockArgument entry;
};

/// The loops that read a stacked result of the producer of all pairs. A result
/// of a loop within a loop may reach its readers as an entry of the outer
/// loop's result. Nothing if the result is also used otherwise.
std::optional<llvm::SmallVector<EntryReader>>
findReaders(mlir::OpResult stacked);

} // namespace meshc::steps

#endif // MESHC_LIB_STEPS_AUTODIFF_LOOPPAIR_H
