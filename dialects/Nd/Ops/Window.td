//===- Window.td - slice, concat and pad along a dim ----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_ND_OPS_WINDOW_TD
#define MESHC_DIALECTS_ND_OPS_WINDOW_TD

include "dialects/Nd/NdOp.td"
include "dialects/Nd/Ops/Precision.td"

def Nd_SliceOp : Nd_InferredOp<"slice", [Nd_ElementOp, Nd_KeepsShort]> {
  let summary = "entries start … start + size - 1 of `dim`";
  let arguments = (ins Nd_TensorType:$input, StrAttr:$dim, I64Attr:$start, I64Attr:$size);
  let results = (outs Nd_TensorType:$result);
}
def Nd_ConcatOp : Nd_InferredOp<"concat", [Nd_ElementOp, Nd_KeepsShort]> {
  let summary = "concatenates the operands along `dim`; all other dims are equal";
  let arguments = (ins Variadic<Nd_TensorType>:$inputs, StrAttr:$dim);
  let results = (outs Nd_TensorType:$result);
}
def Nd_PadOp : Nd_InferredOp<"pad", [Nd_ElementOp, Nd_KeepsShort]> {
  let summary = "adds `low` entries of `value` before `dim` and `high` after it (both ≥ 0)";
  let arguments = (ins Nd_TensorType:$input, StrAttr:$dim, I64Attr:$low, I64Attr:$high, F64Attr:$value);
  let results = (outs Nd_TensorType:$result);
}

#endif // MESHC_DIALECTS_ND_OPS_WINDOW_TD
