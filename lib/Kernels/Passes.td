//===- Passes.td - from ops to kernels and matrix products ----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_KERNELS_PASSES_TD
#define MESHC_LIB_KERNELS_PASSES_TD

include "lib/Kernels/ScatterPasses.td"
include "mlir/Pass/PassBase.td"

def ExpandFallbacks : Pass<"meshc-expand-fallbacks", "::mlir::func::FuncOp"> {
  let summary = "builds from primitive ops what the target's library does not compute";
  let description = [{
    Attention, for example, is one op for layout and partition. If no library op
    that holds it has an implementation for its types, it becomes primitive ops on
    the same blocks. After the pass, each op with FallbackOpInterface is one that
    the target's library computes.

    ```mlir
    !q = !nd.tensor<f32, [d = 4, s = 3]>
    !k = !nd.tensor<f32, [d = 4, m = 5]>
    !r = !nd.tensor<f32, [s = 3]>
    module attributes {exec.gpu} {
      func.func @f(%q: !q, %k: !k) -> !q {
        %y, %sums = nd.attention %q, %k, %k {key = "d", memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>} : (!q, !k, !k) -> (!q, !r)
        return %y : !q
      }
    }
    ```
    becomes
    ```mlir
    !q = !nd.tensor<f32, [d = 4, s = 3]>
    !k = !nd.tensor<f32, [d = 4, m = 5]>
    !p = !nd.tensor<f32, [m = 5, s = 3]>
    !r = !nd.tensor<f32, [s = 3]>
    !b = !nd.tensor<i1, [s = 3]>
    !s = !nd.tensor<f32, []>
    module attributes {exec.gpu} {
      func.func @f(%q: !q, %k: !k) -> !q {
        %0 = nd.einsum %q, %k {reduced = ["d"]} : (!q, !k) -> !p
        %1 = nd.constant 5.000000e-01 : f32 -> !s
        %2 = nd.mul %0, %1 : (!p, !s) -> !p
        %3 = nd.reduce_max %2 {dims = ["m"]} : (!p) -> !r
        %4 = nd.constant 0xFF800000 : f32 -> !s
        %5 = nd.compare eq %3, %4 : (!r, !s) -> !b
        %6 = nd.constant 0.0 : f32 -> !s
        %7 = nd.select %5, %6, %3 : (!b, !s, !r) -> !r
        %8 = nd.sub %2, %7 : (!p, !r) -> !p
        %9 = nd.exp %8 : (!p) -> !p
        %10 = nd.reduce_sum %9 {dims = ["m"]} : (!p) -> !r
        %11 = nd.constant 1.0 : f32 -> !s
        %12 = nd.select %5, %11, %10 : (!b, !s, !r) -> !r
        %13 = nd.einsum %9, %k {reduced = ["m"]} : (!p, !k) -> !q
        %14 = nd.reciprocal %12 : (!r) -> !r
        %15 = nd.mul %13, %14 : (!q, !r) -> !q
        %16 = nd.constant 0x7F800000 : f32 -> !s
        %17 = nd.log %12 : (!r) -> !r
        %18 = nd.add %7, %17 : (!r, !r) -> !r
        %19 = nd.select %5, %16, %18 : (!b, !s, !r) -> !r
        return %15 : !q
      }
    }
    ```
  }];
  let dependentDialects = ["::meshc::nd::NdDialect"];
}

