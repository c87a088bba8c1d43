//===- OrderPasses.td - the order of the ops of a step --------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_SCHEDULE_ORDERPASSES_TD
#define MESHC_LIB_SCHEDULE_ORDERPASSES_TD

include "mlir/Pass/PassBase.td"

def PlaceResults : Pass<"meshc-place-results", "::mlir::func::FuncOp"> {
  let summary = "ensures that every result of a step function can be written in place";
  let description = [{
    A new parameter overwrites the old one, so all readers of the old one must run
    earlier. If that is impossible (a cycle, an op that reads other points than it
    writes, one value for two results, an argument returned under another name), a
    fusion copies the value at the end.

    The same holds in the body of a loop: the next value of what it carries
    overwrites the current one, and an entry is written to the stacked result. A loop
    takes over the memory of the initial value. The value is copied before the loop if
    it is an argument, or if others read it later.

    One value cannot be in the memory of two parameters:
    ```mlir
    !v = !nd.tensor<f32, [i = 8]>
    func.func @initialize() -> (!v {nd.name = "p", nd.role = "parameter", nd.order = ["i"]},
                                !v {nd.name = "q", nd.role = "parameter", nd.order = ["i"]}) {
      %0 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>() : () -> !v
          attributes {exec.orders = [["i"]]} {
        %1 = nd.constant 1.0 : f32 -> !v
        exec.yield %1 : !v
      }
      return %0, %0 : !v, !v
    }
    ```
    becomes
    ```mlir
    !v = !nd.tensor<f32, [i = 8]>
    func.func @initialize() -> (!v {nd.name = "p", nd.role = "parameter", nd.order = ["i"]},
                                !v {nd.name = "q", nd.role = "parameter", nd.order = ["i"]}) {
      %0 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>() : () -> !v
          attributes {exec.orders = [["i"]]} {
        %1 = nd.constant 1.0 : f32 -> !v
        exec.yield %1 : !v
      }
      %2 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>(%0) : (!v) -> !v
          attributes {exec.orders = [["i"]]} {
      ^bb0(%in: !v):
        exec.yield %in : !v
      }
      return %0, %2 : !v, !v
    }
    ```
  }];
  let dependentDialects = ["::meshc::exec::ExecDialect"];
}

def ScheduleOps : Pass<"meshc-schedule-ops", "::mlir::func::FuncOp"> {
  let summary = "orders the ops of a step function";
  let description = [{
    Collectives start as soon as their operands are available. Otherwise the next op
    is the first one in program order that frees at least as many bytes as it
    allocates, but for a scalar, or else the first one that is ready. So the update of a
    parameter runs as soon as its gradient is there. Readers of a parameter run
    before the op that overwrites it, and readers of an initial value before the loop
    that takes over its memory. The bodies of loops are ordered likewise.

    Where a block has reductions, several orders are made, and the one with the fewest
    bytes that live at the same time is taken, the first of equal ones. In the first
    two, what reads a reduced gradient (the update of a parameter, or a scalar) waits
    until the next reduction begins, so that other ops run beside a reduction. In every
    second one, what counts of a gradient that is to be reduced is what remains when it
    has been: it is computed early, although it is larger than what it frees.

    On GPUs the updates of parameters (fusions whose results all replace operands, with
    no reduction) wait for others, to share their launch (`meshc-merge-launches`): until
    nothing else is ready, or until they keep 32 MiB of gradients.

    ```mlir
    !x = !nd.tensor<f32, [i = 8]>
    !sum = !nd.tensor<f32, [i = 8], sum {a}>
    module attributes {nd.mesh = #nd.mesh<a = 2>} {
      func.func @f(%x: !x, %y: !sum) -> (!x, !x) {
        %0 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>(%x) : (!x) -> !x {
        ^bb0(%in: !x):
          %1 = nd.exp %in : (!x) -> !x
          exec.yield %1 : !x
        }
        %2 = spmd.all_reduce sum ["a"] %y : (!sum) -> !x
        return %0, %2 : !x, !x
      }
    }
    ```
    becomes
    ```mlir
    !x = !nd.tensor<f32, [i = 8]>
    !sum = !nd.tensor<f32, [i = 8], sum {a}>
    module attributes {nd.mesh = #nd.mesh<a = 2>} {
      func.func @f(%x: !x, %y: !sum) -> (!x, !x) {
        %2 = spmd.all_reduce sum ["a"] %y : (!sum) -> !x
        %0 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>(%x) : (!x) -> !x {
        ^bb0(%in: !x):
          %1 = nd.exp %in : (!x) -> !x
          exec.yield %1 : !x
        }
        return %0, %2 : !x, !x
      }
    }
    ```
  }];
  let dependentDialects = ["::meshc::nd::NdDialect"];
}

