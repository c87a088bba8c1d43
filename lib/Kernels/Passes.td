//===- Passes.td - from ops to kernels and matrix products ----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_KERNELS_PASSES_TD
#define MESHC_LIB_KERNELS_PASSES_TD

include "mlir/Pass/PassBase.td"

def PairContractions : Pass<"meshc-pair-contractions", "::mlir::func::FuncOp"> {
  let summary = "turns einsums into matrix products of two operands";
  let description = [{
    After the pass every `nd.einsum` has two operands of floats, contracts at least
    one dim, and each operand has a dim that the other has not: a (batched)
    matrix product. Of more operands, the pair that costs least comes first.
    Dims that one operand alone has are summed before. All else becomes
    `nd.mul` and `nd.reduce_sum`, which fuse; 16-bit floats are summed in f32.

        %0 = nd.einsum %a, %b, %c {reduced = ["j", "k"]}
          : (a[i, j], b[j, k], c[k, l]) -> [i, l]
    becomes, where i is the smallest,
        %0 = nd.einsum %a, %b {reduced = ["j"]}
        %1 = nd.einsum %0, %c {reduced = ["k"]}
  }];
  let dependentDialects = ["::meshc::nd::NdDialect"];
}

def FormFusions : Pass<"meshc-form-fusions", "::mlir::func::FuncOp"> {
  let summary = "groups element ops and reductions into kernels";
  let description = [{
    After the pass a function holds only `exec.fusion` ops, matrix products and
    collectives, in an order that respects their dependences.

    Users come before producers: an op joins the kernels of its users where its
    elements are cheap to compute again or it has one user; a reduction stays
    inside a kernel that runs over the same dims; all else is stored, by the
    kernel of a user where loops fit and no cycle arises. What products,
    collectives and results of the function need is stored. Kernels over the same
    dims that read a large tensor alike become one.
  }];
  let dependentDialects = ["::meshc::exec::ExecDialect"];
}

def AssignOrders : Pass<"meshc-assign-orders", "::mlir::func::FuncOp"> {
  let summary = "chooses the memory order of every tensor";
  let description = [{
    After the pass every op has `exec.orders`. Arguments and results of the function
    keep their declared order. Operands of products get orders in which the
    product is one call; where a tensor that cannot have such an order is needed,
    a fusion copies it. Results of fusions follow their largest input of the same
    dims, all else the order in which the function's tensors declare dims.
  }];
  let dependentDialects = ["::meshc::exec::ExecDialect"];
}

def FuseEpilogues : Pass<"meshc-fuse-epilogues", "::mlir::func::FuncOp"> {
  let summary = "makes a product and what follows it one call";
  let description = [{
    For targets that support epilogues of products: does nothing unless the module has
    `exec.epilogues`. A fusion that the table of exec.product lists, of the result of
    a product of one batch, becomes an exec.product with it. Where others read the
    result of the product too,

    - those that add the same bias, of a gelu, read the sum, which the call keeps;
    - those of a gelu without a bias read the result, which the call keeps;
    - else nothing changes.

    If the gradient of a relu is also an epilogue, the relu stores a mask for it,
    provided that the mask is small compared with the result. A sum with a kernel
    of its own joins the product that contracts the same tensor over the same dims
    (a bias gradient).
  }];
  let dependentDialects = ["::meshc::exec::ExecDialect"];
}

def PlanLoops : Pass<"meshc-plan-loops", "::mlir::func::FuncOp"> {
  let summary = "orders the loops of each fusion";
  let description = [{
    Lanes run along the dim in which most bytes of inputs and outputs are
    contiguous; the other loops follow the memory order of the largest tensor.
  }];
  let dependentDialects = ["::meshc::exec::ExecDialect"];
}

def VerifyKernels : Pass<"meshc-verify-kernels", "::mlir::func::FuncOp"> {
  let summary = "checks what the kernels phase promises";
  let description = [{
    Each op is a fusion with a plan that fits it, a product that is one call in the
    orders of its tensors, with or without an epilogue, or a collective that keeps
    the order; orders name each dim once; results of the function have their
    declared order. What follows a product in its call is what its epilogue says.
  }];
}

#endif // MESHC_LIB_KERNELS_PASSES_TD
