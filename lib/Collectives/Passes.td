//===- Passes.td - from reshards to collectives ---------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_COLLECTIVES_PASSES_TD
#define MESHC_LIB_COLLECTIVES_PASSES_TD

include "mlir/Pass/PassBase.td"

def FoldReshards : Pass<"meshc-fold-reshards", "::mlir::ModuleOp"> {
  let summary = "goes straight where a value is resharded twice in a row";
  let description = [{
    If all users of a reshard are reshards to one other sharding, the first reshard
    is removed, provided that the direct path moves no more bytes. For example, an
    all-reduce becomes a reduce-scatter if each rank keeps only its block. The same
    holds if the first reshard is of the entry that a loop stacks, and the second of
    the stacked tensor: the entry is resharded as the tensor is needed.

    ```mlir
    !sum = !nd.tensor<f32, [i = 8], sum {a}>
    !whole = !nd.tensor<f32, [i = 8]>
    !block = !nd.tensor<f32, [i = 8 on {a} ]>
    module attributes {nd.mesh = #nd.mesh<a = 2>} {
      func.func @f(%x: !sum) -> !block {
        %y = spmd.reshard %x : !sum -> !whole
        %z = spmd.reshard %y : !whole -> !block
        return %z : !block
      }
    }
    ```
    becomes
    ```mlir
    !sum = !nd.tensor<f32, [i = 8], sum {a}>
    !block = !nd.tensor<f32, [i = 8 on {a} ]>
    module attributes {nd.mesh = #nd.mesh<a = 2>} {
      func.func @f(%x: !sum) -> !block {
        %z = spmd.reshard %x : !sum -> !block
        return %z : !block
      }
    }
    ```
  }];
  let dependentDialects = ["::meshc::spmd::SpmdDialect"];
}

def LowerReshards : Pass<"meshc-lower-reshards", "::mlir::ModuleOp"> {
  let summary = "replaces each reshard by the cheapest collectives and slices";
  let description = [{
    Uses the search of lib/Reshard/ReshardPlan.h. The new ops inherit the location
    and `nd.name` of the reshard.

    ```mlir
    !sum = !nd.tensor<f32, [i = 8], sum {a}>
    !block = !nd.tensor<f32, [i = 8 on {a} ]>
    module attributes {nd.mesh = #nd.mesh<a = 2>} {
      func.func @f(%x: !sum) -> !block {
        %y = spmd.reshard %x {nd.name = "y"} : !sum -> !block
        return %y : !block
      }
    }
    ```
    becomes
    ```mlir
    !sum = !nd.tensor<f32, [i = 8], sum {a}>
    !block = !nd.tensor<f32, [i = 8 on {a} ]>
    module attributes {nd.mesh = #nd.mesh<a = 2>} {
      func.func @f(%x: !sum) -> !block {
        %y = spmd.reduce_scatter sum ["a"] to ["i"] %x {nd.name = "y"} : (!sum) -> !block
        return %y : !block
      }
    }
    ```
  }];
  let dependentDialects = ["::meshc::spmd::SpmdDialect"];
}

def FoldWindows : Pass<"meshc-fold-windows", "::mlir::ModuleOp"> {
  let summary = "makes one window of windows in a row";
  let description = [{
    A window of a window is one window of the operand if this moves no more bytes:
    padding before a dim and a slice that drops its end are a shift, which sends one
    entry. A window of a sum of windows is a sum of windows, with the same effect: the
    gradient of a convolution that is written with slices of a padded tensor.

    ```mlir
    !block = !nd.tensor<f32, [seq = 64 on {ring} ]>
    !long = !nd.tensor<f32, [seq = 65 on {ring} ]>
    module attributes {nd.mesh = #nd.mesh<ring = 4>} {
      func.func @f(%x: !block) -> !block {
        %y = spmd.window "seq" [0, 1, 0, 64] fill 0.0 %x : (!block) -> !long
        %z = spmd.window "seq" [0, 0, 0, 64] fill 0.0 %y : (!long) -> !block
        return %z : !block
      }
    }
    ```
    becomes
    ```mlir
    !block = !nd.tensor<f32, [seq = 64 on {ring} ]>
    module attributes {nd.mesh = #nd.mesh<ring = 4>} {
      func.func @f(%x: !block) -> !block {
        %z = spmd.window "seq" [0, 1, 0, 63] fill 0.0 %x : (!block) -> !block
        return %z : !block
      }
    }
    ```
  }];
  let dependentDialects = ["::meshc::spmd::SpmdDialect"];
}

