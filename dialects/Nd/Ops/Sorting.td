//===- Sorting.td - the order of entries along a dim ----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_ND_OPS_SORTING_TD
#define MESHC_DIALECTS_ND_OPS_SORTING_TD

include "dialects/Nd/NdOp.td"

// Floats and i32 are ordered by value: -0 and 0 are equal, and NaN comes behind
// all numbers. With `descending` the order is reversed, so that NaN comes first.
// Equal entries are in the order of their indices in both directions. The result
// has dim `into` of `count` entries, from 1 to the size of `dim`, instead of `dim`.
def Nd_ArgsortOp : Nd_InferredOp<"argsort", [Nd_SortOp]> {
  let summary = "the indices (i32) of the first `count` entries in the order of values along `dim`, which is whole";
  let description = [{
    On the host, each row takes time n log count, for n entries of `dim`: those that
    come first so far are a heap. On GPUs, one thread per entry compares it with all
    others of its row (n² comparisons); a row of more than 1,024 entries is sorted
    by digits, in time n, if there are up to 2^20 entries. `into` may be `dim`.
  }];
  let arguments = (ins Nd_TensorType:$input, StrAttr:$dim, StrAttr:$into, I64Attr:$count, UnitAttr:$descending);
  let results = (outs Nd_TensorType:$result);
}
def Nd_TopKOp : Nd_InferredOp<"top_k", [Nd_CompositeOp]> {
  let summary = "the indices (i32) of the `count` largest entries along `dim`, the largest first";
  let description = [{
    If the layout cuts the dim, it becomes blocks and entries of a block: each rank chooses `count` entries of each of its blocks (nd.argsort), and
    these alone are gathered and chosen from again.
  }];
  let arguments = (ins Nd_TensorType:$input, StrAttr:$dim, StrAttr:$into, I64Attr:$count);
  let results = (outs Nd_TensorType:$result);
}

#endif // MESHC_DIALECTS_ND_OPS_SORTING_TD
