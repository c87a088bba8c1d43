//===- Indexing.td - elements at computed places - ---===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_ND_OPS_INDEXING_TD
#define MESHC_DIALECTS_ND_OPS_INDEXING_TD

include "dialects/Nd/NdOp.td"

def Nd_GatherOp : Nd_InferredOp<"gather", [Nd_ElementOp]> {
  let summary = "table[dim = indices]; 0 where an index is out of range";
  let description = [{
    Result dims: the table's less `dim`, and the indices' (i32); dims that both
    have align. The indices do not have `dim`.
  }];
  let arguments = (ins Nd_TensorType:$table, Nd_TensorType:$indices, StrAttr:$dim);
  let results = (outs Nd_TensorType:$result);
}
def Nd_ScatterAddOp : Nd_Op<"scatter_add", [ScatterOpInterface]> {
  let summary = "the transpose of gather: result[dim = indices] += updates, from zero";
  let description = [{
    Updates have all dims of the indices (i32). Result: `dim`, and the updates'
    dims less those of the indices that the result has not got (they are summed
    over). Out-of-range indices add nothing.
  }];
  let arguments = (ins Nd_TensorType:$updates, Nd_TensorType:$indices, StrAttr:$dim);
  let results = (outs Nd_TensorType:$result);
  let hasVerifier = 1;
}
def Nd_OneHotOp : Nd_Op<"one_hot", [Nd_CompositeOp]> {
  let summary = "1 where the index (i32) equals the entry along `dim`, which only the result has; else 0";
  let arguments = (ins Nd_TensorType:$indices, StrAttr:$dim);
  let results = (outs Nd_TensorType:$result);
  let hasVerifier = 1;
}

#endif // MESHC_DIALECTS_ND_OPS_INDEXING_TD
