//===- Passes.td - one rank's program -------------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_PARTITION_PASSES_TD
#define MESHC_LIB_PARTITION_PASSES_TD

include "mlir/Pass/PassBase.td"

def PartitionProgram : Pass<"meshc-partition-program", "::mlir::ModuleOp"> {
  let summary = "makes every op local; disagreements become spmd.reshard";
  let description = [{
    Rebuilds every function with sharded types. For each op, in program order,
    the axes that cut each factor of its partition rule are chosen among those
    that its operands have and its results want, so that the fewest bytes move
    (then, the least is computed). An operand that lies otherwise gets a
    `spmd.reshard`, once per value and sharding. A result with cut Reduce factors
    is a partial value. Partial values stay so through ops that are linear in
    them while that moves no more bytes, and are resharded at their first other
    use. Values then lie as `nd.sharding` wants.

    Constants, indices and random numbers are recomputed in every sharding that is
    needed. The pass removes `nd.sharding`.
  }];
  let dependentDialects = ["::meshc::spmd::SpmdDialect"];
}

def VerifyPartition : Pass<"meshc-verify-partition", "::mlir::ModuleOp"> {
  let summary = "checks that every op can be computed on each rank's blocks alone";
  let description = [{
    Checks the ops' partition rules, independently of how the shardings were
    chosen: all operands and results are cut alike along a factor; whole factors
    are not cut; each axis is used once; results are partial exactly over the axes
    of Reduce factors and of partial operands, in which the op must be linear.
    Function arguments and results are not partial.
  }];
}

#endif // MESHC_LIB_PARTITION_PASSES_TD
