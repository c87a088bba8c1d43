// RUN: mesh-opt %s --pass-pipeline='builtin.module(func.func(meshc-expand-fallbacks,meshc-pair-contractions,meshc-form-fusions,meshc-assign-orders,meshc-plan-loops,meshc-verify-kernels))' --split-input-file | FileCheck %s

!q = !nd.tensor<f32, [b = 2, d = 4, h = 3, s = 8]>
!k = !nd.tensor<f32, [b = 2, d = 4, h = 3, m = 8]>
!r = !nd.tensor<f32, [b = 2, h = 3, s = 8]>

// One call each, in the orders that the tensors have. The sums of the gradient's
// keys lie like the keys, whatever the results of the function are.
// CHECK-LABEL: @both
// CHECK: exec.attention(%arg0, %arg1, %arg2) : {{.*}} attributes {exec.orders = {{\[\[}}"b", "s", "h", "d"], ["b", "s", "h"]]}
// CHECK-NEXT: ^bb0
// CHECK-NEXT: nd.attention
// CHECK-NEXT: exec.yield
// CHECK: exec.attention_gradient(%arg0, %arg1, %arg2, {{.*}}, %arg3)
// CHECK-SAME: exec.orders = {{\[\[}}"b", "s", "h", "d"], ["b", "h", "m", "d"], ["b", "m", "h", "d"]]
func.func @both(%q: !q {nd.order = ["b", "s", "h", "d"]}, %k: !k {nd.order = ["b", "h", "m", "d"]}, %v: !k {nd.order = ["b", "m", "h", "d"]},
                %g: !q {nd.order = ["b", "s", "h", "d"]})
    -> (!q {nd.order = ["b", "s", "h", "d"]}, !k {nd.order = ["b", "h", "m", "d"]}, !k {nd.order = ["b", "m", "h", "d"]}) {
  %y, %l = nd.attention %q, %k, %v {key = "d", memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>} : (!q, !k, !k) -> (!q, !r)
  %dq, %dk, %dv = nd.attention_gradient %q, %k, %v, %y, %l, %g {key = "d", memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 1, 1, 1>}
    : (!q, !k, !k, !q, !r, !q) -> (!q, !k, !k)
  return %dq, %dk, %dv : !q, !k, !k
}

// -----

!q = !nd.tensor<f32, [d = 4, s = 8]>
!k = !nd.tensor<f32, [d = 4, m = 8]>
!r = !nd.tensor<f32, [s = 8]>
!mask = !nd.tensor<i1, [m = 8, s = 8]>

// The key becomes the last dim by a copy; a mask may lie as it likes.
// CHECK-LABEL: @copies
// CHECK: %[[Q:.*]] = exec.fusion {{.*}}(%arg0) : {{.*}} attributes {exec.orders = {{\[\[}}"s", "d"]]}
// CHECK: exec.attention(%[[Q]], %arg1, %arg1, %arg2) : {{.*}} attributes {exec.orders = {{\[\[}}"s", "d"], ["s"]]}
func.func @copies(%q: !q {nd.order = ["d", "s"]}, %k: !k {nd.order = ["m", "d"]}, %mask: !mask {nd.order = ["m", "s"]})
    -> (!q {nd.order = ["s", "d"]}) {
  %y, %l = nd.attention %q, %k, %k, %mask {key = "d", memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0>} : (!q, !k, !k, !mask) -> (!q, !r)
  return %y : !q
}

// -----

!q = !nd.tensor<f32, [d = 4, s = 8]>
!k = !nd.tensor<f32, [d = 4, m = 8]>
!v = !nd.tensor<f32, [e = 2, f = 2, m = 8]>
!y = !nd.tensor<f32, [e = 2, f = 2, s = 8]>
!r = !nd.tensor<f32, [s = 8]>
!p = !nd.tensor<f32, [a = 2, b = 2, d = 4, s = 8]>
!pk = !nd.tensor<f32, [a = 2, d = 4, m = 8]>
!pv = !nd.tensor<f32, [b = 2, e = 4, m = 8]>
!py = !nd.tensor<f32, [a = 2, b = 2, e = 4, s = 8]>
!pr = !nd.tensor<f32, [a = 2, b = 2, s = 8]>

// Values of two dims; keys and values that each have a dim that the others lack: from primitive ops.
// CHECK-LABEL: @others
// CHECK-NOT: exec.attention
// CHECK: return
func.func @others(%q: !q {nd.order = ["s", "d"]}, %k: !k {nd.order = ["m", "d"]}, %v: !v {nd.order = ["m", "e", "f"]},
                  %p: !p {nd.order = ["a", "b", "s", "d"]}, %pk: !pk {nd.order = ["a", "m", "d"]}, %pv: !pv {nd.order = ["b", "m", "e"]}) -> (!y, !py) {
  %y, %l = nd.attention %q, %k, %v {key = "d", memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>} : (!q, !k, !v) -> (!y, !r)
  %z, %n = nd.attention %p, %pk, %pv {key = "d", memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>} : (!p, !pk, !pv) -> (!py, !pr)
  return %y, %z : !y, !py
}

// -----

!q = !nd.tensor<bf16, [d = 4, s = 8]>
!k = !nd.tensor<bf16, [d = 4, m = 8]>
!r = !nd.tensor<f32, [s = 8]>

// In 16 bits as in f32; the logarithms of sums are f32.
// CHECK-LABEL: @short
// CHECK: exec.attention(%arg0, %arg1, %arg1) : {{.*}} -> (!nd.tensor<bf16, [d = 4, s = 8]>, !nd.tensor<f32, [s = 8]>)
// CHECK: exec.attention_gradient(
func.func @short(%q: !q {nd.order = ["s", "d"]}, %k: !k {nd.order = ["m", "d"]}) -> (!q, !q, !k) {
  %y, %l = nd.attention %q, %k, %k {key = "d", memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>} : (!q, !k, !k) -> (!q, !r)
  %dq, %dk, %dv = nd.attention_gradient %q, %k, %k, %y, %l, %q {key = "d", memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 1, 1, 1>}
    : (!q, !k, !k, !q, !r, !q) -> (!q, !k, !k)
  return %y, %dq, %dk : !q, !q, !k
}

// -----

!q = !nd.tensor<f32, [d = 4, s = 8]>
!k = !nd.tensor<f32, [d = 4, m = 8]>
!r = !nd.tensor<f32, [s = 8]>

// CHECK-LABEL: @for_gpus
// CHECK-NOT: exec.attention
// CHECK: return
module attributes {exec.gpu} {
  func.func @for_gpus(%q: !q {nd.order = ["s", "d"]}, %k: !k {nd.order = ["m", "d"]}) -> !q {
    %y, %a = nd.attention %q, %k, %k {key = "d", memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>} : (!q, !k, !k) -> (!q, !r)
    return %y : !q
  }
}
