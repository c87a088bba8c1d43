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
  let summary = "ensures that every result of a step function can be written in place";
  let description = [{
    A new parameter overwrites the old one, so all readers of the old one must run
    earlier. If that is impossible (a cycle, an op that reads other points than it
    writes, one value for two results, an argument returned under another name), a
    fusion copies the value at the end.
  }];
  let dependentDialects = ["::meshc::exec::ExecDialect"];
}

def ScheduleOps : Pass<"meshc-schedule-ops", "::mlir::func::FuncOp"> {
  let summary = "orders the ops of a step function";
  let description = [{
    Collectives start as soon as their operands are available. Otherwise the next op
    is the first one in program order that frees at least as many bytes as it
    allocates, or else the first one that is ready. Readers of a parameter run
    before the op that overwrites it.
  }];
}

def PlanArena : Pass<"meshc-plan-arena", "::mlir::ModuleOp"> {
  let summary = "gives every tensor an offset in one arena";
  let description = [{
    Parameters, optimizer state, inputs and metrics (`exec.tensor`) have the same
    offsets in all step functions. The temporaries of each function follow: the
    largest first, each at the lowest offset that is free during its live range
    (Pisarchyk and Lee, arXiv 2001.03288, "greedy by size"). The result of a fusion
    or all_reduce reuses the memory of an operand that dies there, if each element
    is read only at the point that writes it. Offsets are multiples of 64 bytes.
    Scratch memory of a product is a temporary that lives during the product alone.

    After the pass the module has `exec.arena_bytes`, each op `exec.offsets` (one
    number per result), each product `exec.scratch` (its offset and bytes), and
    each function argument `exec.offset`.
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
    A wait is placed right before the first op that accesses the receive buffers or
    writes the send buffers of the collective, or at the function's end. The ops in
    between may run concurrently with the collective.
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
  }];
}

#endif // MESHC_LIB_SCHEDULE_PASSES_TD
