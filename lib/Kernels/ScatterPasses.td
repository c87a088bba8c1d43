//===- ScatterPasses.td - passes for scatters --------------*- tablegen -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_KERNELS_SCATTERPASSES_TD
#define MESHC_LIB_KERNELS_SCATTERPASSES_TD

include "mlir/Pass/PassBase.td"

def SumWindows : Pass<"meshc-sum-windows", "::mlir::func::FuncOp"> {
  let summary = "turns scatters of windows, gradients of convolutions, into sums over the windows' entries";
  let description = [{
    If the indices of a scatter_add are affine in their positions, as those of
    windows are (iota(place) + iota(wide) - 2), then an entry of the result gets at
    most one entry of each number within the windows: the sum over `wide` of a gather
    along `place`. A scatter adds one entry after another to memory; the sum adds
    vectors in registers, needs no sorted indices on GPUs, and may be fused with what
    follows. Only where no rank has a block of what the windows span, where the step
    along `place` is 1 or -1, and where the result has at most twice as many entries
    as there are places.

    ```mlir
    !u = !nd.tensor<f32, [c = 32, place = 14, wide = 5]>
    !i = !nd.tensor<i32, [place = 14, wide = 5]>
    !x = !nd.tensor<f32, [c = 32, col = 14]>
    func.func @f(%u: !u) -> !x {
      %p = nd.iota : () -> !nd.tensor<i32, [place = 14]>
      %w = nd.iota : () -> !nd.tensor<i32, [wide = 5]>
      %i = nd.add %p, %w : (!nd.tensor<i32, [place = 14]>, !nd.tensor<i32, [wide = 5]>) -> !i
      %0 = nd.scatter_add %u, %i {dim = "col"} : (!u, !i) -> !x
      return %0 : !x
    }
    ```
    becomes
    ```mlir
    !u = !nd.tensor<f32, [c = 32, place = 14, wide = 5]>
    !i = !nd.tensor<i32, [col = 14, wide = 5]>
    !g = !nd.tensor<f32, [c = 32, col = 14, wide = 5]>
    !x = !nd.tensor<f32, [c = 32, col = 14]>
    func.func @f(%u: !u) -> !x {
      // What nothing needs any more, the next pass removes.
      %p = nd.iota : () -> !nd.tensor<i32, [place = 14]>
      %v = nd.iota : () -> !nd.tensor<i32, [wide = 5]>
      %j = nd.add %p, %v : (!nd.tensor<i32, [place = 14]>, !nd.tensor<i32, [wide = 5]>) -> !nd.tensor<i32, [place = 14, wide = 5]>
      %c = nd.iota : () -> !nd.tensor<i32, [col = 14]>
      %w = nd.iota : () -> !nd.tensor<i32, [wide = 5]>
      %m = nd.constant -1 : i32 -> !nd.tensor<i32, []>
      %n = nd.mul %w, %m : (!nd.tensor<i32, [wide = 5]>, !nd.tensor<i32, []>) -> !nd.tensor<i32, [wide = 5]>
      %i = nd.add %c, %n : (!nd.tensor<i32, [col = 14]>, !nd.tensor<i32, [wide = 5]>) -> !i
      %g = nd.gather %u, %i {dim = "place"} : (!u, !i) -> !g
      %0 = nd.reduce_sum %g {dims = ["wide"]} : (!g) -> !x
      return %0 : !x
    }
    ```
  }];
}

def ScatterIntoSums : Pass<"meshc-scatter-into-sums", "::mlir::func::FuncOp"> {
  let summary = "gives a scatter_add the tensor to which its result is added as its table";
  let description = [{
    add(x, scatter_add(updates, indices)) becomes one scatter_add into the table x, if
    nothing else reads the scattered tensor, and it is not of 16 bits, where the two
    ops round twice. The schedule lets it write over x where
    x is not read later. Then there is no second tensor of the table's size, and no
    pass over the table: the gradient of an embedding that is also the weight of a
    product is scattered into the gradient of the product.

    ```mlir
    !u = !nd.tensor<f32, [b = 8, d = 4]>
    !i = !nd.tensor<i32, [b = 8]>
    !t = !nd.tensor<f32, [d = 4, v = 16]>
    func.func @f(%x: !t, %u: !u, %i: !i) -> !t {
      %0 = nd.scatter_add %u, %i {dim = "v"} : (!u, !i) -> !t
      %1 = nd.add %0, %x : (!t, !t) -> !t
      return %1 : !t
    }
    ```
    becomes
    ```mlir
    !u = !nd.tensor<f32, [b = 8, d = 4]>
    !i = !nd.tensor<i32, [b = 8]>
    !t = !nd.tensor<f32, [d = 4, v = 16]>
    func.func @f(%x: !t, %u: !u, %i: !i) -> !t {
      %0 = nd.scatter_add %u, %i into %x {dim = "v"} : (!u, !i, !t) -> !t
      return %0 : !t
    }
    ```
  }];
  let dependentDialects = ["::meshc::nd::NdDialect"];
}

def OrderScatters : Pass<"meshc-order-scatters", "::mlir::func::FuncOp"> {
  let summary = "sorts the indices of each scatter_add, for GPUs";
  let description = [{
    On GPUs, a scatter_add adds the updates of an entry one after another, or by
    several threads that share them: it needs to know where they are. After the pass
    each one whose indices have dims to be summed has an order of them. Where blocks of
    these dims have padding, it is in the order, too. The host's threads walk all
    indices instead.

    ```mlir
    !u = !nd.tensor<f32, [b = 8, d = 4, s = 3]>
    !i = !nd.tensor<i32, [b = 8, s = 3]>
    !t = !nd.tensor<f32, [d = 4, v = 16]>
    module attributes {exec.gpu} {
      func.func @f(%u: !u, %i: !i) -> !t {
        %0 = nd.scatter_add %u, %i {dim = "v"} : (!u, !i) -> !t
        return %0 : !t
      }
    }
    ```
    becomes
    ```mlir
    !u = !nd.tensor<f32, [b = 8, d = 4, s = 3]>
    !i = !nd.tensor<i32, [b = 8, s = 3]>
    !p = !nd.tensor<i32, [place = 24]>
    !t = !nd.tensor<f32, [d = 4, v = 16]>
    module attributes {exec.gpu} {
      func.func @f(%u: !u, %i: !i) -> !t {
        %0 = nd.merge_dims %i {dims = ["b", "s"], into = "place"} : (!i) -> !p
        %1 = nd.argsort %0 {count = 24 : i64, dim = "place", into = "place"} : (!p) -> !p
        %2 = nd.scatter_add %u, %i ordered %1 {dim = "v"} : (!u, !i, !p) -> !t
        return %2 : !t
      }
    }
    ```
  }];
  let dependentDialects = ["::meshc::nd::NdDialect"];
}

#endif // MESHC_LIB_KERNELS_SCATTERPASSES_TD
