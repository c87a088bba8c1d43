//===- KernelCost.h - what a kernel computes and moves --------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_COST_KERNELCOST_H
#define MESHC_LIB_COST_KERNELCOST_H

#include "dialects/Exec/Exec.h"

namespace meshc::cost {

/// The work of one launch of a kernel on one rank.
struct KernelCost {
  /// Bytes of each input that the kernel must read if every element is read
  /// once: all of it, unless the ops that use it read a part (a gather).
  llvm::SmallVector<double> read;
  /// Bytes of each output that it writes: all of it, or the entries that it
  /// changes in place.
  llvm::SmallVector<double> written;
  /// Operations of its ops; `bytes` is the sum of the above.
  nd::OpCost work;
  /// Additions and multiplications that the target's library computes, such as
  /// the products of attention; not in `work`.
  double productFlops = 0;
  /// What it sorts; not in `work`. A sort is a kernel's only op.
  nd::SortWork sort;
  /// f32, in which kernels and attention compute, whatever the type.
  mlir::Type element;

  static KernelCost of(exec::KernelOp kernel);
  double getReadBytes() const;
  double getWrittenBytes() const;
};

} // namespace meshc::cost

#endif // MESHC_LIB_COST_KERNELCOST_H
