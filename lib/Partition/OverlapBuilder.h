//===- OverlapBuilder.h - gathers and scatters cut along overlaps ---------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_PARTITION_OVERLAPBUILDER_H
#define MESHC_LIB_PARTITION_OVERLAPBUILDER_H

#include "dialects/Spmd/OverlapPlan.h"
#include "lib/Partition/FactorChoice.h"

namespace meshc::partition {

/// Builds a gather or a scatter whose choice cuts an Overlap factor: the op on
/// widened blocks, with indices of these, between the windows that widen the
/// gather's table or narrow the scatter's result.
class OverlapBuilder {
public:
  /// The choice is one of findFactorChoices for the op. New ops go to
  /// `builder`.
  OverlapBuilder(mlir::Operation &op, const nd::Factor &overlap,
                 const FactorChoice &choice, mlir::OpBuilder &builder,
                 nd::MeshAttr mesh);

  /// The op that makes the result from the operands' blocks.
  mlir::Operation *build(mlir::ValueRange blocks);

private:
  mlir::Value reindex(mlir::Value indices);
  mlir::Operation *buildLocal(mlir::ValueRange operands);
  mlir::Operation *buildWindow(mlir::Value from, nd::TensorType to,
                               const spmd::WindowSegments &segments);
  mlir::Operation *narrow(mlir::Value widened);

  mlir::Operation &op;
  const nd::Factor &overlap;
  mlir::StringAttr row, line; ///< the dims of the table and of the indices
  nd::TensorType table;       ///< a block of it
  mlir::OpBuilder &builder;
  spmd::OverlapPlan plan;
};

} // namespace meshc::partition

#endif // MESHC_LIB_PARTITION_OVERLAPBUILDER_H
