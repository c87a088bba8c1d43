//===- Sharding.h - steps between shardings of a tensor -------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Small steps between shardings: nd tensor types that differ only in the axes
/// of their dims and in their partial axes.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_SPMD_SHARDING_H
#define MESHC_DIALECTS_SPMD_SHARDING_H

#include "dialects/Nd/NdTypes.h"
#include "meshc/RuntimeAbi.h"
#include <optional>

namespace meshc::spmd {

using AxisList = llvm::SmallVector<mlir::StringAttr>;

/// The axes that cut the dim; empty if the type does not have the dim.
llvm::ArrayRef<mlir::StringAttr> getAxesOf(nd::TensorType type,
                                           llvm::StringRef dim);

/// The type with another size of the dim, which it has.
nd::TensorType resize(nd::TensorType type, llvm::StringRef dim, int64_t size);

/// The axes of `axes` behind `placed`, if they begin with these; empty if they
/// do not, or if `placed` is empty.
llvm::ArrayRef<mlir::StringAttr>
getAxesBehind(llvm::ArrayRef<mlir::StringAttr> axes,
              llvm::ArrayRef<mlir::StringAttr> placed);

/// The type with other axes on its dims: a list for each. No two lists have an
/// axis in common, nor with the partial axes.
nd::TensorType withAxes(nd::TensorType type, llvm::ArrayRef<AxisList> ofDims);

/// The type with `axes` appended to those of the dim, which they need not
/// divide. Null if the type does not have the dim or uses one of the axes.
nd::TensorType addAxes(nd::TensorType type, llvm::StringRef dim,
                       llvm::ArrayRef<mlir::StringAttr> axes);

/// The type without `axes`; null unless they are the last axes of the dim.
nd::TensorType dropAxes(nd::TensorType type, llvm::StringRef dim,
                        llvm::ArrayRef<mlir::StringAttr> axes);

/// The type without `axes` among its partial axes; null unless it is partial
/// over all of them.
nd::TensorType dropPartial(nd::TensorType type,
                           llvm::ArrayRef<mlir::StringAttr> axes);

/// The same on the way to `to`: a partial sum of f32 that ends, of a tensor
/// that is to be of 16 bits, is rounded to these.
nd::TensorType endSums(nd::TensorType type,
                       llvm::ArrayRef<mlir::StringAttr> axes,
                       nd::TensorType to);

/// Whether a value of the one element type becomes the other: they are the
/// same, or a partial sum (or product) of f32 ends and is rounded to 16 bits.
bool mayRound(nd::TensorType from, nd::TensorType to);

/// The axes over which `type` is partial and `other` is not.
AxisList getFurtherPartial(nd::TensorType type, nd::TensorType other);

/// The type as a partial sum over `axes`, too, in the mesh's order. Null if it
/// uses one of them, or is partial by another reduction.
nd::TensorType addPartial(nd::TensorType type,
                          llvm::ArrayRef<mlir::StringAttr> axes,
                          nd::MeshAttr mesh);

/// Who sends to whom in a permute: its group's axes in the order that numbers
/// senders, and in the order that numbers receivers, and the distance from a
/// sender's number to its receiver's, or a round (Spmd_PermuteOp).
struct AxisOrders {
  AxisList senders, receivers;
  int64_t shift = 0;
  std::optional<MeshcRound> round = {};
};

/// The type after a permute of `type`; null if a dim has some axes of a part of
/// the senders only, if its blocks would change, or if the type is partial over
/// one of the axes. The orders have the same axes of the mesh. With a shift
/// or a round, the blocks of a dim that the axes cut must be full: a short one
/// would take the place of a full one.
nd::TensorType permuteAxes(nd::TensorType type, const AxisOrders &orders,
                           nd::MeshAttr mesh);

/// The permute that gives `from` the sharding `to`, over as few axes as
/// possible. Nothing if there is none, or nothing to do.
std::optional<AxisOrders> findPermute(nd::TensorType from, nd::TensorType to,
                                      nd::MeshAttr mesh);

/// The entries of a block along the dim, padding included.
inline int64_t getBlockSize(nd::TensorType type, llvm::StringRef dim,
                            nd::MeshAttr mesh) {
  return type.getLocalSize(type.getDimIndex(dim), mesh);
}

/// Whether the block of the rank with number p among those of the dim's axes,
/// row-major, begins at entry p times the block's size, or has no entry. A
/// single axis, or axes that divide the dim, cut so.
bool areEquidistant(nd::TensorType type, llvm::StringRef dim,
                    nd::MeshAttr mesh);

/// Whether all axes belong to the mesh and appear in its order, each once.
bool areInMeshOrder(llvm::ArrayRef<mlir::StringAttr> axes, nd::MeshAttr mesh);

/// Puts axes of the mesh in its order.
void sortByMesh(AxisList &axes, nd::MeshAttr mesh);

/// All axes that cut a dim of the tensor or over which it is partial.
AxisList getUsedAxes(nd::TensorType type);

/// The names in an array of strings.
AxisList getNames(mlir::ArrayAttr names);

/// The axes over which the values that the loop carries are cut so that the
/// ranks of these axes share its work, which they would repeat otherwise
/// (lib/Partition, cutCarried). The loop has them in an attribute,
/// `spmd.shared_axes`.
AxisList getSharedAxes(mlir::Operation *loop);
/// Adds such an axis.
void addSharedAxis(mlir::Operation *loop, mlir::StringAttr axis);

} // namespace meshc::spmd

#endif // MESHC_DIALECTS_SPMD_SHARDING_H
