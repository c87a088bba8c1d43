//===- FusionValues.h - what kernels are chosen by --------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What the values of a block are like, whatever kernels they will be in: the
/// loops and the work that they need, and which of them must lie in memory.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_KERNELS_FUSIONVALUES_H
#define MESHC_LIB_KERNELS_FUSIONVALUES_H

#include "dialects/Exec/Alignment.h"
#include "lib/Kernels/DimOrder.h"

namespace meshc::kernels {

/// Whether the op belongs into a kernel (it is no product, collective or loop).
bool isKernelOp(mlir::Operation *op);
/// Whether an op that belongs into a kernel has one of its own: it is neither
/// an element op nor a reduction.
bool isAlone(mlir::Operation *op);

/// The loops of a group, or of a reduction. `reduce` is empty until a reduction
/// is inside; roots have all parallel dims, and all reduce dims or none.
struct LoopDims {
  exec::DimSet parallel, reduce; ///< sorted by name
  /// Local size of each. The same dim may have another size in a tensor that
  /// comes from a slice or is cut over other mesh axes.
  llvm::SmallDenseMap<mlir::StringAttr, int64_t> sizes;

  bool operator==(const LoopDims &other) const {
    return parallel == other.parallel && reduce == other.reduce &&
           agrees(other);
  }
  /// Whether common loops have equal sizes.
  bool agrees(const LoopDims &other) const {
    return llvm::all_of(sizes, [&](const auto &loop) {
      auto known = other.sizes.find(loop.first);
      return known == other.sizes.end() || known->second == loop.second;
    });
  }
};

class FusionValues {
public:
  /// `block` is that of a function or of a loop; `dimOrder` is its function's.
  FusionValues(mlir::Block &block, const DimOrder &dimOrder);

  nd::MeshAttr getMesh() const { return mesh; }

  /// Floating-point work of one element, including all operands that are
  /// computed in place.
  double getWork(mlir::Value value) const { return work.lookup(value); }
  /// Whether the value is an operand of a reduction that is better stored than
  /// computed in place, or the end of a long chain of ops or of reductions.
  bool isCut(mlir::Value value) const { return cuts.contains(value); }
  /// Whether an op reads the value from memory.
  bool needsMemory(mlir::Value value) const;
  /// The loops that the op needs.
  LoopDims getLoops(mlir::Operation *op) const;
  /// Whether the reduced dims are the innermost in memory (Group::isRowLike).
  bool isRowLike(mlir::Operation *reduction) const;
  /// Points of the loops that the op needs.
  double getPoints(mlir::Operation *op) const;
  /// Elements of the value on a rank.
  double getElements(mlir::Value value) const;

private:
  void measureWork();
  void chooseCuts();
  bool
  isSmallerThanInner(mlir::Operation *reduction,
                     llvm::function_ref<bool(mlir::Value)> leadsThere) const;
  void limitStages();
  exec::Order getExpectedOrder(mlir::Value value) const;
  void addSizes(LoopDims &loops, mlir::Value value) const;

  mlir::Block &block;
  nd::MeshAttr mesh;
  const DimOrder &dimOrder;
  llvm::DenseMap<mlir::Value, double> work;
  /// Length of the chain of ops from memory to an element.
  llvm::DenseMap<mlir::Value, unsigned> depths;
  llvm::DenseSet<mlir::Value> cuts;
};

} // namespace meshc::kernels

#endif // MESHC_LIB_KERNELS_FUSIONVALUES_H
