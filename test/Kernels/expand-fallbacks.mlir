// RUN: mesh-opt %s --meshc-expand-fallbacks --split-input-file | FileCheck %s

!q = !nd.tensor<bf16, [d = 4, s = 8 on {a}]>
!k = !nd.tensor<bf16, [d = 4, m = 8]>
!y = !nd.tensor<bf16, [e = 2, s = 8 on {a}]>
!v = !nd.tensor<bf16, [e = 2, m = 8]>
!r = !nd.tensor<f32, [s = 8 on {a}]>

// Primitive ops on the rank's blocks, in f32; sums over the rows of one rank are
// partial.
// CHECK-LABEL: @gradient
// CHECK-NOT: nd.attention
// CHECK: nd.iota : () -> !nd.tensor<i32, [m = 8]>
// CHECK: nd.iota : () -> !nd.tensor<i32, [s = 8 on {a}]>
// CHECK: nd.einsum {{.*}} {reduced = ["s"]} : {{.*}} -> !nd.tensor<f32, [e = 2, m = 8], sum {a}>
// CHECK: nd.einsum {{.*}} {reduced = ["m"]} : {{.*}} -> !nd.tensor<f32, [d = 4, s = 8 on {a}]>
// CHECK: nd.einsum {{.*}} {reduced = ["s"]} : {{.*}} -> !nd.tensor<f32, [d = 4, m = 8], sum {a}>
// CHECK: nd.cast {{.*}} -> !nd.tensor<bf16, [d = 4, m = 8], sum {a}>
// CHECK: return
module attributes {nd.mesh = #nd.mesh<a = 2>} {
  func.func @gradient(%q: !q, %k: !k, %v: !v, %y: !y, %l: !r, %g: !y)
      -> (!q, !nd.tensor<bf16, [d = 4, m = 8], sum {a}>, !nd.tensor<bf16, [e = 2, m = 8], sum {a}>) {
    %dq, %dk, %dv = nd.attention_gradient %q, %k, %v, %y, %l, %g
      {highest = 0 : i64, key = "d", memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 1, 1, 1>, position = "s"}
      : (!q, !k, !v, !y, !r, !y) -> (!q, !nd.tensor<bf16, [d = 4, m = 8], sum {a}>, !nd.tensor<bf16, [e = 2, m = 8], sum {a}>)
    return %dq, %dk, %dv : !q, !nd.tensor<bf16, [d = 4, m = 8], sum {a}>, !nd.tensor<bf16, [e = 2, m = 8], sum {a}>
  }
}

// -----

// Partial sums name the axes in the order of the mesh, whatever that of the cut is.
!c = !nd.tensor<f32, [d = 4, s = 8 on {b, a}]>
!n = !nd.tensor<f32, [d = 4, m = 8]>
!o = !nd.tensor<f32, [m = 8]>
!w = !nd.tensor<f32, [s = 8 on {b, a}]>
// CHECK-LABEL: @crossed
// CHECK-NOT: nd.attention_gradient
// CHECK: return {{.*}}sum {a, b}
module attributes {nd.mesh = #nd.mesh<a = 2, b = 2>} {
  func.func @crossed(%q: !c, %k: !n, %v: !o, %y: !w, %l: !w, %g: !w)
      -> (!c, !nd.tensor<f32, [d = 4, m = 8], sum {a, b}>, !nd.tensor<f32, [m = 8], sum {a, b}>) {
    %dq, %dk, %dv = nd.attention_gradient %q, %k, %v, %y, %l, %g
      {key = "d", memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 1, 1, 1>}
      : (!c, !n, !o, !w, !w, !w) -> (!c, !nd.tensor<f32, [d = 4, m = 8], sum {a, b}>, !nd.tensor<f32, [m = 8], sum {a, b}>)
    return %dq, %dk, %dv : !c, !nd.tensor<f32, [d = 4, m = 8], sum {a, b}>, !nd.tensor<f32, [m = 8], sum {a, b}>
  }
}

// -----

// What is no such op stays.
// CHECK-LABEL: @other
// CHECK-NEXT: nd.exp
// CHECK-NEXT: return
func.func @other(%x: !nd.tensor<f32, [x = 2]>) -> !nd.tensor<f32, [x = 2]> {
  %y = nd.exp %x : (!nd.tensor<f32, [x = 2]>) -> !nd.tensor<f32, [x = 2]>
  return %y : !nd.tensor<f32, [x = 2]>
}
