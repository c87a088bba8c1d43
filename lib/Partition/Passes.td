//===- Passes.td - one rank's program -------------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_PARTITION_PASSES_TD
#define MESHC_LIB_PARTITION_PASSES_TD

include "mlir/Pass/PassBase.td"

def ChoosePlan : Pass<"meshc-choose-plan", "::mlir::ModuleOp"> {
  let summary = "chooses how each function is partitioned, as its attribute 'spmd.plan'";
  let description = [{
    Makes the plan (`#spmd.plan`) of every function: for each op, the axes that cut
    each factor of its partition rule are chosen among those that its operands have and
    its results want. A beam search over the ops finds the choices
    that together move the fewest bytes and compute the least; it ends at loops, and
    begins again after them. An operand that lies otherwise is moved, once per value
    and form. A result with cut Reduce factors
    is a partial value. Partial values stay so through ops that are linear in
    them while that moves no more bytes, and are reduced at their first other
    use. Values then lie as `nd.sharding` wants. Along their open dims
    (`nd.open_dims`), they lie as they were computed. Sums that were partial take
    there the sharding that the first user wants, which passes it on from the values
    that it computes.

    Constants, indices and random numbers are recomputed in every sharding that is
    needed. Copies, such as renames and broadcasts, are made again from their operand
    if it has the sharding, or moves for fewer bytes, and an operand of a rename from
    its result.

    The body of a loop is planned in the same way. A carried value has the wanted
    sharding of its result at both ends of an iteration; its open dims lie as in its
    initial value. Stacked tensors enter as wanted; their entries are moved inside. So are the entries of stacked results,
    unless they are partial and ops that are linear in the stack move fewer bytes if
    it stays so: the gradients of a stacked parameter from two loops are added, and
    the sum is moved once. Whole tensors are moved before the loop, once for
    each form that the body needs, and become further whole operands. A carried
    value that starts at zero, and is used only in an addition whose result is only
    carried on, has the sharding of what is added to it: it stays a partial sum and is
    moved after the loop.

    Axes move to other dims where this saves enough of what a block sends
    (`move-share`). Where it would save less, the module's attribute
    `spmd.refused_share` names the share with which the train step would be another
    one. With a `machine`, the train step's attribute `spmd.price` says what its plan
    costs there (PlanPrice.h).

    ```mlir
    !s = !nd.tensor<f32, []>
    !x = !nd.tensor<f32, [batch = 8]>
    !block = !nd.tensor<f32, [batch = 8 on {data} ]>
    module attributes {nd.mesh = #nd.mesh<data = 2>} {
      func.func @f(%x: !x {nd.sharding = !block}) -> (!s {nd.sharding = !s}) {
        %y = nd.reduce_sum %x {dims = ["batch"], nd.sharding = [!s]} : (!x) -> !s
        return %y : !s
      }
    }
    ```
    becomes
    ```mlir
    !s = !nd.tensor<f32, []>
    !x = !nd.tensor<f32, [batch = 8]>
    !block = !nd.tensor<f32, [batch = 8 on {data} ]>
    module attributes {nd.mesh = #nd.mesh<data = 2>} {
      func.func @f(%x: !x {nd.sharding = !block}) -> (!s {nd.sharding = !s})
          attributes {spmd.plan = #spmd.plan<([batch {data} ]) {
            make op 0 nd.reduce_sum [{data} ] ([batch {data} ]) -> ([] sum {data})
            move op 0 [] sum {data} -> []
          } ([])>} {
        %y = nd.reduce_sum %x {dims = ["batch"], nd.sharding = [!s]} : (!x) -> !s
        return %y : !s
      }
    }
    ```
  }];
  let options = [
    Option<"moveShare", "move-share", "double", "0.5",
           "move axes where a block then sends at most this share of its bytes">,
    Option<"mayCutFurther", "may-cut-further", "bool", "false",
           "let blocks cut placed dims further where no axes move">,
    Option<"keptByteCost", "kept-byte-cost", "double", "-1",
           "what a byte costs that a loop keeps as a copy, in bytes that are sent; "
           "below 0: loops keep no copies">,
    Option<"pointCost", "point-cost", "double", "1",
           "what a point of a pointwise op costs, in bytes that are sent">,
    Option<"gathersOnce", "gather-once", "bool", "false",
           "gather parameters once for all micro-batches">,
    Option<"machine", "machine", "std::string", "",
           "price the train step's plan on this machine (a name or a file)">];
  let dependentDialects = ["::meshc::spmd::SpmdDialect"];
}