def PairContractions : Pass<"meshc-pair-contractions", "::mlir::func::FuncOp"> {
  let summary = "turns einsums into matrix products of two operands";
  let description = [{
    After the pass every `nd.einsum` has two operands of floats, contracts at least
    one dim, and each operand has a dim that the other has not: a (batched)
    matrix product. Of more operands, the pair that costs least comes first.
    Dims that one operand alone has are summed before. All else becomes
    `nd.mul` and `nd.reduce_sum`, which fuse; 16-bit floats are summed in f32.

    ```mlir
    !ij = !nd.tensor<f32, [i = 2, j = 30]>
    !jk = !nd.tensor<f32, [j = 30, k = 40]>
    !kl = !nd.tensor<f32, [k = 40, l = 50]>
    !il = !nd.tensor<f32, [i = 2, l = 50]>
    func.func @f(%a: !ij, %b: !jk, %c: !kl) -> !il {
      %0 = nd.einsum %a, %b, %c {reduced = ["j", "k"]} : (!ij, !jk, !kl) -> !il
      return %0 : !il
    }
    ```
    becomes, since i is the smallest dim,
    ```mlir
    !ij = !nd.tensor<f32, [i = 2, j = 30]>
    !jk = !nd.tensor<f32, [j = 30, k = 40]>
    !kl = !nd.tensor<f32, [k = 40, l = 50]>
    !ik = !nd.tensor<f32, [i = 2, k = 40]>
    !il = !nd.tensor<f32, [i = 2, l = 50]>
    func.func @f(%a: !ij, %b: !jk, %c: !kl) -> !il {
      %0 = nd.einsum %a, %b {reduced = ["j"]} : (!ij, !jk) -> !ik
      %1 = nd.einsum %c, %0 {reduced = ["k"]} : (!kl, !ik) -> !il
      return %1 : !il
    }
    ```
  }];
  let dependentDialects = ["::meshc::nd::NdDialect"];
}

def SinkUpdates : Pass<"meshc-sink-updates", "::mlir::func::FuncOp"> {
  let summary = "updates stacked parameters in the loop that computes their gradients";
  let description = [{
    A gradient that a loop stacks over its dim, and that only an update reads, is not
    stacked: the update's ops move into the loop's body, where they read the entry as
    soon as it is there. So the memory of one entry suffices. All of them must compute
    each element from elements of the same entry, and end in results of the function,
    or of the loop around, whose memory order has the loop's dim first. What they
    read without that dim is computed before the loop.

    A collective between the loop and the update, or behind the update, moves into the
    loop, too, if it moves one tensor, each entry by itself: the gather of a gradient
    that ranks have computed in parts, or of a parameter whose update ranks have
    divided (stage 1 of ZeRO: Rajbhandari et al., arXiv 1910.02054).

    Where ranks compute during collectives (`spmd.overlap`), collectives stay, and so
    does a gradient whose entries a collective reduces, since the collective runs on
    during the next iteration. Where launches take time (GPUs), entries of
    less than 1 MiB stay stacked, too.

    ```mlir
    !x = !nd.tensor<f32, [a = 4]>
    !xs = !nd.tensor<f32, [a = 4, n = 2]>
    func.func @f(%p: !xs {nd.order = ["n", "a"]}, %x: !x) -> (!xs {nd.order = ["n", "a"]}) {
      %0:2 = nd.scan "n" 2 carried(%x : !x) stacked(%p : !xs) -> !x, !xs {
      ^bb0(%h: !x, %w: !x):
        %1 = nd.mul %h, %w : (!x, !x) -> !x
        nd.yield %1, %1 : !x, !x
      }
      %2 = nd.sub %p, %0#1 : (!xs, !xs) -> !xs
      return %2 : !xs
    }
    ```
    becomes
    ```mlir
    !x = !nd.tensor<f32, [a = 4]>
    !xs = !nd.tensor<f32, [a = 4, n = 2]>
    func.func @f(%p: !xs {nd.order = ["n", "a"]}, %x: !x) -> (!xs {nd.order = ["n", "a"]}) {
      %0:2 = nd.scan "n" 2 carried(%x : !x) stacked(%p : !xs) -> !x, !xs {
      ^bb0(%h: !x, %w: !x):
        %1 = nd.mul %h, %w : (!x, !x) -> !x
        %2 = nd.sub %w, %1 : (!x, !x) -> !x
        nd.yield %1, %2 : !x, !x
      }
      return %0#1 : !xs
    }
    ```
  }];
}

