//===- Statistic.td - totals over the batches of an evaluation ------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_ND_OPS_STATISTIC_TD
#define MESHC_DIALECTS_ND_OPS_STATISTIC_TD

include "dialects/Nd/NdOp.td"

def Nd_RunningSumOp : Nd_InferredOp<"running_sum", [Nd_ElementOp]> {
  let summary = "high + low + x, for f32, as the f32 nearest to it, or with `remainder` what that leaves out";
  let description = [{
    A running sum of many terms as two f32, `high` + `low`, which together have at
    least 48 bits of fraction (the splitting of T. Dekker, A Floating-Point Technique
    for Extending the Available Precision, Numer. Math. 18, 1971). Both parts of the
    next sum are computed from the f64 sum of the three operands: the f32 nearest to
    it, and, with `remainder`, the f32 nearest to the difference. If the sum is not
    finite, the remainder is 0. Operands have the same dims.
  }];
  let arguments = (ins Nd_TensorType:$high, Nd_TensorType:$low, Nd_TensorType:$input, UnitAttr:$remainder);
  let results = (outs Nd_TensorType:$result);
}

#endif // MESHC_DIALECTS_ND_OPS_STATISTIC_TD
