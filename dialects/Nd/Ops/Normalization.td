//===- Normalization.td - softmax and cross-entropy -----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_ND_OPS_NORMALIZATION_TD
#define MESHC_DIALECTS_ND_OPS_NORMALIZATION_TD

include "dialects/Nd/NdOp.td"

// Floats. The largest entry is subtracted first.
def Nd_SoftmaxOp : Nd_InferredOp<"softmax", [Nd_CompositeOp]> {
  let summary = "exp(input) divided by its sum over `dim`";
  let arguments = (ins Nd_TensorType:$input, StrAttr:$dim);
  let results = (outs Nd_TensorType:$result);
}
def Nd_LogSoftmaxOp : Nd_InferredOp<"log_softmax", [Nd_CompositeOp]> {
  let summary = "the logarithm of softmax over `dim`";
  let arguments = (ins Nd_TensorType:$input, StrAttr:$dim);
  let results = (outs Nd_TensorType:$result);
}
def Nd_CrossEntropyOp : Nd_InferredOp<"cross_entropy", [Nd_CompositeOp]> {
  let summary = "-log_softmax(logits)[dim = targets]; targets are i32, without `dim`; 0 where a target is `ignored`, NaN where another one is out of range";
  let arguments = (ins Nd_TensorType:$logits, Nd_TensorType:$targets, StrAttr:$dim,
                       OptionalAttr<I64Attr>:$ignored);
  let results = (outs Nd_TensorType:$result);
}

#endif // MESHC_DIALECTS_ND_OPS_NORMALIZATION_TD
