// RUN: mesh-opt %s --pass-pipeline='builtin.module(exec.func(meshc-place-waits))' | FileCheck %s

!m = !nd.tensor<f32, [a = 4, b = 4]>
!t = !exec.buffer<!m, ["a", "b"]>

module attributes {nd.mesh = #nd.mesh<data = 2>, exec.arena_bytes = 1024 : i64} {
  exec.kernel @neg <parallel = ["a", "b"], reduce = [], lanes = "b", sizes = [4, 4]> in [["a", "b"]] out [["a", "b"]] {
  ^bb0(%x: !m):
    %0 = nd.neg %x : (!m) -> !m
    exec.yield %0 : !m
  }
  // What begins in an iteration is awaited in it: at its first reader or at the
  // end.
  // CHECK-LABEL: exec.func @inside
  // CHECK: exec.loop
  // CHECK: %[[A:.*]] = exec.collective
  // CHECK-NEXT: exec.launch
  // CHECK-NEXT: exec.wait %[[A]]
  // CHECK-NEXT: exec.launch
  // CHECK-NEXT: %[[B:.*]] = exec.collective
  // CHECK-NEXT: exec.wait %[[B]]
  // CHECK-NEXT: }
  // CHECK-NEXT: }
  exec.func @inside {
    exec.loop "d" 4 {
      %0 = exec.buffer at 0 strides [64] : !t
      %1 = exec.buffer at 256 : !t
      %2 = exec.buffer at 320 : !t
      %3 = exec.buffer at 384 : !t
      %t = exec.collective all_reduce sum over ["data"] [1, 16, 1, 16] "all_reduce over data" (%0) -> (%1) : (!t) -> !t
      exec.launch @neg(%0) -> (%2) : (!t) -> !t
      exec.launch @neg(%1) -> (%2) : (!t) -> !t
      %u = exec.collective all_reduce sum over ["data"] [1, 16, 1, 16] "all_reduce over data" (%2) -> (%3) : (!t) -> !t
    }
  }
  // What the loop does not access goes on while it runs.
  // CHECK-LABEL: exec.func @around
  // CHECK: %[[A:.*]] = exec.collective
  // CHECK-NEXT: exec.wait %[[A]]
  // CHECK-NEXT: exec.launch
  // CHECK-NEXT: %[[B:.*]] = exec.collective
  // CHECK-NEXT: exec.loop
  // CHECK: }
  // CHECK-NEXT: exec.wait %[[B]]
  exec.func @around {
    %0 = exec.buffer at 512 : !t
    %1 = exec.buffer at 192 : !t
    %2 = exec.buffer at 576 : !t
    %3 = exec.buffer at 640 : !t
    %a = exec.collective all_reduce sum over ["data"] [1, 16, 1, 16] "all_reduce over data" (%0) -> (%1) : (!t) -> !t
    exec.launch @neg(%1) -> (%2) : (!t) -> !t
    %b = exec.collective all_reduce sum over ["data"] [1, 16, 1, 16] "all_reduce over data" (%0) -> (%3) : (!t) -> !t
    exec.loop "d" 4 {
      %4 = exec.buffer at 0 strides [64] : !t
      %5 = exec.buffer at 704 : !t
      exec.launch @neg(%4) -> (%5) : (!t) -> !t
    }
    exec.launch @neg(%3) -> (%2) : (!t) -> !t
    %c = exec.collective all_reduce sum over ["data"] [1, 16, 1, 16] "all_reduce over data" (%0) -> (%1) : (!t) -> !t
  }
  // The loop waits for the entry that it reads in its last iteration.
  // CHECK-LABEL: exec.func @before
  // CHECK: %[[A:.*]] = exec.collective
  // CHECK-NEXT: exec.wait %[[A]]
  // CHECK-NEXT: exec.loop
  exec.func @before {
    %0 = exec.buffer at 512 : !t
    %1 = exec.buffer at 192 : !t
    %a = exec.collective all_reduce sum over ["data"] [1, 16, 1, 16] "all_reduce over data" (%0) -> (%1) : (!t) -> !t
    exec.loop "d" 4 {
      %4 = exec.buffer at 0 strides [64] : !t
      %5 = exec.buffer at 704 : !t
      exec.launch @neg(%4) -> (%5) : (!t) -> !t
    }
  }
}
