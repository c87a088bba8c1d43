// RUN: mesh-opt %s --meshc-pair-contractions --split-input-file | FileCheck %s

!ij = !nd.tensor<f32, [i = 2, j = 300]>
!jk = !nd.tensor<f32, [j = 300, k = 400]>
!kl = !nd.tensor<f32, [k = 400, l = 500]>
!il = !nd.tensor<f32, [i = 2, l = 500]>

// The small matrix first: 2·300·400 + 2·400·500 products, not 300·400·500.
// CHECK-LABEL: @cheapest_pair_first
// CHECK: %[[AB:.*]] = nd.einsum %arg0, %arg1 {reduced = ["j"]} : {{.*}} -> !nd.tensor<f32, [i = 2, k = 400]>
// CHECK: %[[ABC:.*]] = nd.einsum %arg2, %[[AB]] {reduced = ["k"]}
// CHECK: return %[[ABC]]
func.func @cheapest_pair_first(%a: !ij, %b: !jk, %c: !kl) -> !il {
  %0 = nd.einsum %a, %b, %c {reduced = ["j", "k"]} : (!ij, !jk, !kl) -> !il
  return %0 : !il
}

// -----

// What one operand alone has is summed before.
// CHECK-LABEL: @lonely_dim
// CHECK: %[[SUM:.*]] = nd.reduce_sum %arg0 {dims = ["x"]}
// CHECK: nd.einsum %[[SUM]], %arg1 {reduced = ["j"]}
func.func @lonely_dim(%a: !nd.tensor<f32, [i = 2, j = 3, x = 4]>, %b: !nd.tensor<f32, [j = 3, k = 5]>) -> !nd.tensor<f32, [i = 2, k = 5]> {
  %0 = nd.einsum %a, %b {reduced = ["j", "x"]} : (!nd.tensor<f32, [i = 2, j = 3, x = 4]>, !nd.tensor<f32, [j = 3, k = 5]>) -> !nd.tensor<f32, [i = 2, k = 5]>
  return %0 : !nd.tensor<f32, [i = 2, k = 5]>
}

// -----

// A product of a matrix and a vector reads each entry once: a fused sum.
// CHECK-LABEL: @vector
// CHECK: %[[MUL:.*]] = nd.mul %arg0, %arg1
// CHECK: nd.reduce_sum %[[MUL]] {dims = ["j"]}
// CHECK-NOT: nd.einsum
func.func @vector(%a: !nd.tensor<f32, [i = 2, j = 3]>, %b: !nd.tensor<f32, [j = 3]>) -> !nd.tensor<f32, [i = 2]> {
  %0 = nd.einsum %a, %b {reduced = ["j"]} : (!nd.tensor<f32, [i = 2, j = 3]>, !nd.tensor<f32, [j = 3]>) -> !nd.tensor<f32, [i = 2]>
  return %0 : !nd.tensor<f32, [i = 2]>
}

// -----

// The runtime multiplies floats only.
// CHECK-LABEL: @integers
// CHECK: nd.mul
// CHECK: nd.reduce_sum
// CHECK-NOT: nd.einsum
func.func @integers(%a: !nd.tensor<i32, [i = 2, j = 3]>, %b: !nd.tensor<i32, [j = 3, k = 4]>) -> !nd.tensor<i32, [i = 2, k = 4]> {
  %0 = nd.einsum %a, %b {reduced = ["j"]} : (!nd.tensor<i32, [i = 2, j = 3]>, !nd.tensor<i32, [j = 3, k = 4]>) -> !nd.tensor<i32, [i = 2, k = 4]>
  return %0 : !nd.tensor<i32, [i = 2, k = 4]>
}

// -----

// Products and sums of 16-bit floats are made in f32, rounded once.
// CHECK-LABEL: @narrow
// CHECK-COUNT-2: nd.cast {{.*}} -> !nd.tensor<f32
// CHECK: nd.mul
// CHECK: nd.reduce_sum
// CHECK: nd.cast {{.*}} -> !nd.tensor<bf16, [i = 2]>
func.func @narrow(%a: !nd.tensor<bf16, [i = 2, j = 3]>, %b: !nd.tensor<bf16, [j = 3]>) -> !nd.tensor<bf16, [i = 2]> {
  %0 = nd.einsum %a, %b {reduced = ["j"]} : (!nd.tensor<bf16, [i = 2, j = 3]>, !nd.tensor<bf16, [j = 3]>) -> !nd.tensor<bf16, [i = 2]>
  return %0 : !nd.tensor<bf16, [i = 2]>
}

