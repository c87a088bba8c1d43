// RUN: mesh-opt %s --pass-pipeline='builtin.module(func.func(meshc-form-fusions,meshc-assign-orders,meshc-plan-loops,meshc-place-results,meshc-schedule-ops),meshc-plan-arena)' --split-input-file --verify-diagnostics | FileCheck %s

// The kernel between two products writes over the first one's result. Parameters,
// then inputs, then metrics, then temporaries, each at a multiple of 64. The scratch
// memory of the two products is the same: each is used during its product alone. It
// is larger than the other temporary, and so placed first.
// CHECK: module attributes {exec.arena_bytes = 10944 : i64}
// CHECK: exec.tensor "p" parameter ["i", "j"] at 0
// CHECK: exec.tensor "x" input ["k", "i"] at 256
// CHECK: exec.tensor "y" metric ["k", "i"] at 1280
!p = !nd.tensor<f32, [i = 8, j = 8]>
!x = !nd.tensor<f32, [i = 8, k = 32]>
!h = !nd.tensor<f32, [j = 8, k = 32]>
// CHECK: func.func @eval_step(%arg0: {{.*}}exec.offset = 0 : i64{{.*}}, %arg1: {{.*}}exec.offset = 256 : i64
// CHECK: exec.offsets = array<i64: 9920>{{.*}} exec.scratch = array<i64: 2304, 7616>
// CHECK: exec.offsets = array<i64: 9920>
// CHECK: nd.neg
// CHECK: exec.offsets = array<i64: 1280>{{.*}} exec.scratch = array<i64: 2304, 7616>
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

// -----

// A target whose library has scratch memory of its own needs none in the arena.
// CHECK: module attributes {exec.arena_bytes = 2304 : i64, exec.library_workspace}
module attributes {exec.library_workspace} {
// CHECK-NOT: exec.scratch
func.func @eval_step(%p: !nd.tensor<f32, [i = 8, j = 8]> {nd.name = "p", nd.role = "parameter", nd.order = ["i", "j"]}, %x: !nd.tensor<f32, [i = 8, k = 32]> {nd.name = "x", nd.role = "input", nd.order = ["k", "i"]})
    -> (!nd.tensor<f32, [j = 8, k = 32]> {nd.name = "y", nd.role = "metric", nd.order = ["k", "j"]}) {
  %0 = nd.einsum %x, %p {reduced = ["i"]} : (!nd.tensor<f32, [i = 8, k = 32]>, !nd.tensor<f32, [i = 8, j = 8]>) -> !nd.tensor<f32, [j = 8, k = 32]>
  return %0 : !nd.tensor<f32, [j = 8, k = 32]>
}
}