def LowerWindows : Pass<"meshc-lower-windows", "::mlir::ModuleOp"> {
  let summary = "replaces slices and shifts of cut dims by the exchange of halos";
  let description = [{
    Each rank sends the entries of its block that other ranks need for theirs, one
    permute for each distance between owner and receiver or for each round of an
    exchange between blocks of two sizes (lib/Reshard/WindowPlan.h),
    and joins what it receives and what it has. This is the exchange of halos of
    stencil codes, and that of GSPMD (arXiv 2105.04663, section 4.3). What several
    windows of one value need of one other rank is one permute, before the first of them,
    where the entries overlap or touch. The new permutes inherit the location and `nd.name`
    of that window.

    ```mlir
    !block = !nd.tensor<f32, [seq = 64 on {ring} ]>
    module attributes {nd.mesh = #nd.mesh<ring = 4>} {
      func.func @f(%x: !block) -> !block {
        %y = spmd.window "seq" [0, 1, 0, 63] fill 0.0 %x {nd.name = "y"} : (!block) -> !block
        return %y : !block
      }
    }
    ```
    becomes
    ```mlir
    !block = !nd.tensor<f32, [seq = 64 on {ring} ]>
    !halo = !nd.tensor<f32, [seq = 4 on {ring} ]>
    module attributes {nd.mesh = #nd.mesh<ring = 4>} {
      func.func @f(%x: !block) -> !block {
        %0 = spmd.piece "seq" 15 size 1 %x : !block -> !halo
        %1 = spmd.permute ["ring"] to ["ring"] shift 1 %0 {nd.name = "y"} : (!halo) -> !halo
        %y = spmd.join "seq" [0, 16, 1, 64, 1, 16, 1, 64] fill 0.0 %1, %x {nd.name = "y"} : (!halo, !block) -> !block
        return %y : !block
      }
    }
    ```
  }];
  let dependentDialects = ["::meshc::spmd::SpmdDialect"];
}

def HoistCollectives : Pass<"meshc-hoist-collectives", "::mlir::ModuleOp"> {
  let summary = "moves collectives out of loops that do not change their operands";
  let description = [{
    A collective in the body of a loop moves the same data in every iteration if it
    needs nothing but whole operands of the loop. Such collectives, with the ops that
    compute their operands, are moved before the loop, out of as many loops as
    possible. Their results become whole operands.

    Gathers of parameters stay in a loop over micro-batches (`micro_batches`), so that a
    parameter is whole only where it is used, unless the module says `spmd.gather_once`.

    ```mlir
    !block = !nd.tensor<f32, [i = 8 on {a} ]>
    !x = !nd.tensor<f32, [i = 8]>
    module attributes {nd.mesh = #nd.mesh<a = 2>} {
      func.func @f(%x: !x, %w: !block) -> !x {
        %r = nd.scan "n" 4 carried(%x : !x) whole(%w : !block) -> !x {
        ^bb0(%c: !x, %v: !block):
          %e = nd.exp %v : (!block) -> !block
          %g = spmd.all_gather ["a"] from ["i"] %e : (!block) -> !x
          %n = nd.mul %c, %g : (!x, !x) -> !x
          nd.yield %n : !x
        }
        return %r : !x
      }
    }
    ```
    becomes
    ```mlir
    !block = !nd.tensor<f32, [i = 8 on {a} ]>
    !x = !nd.tensor<f32, [i = 8]>
    module attributes {nd.mesh = #nd.mesh<a = 2>} {
      func.func @f(%x: !x, %w: !block) -> !x {
        %e = nd.exp %w : (!block) -> !block
        %g = spmd.all_gather ["a"] from ["i"] %e : (!block) -> !x
        %r = nd.scan "n" 4 carried(%x : !x) whole(%w, %g : !block, !x) -> !x {
        ^bb0(%c: !x, %v: !block, %o: !x):
          %n = nd.mul %c, %o : (!x, !x) -> !x
          nd.yield %n : !x
        }
        return %r : !x
      }
    }
    ```
  }];
  let dependentDialects = ["::meshc::spmd::SpmdDialect"];
}

