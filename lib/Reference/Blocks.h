//===- Blocks.h - from a whole tensor to blocks of ranks and back ---------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_REFERENCE_BLOCKS_H
#define MESHC_LIB_REFERENCE_BLOCKS_H

#include "lib/Reference/Interpreter.h"
#include "mlir/IR/Diagnostics.h"

namespace meshc::reference {

/// The blocks of `whole` on all ranks of `mesh` under the sharding that `type`
/// (of the same dims) carries. If the type is partial, the first rank of each
/// group has the values and the others have the reduction's identity.
RankTensors cutTensor(const nd::HostTensor &whole, nd::TensorType type,
                      nd::MeshAttr mesh);

/// Assembles the whole tensor from the blocks of `type` and combines partial
/// values. Fails, with an error, if two ranks that hold the same block differ
/// in any bit (NaNs are equal).
llvm::FailureOr<nd::HostTensor>
assembleTensor(const RankTensors &blocks, nd::TensorType type,
               nd::MeshAttr mesh,
               llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

} // namespace meshc::reference

#endif // MESHC_LIB_REFERENCE_BLOCKS_H
