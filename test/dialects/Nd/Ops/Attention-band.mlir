// Masks that compare positions become bands, masks that allow everything and a bias of 0 go.
// RUN: mesh-opt %s -canonicalize | FileCheck %s

!q = !nd.tensor<f32, [d = 4, s = 8]>
!k = !nd.tensor<f32, [d = 4, m = 8]>
!r = !nd.tensor<f32, [s = 8]>
!s = !nd.tensor<i32, [s = 8]>
!m = !nd.tensor<i32, [m = 8]>
!mask = !nd.tensor<i1, [m = 8, s = 8]>
!keep = !nd.tensor<i1, [m = 8]>
!n = !nd.tensor<i32, []>
!x = !nd.tensor<f32, [x = 15]>

// CHECK-LABEL: func.func @causal
// CHECK-NOT: nd.compare
// CHECK: nd.attention %arg0, %arg1, %arg1 {highest = 0 : i64, key = "d", memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>, position = "s"}
func.func @causal(%q: !q, %k: !k) -> !q {
  %s = nd.iota : () -> !s
  %m = nd.iota : () -> !m
  %mask = nd.compare ge %s, %m : (!s, !m) -> !mask
  %y, %l = nd.attention %q, %k, %k, %mask {key = "d", memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0>} : (!q, !k, !k, !mask) -> (!q, !r)
  return %y : !q
}

// s - 3 < m <= s + 1, and a mask besides.
// CHECK-LABEL: func.func @window
// CHECK: nd.attention %arg0, %arg1, %arg1, %arg2 {highest = 1 : i64, key = "d", lowest = -2 : i64, memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0>, position = "s"}
func.func @window(%q: !q, %k: !k, %keep: !keep) -> !q {
  %s = nd.iota : () -> !s
  %m = nd.iota : () -> !m
  %1 = nd.constant 1 : i32 -> !n
  %3 = nd.constant 3 : i32 -> !n
  %low = nd.sub %s, %3 : (!s, !n) -> !s
  %high = nd.add %1, %s : (!n, !s) -> !s
  %a = nd.compare gt %m, %low : (!m, !s) -> !mask
  %b = nd.compare le %m, %high : (!m, !s) -> !mask
  %c = nd.and %a, %keep : (!mask, !keep) -> !mask
  %mask = nd.and %c, %b : (!mask, !mask) -> !mask
  %y, %l = nd.attention %q, %k, %k, %mask {key = "d", memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0>} : (!q, !k, !k, !mask) -> (!q, !r)
  return %y : !q
}

// A difference of positions, below other conditions. These are joined.
// CHECK-LABEL: func.func @difference
// CHECK: %[[REST:.*]] = nd.and %arg2, %arg3
// CHECK: nd.attention %arg0, %arg1, %arg1, %[[REST]] {key = "d", lowest = -3 : i64, memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0>, position = "s"}
func.func @difference(%q: !q, %k: !k, %keep: !keep, %known: !mask) -> !q {
  %s = nd.iota : () -> !s
  %m = nd.iota : () -> !m
  %4 = nd.constant 4 : i32 -> !n
  %distance = nd.sub %s, %m : (!s, !m) -> !nd.tensor<i32, [m = 8, s = 8]>
  %near = nd.compare lt %distance, %4 : (!nd.tensor<i32, [m = 8, s = 8]>, !n) -> !mask
  %a = nd.and %keep, %near : (!keep, !mask) -> !mask
  %mask = nd.and %a, %known : (!mask, !mask) -> !mask
  %y, %l = nd.attention %q, %k, %k, %mask {key = "d", memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0>} : (!q, !k, !k, !mask) -> (!q, !r)
  return %y : !q
}

// What is not behind a position is up to it.
// CHECK-LABEL: func.func @negation
// CHECK: nd.attention %arg0, %arg1, %arg1 {highest = 0 : i64, key = "d", memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>, position = "s"}
func.func @negation(%q: !q, %k: !k) -> !q {
  %s = nd.iota : () -> !s
  %m = nd.iota : () -> !m
  %behind = nd.compare gt %m, %s : (!m, !s) -> !mask
  %mask = nd.not %behind : (!mask) -> !mask
  %y, %l = nd.attention %q, %k, %k, %mask {key = "d", memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0>} : (!q, !k, !k, !mask) -> (!q, !r)
  return %y : !q
}

