//===- SettledOrders.h - memory orders that nothing can change ------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_KERNELS_SETTLEDORDERS_H
#define MESHC_LIB_KERNELS_SETTLEDORDERS_H

#include "dialects/Exec/Alignment.h"
#include "dialects/Exec/Order.h"

namespace meshc::kernels {

/// The memory order in which a value of a function or a loop's body lies
/// because of what the function declares: the order of the argument that it is,
/// or of which it is an entry, and otherwise of the result that it becomes.
/// Nothing where the order is still to be chosen (a product's result, for
/// example).
std::optional<exec::Order> getSettledOrder(mlir::Value value);

/// The loops that stride through a tensor in this memory order: of the dims
/// `aligned`, along which loops of the same name run, all but the innermost of
/// the tensor. Dims of one local entry do not count. Sorted by name.
exec::DimSet getStridedDims(nd::TensorType type,
                            llvm::ArrayRef<mlir::StringAttr> order,
                            llvm::ArrayRef<mlir::StringAttr> aligned,
                            nd::MeshAttr mesh);

} // namespace meshc::kernels

#endif // MESHC_LIB_KERNELS_SETTLEDORDERS_H
