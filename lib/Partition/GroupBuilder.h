//===- GroupBuilder.h - splits and merges of uneven blocks ----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_PARTITION_GROUPBUILDER_H
#define MESHC_LIB_PARTITION_GROUPBUILDER_H

#include "dialects/Spmd/GroupPlan.h"
#include "lib/Partition/FactorChoice.h"

namespace meshc::partition {

/// Whether ranks must exchange entries if these axes cut the op's factor
/// (spmd::planGroups).
bool isExchanged(mlir::Operation &op, const nd::Factor &factor,
                 llvm::ArrayRef<mlir::StringAttr> axes, nd::MeshAttr mesh);

/// Builds a split or a merge that is cut so (isExchanged): a window that pads
/// the operand, the op, and a window that takes the padding of the result away.
/// New ops go to `builder`. Returns the last of them.
mlir::Operation *buildGroups(mlir::Operation &op, const nd::Factor &factor,
                             const FactorChoice &choice, mlir::Value block,
                             mlir::OpBuilder &builder, nd::MeshAttr mesh);

} // namespace meshc::partition

#endif // MESHC_LIB_PARTITION_GROUPBUILDER_H
