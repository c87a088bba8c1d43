//===- Shape.td - broadcast, rename, split and merge dims -----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_ND_OPS_SHAPE_TD
#define MESHC_DIALECTS_ND_OPS_SHAPE_TD

include "dialects/Nd/NdOp.td"
include "dialects/Nd/Ops/Precision.td"

def Nd_BroadcastOp : Nd_Op<"broadcast", [Nd_ElementOp, Nd_AffineOp, Nd_KeepsShort]> {
  let summary = "repeats the operand along the dims that only the result has";
  let arguments = (ins Nd_TensorType:$input);
  let results = (outs Nd_TensorType:$result);
  let hasVerifier = 1;
  let hasFolder = 1;
}
def Nd_RenameOp : Nd_InferredOp<"rename", [Nd_ElementOp, Nd_AffineOp, Nd_PositionOp, Nd_KeepsShort]> {
  let summary = "renames dim from[i] to to[i]; all at once, so that two dims may be swapped";
  let arguments = (ins Nd_TensorType:$input, Nd_DimNames:$from, Nd_DimNames:$to);
  let results = (outs Nd_TensorType:$result);
  let hasFolder = 1;
}
def Nd_SplitDimOp : Nd_InferredOp<"split_dim", [Nd_ElementOp, Nd_ExchangeOp, Nd_KeepsShort]> {
  let summary = "splits `dim` into the dims `into`, major first; the product of `sizes` is its size";
  let arguments = (ins Nd_TensorType:$input, StrAttr:$dim, Nd_DimNames:$into, DenseI64ArrayAttr:$sizes);
  let results = (outs Nd_TensorType:$result);
}
def Nd_MergeDimsOp : Nd_InferredOp<"merge_dims", [Nd_ElementOp, Nd_KeepsShort]> {
  let summary = "merges `dims`, major first, into one dim `into`";
  let arguments = (ins Nd_TensorType:$input, Nd_DimNames:$dims, StrAttr:$into);
  let results = (outs Nd_TensorType:$result);
}

#endif // MESHC_DIALECTS_ND_OPS_SHAPE_TD
