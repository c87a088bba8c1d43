//===- Optimizer.td - updates of parameters -------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_ND_OPS_OPTIMIZER_TD
#define MESHC_DIALECTS_ND_OPS_OPTIMIZER_TD

include "dialects/Nd/NdOp.td"

// Operands, results and attributes: OptimizerOpInterface. `others` are the
// slots, then the computed settings. In the summaries, t is the number of the
// update, from 1.
class Nd_UpdateOp<string optimizer, string text>
    : Nd_Op<optimizer#"_update", [Nd_CompositeOp, Nd_OptimizerOp]> {
  let summary = text;
  let arguments = (ins Nd_TensorType:$parameter, Nd_TensorType:$grad,
      Nd_TensorType:$step, Variadic<Nd_TensorType>:$others,
      OptionalAttr<DictionaryAttr>:$settings,
      OptionalAttr<TypedArrayAttrBase<StrAttr, "names of settings">>:$computed,
      OptionalAttr<Nd_DimNames>:$stacked,
      OptionalAttr<DictionaryAttr>:$adjustable);
  let results = (outs Nd_TensorType:$result,
      Variadic<Nd_TensorType>:$new_slots);
  let hasVerifier = 1;
}

def Nd_SgdUpdateOp : Nd_UpdateOp<"sgd", "p' = p - lr·(g + weight_decay·p)">;
def Nd_MomentumUpdateOp
    : Nd_UpdateOp<"momentum",
                  "d = g + weight_decay·p; v' = momentum·v + d; p' = p - lr·v' "
                  "(nesterov: p - lr·(d + momentum·v')): PyTorch's SGD">;
def Nd_AdamUpdateOp
    : Nd_UpdateOp<"adam", "Adam with bias correction (arXiv 1412.6980): m, v "
                          "moments of g + weight_decay·p">;
def Nd_AdamwUpdateOp
    : Nd_UpdateOp<
          "adamw",
          "AdamW with bias correction (arXiv 1711.05101): m, v moments">;
def Nd_LionUpdateOp
    : Nd_UpdateOp<
          "lion",
          "Lion (arXiv 2302.06675): p' = p·(1 - lr·weight_decay) - "
          "lr·sign(beta1·m + (1 - beta1)·g); m' = beta2·m + (1 - beta2)·g">;

// The norms ‖·‖ and the root mean squares are those of a whole parameter, or of
// one entry of the dims `stacked`.
def Nd_LarsUpdateOp
    : Nd_UpdateOp<
          "lars",
          "LARS (arXiv 1708.03888): d = g + weight_decay·p; v' = momentum·v + "
          "lr·trust·‖p‖/(‖g‖ + weight_decay·‖p‖)·d; p' = p - v'">;
def Nd_LambUpdateOp
    : Nd_UpdateOp<"lamb", "LAMB (arXiv 1904.00962): r is adam's direction + "
                          "weight_decay·p; p' = p - lr·‖p‖/‖r‖·r">;
def Nd_AdafactorUpdateOp
    : Nd_UpdateOp<
          "adafactor",
          "Adafactor (arXiv 1804.04235) without momentum: second moments as "
          "products of a row and a column over the two largest dims">;

#endif // MESHC_DIALECTS_ND_OPS_OPTIMIZER_TD
