//===- Optimizer.td - updates of parameters -------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_ND_OPS_OPTIMIZER_TD
#define MESHC_DIALECTS_ND_OPS_OPTIMIZER_TD

include "dialects/Nd/NdOp.td"

// Operands and results: OptimizerOpInterface. `rate` is a scalar f32, `step` a
// scalar i32.
def Nd_SgdUpdateOp : Nd_Op<"sgd_update", [Nd_CompositeOp, Nd_OptimizerOp]> {
  let summary = "p' = p - rate·(g + weight_decay·p)";
  let arguments = (ins Nd_TensorType:$parameter, Nd_TensorType:$grad, Nd_TensorType:$rate,
                       Nd_TensorType:$step, DefaultValuedAttr<F64Attr, "0.0">:$weight_decay);
  let results = (outs Nd_TensorType:$result);
  let hasVerifier = 1;
}
def Nd_MomentumUpdateOp : Nd_Op<"momentum_update", [Nd_CompositeOp, Nd_OptimizerOp]> {
  let summary = "v' = momentum·v + g + weight_decay·p; p' = p - rate·v' (nesterov 1: p - rate·(g + weight_decay·p + momentum·v')): PyTorch's SGD";
  let arguments = (ins Nd_TensorType:$parameter, Nd_TensorType:$grad, Nd_TensorType:$rate,
                       Nd_TensorType:$step, Nd_TensorType:$velocity,
                       DefaultValuedAttr<F64Attr, "0.9">:$momentum,
                       DefaultValuedAttr<F64Attr, "0.0">:$nesterov,
                       DefaultValuedAttr<F64Attr, "0.0">:$weight_decay);
  let results = (outs Nd_TensorType:$result, Nd_TensorType:$new_velocity);
  let hasVerifier = 1;
}
def Nd_AdamwUpdateOp : Nd_Op<"adamw_update", [Nd_CompositeOp, Nd_OptimizerOp]> {
  let summary = "AdamW with bias correction (arXiv 1711.05101): m, v moments, t = step + 1";
  let arguments = (ins Nd_TensorType:$parameter, Nd_TensorType:$grad, Nd_TensorType:$rate,
                       Nd_TensorType:$step, Nd_TensorType:$m, Nd_TensorType:$v,
                       DefaultValuedAttr<F64Attr, "0.9">:$beta1,
                       DefaultValuedAttr<F64Attr, "0.999">:$beta2,
                       DefaultValuedAttr<F64Attr, "1e-8">:$epsilon,
                       DefaultValuedAttr<F64Attr, "0.01">:$weight_decay);
  let results = (outs Nd_TensorType:$result, Nd_TensorType:$new_m, Nd_TensorType:$new_v);
  let hasVerifier = 1;
}

#endif // MESHC_DIALECTS_ND_OPS_OPTIMIZER_TD