def RepeatGathers : Pass<"meshc-repeat-gathers", "::mlir::ModuleOp"> {
  let summary = "gathers a parameter again for uses that come much later";
  let description = [{
    A parameter that is cut is whole only while it is used. Each all_gather of one
    parameter moves before its first user. If a step function gathers more bytes of
    other parameters between two users than the gathered parameter has, the later user
    and those behind it get an all_gather of their own. So the step gathers most
    parameters twice, once forward and once backward, and keeps few of them (stage 3 of
    ZeRO: Rajbhandari et al., arXiv 1910.02054; Zhao et al., arXiv 2304.11277). The
    operand costs no memory: it is the parameter. Gathers of no more than `min-bytes`
    between two users do not divide them.

    The body of a loop over micro-batches is treated like a step function. What the body
    of another loop has gathered, it keeps until the iteration's end.

    ```mlir
    !small = !nd.tensor<f32, [i = 8 on {a} ]>
    !large = !nd.tensor<f32, [i = 8 on {a}, j = 65536]>
    !x = !nd.tensor<f32, [i = 8]>
    !y = !nd.tensor<f32, [i = 8, j = 65536]>
    module attributes {nd.mesh = #nd.mesh<a = 2>} {
      func.func @f(%v: !small {nd.name = "v", nd.role = "parameter"}, %w: !large {nd.name = "w", nd.role = "parameter"}) -> (!x, !y, !x) {
        %0 = spmd.all_gather ["a"] from ["i"] %v : (!small) -> !x
        %1 = spmd.all_gather ["a"] from ["i"] %w : (!large) -> !y
        %2 = nd.exp %0 : (!x) -> !x
        %3 = nd.exp %1 : (!y) -> !y
        %4 = nd.neg %0 : (!x) -> !x
        return %2, %3, %4 : !x, !y, !x
      }
    }
    ```
    becomes
    ```mlir
    !small = !nd.tensor<f32, [i = 8 on {a} ]>
    !large = !nd.tensor<f32, [i = 8 on {a}, j = 65536]>
    !x = !nd.tensor<f32, [i = 8]>
    !y = !nd.tensor<f32, [i = 8, j = 65536]>
    module attributes {nd.mesh = #nd.mesh<a = 2>} {
      func.func @f(%v: !small {nd.name = "v", nd.role = "parameter"}, %w: !large {nd.name = "w", nd.role = "parameter"}) -> (!x, !y, !x) {
        %0 = spmd.all_gather ["a"] from ["i"] %v : (!small) -> !x
        %2 = nd.exp %0 : (!x) -> !x
        %1 = spmd.all_gather ["a"] from ["i"] %w : (!large) -> !y
        %3 = nd.exp %1 : (!y) -> !y
        %5 = spmd.all_gather ["a"] from ["i"] %v {spmd.use = 2 : i64} : (!small) -> !x
        %4 = nd.neg %5 : (!x) -> !x
        return %2, %3, %4 : !x, !y, !x
      }
    }
    ```
  }];
  let dependentDialects = ["::meshc::spmd::SpmdDialect"];
  let options = [
    Option<"minBytes", "min-bytes", "int64_t", "1048576",
           "bytes of other parameters that divide no users, per rank">
  ];
}

