// RUN: mesh-opt %s --meshc-sink-updates --split-input-file | FileCheck %s

!s = !nd.tensor<f32, []>
!x = !nd.tensor<f32, [a = 4]>
!xs = !nd.tensor<f32, [a = 4, n = 2]>

// The update moves into the loop, with the entry of the slot; the rate is computed
// before the loop, the constant in it. The gradient is no result any more.
// CHECK-LABEL: @momentum
// CHECK: %[[RATE:.*]] = nd.exp %arg3
// CHECK-NEXT: %[[L:.*]]:3 = nd.scan "n" 2 backwards carried(%arg2 : {{.*}}) stacked(%arg0, %arg1 : {{.*}}) whole(%[[RATE]] : {{.*}})
// CHECK-NEXT: ^bb0(%[[H:[a-z0-9]+]]: {{.*}}, %[[W:[a-z0-9]+]]: {{.*}}, %[[V:[a-z0-9]+]]: {{.*}}, %[[R:[a-z0-9]+]]: {{.*}}):
// CHECK: %[[G:.*]] = nd.mul %[[H]], %[[W]]
// CHECK: %[[C:.*]] = nd.constant
// CHECK: %[[OLD:.*]] = nd.mul %[[V]], %[[C]]
// CHECK: %[[NV:.*]] = nd.add %[[OLD]], %[[G]]
// CHECK: %[[D:.*]] = nd.mul %[[NV]], %[[R]]
// CHECK: %[[NP:.*]] = nd.sub %[[W]], %[[D]]
// CHECK: nd.yield %[[G]], %[[NV]], %[[NP]]
// CHECK: return %[[L]]#0, %[[L]]#2, %[[L]]#1
func.func @momentum(%p: !xs {nd.order = ["n", "a"]}, %v: !xs {nd.order = ["n", "a"]}, %x: !x, %t: !s)
    -> (!x, !xs {nd.order = ["n", "a"]}, !xs {nd.order = ["n", "a"]}) {
  %0:2 = nd.scan "n" 2 backwards carried(%x : !x) stacked(%p : !xs) -> !x, !xs {
  ^bb0(%h: !x, %w: !x):
    %1 = nd.mul %h, %w : (!x, !x) -> !x
    nd.yield %1, %1 : !x, !x
  }
  %c = nd.constant 0.9 : f32 -> !s
  %old = nd.mul %v, %c : (!xs, !s) -> !xs
  %new = nd.add %old, %0#1 : (!xs, !xs) -> !xs
  %rate = nd.exp %t : (!s) -> !s
  %d = nd.mul %new, %rate : (!xs, !s) -> !xs
  %2 = nd.sub %p, %d : (!xs, !xs) -> !xs
  return %0#0, %2, %new : !x, !xs, !xs
}

// -----

!x = !nd.tensor<f32, [a = 4]>
!xs = !nd.tensor<f32, [a = 4, n = 2]>
!s = !nd.tensor<f32, []>

// The rate depends on all entries of the gradient (clipping by its norm).
// CHECK-LABEL: @clipped
// CHECK: nd.scan
// CHECK: nd.yield %{{.*}}, %{{.*}} :
// CHECK: nd.reduce_sum
// CHECK: nd.mul
// CHECK: nd.sub
func.func @clipped(%p: !xs {nd.order = ["n", "a"]}, %x: !x) -> (!x, !xs {nd.order = ["n", "a"]}) {
  %0:2 = nd.scan "n" 2 carried(%x : !x) stacked(%p : !xs) -> !x, !xs {
  ^bb0(%h: !x, %w: !x):
    %1 = nd.mul %h, %w : (!x, !x) -> !x
    nd.yield %1, %1 : !x, !x
  }
  %norm = nd.reduce_sum %0#1 {dims = ["a", "n"]} : (!xs) -> !s
  %d = nd.mul %0#1, %norm : (!xs, !s) -> !xs
  %2 = nd.sub %p, %d : (!xs, !xs) -> !xs
  return %0#0, %2 : !x, !xs
}

// -----

!x = !nd.tensor<f32, [a = 4]>
!xs = !nd.tensor<f32, [a = 4, n = 2]>

// Entries of these parameters are not dense: the loop's dim is not the first.
// CHECK-LABEL: @inner_dim
// CHECK: nd.scan
// CHECK: nd.sub
// CHECK-NEXT: return
func.func @inner_dim(%p: !xs {nd.order = ["a", "n"]}, %x: !x) -> (!x, !xs {nd.order = ["a", "n"]}) {
  %0:2 = nd.scan "n" 2 carried(%x : !x) stacked(%p : !xs) -> !x, !xs {
  ^bb0(%h: !x, %w: !x):
    %1 = nd.mul %h, %w : (!x, !x) -> !x
    nd.yield %1, %1 : !x, !x
  }
  %2 = nd.sub %p, %0#1 : (!xs, !xs) -> !xs
  return %0#0, %2 : !x, !xs
}

// -----

!x = !nd.tensor<f32, [a = 4]>
!xs = !nd.tensor<f32, [a = 4, n = 2]>

