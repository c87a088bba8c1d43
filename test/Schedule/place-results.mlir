// RUN: mesh-opt %s --pass-pipeline='builtin.module(func.func(meshc-form-fusions,meshc-assign-orders,meshc-plan-loops,meshc-place-results,meshc-schedule-ops))' --split-input-file | FileCheck %s

!p = !nd.tensor<f32, [i = 8, j = 8]>

// The new parameter is written over the old one, after its last reader.
// CHECK-LABEL: @after_readers
// CHECK: %[[Y:.*]] = exec.product(%arg1, %arg0)
// CHECK: %[[N:.*]] = exec.fusion {{.*}}(%arg0)
// CHECK: return %[[N]], %[[Y]]
func.func @after_readers(%p: !p {nd.name = "p", nd.role = "parameter", nd.order = ["i", "j"]}, %x: !nd.tensor<f32, [i = 8, k = 8]> {nd.name = "x", nd.role = "input", nd.order = ["k", "i"]})
    -> (!p {nd.name = "p", nd.role = "parameter", nd.order = ["i", "j"]}, !nd.tensor<f32, [j = 8, k = 8]> {nd.name = "y", nd.role = "metric", nd.order = ["k", "j"]}) {
  %0 = nd.neg %p : (!p) -> !p
  %1 = nd.einsum %x, %p {reduced = ["i"]} : (!nd.tensor<f32, [i = 8, k = 8]>, !p) -> !nd.tensor<f32, [j = 8, k = 8]>
  return %0, %1 : !p, !nd.tensor<f32, [j = 8, k = 8]>
}

// -----

!v = !nd.tensor<f32, [i = 8]>

// Two states change places: one is saved first.
// CHECK-LABEL: @swap
// CHECK: %[[A:.*]] = exec.fusion {{.*}}(%arg0)
// CHECK: %[[B:.*]] = exec.fusion {{.*}}(%arg1)
// CHECK: %[[A2:.*]] = exec.fusion {{.*}}(%[[A]])
// CHECK: return %[[B]], %[[A2]]
func.func @swap(%a: !v {nd.name = "a", nd.role = "parameter", nd.order = ["i"]}, %b: !v {nd.name = "b", nd.role = "parameter", nd.order = ["i"]})
    -> (!v {nd.name = "a", nd.role = "parameter", nd.order = ["i"]}, !v {nd.name = "b", nd.role = "parameter", nd.order = ["i"]}) {
  return %b, %a : !v, !v
}

// -----

!p = !nd.tensor<f32, [i = 8, j = 8]>

// Transposed in place would read what is written already.
// CHECK-LABEL: @transposed
// CHECK: %[[T:.*]] = exec.fusion {{.*}}(%arg0)
// CHECK: nd.rename
// CHECK: %[[N:.*]] = exec.fusion {{.*}}(%[[T]])
// CHECK: return %[[N]]
func.func @transposed(%p: !p {nd.name = "p", nd.role = "parameter", nd.order = ["i", "j"]}) -> (!p {nd.name = "p", nd.role = "parameter", nd.order = ["i", "j"]}) {
  %0 = nd.rename %p {from = ["i", "j"], to = ["j", "i"]} : (!p) -> !p
  return %0 : !p
}

// -----

!v = !nd.tensor<f32, [i = 8]>

// A parameter that stays is no work.
// CHECK-LABEL: @unchanged
// CHECK-NEXT: return %arg0
func.func @unchanged(%a: !v {nd.name = "a", nd.role = "parameter", nd.order = ["i"]}) -> (!v {nd.name = "a", nd.role = "parameter", nd.order = ["i"]}) {
  return %a : !v
}

// -----

!s = !nd.tensor<f32, []>

// One value, two metrics: each has a place of its own.
// CHECK-LABEL: @twice
// CHECK: %[[S:.*]] = exec.fusion {{.*}}(%arg0)
// CHECK: %[[C:.*]] = exec.fusion {{.*}}(%[[S]])
// CHECK: return %[[S]], %[[C]]
func.func @twice(%x: !s {nd.name = "x", nd.role = "input", nd.order = []}) -> (!s {nd.name = "loss", nd.role = "metric", nd.order = []}, !s {nd.name = "again", nd.role = "metric", nd.order = []}) {
  %0 = nd.neg %x : (!s) -> !s
  return %0, %0 : !s, !s
}
