//===- Reductions.h - combining the values of reductions ------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_CODEGEN_REDUCTIONS_H
#define MESHC_LIB_CODEGEN_REDUCTIONS_H

#include "lib/Codegen/KernelElements.h"

namespace meshc::codegen {

/// The identity element of the reduction in the type in which it computes: a
/// scalar, or a vector of the emitter's lanes.
mlir::Value getIdentity(KernelElements &emitter, mlir::Operation *reduction,
                        bool isVector);

/// Combines two values (scalars or vectors) with the reduction.
mlir::Value combine(KernelElements &emitter, mlir::Operation *reduction,
                    mlir::Value a, mlir::Value b);

/// Combines the elements of a vector of 2^n lanes by repeated halving.
mlir::Value combineLanes(KernelElements &emitter, mlir::Operation *reduction,
                         mlir::Value vector);

/// Whether the element(s) of a tensor of that type at the index exist along
/// those of `dims` that it has: an i1, or one for each lane if the lanes run
/// along one of them. Null if no block has padding along them.
mlir::Value getExistence(KernelElements &emitter, nd::TensorType type,
                         llvm::ArrayRef<mlir::StringAttr> dims,
                         const nd::ElementIndex &index);

/// The element(s) that the reduction takes in at the index: those of its
/// operand, or its identity in place of padding along the reduced dims.
mlir::Value getTerm(KernelElements &emitter, mlir::Operation *reduction,
                    const nd::ElementIndex &index);

/// Whether the element(s) of the tensor at the index are a vector.
bool hasLanes(mlir::Value tensor, const nd::ElementIndex &index);

} // namespace meshc::codegen

#endif // MESHC_LIB_CODEGEN_REDUCTIONS_H
