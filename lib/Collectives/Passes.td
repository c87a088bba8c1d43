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
    A reshard whose result is only resharded on, always to one sharding, is left
    out where the direct way moves no more bytes: an all-reduce of which each
    rank keeps its block becomes a reduce-scatter.
  }];
}

def LowerReshards : Pass<"meshc-lower-reshards", "::mlir::ModuleOp"> {
  let summary = "replaces each reshard by the cheapest collectives and slices";
  let description = [{
    By the search of dialects/Spmd/ReshardPlan.h. Location and `nd.name` of the
    reshard go to what replaces it.
  }];
}

def CombineCollectives : Pass<"meshc-combine-collectives", "::mlir::ModuleOp"> {
  let summary = "makes one collective of several independent ones";
  let description = [{
    Collectives of one kind, over the same axes, with one reduction and element
    type, none of which needs another's result, become one with many operands,
    as long as it moves no more than `max-bytes` per rank in one call: fewer
    starts, the same bytes. It takes the place of the last of them; what needs its
    results moves behind it.
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
