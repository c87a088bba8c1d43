//===- LinkedCuts.h - how a block's placed values cut its dims --*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Candidates for the search of a block. The operands of an op show how its
/// dims may be cut, but not how a later op's other operand is: the gradient of
/// experts' results is cut along the batch, and will meet what the forward loop
/// kept, which is cut along the experts. So each dim may be cut as any dim is
/// that the block's ops link to it.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_PARTITION_LINKEDCUTS_H
#define MESHC_LIB_PARTITION_LINKEDCUTS_H

#include "lib/Partition/DesiredSharding.h"
#include "llvm/ADT/IntEqClasses.h"

namespace meshc::partition {

class LinkedCuts {
public:
  /// Of no block: no cuts.
  LinkedCuts() = default;
  /// Links the dims of the block's values along the factors of its ops, and
  /// collects the axes that cut them: where the layout places them and, in a
  /// loop, where they enter it.
  LinkedCuts(mlir::Block &block, const DesiredShardings &desired);

  /// The axes that cut the dims along the factor of the op, or others that are
  /// linked to them, in the order of the block; empty if none is cut.
  llvm::ArrayRef<spmd::AxisList> get(mlir::Operation *op,
                                     const nd::Factor &factor) const;
  /// All axes in it.
  llvm::ArrayRef<mlir::StringAttr> getAxes() const { return axes; }

private:
  unsigned getNumber(mlir::Value value, mlir::StringAttr dim);
  void link(mlir::Operation &op);
  void collect(mlir::Value value, const DesiredShardings &desired);

  llvm::DenseMap<std::pair<mlir::Value, mlir::StringAttr>, unsigned> numbers;
  llvm::IntEqClasses classes; ///< of these numbers
  llvm::DenseMap<unsigned, llvm::SmallVector<spmd::AxisList>> cuts;
  spmd::AxisList axes;
};

} // namespace meshc::partition

#endif // MESHC_LIB_PARTITION_LINKEDCUTS_H