// The gradient itself is a result, too.
// CHECK-LABEL: @returned
// CHECK: nd.scan
// CHECK: nd.sub
// CHECK-NEXT: return
func.func @returned(%p: !xs {nd.order = ["n", "a"]}, %x: !x)
    -> (!xs {nd.order = ["n", "a"]}, !xs {nd.order = ["n", "a"]}) {
  %0:2 = nd.scan "n" 2 carried(%x : !x) stacked(%p : !xs) -> !x, !xs {
  ^bb0(%h: !x, %w: !x):
    %1 = nd.mul %h, %w : (!x, !x) -> !x
    nd.yield %1, %1 : !x, !x
  }
  %2 = nd.sub %p, %0#1 : (!xs, !xs) -> !xs
  return %2, %0#1 : !xs, !xs
}

// -----

!x = !nd.tensor<f32, [a = 4]>
!xs = !nd.tensor<f32, [a = 4, n = 2]>
!sum = !nd.tensor<f32, [a = 4], sum {d}>

// The reduction of an entry goes on while the next iteration runs, on a machine
// that computes during collectives.
// CHECK-LABEL: @reduced
// CHECK: nd.scan
// CHECK: spmd.all_reduce
// CHECK: nd.yield
// CHECK: nd.sub
// CHECK-NEXT: return
module attributes {nd.mesh = #nd.mesh<d = 2>, spmd.overlap = 0.5 : f64, spmd.latency_bytes = {d = 1.0 : f64}, spmd.flops_per_byte = {f32 = 1.0 : f64}} {
  func.func @reduced(%p: !xs {nd.order = ["n", "a"]}, %x: !x, %y: !sum) -> (!x, !xs {nd.order = ["n", "a"]}) {
    %0:2 = nd.scan "n" 2 carried(%x : !x) stacked(%p : !xs) whole(%y : !sum) -> !x, !xs {
    ^bb0(%h: !x, %w: !x, %part: !sum):
      %1 = nd.mul %h, %w : (!x, !x) -> !x
      %2 = spmd.all_reduce sum ["d"] %part : (!sum) -> !x
      nd.yield %1, %2 : !x, !x
    }
    %2 = nd.sub %p, %0#1 : (!xs, !xs) -> !xs
    return %0#0, %2 : !x, !xs
  }
}

// -----

!x = !nd.tensor<f32, [a = 4]>
!xs = !nd.tensor<f32, [a = 4, n = 2]>
!sum = !nd.tensor<f32, [a = 4], sum {d}>

// On any other machine, the reduction has ended when the iteration goes on.
// CHECK-LABEL: @reduced_at_once
// CHECK: nd.scan
// CHECK: %[[G:.*]] = spmd.all_reduce
// CHECK: nd.sub %{{.*}}, %[[G]]
// CHECK: nd.yield
// CHECK-NOT: nd.sub
// CHECK: return
module attributes {nd.mesh = #nd.mesh<d = 2>} {
  func.func @reduced_at_once(%p: !xs {nd.order = ["n", "a"]}, %x: !x, %y: !sum) -> (!x, !xs {nd.order = ["n", "a"]}) {
    %0:2 = nd.scan "n" 2 carried(%x : !x) stacked(%p : !xs) whole(%y : !sum) -> !x, !xs {
    ^bb0(%h: !x, %w: !x, %part: !sum):
      %1 = nd.mul %h, %w : (!x, !x) -> !x
      %2 = spmd.all_reduce sum ["d"] %part : (!sum) -> !x
      nd.yield %1, %2 : !x, !x
    }
    %2 = nd.sub %p, %0#1 : (!xs, !xs) -> !xs
    return %0#0, %2 : !x, !xs
  }
}

// -----

!x = !nd.tensor<f32, [a = 4]>
!xs = !nd.tensor<f32, [a = 4, n = 2]>
!y = !nd.tensor<f32, [a = 262144]>
!ys = !nd.tensor<f32, [a = 262144, n = 2]>

// On a GPU, launches take longer than the update of a small entry.
module attributes {exec.gpu} {
  // CHECK-LABEL: @small_on_gpu
  // CHECK: nd.scan
  // CHECK: nd.sub
  // CHECK-NEXT: return
  func.func @small_on_gpu(%p: !xs {nd.order = ["n", "a"]}, %x: !x) -> (!x, !xs {nd.order = ["n", "a"]}) {
    %0:2 = nd.scan "n" 2 carried(%x : !x) stacked(%p : !xs) -> !x, !xs {
    ^bb0(%h: !x, %w: !x):
      %1 = nd.mul %h, %w : (!x, !x) -> !x
      nd.yield %1, %1 : !x, !x
    }
    %2 = nd.sub %p, %0#1 : (!xs, !xs) -> !xs
    return %0#0, %2 : !x, !xs
  }
  // CHECK-LABEL: @large_on_gpu
  // CHECK: nd.scan
  // CHECK: nd.sub
  // CHECK-NEXT: nd.yield
  func.func @large_on_gpu(%p: !ys {nd.order = ["n", "a"]}, %x: !y) -> (!y, !ys {nd.order = ["n", "a"]}) {
    %0:2 = nd.scan "n" 2 carried(%x : !y) stacked(%p : !ys) -> !y, !ys {
    ^bb0(%h: !y, %w: !y):
      %1 = nd.mul %h, %w : (!y, !y) -> !y
      nd.yield %1, %1 : !y, !y
    }
    %2 = nd.sub %p, %0#1 : (!ys, !ys) -> !ys
    return %0#0, %2 : !y, !ys
  }
}

