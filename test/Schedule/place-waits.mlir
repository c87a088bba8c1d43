// RUN: mesh-opt %s --pass-pipeline='builtin.module(exec.func(meshc-place-waits))' --split-input-file --verify-diagnostics | FileCheck %s

!m = !nd.tensor<f32, [a = 4, b = 4]>
!t = !exec.buffer<!m, ["a", "b"]>

module attributes {nd.mesh = #nd.mesh<data = 2>, exec.arena_bytes = 512 : i64} {
  exec.kernel @neg <parallel = ["a", "b"], reduce = [], lanes = "b", sizes = [4, 4]> in [["a", "b"]] out [["a", "b"]] {
  ^bb0(%x: !m):
    %0 = nd.neg %x : (!m) -> !m
    exec.yield %0 : !m
  }
  // What is sent may be read; the first that reads what is received waits.
  // CHECK-LABEL: exec.func @reader
  // CHECK: %[[T:.*]] = exec.collective
  // CHECK-NEXT: exec.launch @neg(%0) -> (%2)
  // CHECK-NEXT: exec.wait %[[T]]
  // CHECK-NEXT: exec.launch @neg(%1) -> (%3)
  exec.func @reader {
    %0 = exec.buffer at 0 : !t
    %1 = exec.buffer at 64 : !t
    %2 = exec.buffer at 128 : !t
    %3 = exec.buffer at 192 : !t
    %t = exec.collective all_reduce sum over ["data"] [1, 16, 1, 1, 16, 1] "all_reduce over data" (%0) -> (%1) : (!t) -> !t
    exec.launch @neg(%0) -> (%2) : (!t) -> !t
    exec.launch @neg(%1) -> (%3) : (!t) -> !t
  }
  // Writing over what is sent waits; so do all that were begun before.
  // CHECK-LABEL: exec.func @writer
  // CHECK: %[[A:.*]] = exec.collective
  // CHECK-NEXT: %[[B:.*]] = exec.collective
  // CHECK-NEXT: exec.wait %[[A]]
  // CHECK-NEXT: exec.wait %[[B]]
  // CHECK-NEXT: exec.launch @neg(%4) -> (%2)
  exec.func @writer {
    %0 = exec.buffer at 0 : !t
    %1 = exec.buffer at 64 : !t
    %2 = exec.buffer at 128 : !t
    %3 = exec.buffer at 192 : !t
    %4 = exec.buffer at 256 : !t
    %t = exec.collective all_reduce sum over ["data"] [1, 16, 1, 1, 16, 1] "all_reduce over data" (%0) -> (%1) : (!t) -> !t
    %u = exec.collective all_reduce sum over ["data"] [1, 16, 1, 1, 16, 1] "all_reduce over data" (%2) -> (%3) : (!t) -> !t
    exec.launch @neg(%4) -> (%2) : (!t) -> !t
  }
  // Nobody needs it: it ends with the function. A later one that is waited for
  // does not hold up one that follows it.
  // CHECK-LABEL: exec.func @nobody
  // CHECK: %[[A:.*]] = exec.collective
  // CHECK-NEXT: exec.wait %[[A]]
  // CHECK-NEXT: %[[B:.*]] = exec.collective
  // CHECK-NEXT: exec.launch
  // CHECK-NEXT: exec.wait %[[B]]
  // CHECK-NEXT: }
  exec.func @nobody {
    %0 = exec.buffer at 0 : !t
    %1 = exec.buffer at 64 : !t
    %2 = exec.buffer at 128 : !t
    %3 = exec.buffer at 192 : !t
    %t = exec.collective all_reduce sum over ["data"] [1, 16, 1, 1, 16, 1] "all_reduce over data" (%0) -> (%1) : (!t) -> !t
    %u = exec.collective all_reduce sum over ["data"] [1, 16, 1, 1, 16, 1] "all_reduce over data" (%1) -> (%2) : (!t) -> !t
    exec.launch @neg(%0) -> (%3) : (!t) -> !t
  }
}

// -----

!m = !nd.tensor<f32, [a = 4, b = 4]>
!t = !exec.buffer<!m, ["a", "b"]>

module attributes {nd.mesh = #nd.mesh<data = 2>, exec.arena_bytes = 512 : i64} {
  exec.func @twice {
    %0 = exec.buffer at 0 : !t
    %t = exec.collective all_reduce sum over ["data"] [1, 16, 1, 1, 16, 1] "all_reduce over data" (%0) -> (%0) : (!t) -> !t
    // expected-error @below {{is there before waits are placed}}
    exec.wait %t
  }
}
