//===- Passes.td - from a model to its step functions ---------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_AUTODIFF_PASSES_TD
#define MESHC_LIB_AUTODIFF_PASSES_TD

include "mlir/Pass/PassBase.td"

def BuildSteps : Pass<"meshc-build-steps", "::mlir::ModuleOp"> {
  let summary = "replaces the model by initialize, train_step and eval_step";
  let description = [{
    The model is the module's one func.func with `nd.parameter` ops and named
    results. After the pass:

    - `@initialize() -> (parameters, slots)`: the parameters' initializers, and
      zeros for the optimizer's slots;
    - `@train_step(parameters, slots, inputs) -> (parameters', slots', metrics)`,
      where the module has an `nd.train`: the model, the gradients of the loss by
      reverse mode (Griewank and Walther, Evaluating Derivatives, ch. 3), and the
      optimizer's updates;
    - `@eval_step(parameters, inputs) -> (metrics)`.

    Arguments and results carry `nd.name`, `nd.role`, `nd.order` and `nd.class`;
    the loss is the first metric. Ops that make the gradient of a parameter have
    `nd.class = "gradient"`, updates "optimizer". A parameter that the loss does
    not depend on is passed through unchanged, with a warning.

    An op with the float attribute `nd.eval_value` (the factor of a dropout) is
    for training only: in `@eval_step` every element of its result is that value.
  }];
  let dependentDialects = ["::meshc::nd::NdDialect", "::mlir::func::FuncDialect"];
}

def VerifySteps : Pass<"meshc-verify-steps", "::mlir::ModuleOp"> {
  let summary = "checks what the autodiff phase promises";
  let description = [{
    No `nd.parameter` and no `nd.train` remains; the step functions are there with
    matching state types, names and roles; all other ops are of the nd dialect.
  }];
}

#endif // MESHC_LIB_AUTODIFF_PASSES_TD
