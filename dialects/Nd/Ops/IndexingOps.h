//===- IndexingOps.h - the ops of the family Indexing -----------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_ND_OPS_INDEXINGOPS_H
#define MESHC_DIALECTS_ND_OPS_INDEXINGOPS_H

#include "dialects/Nd/NdInterfaces.h"
#include "dialects/Nd/Ops/Precision.h"

#define GET_OP_CLASSES
#include "dialects/Nd/Ops/Indexing.h.inc"

namespace meshc::nd {

/// The table of an op that changes some of its entries and keeps the others
/// (nd.insert, nd.scatter_add). A kernel may write the result over the table:
/// it then touches the entries that change alone. Null for any other op, and
/// where the entries that do not change are zeros.
mlir::Value getChangedTable(mlir::Operation *op);

} // namespace meshc::nd

#endif // MESHC_DIALECTS_ND_OPS_INDEXINGOPS_H
