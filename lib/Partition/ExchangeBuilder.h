//===- ExchangeBuilder.h - an op on blocks that lack entries --------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_PARTITION_EXCHANGEBUILDER_H
#define MESHC_LIB_PARTITION_EXCHANGEBUILDER_H

#include "lib/Partition/FactorChoice.h"
#include "lib/Reshard/ExchangePlan.h"

namespace meshc::partition {

/// Builds the op on a rank's blocks, as the choice cuts its rule's factors
/// (alternatives among them): windows that widen the operands' blocks, the op
/// on these, and windows that take the entries of its result to the ranks that
/// have them (reshard::planExchange). Where nothing is exchanged, this is the
/// op alone.
///
/// `blocks` have the choice's operand types. New ops go to `builder`. Returns
/// the op whose results are those of `op`, with the choice's result types and
/// without shardings. The choice may be any: returns null, and builds nothing,
/// if it has other types than the op and the blocks, or if the exchange cannot
/// be planned.
mlir::Operation *buildExchange(mlir::Operation &op,
                               const nd::PartitionRule &rule,
                               const FactorChoice &choice,
                               mlir::ValueRange blocks,
                               mlir::OpBuilder &builder, nd::MeshAttr mesh);

} // namespace meshc::partition

#endif // MESHC_LIB_PARTITION_EXCHANGEBUILDER_H
