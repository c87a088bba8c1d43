// RUN: mesh-opt %s -split-input-file -verify-diagnostics | mesh-opt -split-input-file | FileCheck %s

!q = !nd.tensor<f32, [b = 2, d = 4, s = 3]>
!k = !nd.tensor<f32, [b = 2, d = 4, m = 5]>
!v = !nd.tensor<f32, [b = 2, e = 6, m = 5]>
!y = !nd.tensor<f32, [b = 2, e = 6, s = 3]>
!r = !nd.tensor<f32, [b = 2, s = 3]>
!mask = !nd.tensor<i1, [b = 2, m = 5]>

// CHECK-LABEL: func.func @both
func.func @both(%q: !q, %k: !k, %v: !v, %mask: !mask, %g: !y) {
  // CHECK: nd.attention %arg0, %arg1, %arg2, %arg3 {highest = 0 : i64, key = "d", memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0>, position = "s"}
  %y, %l = nd.attention %q, %k, %v, %mask {highest = 0 : i64, key = "d", memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0>, position = "s"}
    : (!q, !k, !v, !mask) -> (!y, !r)
  // CHECK: nd.attention_gradient %arg0, %arg1, %arg2, %output, %log_sums, %arg4 {key = "d", memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 1, 1, 1>}
  %dq, %dk, %dv = nd.attention_gradient %q, %k, %v, %y, %l, %g {key = "d", memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 1, 1, 1>}
    : (!q, !k, !v, !y, !r, !y) -> (!q, !k, !v)
  return
}

// -----

!q = !nd.tensor<f32, [d = 4, s = 3]>
!k = !nd.tensor<f32, [d = 4, m = 5]>
!r = !nd.tensor<f32, [s = 3]>
func.func @f(%q: !q, %k: !k) {
  // expected-error @+2 {{attention: a band needs 'position', and 'lowest' or 'highest'}}
  // expected-error @+1 {{failed to infer returned types}}
  %y, %l = nd.attention %q, %k, %k {key = "d", memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>, position = "s"} : (!q, !k, !k) -> (!q, !r)
  return
}

// -----

!q = !nd.tensor<f32, [d = 4, s = 3]>
!k = !nd.tensor<f32, [d = 4, m = 5]>
!r = !nd.tensor<f32, [s = 3]>
func.func @f(%q: !q, %k: !k) {
  // expected-error @+2 {{attention: the band's position 'd' must be a dim of the query other than 'd'}}
  // expected-error @+1 {{failed to infer returned types}}
  %y, %l = nd.attention %q, %k, %k {highest = 0 : i64, key = "d", memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>, position = "d"} : (!q, !k, !k) -> (!q, !r)
  return
}

// -----

!q = !nd.tensor<f32, [d = 4, s = 3]>
!k = !nd.tensor<f32, [d = 4, m = 5]>
!r = !nd.tensor<f32, [s = 3]>
func.func @f(%q: !q, %k: !k) {
  // expected-error @+2 {{attention: the band's bound 9223372036854775807 is beyond any index}}
  // expected-error @+1 {{failed to infer returned types}}
  %y, %l = nd.attention %q, %k, %k {highest = 9223372036854775807 : i64, key = "d", memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>, position = "s"} : (!q, !k, !k) -> (!q, !r)
  return
}

// -----

!q = !nd.tensor<f32, [d = 4, s = 3]>
!k = !nd.tensor<f32, [d = 4, m = 5]>
!r = !nd.tensor<f32, [s = 3]>
func.func @f(%q: !q, %k: !k, %r: !r) {
  // expected-error @+2 {{attention_gradient: the gradient must be}}
  // expected-error @+1 {{failed to infer returned types}}
  %dq, %dk, %dv = nd.attention_gradient %q, %k, %k, %q, %r, %r {key = "d", memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 1, 1, 1>}
    : (!q, !k, !k, !q, !r, !r) -> (!q, !k, !k)
  return
}

// -----

