// RUN: mesh-opt %s --pass-pipeline='builtin.module(func.func(meshc-form-fusions,meshc-assign-orders,meshc-plan-loops,meshc-place-results,meshc-schedule-ops),meshc-plan-arena)' --split-input-file --verify-diagnostics | FileCheck %s

// The kernel between two products writes over the first one's result. Parameters,
// then inputs, then metrics, then temporaries, each at a multiple of 64.
// CHECK: module attributes {exec.arena_bytes = 3328 : i64}
// CHECK: exec.tensor "p" "parameter" ["i", "j"] at 0
// CHECK: exec.tensor "x" "input" ["k", "i"] at 256
// CHECK: exec.tensor "y" "metric" ["k", "i"] at 1280
!p = !nd.tensor<f32, [i = 8, j = 8]>
!x = !nd.tensor<f32, [i = 8, k = 32]>
!h = !nd.tensor<f32, [j = 8, k = 32]>
// CHECK: func.func @eval_step(%arg0: {{.*}}exec.offset = 0 : i64{{.*}}, %arg1: {{.*}}exec.offset = 256 : i64
// CHECK: exec.offsets = array<i64: 2304>
// CHECK: exec.offsets = array<i64: 2304>
// CHECK: nd.neg
// CHECK: exec.offsets = array<i64: 1280>
func.func @eval_step(%p: !p {nd.name = "p", nd.role = "parameter", nd.order = ["i", "j"]}, %x: !x {nd.name = "x", nd.role = "input", nd.order = ["k", "i"]})
    -> (!x {nd.name = "y", nd.role = "metric", nd.order = ["k", "i"]}) {
  %0 = nd.einsum %x, %p {reduced = ["i"]} : (!x, !p) -> !h
  %1 = nd.neg %0 : (!h) -> !h
  %2 = nd.einsum %1, %p {reduced = ["j"]} : (!h, !p) -> !x
  return %2 : !x
}

// -----

// An all_reduce may receive over what it sends, but not where it sends that twice.
!part = !nd.tensor<f32, [i = 16], sum {a}>
!whole = !nd.tensor<f32, [i = 16]>
module attributes {nd.mesh = #nd.mesh<a = 2>} {
// CHECK: @eval_step
// CHECK: exec.fusion
// CHECK-SAME: exec.offsets = array<i64: 128, 192>
// CHECK: spmd.all_reduce sum ["a"] %[[A:[0-9#]+]], %[[A]], %{{[0-9#]+}} {exec.offsets = array<i64: 256, 320, 128>
func.func @eval_step(%x: !whole {nd.name = "x", nd.role = "input", nd.order = ["i"]})
    -> (!whole {nd.name = "y", nd.role = "metric", nd.order = ["i"]}) {
  %0 = nd.neg %x : (!whole) -> !part
  %1 = nd.exp %x : (!whole) -> !part
  %2:3 = spmd.all_reduce sum ["a"] %0, %0, %1 : (!part, !part, !part) -> (!whole, !whole, !whole)
  %3 = nd.add %2#0, %2#1 : (!whole, !whole) -> !whole
  %4 = nd.add %3, %2#2 : (!whole, !whole) -> !whole
  return %4 : !whole
}
}
