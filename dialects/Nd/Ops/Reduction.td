//===- Reduction.td - reductions over named dims --------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_ND_OPS_REDUCTION_TD
#define MESHC_DIALECTS_ND_OPS_REDUCTION_TD

include "dialects/Nd/NdOp.td"

// The result has the operand's type without `dims` (non-empty, distinct, all
// present). Floats and i32; max and min are NaN if an entry is NaN.
class Nd_Reduction<string mnemonic, string meaning, list<Trait> traits> : Nd_InferredOp<mnemonic, traits> {
  let summary = meaning;
  let arguments = (ins Nd_TensorType:$input, Nd_DimNames:$dims);
  let results = (outs Nd_TensorType:$result);
}
def Nd_ReduceSumOp : Nd_Reduction<"reduce_sum", "sum over `dims`", [Nd_ReduceOp]> { let hasCanonicalizer = 1; }
def Nd_ReduceMaxOp : Nd_Reduction<"reduce_max", "maximum over `dims`; ties share the gradient equally", [Nd_ReduceOp]>;
def Nd_ReduceMinOp : Nd_Reduction<"reduce_min", "minimum over `dims`; ties share the gradient equally", [Nd_ReduceOp]>;
def Nd_ReduceProdOp : Nd_Reduction<"reduce_prod", "product over `dims`", [Nd_ReduceOp]>;
def Nd_ReduceMeanOp : Nd_Reduction<"reduce_mean", "the sum over `dims` divided by the global number of entries; floats", [Nd_CompositeOp]>;
def Nd_ArgmaxOp : Nd_InferredOp<"argmax", [Nd_CompositeOp]> {
  let summary = "i32: the first global index of the largest entry along `dim`; 0 if an entry is NaN";
  let arguments = (ins Nd_TensorType:$input, StrAttr:$dim);
  let results = (outs Nd_TensorType:$result);
}

#endif // MESHC_DIALECTS_ND_OPS_REDUCTION_TD