def PartitionProgram : Pass<"meshc-partition-program", "::mlir::ModuleOp"> {
  let summary = "makes every op local, as the functions' plans say; moves become spmd.reshard";
  let description = [{
    Rebuilds every function with sharded types from its plan, the attribute
    `spmd.plan`, in one pass over the steps. Removes the plan, `nd.sharding` and
    `nd.open_dims`. A plan that does not fit the function is an error that names the
    step. With `plans`, the plans are those of a file, as meshc writes it beside the
    dump of the phase partition: a dictionary by the names of the functions. It must
    have a plan for each function, and none for others.

    ```mlir
    !s = !nd.tensor<f32, []>
    !x = !nd.tensor<f32, [batch = 8]>
    !block = !nd.tensor<f32, [batch = 8 on {data} ]>
    module attributes {nd.mesh = #nd.mesh<data = 2>} {
      func.func @f(%x: !x {nd.sharding = !block}) -> (!s {nd.sharding = !s})
          attributes {spmd.plan = #spmd.plan<([batch {data} ]) {
            make op 0 nd.reduce_sum [{data} ] ([batch {data} ]) -> ([] sum {data})
            move op 0 [] sum {data} -> []
          } ([])>} {
        %y = nd.reduce_sum %x {dims = ["batch"], nd.sharding = [!s]} : (!x) -> !s
        return %y : !s
      }
    }
    ```
    becomes
    ```mlir
    !s = !nd.tensor<f32, []>
    !partial = !nd.tensor<f32, [], sum {data}>
    !block = !nd.tensor<f32, [batch = 8 on {data} ]>
    module attributes {nd.mesh = #nd.mesh<data = 2>} {
      func.func @f(%x: !block) -> !s {
        %y = nd.reduce_sum %x {dims = ["batch"]} : (!block) -> !partial
        %z = spmd.reshard %y : !partial -> !s
        return %z : !s
      }
    }
    ```
  }];
  let options = [Option<"plans", "plans", "std::string", "", "a file with the functions' plans">];
  let dependentDialects = ["::meshc::spmd::SpmdDialect"];
}

def MoveWindows : Pass<"meshc-move-windows", "::mlir::ModuleOp"> {
  let summary = "exchanges entries of values before they are repeated, and of sums after they are added";
  let description = [{
    A window that widens blocks of a value along a dim (`spmd.window` with `repeat`) moves
    before the op that makes this value, if that op keeps entries along the dim where they
    are, computes little, and takes a value with fewer elements: a gather along another
    dim, say. Sums of windows that narrow the blocks of an op's operand move behind that op
    in the same way, if it is linear in the operand and makes fewer elements: a scatter
    along another dim. So an image that is cut in two dims exchanges rows, then columns of
    its widened rows, and each entry is sent once. Ops between the old place and the new
    one run on wider blocks.

    ```mlir
    !x = !nd.tensor<f32, [row = 64 on {rows}, col = 64 on {cols} ]>
    !w = !nd.tensor<f32, [row = 64 on {rows}, col = 72 on {cols} ]>
    !i = !nd.tensor<i32, [line = 64 on {rows}, tall = 3]>
    !y = !nd.tensor<f32, [col = 64 on {cols}, line = 64 on {rows}, tall = 3]>
    !z = !nd.tensor<f32, [col = 72 on {cols}, line = 64 on {rows}, tall = 3]>
    module attributes {nd.mesh = #nd.mesh<rows = 4, cols = 4>} {
      func.func @f(%x: !x, %i: !i) -> !z {
        %j = spmd.reindex "line" stride 1 low 0 size 64 block 16 %i : !i
        %y = nd.gather %x, %j {along = "line", dim = "row"} : (!x, !i) -> !y
        %z = spmd.window "col" [0, 0, -1, 18] repeat [18, 16] fill 0.0 %y : (!y) -> !z
        return %z : !z
      }
    }
    ```
    becomes
    ```mlir
    !x = !nd.tensor<f32, [row = 64 on {rows}, col = 64 on {cols} ]>
    !w = !nd.tensor<f32, [row = 64 on {rows}, col = 72 on {cols} ]>
    !i = !nd.tensor<i32, [line = 64 on {rows}, tall = 3]>
    !z = !nd.tensor<f32, [col = 72 on {cols}, line = 64 on {rows}, tall = 3]>
    module attributes {nd.mesh = #nd.mesh<rows = 4, cols = 4>} {
      func.func @f(%x: !x, %i: !i) -> !z {
        %j = spmd.reindex "line" stride 1 low 0 size 64 block 16 %i : !i
        %w = spmd.window "col" [0, 0, -1, 18] repeat [18, 16] fill 0.0 %x : (!x) -> !w
        %z = nd.gather %w, %j {along = "line", dim = "row"} : (!w, !i) -> !z
        return %z : !z
      }
    }
    ```
  }];
  let dependentDialects = ["::meshc::spmd::SpmdDialect"];
}

def VerifyPartition : Pass<"meshc-verify-partition", "::mlir::ModuleOp"> {
  let summary = "checks that every op can be computed on each rank's blocks alone";
  let description = [{
    Checks the ops' partition rules, independently of how the shardings were
    chosen: all operands and results are cut alike along a factor; whole factors
    are not cut; each axis is used once; results are partial exactly over the axes
    of Reduce factors and of partial operands, in which the op must be linear. A
    constant zero may be a partial sum. Bodies of loops are checked alike.
    Function arguments and results are not partial.

    For example, the pass rejects
    ```mlir
    !x = !nd.tensor<f32, [batch = 8]>
    !block = !nd.tensor<f32, [batch = 8 on {data} ]>
    module attributes {nd.mesh = #nd.mesh<data = 2>} {
      func.func @f(%x: !block, %y: !x) {
        // expected-error @below {{is not local: dim 'batch' is cut differently on two of its values}}
        %z = nd.add %x, %y : (!block, !x) -> !block
        return
      }
    }
    ```
  }];
}

#endif // MESHC_LIB_PARTITION_PASSES_TD
