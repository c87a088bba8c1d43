//===- DimNames.h - lists of dim names and their errors -------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_ND_OPS_DIMNAMES_H
#define MESHC_DIALECTS_ND_OPS_DIMNAMES_H

#include "dialects/Nd/NdTypes.h"

namespace meshc::nd {

/// The names in an array of string attributes.
llvm::SmallVector<mlir::StringAttr> getNames(mlir::ArrayAttr names);

/// Whether an attribute of the op has the dim's name, alone or in a list. Such
/// an op may treat the dim differently from others. What is said of its value,
/// as in nd.name and nd.order, does not count.
bool namesDim(mlir::Operation *op, mlir::StringAttr dim);

/// "'a', 'b'": the dims of the type; "none" for a scalar.
std::string listDims(TensorType type);

/// A name for a part of dim `dim`, such as "seq.entry": one that no dim of the
/// tensor has.
mlir::StringAttr namePart(TensorType type, mlir::StringAttr dim,
                          llvm::StringRef part);

/// Fails if indices along the dim do not fit into i32.
mlir::LogicalResult checkNumbered(std::optional<mlir::Location> location,
                                  llvm::StringRef op, DimAttr dim);

/// Reports that the operand of `op` has no dim `dim`; always fails.
mlir::LogicalResult reportMissingDim(std::optional<mlir::Location> location,
                                     llvm::StringRef op, mlir::StringAttr dim,
                                     TensorType type);

/// Fails with an error if a name occurs twice.
mlir::LogicalResult verifyDistinct(std::optional<mlir::Location> location,
                                   llvm::StringRef op,
                                   llvm::ArrayRef<mlir::StringAttr> names);

/// Reports that two dims of the result would be called `name`; always fails.
mlir::LogicalResult reportTakenDim(std::optional<mlir::Location> location,
                                   llvm::StringRef op, mlir::StringAttr name);

} // namespace meshc::nd

#endif // MESHC_DIALECTS_ND_OPS_DIMNAMES_H
