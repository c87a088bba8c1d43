// RUN: mesh-opt %s --pass-pipeline='builtin.module(exec.func(meshc-place-waits))' | FileCheck %s

!m = !nd.tensor<f32, [a = 4, b = 4]>
!t = !exec.buffer<!m, ["a", "b"]>

module attributes {nd.mesh = #nd.mesh<data = 2>, exec.arena_bytes = 1024 : i64} {
  exec.kernel @neg <parallel = ["a", "b"], reduce = [], lanes = "b", sizes = [4, 4]> in [["a", "b"]] out [["a", "b"]] {
  ^bb0(%x: !m):
    %0 = nd.neg %x : (!m) -> !m
    exec.yield %0 : !m
  }
  // A collective is awaited at its first reader. One whose buffers this
  // iteration no longer needs goes on into the next one, until an op of that
  // touches them.
  // CHECK-LABEL: exec.func @inside
  // CHECK: exec.loop
  // CHECK: %[[A:.*]] = exec.collective
  // CHECK-NEXT: exec.wait %[[B:.*]]{{$}}
  // CHECK-NEXT: exec.launch
  // CHECK-NEXT: exec.wait %[[A]]
  // CHECK-NEXT: exec.launch
  // CHECK-NEXT: %[[B]] = exec.collective
  // CHECK-NEXT: }
  // CHECK-NEXT: }
  exec.func @inside {
    exec.loop "d" 4 {
      %0 = exec.buffer at 0 strides [64] : !t
      %1 = exec.buffer at 256 : !t
      %2 = exec.buffer at 320 : !t
      %3 = exec.buffer at 384 : !t
      %t = exec.collective all_reduce sum over ["data"] [1, 16, 1, 1, 16, 1] "all_reduce over data" (%0) -> (%1) : (!t) -> !t
      exec.launch @neg(%0) -> (%2) : (!t) -> !t
      exec.launch @neg(%1) -> (%2) : (!t) -> !t
      %u = exec.collective all_reduce sum over ["data"] [1, 16, 1, 1, 16, 1] "all_reduce over data" (%2) -> (%3) : (!t) -> !t
    }
  }
  // One iteration has no next one.
  // CHECK-LABEL: exec.func @once
  // CHECK: %[[A:.*]] = exec.collective
  // CHECK-NEXT: exec.wait %[[A]]
  // CHECK-NEXT: }
  exec.func @once {
    exec.loop "d" 1 {
      %0 = exec.buffer at 0 : !t
      %1 = exec.buffer at 256 : !t
      %t = exec.collective all_reduce sum over ["data"] [1, 16, 1, 1, 16, 1] "all_reduce over data" (%0) -> (%1) : (!t) -> !t
    }
  }
  // A sum of entries runs until the next iteration's begins: neither sends
  // or receives what the other does.
  // CHECK-LABEL: exec.func @entries
  // CHECK: exec.launch
  // CHECK-NEXT: exec.wait %[[A:.*]]{{$}}
  // CHECK-NEXT: %[[A]] = exec.collective
  // CHECK-NEXT: }
  exec.func @entries {
    exec.loop "d" 4 backwards {
      %0 = exec.buffer at 256 : !t
      %1 = exec.buffer at 0 strides [64] : !t
      exec.launch @neg(%0) -> (%1) : (!t) -> !t
      %t = exec.collective all_reduce sum over ["data"] [1, 16, 1, 1, 16, 1] "all_reduce over data" (%1) -> (%1) : (!t) -> !t
    }
  }
  // What was begun ahead is awaited by its own iteration, before the next one
  // begins.
  // CHECK-LABEL: exec.func @ahead
  // CHECK: exec.launch
  // CHECK-NEXT: exec.wait %[[A:.*]]{{$}}
  // CHECK-NEXT: %[[A]] = exec.collective all_reduce ahead
  // CHECK-NEXT: exec.launch
  // CHECK-NEXT: %[[B:.*]] = exec.collective
  // CHECK-NEXT: exec.wait %[[B]]
  // CHECK-NEXT: exec.launch
  // CHECK-NEXT: }
  exec.func @ahead {
    exec.loop "d" 4 {
      %0 = exec.buffer at 0 strides [64] : !t
      %1 = exec.buffer at 256 alternates [64] : !t
      %2 = exec.buffer at 384 : !t
      %3 = exec.buffer at 448 : !t
      exec.launch @neg(%0) -> (%2) : (!t) -> !t
      %t = exec.collective all_reduce ahead sum over ["data"] [1, 16, 1, 1, 16, 1] "all_reduce over data" (%0) -> (%1) : (!t) -> !t
      exec.launch @neg(%1) -> (%2) : (!t) -> !t
      %u = exec.collective all_reduce sum over ["data"] [1, 16, 1, 1, 16, 1] "all_reduce over data" (%2) -> (%3) : (!t) -> !t
      exec.launch @neg(%3) -> (%2) : (!t) -> !t
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
    %a = exec.collective all_reduce sum over ["data"] [1, 16, 1, 1, 16, 1] "all_reduce over data" (%0) -> (%1) : (!t) -> !t
    exec.launch @neg(%1) -> (%2) : (!t) -> !t
    %b = exec.collective all_reduce sum over ["data"] [1, 16, 1, 1, 16, 1] "all_reduce over data" (%0) -> (%3) : (!t) -> !t
    exec.loop "d" 4 {
      %4 = exec.buffer at 0 strides [64] : !t
      %5 = exec.buffer at 704 : !t
      exec.launch @neg(%4) -> (%5) : (!t) -> !t
    }
    exec.launch @neg(%3) -> (%2) : (!t) -> !t
    %c = exec.collective all_reduce sum over ["data"] [1, 16, 1, 1, 16, 1] "all_reduce over data" (%0) -> (%1) : (!t) -> !t
  }
  // The loop waits for the entry that it reads in its last iteration.
  // CHECK-LABEL: exec.func @before
  // CHECK: %[[A:.*]] = exec.collective
  // CHECK-NEXT: exec.wait %[[A]]
  // CHECK-NEXT: exec.loop
  exec.func @before {
    %0 = exec.buffer at 512 : !t
    %1 = exec.buffer at 192 : !t
    %a = exec.collective all_reduce sum over ["data"] [1, 16, 1, 1, 16, 1] "all_reduce over data" (%0) -> (%1) : (!t) -> !t
    exec.loop "d" 4 {
      %4 = exec.buffer at 0 strides [64] : !t
      %5 = exec.buffer at 704 : !t
      exec.launch @neg(%4) -> (%5) : (!t) -> !t
    }
  }
}
