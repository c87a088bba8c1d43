// RUN: mesh-opt %s -canonicalize | FileCheck %s

!s = !nd.tensor<f32, []>
!i = !nd.tensor<i32, []>
!x = !nd.tensor<f32, [x = 2]>

// CHECK-LABEL: func.func @neutral
func.func @neutral(%a: !x) -> (!x, !x, !x, !x, !x) {
  // CHECK-NEXT: return %arg0, %arg0, %arg0, %arg0, %arg0
  %zero = nd.constant 0.0 : f32 -> !s
  %one = nd.constant 1.0 : f32 -> !s
  %b = nd.add %zero, %a : (!s, !x) -> !x
  %c = nd.sub %a, %zero : (!x, !s) -> !x
  %d = nd.mul %a, %one : (!x, !s) -> !x
  %e = nd.div %a, %one : (!x, !s) -> !x
  %f = nd.cast %a : (!x) -> !x
  return %b, %c, %d, %e, %f : !x, !x, !x, !x, !x
}

// What would lose a NaN, or a dim, stays.
// CHECK-LABEL: func.func @kept
func.func @kept(%a: !x, %s: !s) -> (!x, !x, !x) {
  %zero = nd.constant 0.0 : f32 -> !s
  %ones = nd.constant 1.0 : f32 -> !x
  // CHECK: nd.mul
  %b = nd.mul %a, %zero : (!x, !s) -> !x
  // CHECK: nd.mul
  %c = nd.mul %s, %ones : (!s, !x) -> !x
  // CHECK: nd.sub
  %d = nd.sub %zero, %a : (!s, !x) -> !x
  return %b, %c, %d : !x, !x, !x
}

// CHECK-LABEL: func.func @constants
func.func @constants() -> (!s, !i, !i, !x) {
  // CHECK-DAG: %[[A:.*]] = nd.constant 2.500000e-01 : f32 -> !nd.tensor<f32, []>
  // CHECK-DAG: %[[B:.*]] = nd.constant -4 : i32 -> !nd.tensor<i32, []>
  // CHECK-DAG: %[[C:.*]] = nd.constant 0 : i32 -> !nd.tensor<i32, []>
  // CHECK-DAG: %[[D:.*]] = nd.constant 1.200000e+01 : f32 -> !nd.tensor<f32, [x = 2]>
  // CHECK: return %[[A]], %[[B]], %[[C]], %[[D]]
  %one = nd.constant 1.0 : f32 -> !s
  %four = nd.constant 4.0 : f32 -> !s
  %a = nd.div %one, %four : (!s, !s) -> !s
  %m7 = nd.constant -7 : i32 -> !i
  %two = nd.constant 2 : i32 -> !i
  %zero = nd.constant 0 : i32 -> !i
  %b = nd.div %m7, %two : (!i, !i) -> !i
  %c = nd.div %two, %zero : (!i, !i) -> !i
  %threes = nd.constant 3.0 : f32 -> !x
  %d = nd.mul %four, %threes : (!s, !x) -> !x
  return %a, %b, %c, %d : !s, !i, !i, !x
}

// CHECK-LABEL: func.func @powers
func.func @powers(%a: !x) -> (!x, !x, !x, !x, !x, !x) {
  // CHECK-NEXT: %[[SQUARE:.*]] = nd.square %arg0
  // CHECK-NEXT: %[[CUBE_OF:.*]] = nd.square %arg0
  // CHECK-NEXT: %[[CUBE:.*]] = nd.mul %[[CUBE_OF]], %arg0
  // CHECK-NEXT: %[[INVERSE:.*]] = nd.reciprocal %arg0
  // CHECK-NEXT: %[[ROOT:.*]] = nd.sqrt %arg0
  // CHECK-NEXT: %[[RSQRT:.*]] = nd.rsqrt %arg0
  // CHECK-NEXT: return %arg0, %[[SQUARE]], %[[CUBE]], %[[INVERSE]], %[[ROOT]], %[[RSQRT]]
  %p1 = nd.constant 1.0 : f32 -> !s
  %p2 = nd.constant 2.0 : f32 -> !s
  %p3 = nd.constant 3.0 : f32 -> !s
  %m1 = nd.constant -1.0 : f32 -> !s
  %h = nd.constant 0.5 : f32 -> !s
  %mh = nd.constant -0.5 : f32 -> !s
  %b = nd.pow %a, %p1 : (!x, !s) -> !x
  %c = nd.pow %a, %p2 : (!x, !s) -> !x
  %d = nd.pow %a, %p3 : (!x, !s) -> !x
  %e = nd.pow %a, %m1 : (!x, !s) -> !x
  %f = nd.pow %a, %h : (!x, !s) -> !x
  %g = nd.pow %a, %mh : (!x, !s) -> !x
  return %b, %c, %d, %e, %f, %g : !x, !x, !x, !x, !x, !x
}

// The square of a short float would be rounded before it is multiplied again.
// CHECK-LABEL: func.func @cube_of_short_floats
func.func @cube_of_short_floats(%a: !nd.tensor<bf16, [i = 4]>) -> !nd.tensor<bf16, [i = 4]> {
  // CHECK: nd.pow
  %p3 = nd.constant 3.0 : bf16 -> !nd.tensor<bf16, []>
  %d = nd.pow %a, %p3 : (!nd.tensor<bf16, [i = 4]>, !nd.tensor<bf16, []>) -> !nd.tensor<bf16, [i = 4]>
  return %d : !nd.tensor<bf16, [i = 4]>
}