!q = !nd.tensor<f32, [d = 4, s = 3]>
!k = !nd.tensor<f32, [d = 4, m = 5]>
!b = !nd.tensor<f32, [r = 8]>
!r = !nd.tensor<f32, [s = 3]>
func.func @f(%q: !q, %k: !k, %b: !b) {
  // expected-error @+2 {{attention: dim 'r' has 8 entries, and the differences of positions are 7}}
  // expected-error @+1 {{failed to infer returned types}}
  %y, %l = nd.attention %q, %k, %k, %b {distance = "r", key = "d", memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 0, 0>, position = "s"} : (!q, !k, !k, !b) -> (!q, !r)
  return
}

// -----

!q = !nd.tensor<f32, [d = 4, s = 3]>
!k = !nd.tensor<f32, [d = 4, m = 5]>
!b = !nd.tensor<f32, [m = 5, r = 7]>
!r = !nd.tensor<f32, [s = 3]>
func.func @f(%q: !q, %k: !k, %b: !b) {
  // expected-error @+2 {{attention: a bias by distance has dim 'r' instead of 'm' and 's'}}
  // expected-error @+1 {{failed to infer returned types}}
  %y, %l = nd.attention %q, %k, %k, %b {distance = "r", key = "d", memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 0, 0>, position = "s"} : (!q, !k, !k, !b) -> (!q, !r)
  return
}

// -----

!q = !nd.tensor<f32, [b = 2, d = 4, s = 3]>
!k = !nd.tensor<f32, [b = 2, d = 4, m = 5]>
!r = !nd.tensor<f32, [b = 2, s = 3]>
!table = !nd.tensor<f32, [x = 7]>
!slopes = !nd.tensor<f32, [b = 2, x = 7]>
// CHECK-LABEL: func.func @of_bias
func.func @of_bias(%q: !q, %k: !k, %bias: !table, %y: !q, %l: !r) {
  // CHECK: %query_gradient, %keys_gradient, %values_gradient, %bias_gradient = nd.attention_gradient {{.*}}distance = "x", key = "d", memory = "m", of_bias
  // CHECK-SAME: -> (!nd.tensor<f32, [b = 2, d = 4, s = 3]>, !nd.tensor<f32, [b = 2, d = 4, m = 5]>, !nd.tensor<f32, [b = 2, d = 4, m = 5]>, !nd.tensor<f32, [b = 2, x = 7]>)
  %dq, %dk, %dv, %db = nd.attention_gradient %q, %k, %k, %bias, %y, %l, %y {distance = "x", key = "d", memory = "m", of_bias, operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 0, 0, 1, 1, 1>, position = "s"}
    : (!q, !k, !k, !table, !q, !r, !q) -> (!q, !k, !k, !slopes)
  return
}

// -----

