//===- NdTypes.h - the nd tensor type, mesh and enums ---------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_ND_NDTYPES_H
#define MESHC_DIALECTS_ND_NDTYPES_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/DialectImplementation.h"

#include "dialects/Nd/NdEnums.h.inc"

#include "dialects/Nd/NdDialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Nd/NdAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/Nd/NdTypes.h.inc"

namespace meshc::nd {

/// The tensor type of a value; null for other values.
inline TensorType getTensorType(mlir::Value value) {
  return value ? mlir::dyn_cast<TensorType>(value.getType()) : TensorType();
}

/// Equal dims and element type; the sharding is ignored.
bool haveSameGlobalType(mlir::Type a, mlir::Type b);
bool haveSameGlobalTypes(mlir::TypeRange a, mlir::TypeRange b);

/// For type inference: appends the type with `dims` (in any order, not cut), or
/// reports at `location` why there is no such type.
mlir::LogicalResult appendTensorType(std::optional<mlir::Location> location,
                                     mlir::Type elementType,
                                     llvm::ArrayRef<DimAttr> dims,
                                     llvm::SmallVectorImpl<mlir::Type> &types);

} // namespace meshc::nd

#endif // MESHC_DIALECTS_ND_NDTYPES_H
