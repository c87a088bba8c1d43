//===- Sharding.h - shardings of a tensor and how they differ ---===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Small steps between shardings: nd tensor types that differ in the axes of
/// their dims and in what they are partial over.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_SPMD_SHARDING_H
#define MESHC_DIALECTS_SPMD_SHARDING_H

#include "dialects/Nd/NdTypes.h"

namespace meshc::spmd {

using AxisList = llvm::SmallVector<mlir::StringAttr>;

/// The axes that cut the dim; empty for a dim that the type has not.
llvm::ArrayRef<mlir::StringAttr> getAxesOf(nd::TensorType type,
                                           llvm::StringRef dim);

/// The same type with the dim cut over exactly `axes`. Null where they do not
/// divide the dim, or one of them is in use already.
nd::TensorType withAxes(nd::TensorType type, llvm::StringRef dim,
                        llvm::ArrayRef<mlir::StringAttr> axes,
                        nd::MeshAttr mesh);

/// The type with `axes` added at the end of the dim's; null as above.
nd::TensorType addAxes(nd::TensorType type, llvm::StringRef dim,
                       llvm::ArrayRef<mlir::StringAttr> axes,
                       nd::MeshAttr mesh);

/// The type without `axes`, which must be the last ones of the dim; null where
/// they are not.
nd::TensorType dropAxes(nd::TensorType type, llvm::StringRef dim,
                        llvm::ArrayRef<mlir::StringAttr> axes);

/// The type without `axes` among its partial ones; null where it is not partial
/// over all of them.
nd::TensorType dropPartial(nd::TensorType type,
                           llvm::ArrayRef<mlir::StringAttr> axes);

/// Whether the axes are all of the mesh's, in its order, each once.
bool areInMeshOrder(llvm::ArrayRef<mlir::StringAttr> axes, nd::MeshAttr mesh);

/// All axes that cut the tensor or over which it is partial.
AxisList getUsedAxes(nd::TensorType type);

/// The names in an array of strings.
AxisList getNames(mlir::ArrayAttr names);

} // namespace meshc::spmd

#endif // MESHC_DIALECTS_SPMD_SHARDING_H
