//===- Passes.td - from reshards to collectives ---------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_COLLECTIVES_PASSES_TD
#define MESHC_LIB_COLLECTIVES_PASSES_TD

include "mlir/Pass/PassBase.td"

def FoldReshards : Pass<"meshc-fold-reshards", "::mlir::ModuleOp"> {
  let summary = "goes straight where a value is resharded twice in a row";
  let description = [{
    If all users of a reshard are reshards to one other sharding, the first reshard
    is removed, provided that the direct path moves no more bytes. For example, an
    all-reduce of which each rank keeps only its block becomes a reduce-scatter.
  }];
}

def LowerReshards : Pass<"meshc-lower-reshards", "::mlir::ModuleOp"> {
  let summary = "replaces each reshard by the cheapest collectives and slices";
  let description = [{
    Uses the search of dialects/Spmd/ReshardPlan.h. The new ops inherit the location
    and `nd.name` of the reshard.
  }];
}

def CombineCollectives : Pass<"meshc-combine-collectives", "::mlir::ModuleOp"> {
  let summary = "makes one collective of several independent ones";
  let description = [{
    Combines independent collectives of the same kind, axes, reduction and element
    type into one with many operands, as long as one call moves no more than
    `max-bytes` per rank. This moves the same bytes with fewer calls. The combined
    op replaces the last of them; users of its results move behind it.
  }];
  let options = [
    Option<"maxBytes", "max-bytes", "int64_t", "33554432",
           "largest sum of the operands of a combined collective, per rank">
  ];
}

def VerifyCollectives : Pass<"meshc-verify-collectives", "::mlir::ModuleOp"> {
  let summary = "checks what the collectives phase promises";
  let description = [{ No reshard remains. }];
}

#endif // MESHC_LIB_COLLECTIVES_PASSES_TD