def RecomputeFusions : Pass<"meshc-recompute-fusions", "::mlir::ModuleOp"> {
  let summary = "computes again what lives at the peak of a block, but is not used there";
  let description = [{
    Where the module asks for it (`exec.recompute`). A value that the gradients of a
    model without loops read lives from the forward pass to the backward pass. If it
    is not used where the most bytes live, its fusion is computed once more in front of
    the next user behind that place (rematerialization: Briggs et al., PLDI 1992; for
    tensors under a limit of memory: Jain et al., Checkmate, arXiv 1910.02653). Of
    several values the one counts that lowers the peak the most, and then the next one
    at the new peak, until none lowers it by at least a fourth of its bytes.

    The fusion must have one result and no reduced dims, and cost at most 32 operations
    per byte, as what loops do not store (`meshc-choose-residuals`). What it reads lives
    longer for this, and counts.

    Without the attribute, the pass changes nothing. If there are such values at the
    highest peak of all functions, it notes their bytes in `exec.recompute_gain`.

    ```mlir
    !v = !nd.tensor<f32, [i = 8]>
    !w = !nd.tensor<f32, [i = 8, j = 8]>
    module attributes {exec.recompute} {
      func.func @f(%x: !v, %y: !v, %z: !w) -> !v {
        %0 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>(%x) : (!v) -> !v {
        ^bb0(%in: !v):
          %5 = nd.add %in, %in : (!v, !v) -> !v
          exec.yield %5 : !v
        }
        %1 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>(%0) : (!v) -> !v {
        ^bb0(%in: !v):
          %5 = nd.neg %in : (!v) -> !v
          exec.yield %5 : !v
        }
        %2 = exec.fusion <parallel = ["i", "j"], reduce = [], lanes = "j", sizes = [8, 8]>(%1, %z) : (!v, !w) -> !w {
        ^bb0(%a: !v, %b: !w):
          %5 = nd.mul %a, %b : (!v, !w) -> !w
          exec.yield %5 : !w
        }
        %3 = exec.fusion <parallel = ["i"], reduce = ["j"], lanes = "j", sizes = [8, 8]>(%2) : (!w) -> !v {
        ^bb0(%in: !w):
          %5 = nd.reduce_sum %in {dims = ["j"]} : (!w) -> !v
          exec.yield %5 : !v
        }
        %4 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>(%3, %0) : (!v, !v) -> !v {
        ^bb0(%a: !v, %b: !v):
          %5 = nd.mul %a, %b : (!v, !v) -> !v
          exec.yield %5 : !v
        }
        return %4 : !v
      }
    }
    ```
    becomes
    ```mlir
    !v = !nd.tensor<f32, [i = 8]>
    !w = !nd.tensor<f32, [i = 8, j = 8]>
    module {
      func.func @f(%x: !v, %y: !v, %z: !w) -> !v {
        %0 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>(%x) : (!v) -> !v {
        ^bb0(%in: !v):
          %6 = nd.add %in, %in : (!v, !v) -> !v
          exec.yield %6 : !v
        }
        %1 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>(%0) : (!v) -> !v {
        ^bb0(%in: !v):
          %6 = nd.neg %in : (!v) -> !v
          exec.yield %6 : !v
        }
        %2 = exec.fusion <parallel = ["i", "j"], reduce = [], lanes = "j", sizes = [8, 8]>(%1, %z) : (!v, !w) -> !w {
        ^bb0(%a: !v, %b: !w):
          %6 = nd.mul %a, %b : (!v, !w) -> !w
          exec.yield %6 : !w
        }
        %3 = exec.fusion <parallel = ["i"], reduce = ["j"], lanes = "j", sizes = [8, 8]>(%2) : (!w) -> !v {
        ^bb0(%in: !w):
          %6 = nd.reduce_sum %in {dims = ["j"]} : (!w) -> !v
          exec.yield %6 : !v
        }
        %4 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>(%x) : (!v) -> !v {
        ^bb0(%in: !v):
          %6 = nd.add %in, %in : (!v, !v) -> !v
          exec.yield %6 : !v
        }
        %5 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>(%3, %4) : (!v, !v) -> !v {
        ^bb0(%a: !v, %b: !v):
          %6 = nd.mul %a, %b : (!v, !v) -> !v
          exec.yield %6 : !v
        }
        return %5 : !v
      }
    }
    ```
  }];
  let dependentDialects = ["::meshc::exec::ExecDialect"];
}

def DelayGathers : Pass<"meshc-delay-gathers", "::mlir::func::FuncOp"> {
  let summary = "moves all_gathers to their first users";
  let description = [{
    What an all_gather receives is larger than what it sends, so that it takes memory
    from its begin on. So it stands before the first op that reads a result, or before
    the op that overwrites its operand. `meshc-plan-arena` begins it earlier where the
    arena has memory for this. Gathers of results of the block stay where they are:
    they have their memory anyway.

    ```mlir
    !block = !nd.tensor<f32, [i = 8 on {a} ]>
    !x = !nd.tensor<f32, [i = 8]>
    module attributes {nd.mesh = #nd.mesh<a = 2>} {
      func.func @f(%x: !x, %w: !block) -> (!x, !x) {
        %0 = spmd.all_gather ["a"] from ["i"] %w : (!block) -> !x
        %1 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>(%x) : (!x) -> !x {
        ^bb0(%in: !x):
          %2 = nd.exp %in : (!x) -> !x
          exec.yield %2 : !x
        }
        %3 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>(%0) : (!x) -> !x {
        ^bb0(%in: !x):
          %4 = nd.exp %in : (!x) -> !x
          exec.yield %4 : !x
        }
        return %1, %3 : !x, !x
      }
    }
    ```
    becomes
    ```mlir
    !block = !nd.tensor<f32, [i = 8 on {a} ]>
    !x = !nd.tensor<f32, [i = 8]>
    module attributes {nd.mesh = #nd.mesh<a = 2>} {
      func.func @f(%x: !x, %w: !block) -> (!x, !x) {
        %1 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>(%x) : (!x) -> !x {
        ^bb0(%in: !x):
          %2 = nd.exp %in : (!x) -> !x
          exec.yield %2 : !x
        }
        %0 = spmd.all_gather ["a"] from ["i"] %w : (!block) -> !x
        %3 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>(%0) : (!x) -> !x {
        ^bb0(%in: !x):
          %4 = nd.exp %in : (!x) -> !x
          exec.yield %4 : !x
        }
        return %1, %3 : !x, !x
      }
    }
    ```
  }];
  let dependentDialects = ["::meshc::nd::NdDialect"];
}

#endif // MESHC_LIB_SCHEDULE_ORDERPASSES_TD
