// RUN: mesh-opt %s -canonicalize | FileCheck %s

!s = !nd.tensor<f32, []>
!a = !nd.tensor<f32, [a = 2]>
!b = !nd.tensor<f32, [b = 3]>
!ab = !nd.tensor<f32, [a = 2, b = 3]>
!bc = !nd.tensor<f32, [b = 3, c = 4]>
!abc = !nd.tensor<f32, [a = 2, b = 3, c = 4]>
!ac = !nd.tensor<f32, [a = 2, c = 4]>

// CHECK-LABEL: func.func @one_operand
func.func @one_operand(%x: !ab) -> (!ab, !a) {
  // CHECK-NEXT: %[[SUM:.*]] = nd.reduce_sum %arg0 {dims = ["b"]}
  // CHECK-NEXT: return %arg0, %[[SUM]]
  %y = nd.einsum %x {reduced = []} : (!ab) -> !ab
  %z = nd.einsum %x {reduced = ["b"]} : (!ab) -> !a
  return %y, %z : !ab, !a
}

// CHECK-LABEL: func.func @nothing_reduced
func.func @nothing_reduced(%x: !a, %y: !b, %z: !ab) -> !ab {
  // CHECK-NEXT: %[[OUTER:.*]] = nd.mul %arg0, %arg1
  // CHECK-NEXT: nd.mul %[[OUTER]], %arg2
  %p = nd.einsum %x, %y, %z {reduced = []} : (!a, !b, !ab) -> !ab
  return %p : !ab
}

// The sum of a product that is larger than its factors.
// CHECK-LABEL: func.func @sum_of_product
func.func @sum_of_product(%x: !ab, %w: !bc) -> !ac {
  // CHECK-NEXT: nd.einsum %arg0, %arg1 {reduced = ["b"]}
  %p = nd.mul %x, %w : (!ab, !bc) -> !abc
  %y = nd.reduce_sum %p {dims = ["b"]} : (!abc) -> !ac
  return %y : !ac
}

// CHECK-LABEL: func.func @sum_of_sum
func.func @sum_of_sum(%x: !ab, %y: !ab) -> (!s, !a) {
  // CHECK-NEXT: nd.reduce_sum %arg0 {dims = ["b", "a"]}
  %p = nd.reduce_sum %x {dims = ["a"]} : (!ab) -> !b
  %q = nd.reduce_sum %p {dims = ["b"]} : (!b) -> !s
  // A product no larger than a factor stays: it fuses.
  // CHECK-NEXT: nd.mul
  // CHECK-NEXT: nd.reduce_sum
  %r = nd.mul %x, %y : (!ab, !ab) -> !ab
  %t = nd.reduce_sum %r {dims = ["b"]} : (!ab) -> !a
  return %q, %t : !s, !a
}

// Blocks of a partitioned program are left as they are.
// CHECK-LABEL: func.func @partitioned
func.func @partitioned(%x: !nd.tensor<f32, [a = 2 on {p}, b = 4]>) -> !nd.tensor<f32, [b = 4], sum {p}> {
  // CHECK-NEXT: nd.einsum
  %y = nd.einsum %x {reduced = ["a"]} : (!nd.tensor<f32, [a = 2 on {p}, b = 4]>) -> !nd.tensor<f32, [b = 4], sum {p}>
  return %y : !nd.tensor<f32, [b = 4], sum {p}>
}

// An op on short floats rounds its result: several cannot be one.
!ah = !nd.tensor<bf16, [a = 2]>
!bh = !nd.tensor<f16, [b = 3]>
!sh = !nd.tensor<f16, []>
!abf = !nd.tensor<f16, [a = 2, b = 3]>
!abh = !nd.tensor<bf16, [a = 2, b = 3]>
!bch = !nd.tensor<bf16, [b = 3, c = 4]>
!abch = !nd.tensor<bf16, [a = 2, b = 3, c = 4]>
!ach = !nd.tensor<bf16, [a = 2, c = 4]>
// CHECK-LABEL: func.func @short_floats
func.func @short_floats(%x: !abh, %w: !bch, %v: !abf, %u: !ah) -> (!ach, !sh, !abh, !abh) {
  // CHECK-NEXT: nd.mul
  // CHECK-NEXT: nd.reduce_sum
  %p = nd.mul %x, %w : (!abh, !bch) -> !abch
  %y = nd.reduce_sum %p {dims = ["b"]} : (!abch) -> !ach
  // CHECK-NEXT: nd.reduce_sum
  // CHECK-NEXT: nd.reduce_sum
  %q = nd.reduce_sum %v {dims = ["a"]} : (!abf) -> !bh
  %r = nd.reduce_sum %q {dims = ["b"]} : (!bh) -> !sh
  // CHECK-NEXT: nd.mul %arg0, %arg3
  %s = nd.einsum %x, %u {reduced = []} : (!abh, !ah) -> !abh
  // CHECK-NEXT: nd.einsum %arg0, %arg3, %arg3
  %t = nd.einsum %x, %u, %u {reduced = []} : (!abh, !ah, !ah) -> !abh
  return %y, %r, %s, %t : !ach, !sh, !abh, !abh
}