def FormFusions : Pass<"meshc-form-fusions", "::mlir::func::FuncOp"> {
  let summary = "groups element ops and reductions into kernels";
  let description = [{
    After the pass the blocks of a function and of its loops hold only `exec.fusion`
    ops, library ops, collectives and loops, in an order that respects their
    dependences. Each nd op that a library op holds becomes that op: `nd.einsum`
    becomes `exec.product`.

    Users come before producers: an op joins the kernels of its users where its
    elements are cheap to compute again or it has one user; a reduction stays
    inside a kernel that runs over the same dims; all else is stored, by the
    kernel of a user where loops fit and no cycle arises. What library ops,
    collectives and loops read is stored, and so are the results of the function
    and the values that a loop's body yields. Kernels over the same dims that read a
    large tensor alike become one, unless its innermost loop, whichever it is, would
    then stride through a tensor whose memory order is settled. No kernel extends over
    the border of a loop.

    ```mlir
    !x = !nd.tensor<f32, [a = 4, b = 8]>
    !y = !nd.tensor<f32, [a = 4]>
    func.func @f(%x: !x) -> !y {
      %0 = nd.exp %x : (!x) -> !x
      %1 = nd.reduce_sum %0 {dims = ["b"]} : (!x) -> !y
      return %1 : !y
    }
    ```
    becomes
    ```mlir
    !x = !nd.tensor<f32, [a = 4, b = 8]>
    !y = !nd.tensor<f32, [a = 4]>
    func.func @f(%x: !x) -> !y {
      %0 = exec.fusion <parallel = ["a"], reduce = ["b"], lanes = "", sizes = [4, 8]>(%x) : (!x) -> !y {
      ^bb0(%in: !x):
        %1 = nd.exp %in : (!x) -> !x
        %2 = nd.reduce_sum %1 {dims = ["b"]} : (!x) -> !y
        exec.yield %2 : !y
      }
      return %0 : !y
    }
    ```
  }];
  let dependentDialects = ["::meshc::exec::ExecDialect"];
}

def AssignOrders : Pass<"meshc-assign-orders", "::mlir::func::FuncOp"> {
  let summary = "chooses the memory order of every tensor";
  let description = [{
    After the pass every op has `exec.orders`. Arguments and results of the function
    keep their declared order. A library op chooses the orders of its tensors, so that
    it is one call; where a tensor that cannot have such an order is needed, a fusion
    copies it, once for all products that the copy suits. Results of fusions follow their largest input of the same
    dims, all else the order in which the function's tensors declare dims.

    The members of a loop's tie agree. A carried value has one order as operand,
    argument, yielded value and result; a whole tensor has that of its operand; a
    stacked tensor has the loop's dim first, then the order of its entries. Copies
    that this needs are made outside the loop where possible.

    In this example, dims i and j must be adjacent to be the rows of a matrix.
    ```mlir
    !a = !nd.tensor<f32, [i = 2, j = 3, k = 4]>
    !b = !nd.tensor<f32, [k = 4, l = 5]>
    !c = !nd.tensor<f32, [i = 2, j = 3, l = 5]>
    func.func @f(%a: !a {nd.order = ["i", "k", "j"]}, %b: !b {nd.order = ["k", "l"]}) -> !c {
      %0 = exec.product(%a, %b) : (!a, !b) -> !c {
      ^bb0(%x: !a, %y: !b):
        %1 = nd.einsum %x, %y {reduced = ["k"]} : (!a, !b) -> !c
        exec.yield %1 : !c
      }
      return %0 : !c
    }
    ```
    becomes
    ```mlir
    !a = !nd.tensor<f32, [i = 2, j = 3, k = 4]>
    !b = !nd.tensor<f32, [k = 4, l = 5]>
    !c = !nd.tensor<f32, [i = 2, j = 3, l = 5]>
    func.func @f(%a: !a {nd.order = ["i", "k", "j"]}, %b: !b {nd.order = ["k", "l"]}) -> !c {
      %0 = exec.fusion <parallel = ["i", "j", "k"], reduce = [], lanes = "", sizes = [2, 3, 4]>(%a) : (!a) -> !a
          attributes {exec.orders = [["i", "j", "k"]]} {
      ^bb0(%in: !a):
        exec.yield %in : !a
      }
      %1 = exec.product(%0, %b) : (!a, !b) -> !c attributes {exec.orders = [["i", "j", "l"]]} {
      ^bb0(%x: !a, %y: !b):
        %2 = nd.einsum %x, %y {exec.orders = [["i", "j", "l"]], reduced = ["k"]} : (!a, !b) -> !c
        exec.yield %2 : !c
      }
      return %1 : !c
    }
    ```
  }];
  let dependentDialects = ["::meshc::exec::ExecDialect"];
}

