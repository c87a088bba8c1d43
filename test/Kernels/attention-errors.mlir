// RUN: mesh-opt %s --meshc-verify-kernels --split-input-file --verify-diagnostics

!q = !nd.tensor<f32, [d = 4, s = 8]>
!k = !nd.tensor<f32, [d = 4, m = 8]>
!r = !nd.tensor<f32, [s = 8]>
func.func @order(%q: !q {nd.order = ["d", "s"]}, %k: !k {nd.order = ["m", "d"]}) -> (!q {nd.order = ["s", "d"]}) {
  // expected-error @+1 {{needs its tensors in memory along 'd', got '!nd.tensor<f32, [d = 4, s = 8]>'}}
  %y, %l = exec.attention(%q, %k, %k) : (!q, !k, !k) -> (!q, !r) attributes {exec.orders = [["s", "d"], ["s"]]} {
  ^bb0(%a: !q, %b: !k, %c: !k):
    %1, %2 = nd.attention %a, %b, %c {exec.orders = [["s", "d"], ["s"]], key = "d", memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>} : (!q, !k, !k) -> (!q, !r)
    exec.yield %1, %2 : !q, !r
  }
  return %y : !q
}

// -----

!q = !nd.tensor<f32, [d = 4, s = 8]>
!k = !nd.tensor<f32, [d = 4, m = 8]>
!r = !nd.tensor<f32, [s = 8]>
func.func @result(%q: !q {nd.order = ["s", "d"]}, %k: !k {nd.order = ["m", "d"]}) -> (!q {nd.order = ["d", "s"]}) {
  // expected-error @+1 {{gives tensors in memory along 'd', got '!nd.tensor<f32, [d = 4, s = 8]>'}}
  %y, %l = exec.attention(%q, %k, %k) : (!q, !k, !k) -> (!q, !r) attributes {exec.orders = [["d", "s"], ["s"]]} {
  ^bb0(%a: !q, %b: !k, %c: !k):
    %1, %2 = nd.attention %a, %b, %c {exec.orders = [["d", "s"], ["s"]], key = "d", memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>} : (!q, !k, !k) -> (!q, !r)
    exec.yield %1, %2 : !q, !r
  }
  return %y : !q
}

// -----

!q = !nd.tensor<f32, [d = 4, s = 8]>
!k = !nd.tensor<f32, [d = 4, m = 8]>
!r = !nd.tensor<f32, [s = 8]>
func.func @inputs(%q: !q, %k: !k) {
  // expected-error @+1 {{must hold 'nd.attention' of its inputs, and yield its results}}
  %y, %l = exec.attention(%q, %k, %k) : (!q, !k, !k) -> (!q, !r) {
  ^bb0(%a: !q, %b: !k, %c: !k):
    %1, %2 = nd.attention %a, %c, %b {key = "d", memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>} : (!q, !k, !k) -> (!q, !r)
    exec.yield %1, %2 : !q, !r
  }
  return
}

// -----

!q = !nd.tensor<f32, [a = 2, b = 2, d = 4, s = 8]>
!k = !nd.tensor<f32, [a = 2, d = 4, m = 8]>
!v = !nd.tensor<f32, [b = 2, e = 4, m = 8]>
!y = !nd.tensor<f32, [a = 2, b = 2, e = 4, s = 8]>
!r = !nd.tensor<f32, [a = 2, b = 2, s = 8]>
func.func @sides(%q: !q {nd.order = ["a", "b", "s", "d"]}, %k: !k {nd.order = ["a", "m", "d"]}, %v: !v {nd.order = ["b", "m", "e"]})
    -> (!y {nd.order = ["a", "b", "s", "e"]}) {
  // expected-error @+1 {{is not one that the target computes in one call}}
  %y, %l = exec.attention(%q, %k, %v) : (!q, !k, !v) -> (!y, !r) attributes {exec.orders = [["a", "b", "s", "e"], ["a", "b", "s"]]} {
  ^bb0(%a: !q, %b: !k, %c: !v):
    %1, %2 = nd.attention %a, %b, %c {exec.orders = [["a", "b", "s", "e"], ["a", "b", "s"]], key = "d", memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>} : (!q, !k, !v) -> (!y, !r)
    exec.yield %1, %2 : !y, !r
  }
  return %y : !y
}