// -----

// So is what takes several ops: what is made on the way is f32. A matrix product
// of two is one op.
// CHECK-LABEL: @narrow_chain
// CHECK-COUNT-3: nd.cast {{.*}} -> !nd.tensor<f32
// CHECK: %[[AB:.*]] = nd.einsum {{.*}} -> !nd.tensor<f32, [i = 2, k = 400]>
// CHECK: %[[ABC:.*]] = nd.einsum {{.*}}%[[AB]] {{.*}} -> !nd.tensor<f32, [i = 2, l = 500]>
// CHECK: %[[ROUNDED:.*]] = nd.cast %[[ABC]]
// CHECK-NEXT: %[[ONE:.*]] = nd.einsum %arg0, %arg1 {{.*}} -> !nd.tensor<bf16, [i = 2, k = 400]>
// CHECK-NEXT: return %[[ROUNDED]], %[[ONE]]
!nij = !nd.tensor<bf16, [i = 2, j = 300]>
!njk = !nd.tensor<bf16, [j = 300, k = 400]>
!nkl = !nd.tensor<bf16, [k = 400, l = 500]>
!nik = !nd.tensor<bf16, [i = 2, k = 400]>
!nil = !nd.tensor<bf16, [i = 2, l = 500]>
func.func @narrow_chain(%a: !nij, %b: !njk, %c: !nkl) -> (!nil, !nik) {
  %0 = nd.einsum %a, %b, %c {reduced = ["j", "k"]} : (!nij, !njk, !nkl) -> !nil
  %1 = nd.einsum %a, %b {reduced = ["j"]} : (!nij, !njk) -> !nik
  return %0, %1 : !nil, !nik
}

// -----

// Partial sums of what is made on the way are in its type.
module attributes {nd.mesh = #nd.mesh<data = 2, tensor = 2>} {
// CHECK-LABEL: @partial
// CHECK: nd.reduce_sum %arg0 {dims = ["x"]} : {{.*}} -> !nd.tensor<f32, [i = 2, j = 4], sum {data}>
// CHECK: nd.einsum {{.*}} -> !nd.tensor<f32, [i = 2, k = 6], sum {data, tensor}>
func.func @partial(%a: !nd.tensor<f32, [i = 2, j = 4, x = 4 on {data}]>, %b: !nd.tensor<f32, [j = 4, k = 6], sum {tensor}>) -> !nd.tensor<f32, [i = 2, k = 6], sum {data, tensor}> {
  %0 = nd.einsum %a, %b {reduced = ["j", "x"]} : (!nd.tensor<f32, [i = 2, j = 4, x = 4 on {data}]>, !nd.tensor<f32, [j = 4, k = 6], sum {tensor}>) -> !nd.tensor<f32, [i = 2, k = 6], sum {data, tensor}>
  return %0 : !nd.tensor<f32, [i = 2, k = 6], sum {data, tensor}>
}
}

// -----

// A matrix product of two floats, batched or not, is left alone; it keeps its name.
// CHECK-LABEL: @matrix_product
// CHECK-NEXT: %[[C:.*]] = nd.einsum %arg0, %arg1 {nd.name = "c", reduced = ["k"]}
// CHECK-NEXT: return %[[C]]
func.func @matrix_product(%a: !nd.tensor<f32, [n = 7, i = 2, k = 3]>, %b: !nd.tensor<f32, [n = 7, k = 3, j = 5]>) -> !nd.tensor<f32, [n = 7, i = 2, j = 5]> {
  %0 = nd.einsum %a, %b {reduced = ["k"], nd.name = "c"} : (!nd.tensor<f32, [n = 7, i = 2, k = 3]>, !nd.tensor<f32, [n = 7, k = 3, j = 5]>) -> !nd.tensor<f32, [n = 7, i = 2, j = 5]>
  return %0 : !nd.tensor<f32, [n = 7, i = 2, j = 5]>
}

