//===- FusionGroups.h - which ops become one kernel -------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The choice of kernels for a block. Values are settled from last to first, so
/// that all uses of a value are known when it is settled: a value is stored by
/// a group, or computed in place by each group that uses it.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_KERNELS_FUSIONGROUPS_H
#define MESHC_LIB_KERNELS_FUSIONGROUPS_H

#include "lib/Kernels/FusionMerger.h"

namespace meshc::kernels {

class FusionGroups {
public:
  /// `block` is that of a function or of a loop; `dimOrder` is its function's.
  FusionGroups(mlir::Block &block, const DimOrder &dimOrder);

  /// The groups that remain after merging.
  llvm::SmallVector<const Group *> getGroups() const;
  /// The group that stores the value; null for any other value.
  const Group *getGroupOf(mlir::Value root) const;

private:
  void settle(mlir::Operation *op, mlir::Value value);
  bool canStayInside(mlir::Operation *op, mlir::Value value,
                     llvm::SmallVectorImpl<GroupId> &users);
  bool canComputeInPlace(mlir::Value value, GroupId group) const;
  bool canReduceInside(mlir::Operation *op, mlir::Value value,
                       llvm::SmallVectorImpl<GroupId> &users);
  bool canHold(const Group &group, mlir::Operation *reduction) const;
  void store(mlir::Operation *op, mlir::Value value,
             llvm::ArrayRef<GroupId> users);
  bool canStoreIn(GroupId id, mlir::Operation *op, mlir::Value value) const;
  void ask(GroupId group, mlir::Operation *op, mlir::Value result);
  void noteStrides(GroupId group, mlir::Value value,
                   const exec::DimSet &aligned);
  void dropInnerRoots();

  FusionValues values;
  FusionGraph graph;
  FusionMerger merger;
};

} // namespace meshc::kernels

#endif // MESHC_LIB_KERNELS_FUSIONGROUPS_H