def FuseEpilogues : Pass<"meshc-fuse-epilogues", "::mlir::func::FuncOp"> {
  let summary = "makes a product and what follows it one call";
  let description = [{
    For targets that support epilogues of products: does nothing unless the module has
    `exec.gpu`. In each block, a fusion that computes what meshc/Epilogues.def lists from the
    result of a product of one batch becomes the product's epilogue. Where others read
    the result of the product too,

    - those that add the same bias, of a gelu, read the sum, which the call keeps;
    - those of a gelu without a bias read the result, which the call keeps;
    - else nothing changes.

    If the gradient of a relu is also an epilogue, the relu stores a mask for it,
    provided that the mask is small compared with the result. A sum with a kernel
    of its own joins the product that contracts the same tensor over the same dims
    (a bias gradient).

    ```mlir
    !x = !nd.tensor<f32, [b = 12, i = 8]>
    !w = !nd.tensor<f32, [i = 8, j = 96]>
    !y = !nd.tensor<f32, [b = 12, j = 96]>
    module attributes {exec.gpu} {
      func.func @f(%x: !x, %w: !w) -> !y {
        %0 = exec.product(%x, %w) : (!x, !w) -> !y attributes {exec.orders = [["b", "j"]]} {
        ^bb0(%a: !x, %b: !w):
          %3 = nd.einsum %a, %b {reduced = ["i"], exec.orders = [["b", "j"]]} : (!x, !w) -> !y
          exec.yield %3 : !y
        }
        %1 = exec.fusion <parallel = ["b", "j"], reduce = [], lanes = "", sizes = [12, 96]>(%0) : (!y) -> !y
            attributes {exec.orders = [["b", "j"]]} {
        ^bb0(%in: !y):
          %2 = nd.relu %in : (!y) -> !y
          exec.yield %2 : !y
        }
        return %1 : !y
      }
    }
    ```
    becomes
    ```mlir
    !x = !nd.tensor<f32, [b = 12, i = 8]>
    !w = !nd.tensor<f32, [i = 8, j = 96]>
    !y = !nd.tensor<f32, [b = 12, j = 96]>
    module attributes {exec.gpu} {
      func.func @f(%x: !x, %w: !w) -> !y {
        %0 = exec.product then relu(%x, %w) : (!x, !w) -> !y attributes {exec.orders = [["b", "j"]]} {
        ^bb0(%a: !x, %b: !w):
          %1 = nd.einsum %a, %b {reduced = ["i"], exec.orders = [["b", "j"]]} : (!x, !w) -> !y
          %2 = exec.fusion <parallel = ["b", "j"], reduce = [], lanes = "", sizes = [12, 96]>(%1) : (!y) -> !y
              attributes {exec.orders = [["b", "j"]]} {
          ^bb0(%in: !y):
            %3 = nd.relu %in : (!y) -> !y
            exec.yield %3 : !y
          }
          exec.yield %2 : !y
        }
        return %0 : !y
      }
    }
    ```
  }];
  let dependentDialects = ["::meshc::exec::ExecDialect"];
}

