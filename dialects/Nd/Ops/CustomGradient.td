//===- CustomGradient.td - gradients that a model states ------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_ND_OPS_CUSTOMGRADIENT_TD
#define MESHC_DIALECTS_ND_OPS_CUSTOMGRADIENT_TD

include "dialects/Nd/NdOp.td"

def Nd_CustomGradientOp : Nd_Op<"custom_gradient", [Nd_CompositeOp, IsolatedFromAbove, SingleBlock, AttrSizedOperandSegments]> {
  let summary = "values computed from arguments, with a gradient that the region computes";
  let description = [{
        %y = nd.custom_gradient values(%z : !y) arguments(%x : !x) residuals(%r : !r) {
        ^bb0(%g: !y, %s: !r):
          …
          nd.yield %d : !x
        }

    The results are `values`. Their gradient does not reach what `values` are
    computed from. Instead, the region computes the gradients of `arguments`, which
    are floats, from those of the results and from `residuals`. Autodiff builds the
    region's ops into the gradient, and then the op is no longer needed.

    After jax.custom_vjp of JAX.
  }];
  let arguments = (ins Variadic<Nd_TensorType>:$values, Variadic<Nd_TensorType>:$arguments,
                       Variadic<Nd_TensorType>:$residuals);
  let results = (outs Variadic<Nd_TensorType>:$results);
  let regions = (region SizedRegion<1>:$gradient);
  let assemblyFormat = [{
    `values` `(` $values `:` qualified(type($values)) `)`
    (`arguments` `(` $arguments^ `:` qualified(type($arguments)) `)`)?
    (`residuals` `(` $residuals^ `:` qualified(type($residuals)) `)`)?
    `->` qualified(type($results)) attr-dict-with-keyword $gradient
  }];
  let hasVerifier = 1;
}

#endif // MESHC_DIALECTS_ND_OPS_CUSTOMGRADIENT_TD