!q = !nd.tensor<f32, [d = 4, s = 3]>
!k = !nd.tensor<f32, [d = 4, m = 5]>
!r = !nd.tensor<f32, [s = 3]>
!rows = !nd.tensor<i32, [s = 3]>
!memory = !nd.tensor<i32, [m = 5]>
// CHECK-LABEL: func.func @labels
func.func @labels(%q: !q, %k: !k, %rows: !rows, %memory: !memory, %l: !r) {
  // CHECK: nd.attention %arg0, %arg1, %arg1, %arg2, %arg3 {key = "d", memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 1, 1>, predicate = #nd<predicate le>}
  %y, %sums = nd.attention %q, %k, %k, %rows, %memory {key = "d", memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 1, 1>, predicate = #nd<predicate le>} : (!q, !k, !k, !rows, !memory) -> (!q, !r)
  // CHECK: nd.attention_gradient {{.*}}predicate = #nd<predicate eq>
  %dq, %dk, %dv = nd.attention_gradient %q, %k, %k, %rows, %memory, %q, %l, %q {key = "d", memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 1, 1, 1, 1, 1>, predicate = #nd<predicate eq>}
    : (!q, !k, !k, !rows, !memory, !q, !r, !q) -> (!q, !k, !k)
  return
}

// -----

!q = !nd.tensor<f32, [d = 4, s = 3]>
!k = !nd.tensor<f32, [d = 4, m = 5]>
!r = !nd.tensor<f32, [s = 3]>
!rows = !nd.tensor<i32, [s = 3]>
!memory = !nd.tensor<i32, [m = 5]>
func.func @f(%q: !q, %k: !k, %rows: !rows, %memory: !memory) {
  // expected-error @+2 {{attention: labels of the rows, labels of the memory and 'predicate' need each other}}
  // expected-error @+1 {{failed to infer returned types}}
  %y, %l = nd.attention %q, %k, %k, %rows, %memory {key = "d", memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 1, 1>} : (!q, !k, !k, !rows, !memory) -> (!q, !r)
  return
}

// -----

!q = !nd.tensor<f32, [d = 4, s = 3]>
!k = !nd.tensor<f32, [d = 4, m = 5]>
!r = !nd.tensor<f32, [s = 3]>
!memory = !nd.tensor<i32, [m = 5]>
func.func @f(%q: !q, %k: !k, %memory: !memory) {
  // expected-error @+2 {{attention: the tensor of row labels has the memory's dim 'm'}}
  // expected-error @+1 {{failed to infer returned types}}
  %y, %l = nd.attention %q, %k, %k, %memory, %memory {key = "d", memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 1, 1>, predicate = #nd<predicate eq>} : (!q, !k, !k, !memory, !memory) -> (!q, !r)
  return
}

// -----

!q = !nd.tensor<f32, [d = 4, s = 3]>
!k = !nd.tensor<f32, [d = 4, m = 5]>
!r = !nd.tensor<f32, [s = 3]>
!rows = !nd.tensor<i32, [s = 3]>
!other = !nd.tensor<i32, [m = 5, z = 2]>
func.func @f(%q: !q, %k: !k, %rows: !rows, %memory: !other) {
  // expected-error @+2 {{attention: the tensor of memory labels has dim 'z', which is neither the memory's nor a dim of the query but 'd'}}
  // expected-error @+1 {{failed to infer returned types}}
  %y, %l = nd.attention %q, %k, %k, %rows, %memory {key = "d", memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 1, 1>, predicate = #nd<predicate eq>} : (!q, !k, !k, !rows, !other) -> (!q, !r)
  return
}

// -----

!q = !nd.tensor<f32, [d = 4, s = 3]>
!k = !nd.tensor<f32, [d = 4, m = 5]>
!r = !nd.tensor<f32, [s = 3]>
!rows = !nd.tensor<i32, [s = 3]>
!both = !nd.tensor<i32, [m = 5, s = 3]>
func.func @f(%q: !q, %k: !k, %rows: !rows, %memory: !both) {
  // expected-error @+2 {{attention: the tensor of memory labels has dim 's', which the keys lack}}
  // expected-error @+1 {{failed to infer returned types}}
  %y, %l = nd.attention %q, %k, %k, %rows, %memory {key = "d", memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 1, 1>, predicate = #nd<predicate eq>} : (!q, !k, !k, !rows, !both) -> (!q, !r)
  return
}

// -----

!q = !nd.tensor<f32, [d = 4, s = 3]>
!k = !nd.tensor<f32, [d = 4, m = 5]>
!r = !nd.tensor<f32, [s = 3]>
!memory = !nd.tensor<i32, [m = 5]>
func.func @f(%q: !q, %k: !k, %rows: !r, %memory: !memory) {
  // expected-error @+2 {{attention: labels must be i32, got 'f32'}}
  // expected-error @+1 {{failed to infer returned types}}
  %y, %l = nd.attention %q, %k, %k, %rows, %memory {key = "d", memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 1, 1>, predicate = #nd<predicate eq>} : (!q, !k, !k, !r, !memory) -> (!q, !r)
  return
}

// -----

!q = !nd.tensor<f32, [d = 4, s = 3]>
!k = !nd.tensor<f32, [d = 4, m = 5]>
!r = !nd.tensor<f32, [s = 3]>
!bias = !nd.tensor<f32, [m = 5]>
func.func @f(%q: !q, %k: !k, %bias: !bias, %l: !r) {
  // expected-error @+2 {{attention_gradient: 'of_bias' needs a bias by distance}}
  // expected-error @+1 {{failed to infer returned types}}
  %dq, %dk, %dv, %db = nd.attention_gradient %q, %k, %k, %bias, %q, %l, %q {key = "d", memory = "m", of_bias, operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 0, 0, 1, 1, 1>} : (!q, !k, !k, !bias, !q, !r, !q) -> (!q, !k, !k, !bias)
  return
}
