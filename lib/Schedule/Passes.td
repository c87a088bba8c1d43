//===- Passes.td - from kernels to buffers in an order --------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_SCHEDULE_PASSES_TD
#define MESHC_LIB_SCHEDULE_PASSES_TD

include "mlir/Pass/PassBase.td"

def PlaceResults : Pass<"meshc-place-results", "::mlir::func::FuncOp"> {
  let summary = "makes every result of a step function writable where it stays";
  let description = [{
    A new parameter is written over the old one, so whatever reads the old one
    comes before. Where that is impossible (a cycle, an op that reads it at other
    points than it writes, one value for two results, an argument returned under
    another name), a fusion copies the value at the end.
  }];
  let dependentDialects = ["::meshc::exec::ExecDialect"];
}

def ScheduleOps : Pass<"meshc-schedule-ops", "::mlir::func::FuncOp"> {
  let summary = "orders the ops of a step function";
  let description = [{
    Collectives as soon as their operands are there; then the first op in program
    order that frees as many bytes as it takes; else the first that is ready.
    Readers of a parameter come before what overwrites it.
  }];
}

def PlanArena : Pass<"meshc-plan-arena", "::mlir::ModuleOp"> {
  let summary = "gives every tensor an offset in one arena";
  let description = [{
    Parameters, optimizer state, inputs and metrics (`exec.tensor`) have the same
    place in all step functions. Behind them, temporaries of each function by the
    time they live, the largest first, each at the lowest offset that is free
    (Pisarchyk and Lee, arXiv 2001.03288, "greedy by size"). Results of fusions
    and all_reduces take the place of an operand that dies there, where each
    element is read only where it is written. Offsets are multiples of 64 bytes.

    After the pass the module has `exec.arena_bytes`, each op `exec.offsets` (one
    number per result) and each function argument `exec.offset`.
  }];
  let dependentDialects = ["::meshc::exec::ExecDialect"];
}

def BuildSchedule : Pass<"meshc-build-schedule", "::mlir::ModuleOp"> {
  let summary = "turns step functions into exec.func and exec.kernel";
  let description = [{
    Each fusion becomes a launch of a kernel (equal ones share it), each product
    an `exec.gemm`, each collective an `exec.collective`. No func.func remains.
  }];
  let dependentDialects = ["::meshc::exec::ExecDialect"];
}

def PlaceWaits : Pass<"meshc-place-waits", "::meshc::exec::FuncOp"> {
  let summary = "waits for each collective as late as the arena allows";
  let description = [{
    Right before the first op that reads or writes what the collective receives,
    or writes what it sends, or the function's end; what lies between may run at
    the same time.
  }];
  let dependentDialects = ["::meshc::exec::ExecDialect"];
}

def VerifySchedule : Pass<"meshc-verify-schedule", "::mlir::ModuleOp"> {
  let summary = "checks what the schedule phase promises";
  let description = [{
    Walks each exec.func with a picture of the arena: every read is of a buffer
    that one op wrote whole and nothing overwrote; buffers are aligned and inside
    the arena; what is written overlaps nothing that the same op reads, except in
    place where that is allowed; nothing touches the buffers of a collective that
    runs; new parameters and metrics are there at the end.
    Knows nothing of how the plan was made.
  }];
}

#endif // MESHC_LIB_SCHEDULE_PASSES_TD
