//===- Precision.td - which ops run in 16 bits ----------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_ND_OPS_PRECISION_TD
#define MESHC_DIALECTS_ND_OPS_PRECISION_TD

include "mlir/IR/OpBase.td"

// What an f32 op becomes in a model that is trained with `precision bf16` or
// `f16` (the pass meshc-lower-precision). An op with neither trait stays in f32: what adds
// up many terms, and functions whose results grow or shrink fast.

// The op multiplies, and adds up in f32: its floats and its first result are 16
// bits. Other results, such as attention's logarithms of sums, stay f32.
def Nd_ShortProduct : NativeOpTrait<"ShortProduct"> {
  let cppNamespace = "::meshc::nd";
}
// The op rounds little: 16 bits if its largest operands are, otherwise f32.
def Nd_KeepsShort : NativeOpTrait<"KeepsShort"> {
  let cppNamespace = "::meshc::nd";
}

#endif // MESHC_DIALECTS_ND_OPS_PRECISION_TD
