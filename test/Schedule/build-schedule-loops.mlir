// RUN: mesh-opt %s --pass-pipeline='builtin.module(func.func(meshc-place-results,meshc-schedule-ops),meshc-plan-arena,meshc-build-schedule)' --split-input-file | FileCheck %s

!v = !nd.tensor<f32, [i = 10]>
!vs = !nd.tensor<f32, [d = 3, i = 10]>

// Entries lie at multiples of 8 bytes, on which one kernel relies; the other is
// launched on whole tensors.
// CHECK: exec.kernel @kernel_0 {{.*}} in {{\[\[}}"i"]] out {{\[\[}}"i"]] {
// CHECK: exec.kernel @kernel_1 {{.*}} attributes {alignments = array<i64: 8, 8>}
// CHECK-LABEL: exec.func @eval_step
// CHECK: exec.launch @kernel_0
// CHECK-NEXT: exec.loop "d" 3 backwards {
// CHECK-NEXT: %[[X:.*]] = exec.buffer at 0 strides [40]
// CHECK-NEXT: %[[Y:.*]] = exec.buffer at 192 strides [40]
// CHECK-NEXT: exec.launch @kernel_1(%[[X]]) -> (%[[Y]])
// CHECK-NEXT: }
func.func @eval_step(%xs: !vs {nd.name = "xs", nd.role = "input", nd.order = ["d", "i"]}, %x: !v {nd.name = "x", nd.role = "input", nd.order = ["i"]})
    -> (!vs {nd.name = "ys", nd.role = "metric", nd.order = ["d", "i"]}, !v {nd.name = "y", nd.role = "metric", nd.order = ["i"]}) {
  %0 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [10]>(%x) : (!v) -> !v attributes {exec.orders = [["i"]]} {
  ^bb0(%in: !v):
    %5 = nd.tanh %in : (!v) -> !v
    exec.yield %5 : !v
  }
  %ys = nd.scan "d" 3 backwards stacked(%xs : !vs) -> !vs attributes {exec.orders = [["d", "i"]]} {
  ^bb0(%e: !v):
    %4 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [10]>(%e) : (!v) -> !v attributes {exec.orders = [["i"]]} {
    ^bb0(%in: !v):
      %5 = nd.tanh %in : (!v) -> !v
      exec.yield %5 : !v
    }
    nd.yield %4 : !v
  }
  return %ys, %0 : !vs, !v
}

// -----

!v = !nd.tensor<f32, [i = 16]>
!h = !nd.tensor<f32, [i = 16 on {a}]>
!hs = !nd.tensor<f32, [d = 3, i = 16 on {a}]>
!vs = !nd.tensor<f32, [d = 3, i = 16]>
!m = !nd.tensor<f32, [i = 16, j = 4 on {a}]>
!p = !nd.tensor<f32, [i = 16], sum {a}>