def CombineCollectives : Pass<"meshc-combine-collectives", "::mlir::ModuleOp"> {
  let summary = "makes one collective of several independent ones";
  let description = [{
    Combines independent collectives of the same kind, axes, reduction and element
    type into one with many operands, as long as the operands and the results of one
    call have no more than `max-bytes` per rank. This moves the same bytes with fewer
    calls. The combined op replaces the last of them; users of its results move behind
    it. Only collectives of one block are combined: none leaves or enters the body of a
    loop.

    The whole tensors of a combined all_gather or reduce_scatter are in memory at the
    same time. So a call in a step function or a micro-batch, outside of other loops, has
    no more than one of `parts` equal parts of what the block gathers or scatters
    likewise, but `min-bytes` in any case.

    On a machine that computes during collectives (`spmd.overlap`, between 0 and 1), the
    other calls are as large as latency and overlap want: few calls have few latencies, and
    the last one of many ends sooner after the computations. If all of one kind in a block
    have n bytes, and the links send L bytes in the latency of a call
    (`spmd.latency_bytes`), there are sqrt(n / L · overlap / (1 - overlap)) calls, or
    sqrt(C / L) if that is less, where C are the bytes that the links could send while the
    block's products are computed (`spmd.flops_per_byte`). The first call of a step has at
    most 2 L bytes, so that communication starts early. In a loop,
    unless it is over micro-batches, each iteration has these latencies, but only what the
    last one sends ends after its computations: L is multiplied by the number of iterations.

    ```mlir
    !sum = !nd.tensor<f32, [i = 8], sum {a}>
    !x = !nd.tensor<f32, [i = 8]>
    module attributes {nd.mesh = #nd.mesh<a = 2>} {
      func.func @f(%x: !sum, %y: !sum) -> (!x, !x) {
        %0 = spmd.all_reduce sum ["a"] %x {nd.name = "u"} : (!sum) -> !x loc("line.mesh":3:1)
        %1 = nd.exp %0 : (!x) -> !x
        %2 = spmd.all_reduce sum ["a"] %y {nd.name = "v"} : (!sum) -> !x loc("line.mesh":4:1)
        return %1, %2 : !x, !x
      }
    }
    ```
    becomes
    ```mlir
    !sum = !nd.tensor<f32, [i = 8], sum {a}>
    !x = !nd.tensor<f32, [i = 8]>
    #u = loc("u"("line.mesh":3:1))
    #v = loc("v"("line.mesh":4:1))
    module attributes {nd.mesh = #nd.mesh<a = 2>} {
      func.func @f(%x: !sum, %y: !sum) -> (!x, !x) {
        %0:2 = spmd.all_reduce sum ["a"] %x, %y {spmd.causes = [#u, #v]} : (!sum, !sum) -> (!x, !x)
        %1 = nd.exp %0#0 : (!x) -> !x
        return %1, %0#1 : !x, !x
      }
    }
    ```
  }];
  let options = [
    Option<"maxBytes", "max-bytes", "int64_t", "33554432",
           "largest sum of the operands, or of the results, of a combined collective, per rank">,
    Option<"minBytes", "min-bytes", "int64_t", "1048576",
           "what a combined collective may have in any case, if max-bytes is not less">,
    Option<"parts", "parts", "int64_t", "16",
           "how many collectives gather or scatter the tensors of a function, at least">
  ];
}

def VerifyCollectives : Pass<"meshc-verify-collectives", "::mlir::ModuleOp"> {
  let summary = "checks what the collectives phase promises";
  let description = [{
    No reshard and no window remains, and no collective in a loop whose operands no iteration
    changes.

    For example, the pass rejects
    ```mlir
    !sum = !nd.tensor<f32, [i = 8], sum {a}>
    !x = !nd.tensor<f32, [i = 8]>
    module attributes {nd.mesh = #nd.mesh<a = 2>} {
      func.func @f(%x: !sum) -> !x {
        // expected-error @below {{a reshard remains after the collectives phase}}
        %y = spmd.reshard %x : !sum -> !x
        return %y : !x
      }
    }
    ```
  }];
}

#endif // MESHC_LIB_COLLECTIVES_PASSES_TD
