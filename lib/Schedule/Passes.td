//===- Passes.td - from kernels to buffers in an order --------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_SCHEDULE_PASSES_TD
#define MESHC_LIB_SCHEDULE_PASSES_TD

include "lib/Schedule/OrderPasses.td"
include "mlir/Pass/PassBase.td"

def BoundSizes : Pass<"meshc-bound-sizes", "::mlir::func::FuncOp"> {
  let summary = "rejects what a rank cannot store";
  let description = [{
    Values in memory have at most 2^48 elements on each rank, and all those of a function at most 2^60 bytes, so that
    offsets in the arena fit into 64 bits. Values inside of fusions and library ops are not stored: they may have up to
    2^60 elements over all ranks.

    For example, the pass rejects
    ```mlir
    !x = !nd.tensor<f32, [i = 1099511627776, j = 1024]>
    // expected-error @below {{a value would have 1125899906842624 elements on each rank, and a rank stores at most 2**48 of a tensor; cut it over more ranks, or make its dims smaller}}
    func.func @f(%x: !x) {
      return
    }
    ```
  }];
  let dependentDialects = ["::meshc::nd::NdDialect"];
}

def MergeLaunches : Pass<"meshc-merge-launches", "::mlir::func::FuncOp"> {
  let summary = "merges small kernels for GPUs that may run at the same time";
  let description = [{
    Fusions that follow each other become one with parts (exec.part): updates of
    parameters, and others whose results have up to 1 MiB. None of them reduces
    anything, draws random numbers, reads what another one computes, or overwrites what
    another one reads. A fusion has up to 480 buffers: more are not passed to a kernel.
    Does nothing where kernels are not for GPUs: a launch on the host takes no time, and one kernel after
    the other leaves more of the caches to each.

    ```mlir
    !x = !nd.tensor<f32, [i = 8]>
    !y = !nd.tensor<f32, [j = 4]>
    module attributes {exec.gpu} {
      func.func @f(%x: !x, %y: !y) -> (!x, !y) {
        %0 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>(%x) : (!x) -> !x
          attributes {exec.orders = [["i"] ]} {
        ^bb0(%in: !x):
          %1 = nd.exp %in : (!x) -> !x
          exec.yield %1 : !x
        }
        %2 = exec.fusion <parallel = ["j"], reduce = [], lanes = "j", sizes = [4]>(%y) : (!y) -> !y
          attributes {exec.orders = [["j"] ]} {
        ^bb0(%in: !y):
          %3 = nd.neg %in : (!y) -> !y
          exec.yield %3 : !y
        }
        return %0, %2 : !x, !y
      }
    }
    ```
    becomes
    ```mlir
    !x = !nd.tensor<f32, [i = 8]>
    !y = !nd.tensor<f32, [j = 4]>
    module attributes {exec.gpu} {
      func.func @f(%x: !x, %y: !y) -> (!x, !y) {
        %0, %1 = exec.fusion <parallel = [], reduce = [], lanes = "", sizes = []>(%x, %y) : (!x, !y) -> (!x, !y)
          attributes {exec.orders = [["i"], ["j"] ],
            parts = [#exec.part<1, <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>>,
                     #exec.part<1, <parallel = ["j"], reduce = [], lanes = "j", sizes = [4]>>]} {
        ^bb0(%in: !x, %other: !y):
          %2 = nd.exp %in : (!x) -> !x
          %3 = nd.neg %other : (!y) -> !y
          exec.yield %2, %3 : !x, !y
        }
        return %0, %1 : !x, !y
      }
    }
    ```
  }];
  let dependentDialects = ["::meshc::exec::ExecDialect"];
}