// A gather of an entry is begun in the iteration before, and has two places. A
// partial sum lies where its total will be; if its total is smaller, in memory that
// no other value of an iteration has.
module attributes {nd.mesh = #nd.mesh<a = 2>} {
  // CHECK-LABEL: exec.func @eval_step
  // CHECK: exec.loop "d" 3 {
  // CHECK-NEXT: %[[W:.*]] = exec.buffer at 0 strides [32]
  // CHECK-NEXT: %[[ALL:.*]] = exec.buffer at [[PLACE:[0-9]+]] alternates [64]
  // CHECK-NEXT: exec.collective all_gather ahead {{.*}}(%[[W]]) -> (%[[ALL]])
  // CHECK-NEXT: %[[T:.*]] = exec.buffer at
  // CHECK-NEXT: exec.launch @{{.*}}(%[[ALL]]) -> (%[[T]])
  // CHECK: %[[G:.*]] = exec.buffer at [[G0:[0-9]+]] strides [64] : <<f32, [i = 16], sum {a}>
  // CHECK: %[[S:.*]] = exec.buffer at [[S0:[0-9]+]] : <<f32, [i = 16], sum {a}>
  // CHECK: exec.launch @{{.*}} -> (%[[G]], %[[S]])
  // CHECK: %[[R:.*]] = exec.buffer at [[G0]] strides [64] : <<f32, [i = 16]>
  // CHECK: exec.collective all_reduce {{.*}}(%[[G]]) -> (%[[R]])
  // CHECK-NOT: at [[S0]] :
  // CHECK: exec.collective reduce_scatter {{.*}}(%[[S]]) ->
  func.func @eval_step(%w: !hs {nd.name = "w", nd.role = "input", nd.order = ["d", "i"]},
                       %m: !m {nd.name = "m", nd.role = "input", nd.order = ["i", "j"]})
      -> (!vs {nd.name = "g", nd.role = "metric", nd.order = ["d", "i"]}, !hs {nd.name = "s", nd.role = "metric", nd.order = ["d", "i"]},
          !vs {nd.name = "t", nd.role = "metric", nd.order = ["d", "i"]}) {
    %0, %1, %2 = nd.scan "d" 3 stacked(%w : !hs) whole(%m : !m) -> !vs, !hs, !vs attributes {exec.orders = [["d", "i"], ["d", "i"], ["d", "i"]]} {
    ^bb0(%e: !h, %n: !m):
      %all = spmd.all_gather ["a"] from ["i"] %e {exec.orders = [["i"]]} : (!h) -> !v
      %3, %4 = exec.fusion <parallel = ["i"], reduce = ["j"], lanes = "i", sizes = [16, 2]>(%n) : (!m) -> (!p, !p) attributes {exec.orders = [["i"], ["i"]]} {
      ^bb0(%in: !m):
        %8 = nd.reduce_sum %in {dims = ["j"]} : (!m) -> !p
        %9 = nd.neg %in : (!m) -> !m
        %10 = nd.reduce_sum %9 {dims = ["j"]} : (!m) -> !p
        exec.yield %8, %10 : !p, !p
      }
      %5 = spmd.all_reduce sum ["a"] %3 {exec.orders = [["i"]]} : (!p) -> !v
      %6 = spmd.reduce_scatter sum ["a"] to ["i"] %4 {exec.orders = [["i"]]} : (!p) -> !h
      %7 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [16]>(%all) : (!v) -> !v attributes {exec.orders = [["i"]]} {
      ^bb0(%in: !v):
        %8 = nd.tanh %in : (!v) -> !v
        exec.yield %8 : !v
      }
      nd.yield %5, %6, %7 : !v, !h, !v
    }
    return %0, %1, %2 : !vs, !hs, !vs
  }
}

// -----

!b = !nd.tensor<i1, []>
!v = !nd.tensor<f32, [i = 16]>
!h = !nd.tensor<f32, [i = 16 on {a}]>
!hs = !nd.tensor<f32, [d = 3, i = 16 on {a}]>

// The loop ends after an iteration whose condition is false. So a gather of an entry
// is not begun in the iteration before.
module attributes {nd.mesh = #nd.mesh<a = 2>} {
  // CHECK-LABEL: exec.func @eval_step
  // CHECK: exec.buffer at [[IN:[0-9]+]] : <<i1, []>, []>
  // CHECK-NEXT: %[[FIRST:.*]] = exec.buffer at [[GO:[0-9]+]] : <<i1, []>, []>
  // CHECK-NEXT: exec.launch @{{.*}} -> (%[[FIRST]])
  // CHECK-NEXT: exec.loop "d" 3 {
  // CHECK: exec.collective all_gather sum
  // CHECK: %[[NEXT:.*]] = exec.buffer at [[GO]] : <<i1, []>, []>
  // CHECK: exec.launch @{{.*}} -> (%[[NEXT]])
  // CHECK-NEXT: exec.while %[[NEXT]] :
  // CHECK-NEXT: }
  func.func @eval_step(%xs: !hs {nd.name = "xs", nd.role = "input", nd.order = ["d", "i"]}, %x: !b {nd.name = "x", nd.role = "input", nd.order = []})
      -> (!b {nd.name = "y", nd.role = "metric", nd.order = []}) {
    %y = nd.scan "d" 3 while carried(%x : !b) stacked(%xs : !hs) -> !b attributes {exec.orders = [[]]} {
    ^bb0(%go: !b, %e: !h):
      %g = spmd.all_gather ["a"] from ["i"] %e {exec.orders = [["i"]]} : (!h) -> !v
      %4 = exec.fusion <parallel = [], reduce = ["i"], lanes = "i", sizes = [16]>(%g) : (!v) -> !b attributes {exec.orders = [[]]} {
      ^bb0(%in: !v):
        %5 = nd.reduce_max %in {dims = ["i"]} : (!v) -> !nd.tensor<f32, []>
        %6 = nd.constant 0.0 : f32 -> !nd.tensor<f32, []>
        %7 = nd.compare gt %5, %6 : (!nd.tensor<f32, []>, !nd.tensor<f32, []>) -> !b
        exec.yield %7 : !b
      }
      nd.yield %4 : !b
    }
    return %y : !b
  }
}