// -----

// A product without a sum is no matrix product.
// CHECK-LABEL: @outer
// CHECK-NEXT: nd.mul %arg0, %arg1
// CHECK-NEXT: return
func.func @outer(%a: !nd.tensor<f32, [i = 2]>, %b: !nd.tensor<f32, [j = 3]>) -> !nd.tensor<f32, [i = 2, j = 3]> {
  %0 = nd.einsum %a, %b {reduced = []} : (!nd.tensor<f32, [i = 2]>, !nd.tensor<f32, [j = 3]>) -> !nd.tensor<f32, [i = 2, j = 3]>
  return %0 : !nd.tensor<f32, [i = 2, j = 3]>
}

// -----

!x = !nd.tensor<f32, [b = 4, i = 8]>
!w = !nd.tensor<f32, [i = 8, j = 16]>
!v = !nd.tensor<f32, [j = 16, k = 8]>
!y = !nd.tensor<f32, [b = 4, k = 8]>

// In the body of a loop, too.
// CHECK-LABEL: @in_loop
// CHECK: nd.scan "n" 3
// CHECK: ^bb0(%[[X:.*]]: !nd.tensor<f32, [b = 4, i = 8]>, %[[W:.*]]: {{.*}}, %[[V:.*]]: {{.*}}):
// CHECK: %[[XW:.*]] = nd.einsum %[[X]], %[[W]] {reduced = ["i"]}
// CHECK: nd.einsum %[[V]], %[[XW]] {reduced = ["j"]}
func.func @in_loop(%x: !x, %w: !w, %v: !v) -> !nd.tensor<f32, [b = 4, k = 8, n = 3]> {
  %0:2 = nd.scan "n" 3 carried(%x : !x) whole(%w, %v : !w, !v) -> !x, !nd.tensor<f32, [b = 4, k = 8, n = 3]> {
  ^bb0(%a: !x, %b: !w, %c: !v):
    %y = nd.einsum %a, %b, %c {reduced = ["i", "j"]} : (!x, !w, !v) -> !y
    nd.yield %a, %y : !x, !y
  }
  return %0#1 : !nd.tensor<f32, [b = 4, k = 8, n = 3]>
}

// -----

!x = !nd.tensor<f32, [b = 10 on {d}, i = 8, s = 6 on {t}]>
!y = !nd.tensor<f32, [b = 10 on {d}, j = 16, s = 6 on {t}]>
!dw = !nd.tensor<f32, [i = 8, j = 16], sum {d, t}>

module attributes {nd.mesh = #nd.mesh<d = 4, t = 4>} {
// A shorter k leaves out the padding of one dim. A kernel sums over two of them.
// CHECK-LABEL: @padding_of_two_dims
// CHECK: nd.mul %arg0, %arg1
// CHECK: nd.reduce_sum %{{.*}} {dims = ["b", "s"]}
// CHECK-NOT: nd.einsum
func.func @padding_of_two_dims(%x: !x, %y: !y) -> !dw {
  %0 = nd.einsum %x, %y {reduced = ["b", "s"]} : (!x, !y) -> !dw
  return %0 : !dw
}

// Of the dims that are not summed over, any may have padding.
// CHECK-LABEL: @padding_of_rows
// CHECK-NEXT: nd.einsum %arg0, %arg1 {reduced = ["b"]}
func.func @padding_of_rows(%x: !x, %y: !nd.tensor<f32, [b = 10 on {d}, j = 16]>) -> !nd.tensor<f32, [i = 8, j = 16, s = 6 on {t}], sum {d}> {
  %0 = nd.einsum %x, %y {reduced = ["b"]} : (!x, !nd.tensor<f32, [b = 10 on {d}, j = 16]>) -> !nd.tensor<f32, [i = 8, j = 16, s = 6 on {t}], sum {d}>
  return %0 : !nd.tensor<f32, [i = 8, j = 16, s = 6 on {t}], sum {d}>
}
}
