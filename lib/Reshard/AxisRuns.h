//===- AxisRuns.h - axes that a reshard keeps together ----------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What a search for a path between two shardings takes as one axis.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_RESHARD_AXISRUNS_H
#define MESHC_LIB_RESHARD_AXISRUNS_H

#include "dialects/Spmd/Sharding.h"
#include "llvm/ADT/DenseMap.h"

namespace meshc::reshard {

/// Axes that mostly stay together on the way from one sharding to another,
/// because both have them side by side and in the mesh's order. (A permute
/// towards the target may part them.) Steps that take several axes of one kind
/// at once move no more bytes than steps that take them one by
/// one, so that a plan over runs is nearly as good as one over axes as long as
/// every dim is divisible by all axes that may cut it: only a permute may use
/// that one of them has the size of another axis. If the two shardings have at
/// most three axes, each axis is a run.
class AxisRuns {
public:
  AxisRuns(nd::TensorType from, nd::TensorType to, nd::MeshAttr mesh);

  /// The runs of `axes`, in the mesh's order. `axes` contains every run whole
  /// or not at all.
  llvm::SmallVector<spmd::AxisList>
  group(llvm::ArrayRef<mlir::StringAttr> axes) const;
  /// Whether a run begins at `axes[index]`.
  bool begins(llvm::ArrayRef<mlir::StringAttr> axes, size_t index) const {
    return first.lookup(axes[index]) == axes[index];
  }

  /// Whether the two shardings have so few axes that each is a run.
  bool areFew() const { return few; }

  /// How many runs either sharding uses.
  size_t count() const { return group(used).size(); }

  /// Whether each dim is divisible by all axes that may cut it on the way.
  bool isDivisible() const;

private:
  static constexpr size_t fewAxes = 3;

  bool mayFollow(mlir::StringAttr axis, mlir::StringAttr next) const;
  static bool areTogether(nd::TensorType type, mlir::StringAttr axis,
                          mlir::StringAttr next);

  nd::TensorType from, to;
  nd::MeshAttr mesh;
  spmd::AxisList used; ///< by either
  bool few;
  llvm::DenseMap<mlir::StringAttr, mlir::StringAttr>
      first; ///< of each axis's run
};

/// Subsets of runs that a step may take at once: all of them; where there are
/// few, each other one too. Axes are in the mesh's order.
llvm::SmallVector<spmd::AxisList>
getSubsets(llvm::ArrayRef<spmd::AxisList> runs, nd::MeshAttr mesh);

} // namespace meshc::reshard

#endif // MESHC_LIB_RESHARD_AXISRUNS_H
