//===- Stack.td - entries of a tensor, apart and together -----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_ND_OPS_STACK_TD
#define MESHC_DIALECTS_ND_OPS_STACK_TD

include "dialects/Nd/NdOp.td"
include "dialects/Nd/Ops/Precision.td"

def Nd_EntryOp : Nd_InferredOp<"entry", [Nd_ElementOp, Nd_KeepsShort]> {
  let summary = "entry `index` of `dim`; the result lacks the dim";
  let arguments = (ins Nd_TensorType:$input, StrAttr:$dim, I64Attr:$index);
  let results = (outs Nd_TensorType:$result);
  let hasFolder = 1;
}
def Nd_StackOp : Nd_InferredOp<"stack", [Nd_ElementOp, Nd_KeepsShort]> {
  let summary = "the operands, of one type, as the entries of a new dim `dim`";
  let arguments = (ins Variadic<Nd_TensorType>:$inputs, StrAttr:$dim);
  let results = (outs Nd_TensorType:$result);
}
def Nd_UnstackOp : Nd_InferredOp<"unstack", [Nd_CompositeOp]> {
  let summary = "all entries of `dim`, a result for each; the inverse of nd.stack";
  let arguments = (ins Nd_TensorType:$input, StrAttr:$dim);
  let results = (outs Variadic<Nd_TensorType>:$results);
}

#endif // MESHC_DIALECTS_ND_OPS_STACK_TD