def PlanArena : Pass<"meshc-plan-arena", "::mlir::ModuleOp"> {
  let summary = "gives every tensor an offset in one arena";
  let description = [{
    Parameters, optimizer state, inputs and metrics (`exec.tensor`) have the same
    offsets in all step functions. The temporaries of each function follow: the
    largest first, each at the lowest offset that is free during its live range
    (Pisarchyk and Lee, arXiv 2001.03288, "greedy by size"). The result of a fusion
    or all_reduce reuses the memory of an operand that dies there, if each element
    is read only at the point that writes it; that of a library op, if its call may
    do so. Offsets are multiples of 64 bytes. Scratch memory of a library op is a
    temporary that lives during its call alone.

    In a loop, the places of arguments and yielded values follow from the operands and
    results: what is carried has one place from the initial value to the result, and
    an entry lies in its stacked tensor, moving by its bytes per iteration. The
    temporaries of the body are placed on their own; together they are one temporary
    of the block around the loop, during the loop. What a collective receives that can
    begin an iteration early has two places, for iterations of even and of odd numbers.
    A sum that is reduced to an entry of a stacked result lies where that entry will be,
    or in memory that the body uses for nothing else: so its collective may go on into
    the next iteration.

    After the pass the module has `exec.arena_bytes`, each op `exec.offsets` (one
    number per result), library ops `exec.scratch` (its offset and bytes), and
    each function argument `exec.offset`. Ops in loops also have `exec.strides`, and
    `exec.alternates` where a value has two places.

    ```mlir
    !v = !nd.tensor<f32, [i = 8]>
    func.func @eval_step(%p: !v {nd.name = "p", nd.role = "parameter", nd.order = ["i"]})
        -> (!v {nd.name = "y", nd.role = "metric", nd.order = ["i"]}) {
      %0 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>(%p) : (!v) -> !v
          attributes {exec.orders = [["i"]]} {
      ^bb0(%in: !v):
        %1 = nd.exp %in : (!v) -> !v
        exec.yield %1 : !v
      }
      return %0 : !v
    }
    ```
    becomes
    ```mlir
    !v = !nd.tensor<f32, [i = 8]>
    !buffer = !exec.buffer<!v, ["i"]>
    module attributes {exec.arena_bytes = 128 : i64} {
      exec.tensor "p" parameter ["i"] at 0 : !buffer
      exec.tensor "y" metric ["i"] at 64 : !buffer
      func.func @eval_step(%p: !v {exec.offset = 0 : i64, nd.name = "p", nd.role = "parameter", nd.order = ["i"]})
          -> (!v {nd.name = "y", nd.role = "metric", nd.order = ["i"]}) {
        %0 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>(%p) : (!v) -> !v
            attributes {exec.offsets = array<i64: 64>, exec.orders = [["i"]]} {
        ^bb0(%in: !v):
          %1 = nd.exp %in : (!v) -> !v
          exec.yield %1 : !v
        }
        return %0 : !v
      }
    }
    ```
  }];
  let dependentDialects = ["::meshc::exec::ExecDialect"];
}

def BuildSchedule : Pass<"meshc-build-schedule", "::mlir::ModuleOp"> {
  let summary = "turns step functions into exec.func and exec.kernel";
  let description = [{
    Each fusion becomes a launch of a kernel (equal ones share it), each library op
    its call (a product becomes an `exec.gemm`), each collective an `exec.collective`,
    each loop an `exec.loop`. No func.func remains. A kernel that is launched on
    entries of stacked tensors records to what bytes they are aligned. A collective
    that sends entries of stacked operands is begun `ahead`, in the iteration before
    its own, where that iteration needs what its own collective received.

    ```mlir
    !v = !nd.tensor<f32, [i = 8]>
    func.func @eval_step(%p: !v {exec.offset = 0 : i64, nd.order = ["i"]}) -> !v {
      %0 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>(%p) : (!v) -> !v
          attributes {exec.offsets = array<i64: 64>, exec.orders = [["i"]]} {
      ^bb0(%in: !v):
        %1 = nd.exp %in : (!v) -> !v
        exec.yield %1 : !v
      }
      return %0 : !v
    }
    ```
    becomes
    ```mlir
    !v = !nd.tensor<f32, [i = 8]>
    !buffer = !exec.buffer<!v, ["i"]>
    exec.func @eval_step {
      %0 = exec.buffer at 0 : !buffer
      %1 = exec.buffer at 64 : !buffer
      exec.launch @kernel_0(%0) -> (%1) : (!buffer) -> !buffer
    }
    exec.kernel @kernel_0 <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]> in [["i"]] out [["i"]] {
    ^bb0(%in: !v):
      %0 = nd.exp %in : (!v) -> !v
      exec.yield %0 : !v
    }
    ```
  }];
  let dependentDialects = ["::meshc::exec::ExecDialect"];
}

