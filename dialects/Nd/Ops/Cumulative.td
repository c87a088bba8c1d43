//===- Cumulative.td - sums of all entries before each entry --------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_ND_OPS_CUMULATIVE_TD
#define MESHC_DIALECTS_ND_OPS_CUMULATIVE_TD

include "dialects/Nd/NdOp.td"

// The result has the operand's type. Floats and i32, which wraps around.
// Entry i is the sum of the entries 0 … i of `dim`. `exclusive`: of the entries
// 0 … i - 1. `backwards`: of those from i (or i + 1) to the last.
class Nd_Cumulative<string mnemonic, string meaning, list<Trait> traits> : Nd_InferredOp<mnemonic, traits> {
  let summary = meaning;
  let arguments = (ins Nd_TensorType:$input, StrAttr:$dim, UnitAttr:$exclusive, UnitAttr:$backwards);
  let results = (outs Nd_TensorType:$result);
}
def Nd_CumsumOp : Nd_Cumulative<"cumsum", "the sums of the entries up to each entry of `dim`", [Nd_CompositeOp]> {
  let description = [{
    Floats are summed in f32 and rounded once. If several ranks may have blocks of
    the dim, it becomes blocks and entries of a block: each rank sums its blocks
    (nd.prefix_sum) and adds the sums of all blocks before them. Only the blocks'
    sums, one number each, are gathered.
  }];
}
def Nd_PrefixSumOp : Nd_Cumulative<"prefix_sum", "cumsum in one pass over each row; `dim` is whole", [Nd_PrefixOp]>;

#endif // MESHC_DIALECTS_ND_OPS_CUMULATIVE_TD
