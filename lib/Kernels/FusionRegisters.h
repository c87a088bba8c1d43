//===- FusionRegisters.h - how many registers a kernel takes ----*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_KERNELS_FUSIONREGISTERS_H
#define MESHC_LIB_KERNELS_FUSIONREGISTERS_H

#include "lib/Kernels/FusionGraph.h"

namespace meshc::kernels {

/// Estimates the registers that a thread of a kernel needs for the values that
/// are live at once.
class FusionRegisters {
public:
  FusionRegisters(const FusionGraph &graph, nd::MeshAttr mesh)
      : graph(graph), mesh(mesh) {}

  /// The registers of a kernel of the groups `members`, which stores the values
  /// `roots`.
  int64_t estimate(llvm::ArrayRef<mlir::Value> roots,
                   llvm::ArrayRef<GroupId> members) const;
  /// Whether these are no more than a GPU's thread had best have.
  bool fit(llvm::ArrayRef<mlir::Value> roots,
           llvm::ArrayRef<GroupId> members) const;

private:
  bool isInside(mlir::Value value, llvm::ArrayRef<GroupId> members) const;

  const FusionGraph &graph;
  nd::MeshAttr mesh;
};

} // namespace meshc::kernels

#endif // MESHC_LIB_KERNELS_FUSIONREGISTERS_H