def PlaceWaits : Pass<"meshc-place-waits", "::meshc::exec::FuncOp"> {
  let summary = "waits for each collective as late as the arena allows";
  let description = [{
    A wait is placed right before the first op that accesses the receive buffers or
    writes the send buffers of the collective, or at the end of the function. The ops
    in between may run concurrently with the collective; a loop counts as one op that
    accesses all that its iterations access. In a loop, the first such op may be one
    of the next iteration; before it begins again, a collective is awaited in any case.

    ```mlir
    !v = !nd.tensor<f32, [i = 8]>
    !buffer = !exec.buffer<!v, ["i"]>
    module attributes {nd.mesh = #nd.mesh<a = 2>} {
      exec.kernel @exp <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]> in [["i"]] out [["i"]] {
      ^bb0(%in: !v):
        %0 = nd.exp %in : (!v) -> !v
        exec.yield %0 : !v
      }
      exec.func @f {
        %0 = exec.buffer at 0 : !buffer
        %1 = exec.buffer at 64 : !buffer
        %2 = exec.buffer at 128 : !buffer
        %3 = exec.collective all_reduce sum over ["a"] [1, 8, 1, 1, 8, 1] "all_reduce over a"(%0) -> (%1) : (!buffer) -> !buffer
        exec.launch @exp(%0) -> (%2) : (!buffer) -> !buffer
        exec.launch @exp(%1) -> (%2) : (!buffer) -> !buffer
      }
    }
    ```
    becomes
    ```mlir
    !v = !nd.tensor<f32, [i = 8]>
    !buffer = !exec.buffer<!v, ["i"]>
    module attributes {nd.mesh = #nd.mesh<a = 2>} {
      exec.kernel @exp <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]> in [["i"]] out [["i"]] {
      ^bb0(%in: !v):
        %0 = nd.exp %in : (!v) -> !v
        exec.yield %0 : !v
      }
      exec.func @f {
        %0 = exec.buffer at 0 : !buffer
        %1 = exec.buffer at 64 : !buffer
        %2 = exec.buffer at 128 : !buffer
        %3 = exec.collective all_reduce sum over ["a"] [1, 8, 1, 1, 8, 1] "all_reduce over a"(%0) -> (%1) : (!buffer) -> !buffer
        exec.launch @exp(%0) -> (%2) : (!buffer) -> !buffer
        exec.wait %3
        exec.launch @exp(%1) -> (%2) : (!buffer) -> !buffer
      }
    }
    ```
  }];
  let dependentDialects = ["::meshc::exec::ExecDialect"];
}

def VerifySchedule : Pass<"meshc-verify-schedule", "::mlir::ModuleOp"> {
  let summary = "checks what the schedule phase promises";
  let description = [{
    Walks each exec.func with a model of the arena. Every read is of a buffer that
    one op wrote completely and no op overwrote. Buffers are aligned and inside the
    arena. An op's outputs do not overlap its inputs, except where in-place updates
    are allowed. Scratch memory overlaps nothing that its op reads or
    writes. No op touches the buffers of a running collective. New parameters
    and metrics exist at the end.
    The check does not depend on how the plan was computed.

    The body of a loop is walked twice, as its first two iterations, so that conflicts
    between the end of one and the beginning of the next are found, also with
    collectives that go on from one into the next. Pieces that move
    with the iterations may meet only those of the same iteration and its neighbours;
    then all later iterations are like the second.

    For example, the pass rejects
    ```mlir
    !v = !nd.tensor<f32, [i = 8]>
    !buffer = !exec.buffer<!v, ["i"]>
    module attributes {exec.arena_bytes = 128 : i64} {
      exec.tensor "p" parameter ["i"] at 0 : !buffer
      exec.kernel @exp <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]> in [["i"]] out [["i"]] {
      ^bb0(%in: !v):
        %0 = nd.exp %in : (!v) -> !v
        exec.yield %0 : !v
      }
      exec.func @train_step {
        %0 = exec.buffer at 0 : !buffer
        %1 = exec.buffer at 64 : !buffer
        // expected-error @below {{reads bytes 64 to 96, where no op wrote a}}
        exec.launch @exp(%1) -> (%0) : (!buffer) -> !buffer
      }
    }
    ```
  }];
}

#endif // MESHC_LIB_SCHEDULE_PASSES_TD