def StoreYields : Pass<"meshc-store-yields", "::mlir::func::FuncOp"> {
  let summary = "lets a loop's kernels write the entries of stacked results";
  let description = [{
    An entry of a stacked result is written where it lies in that tensor. A value that
    the body yields twice, or an argument that it yields, would be copied there. A
    kernel that computes or reads the value stores it once more instead.

    ```mlir
    !x = !nd.tensor<f32, [a = 4]>
    !xs = !nd.tensor<f32, [a = 4, n = 2]>
    func.func @f(%x: !x {nd.order = ["a"]}) -> !xs {
      %0:2 = nd.scan "n" 2 carried(%x : !x) -> !x, !xs attributes {exec.orders = [["a"], ["n", "a"]]} {
      ^bb0(%h: !x):
        %1 = exec.fusion <parallel = ["a"], reduce = [], lanes = "", sizes = [4]>(%h) : (!x) -> !x
            attributes {exec.orders = [["a"]]} {
        ^bb0(%in: !x):
          %2 = nd.exp %in : (!x) -> !x
          exec.yield %2 : !x
        }
        nd.yield %1, %h : !x, !x
      }
      return %0#1 : !xs
    }
    ```
    becomes
    ```mlir
    !x = !nd.tensor<f32, [a = 4]>
    !xs = !nd.tensor<f32, [a = 4, n = 2]>
    func.func @f(%x: !x {nd.order = ["a"]}) -> !xs {
      %0:2 = nd.scan "n" 2 carried(%x : !x) -> !x, !xs attributes {exec.orders = [["a"], ["n", "a"]]} {
      ^bb0(%h: !x):
        %1:2 = exec.fusion <parallel = ["a"], reduce = [], lanes = "", sizes = [4]>(%h) : (!x) -> (!x, !x)
            attributes {exec.orders = [["a"], ["a"]]} {
        ^bb0(%in: !x):
          %2 = nd.exp %in : (!x) -> !x
          exec.yield %2, %in : !x, !x
        }
        nd.yield %1#0, %1#1 : !x, !x
      }
      return %0#1 : !xs
    }
    ```
  }];
}

def PlanLoops : Pass<"meshc-plan-loops", "::mlir::func::FuncOp"> {
  let summary = "orders the loops of each fusion";
  let description = [{
    Lanes run along the dim in which most bytes of inputs and outputs are
    contiguous; the other loops follow the memory order of the largest tensor.

    ```mlir
    !x = !nd.tensor<f32, [a = 4, b = 8]>
    func.func @f(%x: !x {nd.order = ["b", "a"]}) -> !x {
      %0 = exec.fusion <parallel = ["a", "b"], reduce = [], lanes = "", sizes = [4, 8]>(%x) : (!x) -> !x
          attributes {exec.orders = [["b", "a"]]} {
      ^bb0(%in: !x):
        %1 = nd.exp %in : (!x) -> !x
        exec.yield %1 : !x
      }
      return %0 : !x
    }
    ```
    becomes
    ```mlir
    !x = !nd.tensor<f32, [a = 4, b = 8]>
    func.func @f(%x: !x {nd.order = ["b", "a"]}) -> !x {
      %0 = exec.fusion <parallel = ["b", "a"], reduce = [], lanes = "a", sizes = [8, 4]>(%x) : (!x) -> !x
          attributes {exec.orders = [["b", "a"]]} {
      ^bb0(%in: !x):
        %1 = nd.exp %in : (!x) -> !x
        exec.yield %1 : !x
      }
      return %0 : !x
    }
    ```
  }];
  let dependentDialects = ["::meshc::exec::ExecDialect"];
}

def VerifyKernels : Pass<"meshc-verify-kernels", "::mlir::func::FuncOp"> {
  let summary = "checks what the kernels phase promises";
  let description = [{
    Each op is a fusion with a plan that fits it, a library op that is one call in the
    orders of its tensors, a collective that keeps the order, or a loop whose ties
    keep it and whose body is such a block; orders name each dim once; results of the
    function have their declared order. What follows a product in its call is what
    its epilogue says.

    For example, the pass rejects
    ```mlir
    !x = !nd.tensor<f32, [a = 4]>
    func.func @f(%x: !x) -> !x {
      // expected-error @below {{remains after the kernels phase, which leaves fusions, library ops, collectives and loops only}}
      %0 = nd.exp %x {exec.orders = [["a"]]} : (!x) -> !x
      return %0 : !x
    }
    ```
  }];
  let dependentDialects = ["::meshc::exec::ExecDialect"];
}

#endif // MESHC_LIB_KERNELS_PASSES_TD
