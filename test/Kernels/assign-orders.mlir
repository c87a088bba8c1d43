// RUN: mesh-opt %s --meshc-form-fusions --meshc-assign-orders --split-input-file | FileCheck %s

!q = !nd.tensor<f32, [batch = 2, heads = 4, seq = 8, key = 16]>
!k = !nd.tensor<f32, [batch = 2, heads = 4, memory = 8, key = 16]>
!s = !nd.tensor<f32, [batch = 2, heads = 4, seq = 8, memory = 8]>

// Batch dims that lie apart in declared tensors: copies bring them together.
// CHECK-LABEL: @batched
// CHECK: %[[Q:.*]] = exec.fusion {{.*}}(%arg0) {{.*}} {exec.orders = {{\[\[}}"batch", "heads", "seq", "key"]]}
// CHECK: %[[K:.*]] = exec.fusion {{.*}}(%arg1) {{.*}} {exec.orders = {{\[\[}}"batch", "heads", "memory", "key"]]}
// CHECK: nd.einsum %[[Q]], %[[K]] {exec.orders = {{\[\[}}"batch", "heads", "seq", "memory"]]
func.func @batched(%q: !q {nd.order = ["batch", "seq", "heads", "key"]}, %k: !k {nd.order = ["batch", "memory", "heads", "key"]}) -> !s {
  %0 = nd.einsum %q, %k {reduced = ["key"]} : (!q, !k) -> !s
  return %0 : !s
}

// -----

// Any order of two dims is a transposition of the product: no copies.
// CHECK-LABEL: @transposed
// CHECK-NOT: exec.fusion
// CHECK: nd.einsum %arg0, %arg1 {exec.orders = {{\[\[}}"c", "a"]]
// CHECK-NOT: exec.fusion
// CHECK: return
func.func @transposed(%a: !nd.tensor<f32, [a = 4, b = 8]> {nd.order = ["b", "a"]}, %b: !nd.tensor<f32, [b = 8, c = 16]> {nd.order = ["c", "b"]})
    -> (!nd.tensor<f32, [a = 4, c = 16]> {nd.order = ["c", "a"]}) {
  %0 = nd.einsum %a, %b {reduced = ["b"]} : (!nd.tensor<f32, [a = 4, b = 8]>, !nd.tensor<f32, [b = 8, c = 16]>) -> !nd.tensor<f32, [a = 4, c = 16]>
  return %0 : !nd.tensor<f32, [a = 4, c = 16]>
}

// -----

!x = !nd.tensor<f32, [a = 4, b = 8, c = 2]>

// The product wants a and b side by side: the kernel before writes them so.
// CHECK-LABEL: @producer_follows
// CHECK: exec.fusion {{.*}}(%arg0) {{.*}} {exec.orders = {{\[\[}}"a", "b", "c"]]}
// CHECK: nd.neg
// CHECK: nd.einsum {{.*}}exec.orders = {{\[\[}}"a", "b", "d"]]
func.func @producer_follows(%x: !x {nd.order = ["a", "c", "b"]}, %w: !nd.tensor<f32, [c = 2, d = 4]> {nd.order = ["c", "d"]}) -> !nd.tensor<f32, [a = 4, b = 8, d = 4]> {
  %0 = nd.neg %x : (!x) -> !x
  %1 = nd.einsum %0, %w {reduced = ["c"]} : (!x, !nd.tensor<f32, [c = 2, d = 4]>) -> !nd.tensor<f32, [a = 4, b = 8, d = 4]>
  return %1 : !nd.tensor<f32, [a = 4, b = 8, d = 4]>
}

// -----

// An argument returned in another order is copied.
// CHECK-LABEL: @reordered
// CHECK: exec.fusion {{.*}}(%arg0) {{.*}} {exec.orders = {{\[\[}}"b", "a"]]}
func.func @reordered(%x: !nd.tensor<f32, [a = 4, b = 8]> {nd.order = ["a", "b"]}) -> (!nd.tensor<f32, [a = 4, b = 8]> {nd.order = ["b", "a"]}) {
  return %x : !nd.tensor<f32, [a = 4, b = 8]>
}