// 3 >= |s - m - 1|, and not |m - s| > 2.
// CHECK-LABEL: func.func @distance
// CHECK: nd.attention %arg0, %arg1, %arg1 {highest = 2 : i64, key = "d", lowest = -2 : i64, memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>, position = "s"}
// CHECK: nd.attention %arg0, %arg1, %arg1 {highest = 2 : i64, key = "d", lowest = -4 : i64, memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>, position = "s"}
func.func @distance(%q: !q, %k: !k) -> (!q, !q) {
  %s = nd.iota : () -> !s
  %m = nd.iota : () -> !m
  %1 = nd.constant 1 : i32 -> !n
  %2 = nd.constant 2 : i32 -> !n
  %3 = nd.constant 3 : i32 -> !n
  %ahead = nd.sub %m, %s : (!m, !s) -> !nd.tensor<i32, [m = 8, s = 8]>
  %distance = nd.abs %ahead : (!nd.tensor<i32, [m = 8, s = 8]>) -> !nd.tensor<i32, [m = 8, s = 8]>
  %far = nd.compare gt %distance, %2 : (!nd.tensor<i32, [m = 8, s = 8]>, !n) -> !mask
  %near = nd.not %far : (!mask) -> !mask
  %y, %l = nd.attention %q, %k, %k, %near {key = "d", memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0>} : (!q, !k, !k, !mask) -> (!q, !r)
  %behind = nd.sub %s, %m : (!s, !m) -> !nd.tensor<i32, [m = 8, s = 8]>
  %shifted = nd.sub %behind, %1 : (!nd.tensor<i32, [m = 8, s = 8]>, !n) -> !nd.tensor<i32, [m = 8, s = 8]>
  %around = nd.abs %shifted : (!nd.tensor<i32, [m = 8, s = 8]>) -> !nd.tensor<i32, [m = 8, s = 8]>
  %mask = nd.compare ge %3, %around : (!n, !nd.tensor<i32, [m = 8, s = 8]>) -> !mask
  %z, %l2 = nd.attention %q, %k, %k, %mask {key = "d", memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0>} : (!q, !k, !k, !mask) -> (!q, !r)
  return %y, %z : !q, !q
}

// What is farther than a distance is no band.
// CHECK-LABEL: func.func @far
// CHECK: nd.attention %arg0, %arg1, %arg1, %{{.*}} {key = "d", memory = "m"
func.func @far(%q: !q, %k: !k) -> !q {
  %s = nd.iota : () -> !s
  %m = nd.iota : () -> !m
  %2 = nd.constant 2 : i32 -> !n
  %ahead = nd.sub %m, %s : (!m, !s) -> !nd.tensor<i32, [m = 8, s = 8]>
  %distance = nd.abs %ahead : (!nd.tensor<i32, [m = 8, s = 8]>) -> !nd.tensor<i32, [m = 8, s = 8]>
  %far = nd.compare gt %distance, %2 : (!nd.tensor<i32, [m = 8, s = 8]>, !n) -> !mask
  %y, %l = nd.attention %q, %k, %k, %far {key = "d", memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0>} : (!q, !k, !k, !mask) -> (!q, !r)
  return %y : !q
}

// The last positions wrap beyond i32; a sum and a multiple of positions are no bands. What has only one of the two is a label.
// CHECK-LABEL: func.func @no_bands
// CHECK: nd.attention {{.*}} {key = "d", memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 1, 1>, predicate = #nd<predicate le>}
// CHECK: nd.attention {{.*}} {key = "d", memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0>}
// CHECK: nd.attention {{.*}} {key = "d", memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 1, 1>, predicate = #nd<predicate le>}
func.func @no_bands(%q: !q, %k: !k) -> (!q, !q, !q) {
  %s = nd.iota : () -> !s
  %m = nd.iota : () -> !m
  %2 = nd.constant 2 : i32 -> !n
  %most = nd.constant 2147483645 : i32 -> !n
  %far = nd.add %m, %most : (!m, !n) -> !m
  %a = nd.compare le %far, %s : (!m, !s) -> !mask
  %y, %l = nd.attention %q, %k, %k, %a {key = "d", memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0>} : (!q, !k, !k, !mask) -> (!q, !r)
  %sum = nd.add %m, %s : (!m, !s) -> !nd.tensor<i32, [m = 8, s = 8]>
  %b = nd.compare le %sum, %2 : (!nd.tensor<i32, [m = 8, s = 8]>, !n) -> !mask
  %z, %o = nd.attention %q, %k, %k, %b {key = "d", memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0>} : (!q, !k, !k, !mask) -> (!q, !r)
  %twice = nd.mul %m, %2 : (!m, !n) -> !m
  %c = nd.compare le %twice, %s : (!m, !s) -> !mask
  %w, %p = nd.attention %q, %k, %k, %c {key = "d", memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0>} : (!q, !k, !k, !mask) -> (!q, !r)
  return %y, %z, %w : !q, !q, !q
}

