//===- Contraction.td - products summed over named dims -------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_ND_OPS_CONTRACTION_TD
#define MESHC_DIALECTS_ND_OPS_CONTRACTION_TD

include "dialects/Nd/NdOp.td"
include "dialects/Nd/Ops/Precision.td"

def Nd_EinsumOp : Nd_InferredOp<"einsum", [Nd_ShortProduct]> {
  let summary = "the product of all operands, summed over `reduced`";
  let description = [{
    `nd.einsum %x, %w {reduced = ["model"]} : (...) -> ...`: one or more operands
    of one float or i32 element type, aligned by name. The result dims are the
    union of the operands' dims without `reduced`. bf16 and f16 accumulate in f32.
    After the partition phase, a result that is a partial sum may be f32 where the
    operands are of 16 bits: the sum is rounded when it ends.
  }];
  let extraClassDeclaration = [{
    static bool isCompatibleReturnTypes(::mlir::TypeRange a, ::mlir::TypeRange b);
  }];
  let arguments = (ins Variadic<Nd_TensorType>:$inputs, Nd_DimNames:$reduced);
  let results = (outs Nd_TensorType:$result);
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
}

#endif // MESHC_DIALECTS_ND_OPS_CONTRACTION_TD