// -----

!x = !nd.tensor<f32, [a = 4]>
!xs = !nd.tensor<f32, [a = 4, n = 2]>
!xss = !nd.tensor<f32, [a = 4, m = 3, n = 2]>

// Through two loops.
// CHECK-LABEL: @nested
// CHECK: nd.scan "n"
// CHECK: nd.scan "m"
// CHECK: nd.mul
// CHECK-NEXT: nd.sub
// CHECK-NEXT: nd.yield
// CHECK-NOT: nd.sub
func.func @nested(%p: !xss {nd.order = ["n", "m", "a"]}, %x: !x) -> (!x, !xss {nd.order = ["n", "m", "a"]}) {
  %0:2 = nd.scan "n" 2 carried(%x : !x) stacked(%p : !xss) -> !x, !xss {
  ^bb0(%h: !x, %w: !nd.tensor<f32, [a = 4, m = 3]>):
    %1:2 = nd.scan "m" 3 carried(%h : !x) stacked(%w : !nd.tensor<f32, [a = 4, m = 3]>) -> !x, !nd.tensor<f32, [a = 4, m = 3]> {
    ^bb0(%i: !x, %e: !x):
      %2 = nd.mul %i, %e : (!x, !x) -> !x
      nd.yield %2, %2 : !x, !x
    }
    nd.yield %1#0, %1#1 : !x, !nd.tensor<f32, [a = 4, m = 3]>
  }
  %2 = nd.sub %p, %0#1 : (!xss, !xss) -> !xss
  return %0#0, %2 : !x, !xss
}

// -----

// The gather of an updated parameter moves into the loop, too: it moves each entry by itself. Where ranks compute during
// collectives, it stays, and so does the update.
!x = !nd.tensor<f32, [a = 4 on {d}]>
!w = !nd.tensor<f32, [a = 4]>
!xs = !nd.tensor<f32, [a = 4 on {d}, n = 2]>
!ws = !nd.tensor<f32, [a = 4, n = 2]>
module attributes {nd.mesh = #nd.mesh<d = 2>} {
  // CHECK-LABEL: @gathered
  // CHECK: nd.scan "n" 2
  // CHECK: %[[U:.*]] = nd.add
  // CHECK: %[[G:.*]] = spmd.all_gather ["d"] from ["a"] %[[U]] : (!nd.tensor<f32, [a = 4 on {d}]>) -> !nd.tensor<f32, [a = 4]>
  // CHECK: nd.yield %{{.*}}, %[[G]]
  // CHECK-NOT: spmd.all_gather
  // CHECK: return
  func.func @gathered(%v: !xs {nd.order = ["n", "a"]}, %x: !x) -> (!x, !ws {nd.order = ["n", "a"]}) {
    %0:2 = nd.scan "n" 2 carried(%x : !x) stacked(%v : !xs) -> !x, !xs {
    ^bb0(%h: !x, %w: !x):
      %1 = nd.mul %h, %w : (!x, !x) -> !x
      nd.yield %1, %1 : !x, !x
    }
    %2 = nd.add %v, %0#1 : (!xs, !xs) -> !xs
    %3 = spmd.all_gather ["d"] from ["a"] %2 : (!xs) -> !ws
    return %0#0, %3 : !x, !ws
  }
}

// -----

!x = !nd.tensor<f32, [a = 4 on {d}]>
!w = !nd.tensor<f32, [a = 4]>
!xs = !nd.tensor<f32, [a = 4 on {d}, n = 2]>
!ws = !nd.tensor<f32, [a = 4, n = 2]>
module attributes {nd.mesh = #nd.mesh<d = 2>, spmd.latency_bytes = {d = 8.0}, spmd.flops_per_byte = {f32 = 1.0}, spmd.overlap = 0.5} {
  // CHECK-LABEL: @overlapped
  // CHECK: nd.yield
  // CHECK: nd.add
  // CHECK-NEXT: spmd.all_gather
  func.func @overlapped(%v: !xs {nd.order = ["n", "a"]}, %x: !x) -> (!x, !ws {nd.order = ["n", "a"]}) {
    %0:2 = nd.scan "n" 2 carried(%x : !x) stacked(%v : !xs) -> !x, !xs {
    ^bb0(%h: !x, %w: !x):
      %1 = nd.mul %h, %w : (!x, !x) -> !x
      nd.yield %1, %1 : !x, !x
    }
    %2 = nd.add %v, %0#1 : (!xs, !xs) -> !xs
    %3 = spmd.all_gather ["d"] from ["a"] %2 : (!xs) -> !ws
    return %0#0, %3 : !x, !ws
  }
}