// The gradient has the same mask, the band of an equality is one entry wide.
// CHECK-LABEL: func.func @gradient
// CHECK: nd.attention_gradient {{.*}} {highest = 0 : i64, key = "d", lowest = 0 : i64, memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 1, 1, 1>, position = "s"}
func.func @gradient(%q: !q, %k: !k, %r: !r) -> !q {
  %s = nd.iota : () -> !s
  %m = nd.iota : () -> !m
  %mask = nd.compare eq %s, %m : (!s, !m) -> !mask
  %dq, %dk, %dv = nd.attention_gradient %q, %k, %k, %mask, %q, %r, %q {key = "d", memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 1, 1, 1>}
    : (!q, !k, !k, !mask, !q, !r, !q) -> (!q, !k, !k)
  return %dq : !q
}

// CHECK-LABEL: func.func @everything
// CHECK-COUNT-2: nd.attention %arg0, %arg1, %arg1 {key = "d", memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>}
func.func @everything(%q: !q, %k: !k) -> (!q, !q) {
  %m = nd.iota : () -> !m
  %0 = nd.constant 0 : i32 -> !n
  %7 = nd.constant 7 : i32 -> !n
  %none = nd.constant 0.0 : f32 -> !nd.tensor<f32, []>
  %a = nd.compare ge %m, %0 : (!m, !n) -> !keep
  %b = nd.compare ge %7, %m : (!n, !m) -> !keep
  %y, %l = nd.attention %q, %k, %k, %a, %none {key = "d", memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 0, 0>} : (!q, !k, !k, !keep, !nd.tensor<f32, []>) -> (!q, !r)
  %z, %o = nd.attention %q, %k, %k, %b {key = "d", memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0>} : (!q, !k, !k, !keep) -> (!q, !r)
  return %y, %z : !q, !q
}

// The last entry is not allowed; the logarithms of the sums have the bias of 1.
// CHECK-LABEL: func.func @something
// CHECK: nd.attention %arg0, %arg1, %arg1, %{{.*}}, %{{.*}} {key = "d", memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 0, 0>}
func.func @something(%q: !q, %k: !k) -> !q {
  %m = nd.iota : () -> !m
  %7 = nd.constant 7 : i32 -> !n
  %one = nd.constant 1.0 : f32 -> !nd.tensor<f32, []>
  %a = nd.compare gt %7, %m : (!n, !m) -> !keep
  %y, %l = nd.attention %q, %k, %k, %a, %one {key = "d", memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 0, 0>} : (!q, !k, !k, !keep, !nd.tensor<f32, []>) -> (!q, !r)
  return %y : !q
}

// The gradient of a bias is computed only if it is used, and then needs the bias even of 0.
// CHECK-LABEL: func.func @of_bias
// CHECK-SAME: %[[BIAS:[a-z0-9]+]]: !nd.tensor<f32, [x = 15]>
// CHECK: %[[ZERO:.*]] = nd.constant
// CHECK: %query_gradient, %keys_gradient, %values_gradient = nd.attention_gradient {{.*}} %[[BIAS]], {{.*}} memory = "m", operand
// CHECK: bias_gradient = nd.attention_gradient {{.*}} %[[ZERO]], {{.*}} of_bias
func.func @of_bias(%q: !q, %k: !k, %r: !r, %bias: !x) -> (!q, !x) {
  %dq, %dk, %dv, %unused = nd.attention_gradient %q, %k, %k, %bias, %q, %r, %q {distance = "x", key = "d", memory = "m", of_bias, operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 0, 0, 1, 1, 1>, position = "s"}
    : (!q, !k, !k, !x, !q, !r, !q) -> (!q, !k, !k, !x)
  %none = nd.constant 0.0 : f32 -> !x
  %eq, %ek, %ev, %used = nd.attention_gradient %q, %k, %k, %none, %q, %r, %dq {distance = "x", key = "d", memory = "m", of_bias, operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 0, 0, 1, 1, 1>, position = "s"}
    : (!q, !k, !k, !x, !q, !r, !q) -> (!q, !k, !k, !x)
  return %eq, %used : !q, !x
}
