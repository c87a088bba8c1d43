//===- Passes.td - loops become their iterations --------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_LOOPS_PASSES_TD
#define MESHC_LIB_LOOPS_PASSES_TD

include "mlir/Pass/PassBase.td"

def UnrollLoops : Pass<"meshc-unroll-loops", "::mlir::ModuleOp"> {
  let summary = "replaces each loop by its iterations, one after the other";
  let description = [{
    The meaning of nd.scan: the body is repeated once per entry, with the entries
    of stacked operands taken apart, and stacked results put together. The entry of
    an nd.iota is a constant. A loop with `while` runs all iterations, too; those
    after its end leave what it carries unchanged. Works on whole tensors and on one rank's blocks, before
    kernels are formed. The pass fails if the program would have more than a million
    ops.

    ```mlir
    !x = !nd.tensor<f32, [i = 8]>
    !xs = !nd.tensor<f32, [i = 8, n = 2]>
    func.func @f(%x: !x, %w: !xs) -> !x {
      %y = nd.scan "n" 2 carried(%x : !x) stacked(%w : !xs) -> !x {
      ^bb0(%a: !x, %b: !x):
        %c = nd.mul %a, %b : (!x, !x) -> !x
        nd.yield %c : !x
      }
      return %y : !x
    }
    ```
    becomes
    ```mlir
    !x = !nd.tensor<f32, [i = 8]>
    !xs = !nd.tensor<f32, [i = 8, n = 2]>
    func.func @f(%x: !x, %w: !xs) -> !x {
      %b:2 = nd.unstack %w {dim = "n"} : (!xs) -> (!x, !x)
      %c = nd.mul %x, %b#0 : (!x, !x) -> !x
      %d = nd.mul %c, %b#1 : (!x, !x) -> !x
      return %d : !x
    }
    ```
  }];
  let options = [
    Option<"isPrimitive", "primitive", "bool", "false",
           "take tensors apart by one nd.entry for each entry instead of the composite nd.unstack">,
    Option<"keepsPositions", "keep-positions", "bool", "false",
           "leave loops over the positions of nd.generate, whose iterations are the steps of generation">,
    Option<"keepsConditional", "keep-conditional", "bool", "false",
           "leave loops with `while`, for which autodiff has no gradient, and unroll the loops in them">
  ];
  let dependentDialects = ["::meshc::nd::NdDialect"];
}

#endif // MESHC_LIB_LOOPS_PASSES_TD
