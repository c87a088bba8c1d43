// RUN: mesh-opt %s --meshc-form-fusions --meshc-assign-orders --meshc-fuse-epilogues --meshc-plan-loops --meshc-verify-kernels | FileCheck %s
// RUN: mesh-opt %s --meshc-form-fusions --meshc-assign-orders --meshc-fuse-epilogues | mesh-opt | FileCheck %s
// RUN: sed 's/exec.gpu, //' %s | mesh-opt --meshc-form-fusions --meshc-assign-orders --meshc-fuse-epilogues | FileCheck %s --check-prefix=NONE
// test/Schedule/ScheduleTest.cpp runs these functions.

// Where the target's products take no epilogues, there are none.
// NONE-NOT: exec.product then

!x = !nd.tensor<f32, [b = 12, i = 8]>
!w = !nd.tensor<f32, [i = 8, j = 96]>
!y = !nd.tensor<f32, [b = 12, j = 96]>
!v = !nd.tensor<f32, [j = 96]>
!r = !nd.tensor<f32, [b = 12]>
!h = !nd.tensor<bf16, [b = 12, i = 8]>
!hw = !nd.tensor<bf16, [i = 8, j = 96]>
!hy = !nd.tensor<bf16, [b = 12, j = 96]>
!f = !nd.tensor<f32, []>

module attributes {exec.gpu, nd.mesh = #nd.mesh<>} {

// CHECK-LABEL: @bias
// CHECK: %[[D:.*]] = exec.product then bias(%arg0, %arg1, %arg2) : {{.*}} -> !nd.tensor<f32, [b = 12, j = 96]> attributes {exec.orders = {{\[\[}}"b", "j"]]}
// CHECK: %[[C:.*]] = nd.einsum
// CHECK: exec.fusion {{.*}}(%[[C]],
// CHECK: nd.add
// CHECK-NOT: exec.fusion
// CHECK: return %[[D]]
func.func @bias(%x: !x {nd.name = "x", nd.role = "input", nd.order = ["b", "i"]}, %w: !w {nd.name = "w", nd.role = "input", nd.order = ["i", "j"]}, %v: !v {nd.name = "v", nd.role = "input", nd.order = ["j"]})
    -> (!y {nd.name = "y", nd.role = "metric", nd.order = ["b", "j"]}) {
  %0 = nd.einsum %x, %w {reduced = ["i"]} : (!x, !w) -> !y
  %1 = nd.add %v, %0 : (!v, !y) -> !y
  return %1 : !y
}

// Rows of the result are columns in memory: the bias runs along rows there.
// CHECK-LABEL: @transposed_bias
// CHECK-NOT: exec.product then
func.func @transposed_bias(%x: !x {nd.name = "x", nd.role = "input", nd.order = ["b", "i"]}, %w: !w {nd.name = "w", nd.role = "input", nd.order = ["i", "j"]}, %v: !v {nd.name = "v", nd.role = "input", nd.order = ["j"]})
    -> (!y {nd.name = "yt", nd.role = "metric", nd.order = ["j", "b"]}) {
  %0 = nd.einsum %x, %w {reduced = ["i"]} : (!x, !w) -> !y
  %1 = nd.add %v, %0 : (!v, !y) -> !y
  return %1 : !y
}

// A bias of the rows in the same orders.
// CHECK-LABEL: @row_bias
// CHECK-NOT: exec.product then
func.func @row_bias(%x: !x {nd.name = "x", nd.role = "input", nd.order = ["b", "i"]}, %w: !w {nd.name = "w", nd.role = "input", nd.order = ["i", "j"]}, %r: !r {nd.name = "r", nd.role = "input", nd.order = ["b"]})
    -> (!y {nd.name = "y", nd.role = "metric", nd.order = ["b", "j"]}) {
  %0 = nd.einsum %x, %w {reduced = ["i"]} : (!x, !w) -> !y
  %1 = nd.add %0, %r : (!y, !r) -> !y
  return %1 : !y
}

// The product is needed without the bias too.
// CHECK-LABEL: @shared
// CHECK-NOT: exec.product then
func.func @shared(%x: !x {nd.name = "x", nd.role = "input", nd.order = ["b", "i"]}, %w: !w {nd.name = "w", nd.role = "input", nd.order = ["i", "j"]}, %v: !v {nd.name = "v", nd.role = "input", nd.order = ["j"]})
    -> (!y {nd.name = "y", nd.role = "metric", nd.order = ["b", "j"]}, !y {nd.name = "c", nd.role = "metric", nd.order = ["b", "j"]}) {
  %0 = nd.einsum %x, %w {reduced = ["i"]} : (!x, !w) -> !y
  %1 = nd.add %0, %v : (!y, !v) -> !y
  %2 = nd.gelu %1 : (!y) -> !y
  return %2, %0 : !y, !y
}

// Of 16 bits.
// CHECK-LABEL: @half
// CHECK: exec.product then relu(
func.func @half(%x: !h {nd.name = "xh", nd.role = "input", nd.order = ["b", "i"]}, %w: !hw {nd.name = "wh", nd.role = "input", nd.order = ["i", "j"]})
    -> (!hy {nd.name = "yh", nd.role = "metric", nd.order = ["b", "j"]}) {
  %0 = nd.einsum %x, %w {reduced = ["i"]} : (!h, !hw) -> !hy
  %1 = nd.relu %0 : (!hy) -> !hy
  return %1 : !hy
}

// relu and its gradient, at a product that is also the gradient of the bias: the
// first call leaves a mask for the second.
// CHECK-LABEL: @relu
// CHECK: %[[H:.*]]:2 = exec.product then relu_bias mask(%arg0, %arg1, %arg2) : {{.*}} -> (!nd.tensor<f32, [b = 12, j = 96]>, !nd.tensor<i1, [mask = 192]>)
// CHECK: %[[G:.*]] = exec.product then relu_gradient mask(%{{.*}}, %arg1, %[[H]]#0, %[[H]]#1)
// CHECK: exec.product then bias_gradient_b(%arg0, %[[G]]) : {{.*}} -> (!nd.tensor<f32, [i = 8, j = 96]>, !nd.tensor<f32, [j = 96]>)
// CHECK: exec.fusion <parallel = ["j"], reduce = ["b"]
func.func @relu(%x: !x {nd.name = "x", nd.role = "input", nd.order = ["b", "i"]}, %w: !w {nd.name = "w", nd.role = "input", nd.order = ["i", "j"]}, %v: !v {nd.name = "v", nd.role = "input", nd.order = ["j"]})
    -> (!y {nd.name = "y", nd.role = "metric", nd.order = ["b", "j"]}, !w {nd.name = "dw", nd.role = "metric", nd.order = ["i", "j"]}, !v {nd.name = "dv", nd.role = "metric", nd.order = ["j"]}) {
  %0 = nd.einsum %x, %w {reduced = ["i"]} : (!x, !w) -> !y
  %1 = nd.add %0, %v : (!y, !v) -> !y
  %2 = nd.relu %1 : (!y) -> !y
  %l = nd.einsum %2, %w {reduced = ["j"]} : (!y, !w) -> !x
  %3 = nd.einsum %l, %w {reduced = ["i"]} : (!x, !w) -> !y
  %zero = nd.constant 0.0 : f32 -> !f
  %4 = nd.compare gt %2, %zero : (!y, !f) -> !nd.tensor<i1, [b = 12, j = 96]>
  %5 = nd.select %4, %3, %zero : (!nd.tensor<i1, [b = 12, j = 96]>, !y, !f) -> !y
  %6 = nd.einsum %x, %5 {reduced = ["b"]} : (!x, !y) -> !w
  %7 = nd.reduce_sum %5 {dims = ["b"]} : (!y) -> !v
  return %2, %6, %7 : !y, !w, !v
}

// gelu and its gradient, which reads the argument that the first call keeps. The
// sum that shares a kernel with what needs it stays there.
// CHECK-LABEL: @gelu
// CHECK: %[[H:.*]]:2 = exec.product then gelu_bias(%arg0, %arg1, %arg2)
// CHECK: %[[G:.*]] = exec.product then gelu_gradient(%{{.*}}, %arg1, %[[H]]#1)
// CHECK: exec.product(%arg0, %[[G]])
// CHECK: exec.fusion <parallel = ["j"], reduce = ["b"]{{.*}}(%[[G]])
func.func @gelu(%x: !x {nd.name = "x", nd.role = "input", nd.order = ["b", "i"]}, %w: !w {nd.name = "w", nd.role = "input", nd.order = ["i", "j"]}, %v: !v {nd.name = "v", nd.role = "input", nd.order = ["j"]})
    -> (!y {nd.name = "y", nd.role = "metric", nd.order = ["b", "j"]}, !w {nd.name = "dw", nd.role = "metric", nd.order = ["i", "j"]}, !v {nd.name = "dv", nd.role = "metric", nd.order = ["j"]}) {
  %0 = nd.einsum %x, %w {reduced = ["i"]} : (!x, !w) -> !y
  %1 = nd.add %0, %v : (!y, !v) -> !y
  %2 = nd.gelu %1 : (!y) -> !y
  %l = nd.einsum %2, %w {reduced = ["j"]} : (!y, !w) -> !x
  %3 = nd.einsum %l, %w {reduced = ["i"]} : (!x, !w) -> !y
  %a = nd.constant 0.214064449 : f32 -> !f
  %b = nd.constant 1.59576917 : f32 -> !f
  %c = nd.constant 0.0713548139 : f32 -> !f
  %one = nd.constant 1.0 : f32 -> !f
  %most = nd.constant 256.0 : f32 -> !f
  %4 = nd.square %1 : (!y) -> !y
  %5 = nd.minimum %4, %most : (!y, !f) -> !y
  %6 = nd.mul %4, %c : (!y, !f) -> !y
  %7 = nd.add %6, %b : (!y, !f) -> !y
  %8 = nd.mul %1, %7 : (!y, !y) -> !y
  %9 = nd.sigmoid %8 : (!y) -> !y
  %10 = nd.mul %5, %a : (!y, !f) -> !y
  %11 = nd.add %10, %b : (!y, !f) -> !y
  %12 = nd.sub %one, %9 : (!f, !y) -> !y
  %13 = nd.mul %9, %12 : (!y, !y) -> !y
  %14 = nd.mul %13, %1 : (!y, !y) -> !y
  %15 = nd.mul %14, %11 : (!y, !y) -> !y
  %16 = nd.add %9, %15 : (!y, !y) -> !y
  %17 = nd.mul %3, %16 : (!y, !y) -> !y
  %18 = nd.einsum %x, %17 {reduced = ["b"]} : (!x, !y) -> !w
  %19 = nd.reduce_sum %17 {dims = ["b"]} : (!y) -> !v
  %20 = nd.square %19 : (!v) -> !v
  return %2, %18, %20 : !y, !w, !v
}

// The same in 16 bits, where the gradient is computed in f32 and rounded.
// CHECK-LABEL: @half_gelu
// CHECK: %[[H:.*]]:2 = exec.product then gelu(%arg0, %arg1)
// CHECK: exec.product then gelu_gradient(%{{.*}}, %arg1, %[[H]]#1)
func.func @half_gelu(%x: !h {nd.name = "xg", nd.role = "input", nd.order = ["b", "i"]}, %w: !hw {nd.name = "wg", nd.role = "input", nd.order = ["i", "j"]})
    -> (!hy {nd.name = "yg", nd.role = "metric", nd.order = ["b", "j"]}, !hy {nd.name = "dg", nd.role = "metric", nd.order = ["b", "j"]}) {
  %0 = nd.einsum %x, %w {reduced = ["i"]} : (!h, !hw) -> !hy
  %1 = nd.gelu %0 : (!hy) -> !hy
  %l = nd.einsum %1, %w {reduced = ["j"]} : (!hy, !hw) -> !h
  %2 = nd.einsum %l, %w {reduced = ["i"]} : (!h, !hw) -> !hy
  %g = nd.cast %2 : (!hy) -> !y
  %z = nd.cast %0 : (!hy) -> !y
  %a = nd.constant 0.214064449 : f32 -> !f
  %b = nd.constant 1.59576917 : f32 -> !f
  %c = nd.constant 0.0713548139 : f32 -> !f
  %one = nd.constant 1.0 : f32 -> !f
  %most = nd.constant 256.0 : f32 -> !f
  %4 = nd.square %z : (!y) -> !y
  %5 = nd.minimum %4, %most : (!y, !f) -> !y
  %6 = nd.mul %4, %c : (!y, !f) -> !y
  %7 = nd.add %6, %b : (!y, !f) -> !y
  %8 = nd.mul %z, %7 : (!y, !y) -> !y
  %9 = nd.sigmoid %8 : (!y) -> !y
  %10 = nd.mul %5, %a : (!y, !f) -> !y
  %11 = nd.add %10, %b : (!y, !f) -> !y
  %12 = nd.sub %one, %9 : (!f, !y) -> !y
  %13 = nd.mul %9, %12 : (!y, !y) -> !y
  %14 = nd.mul %13, %z : (!y, !y) -> !y
  %15 = nd.mul %14, %11 : (!y, !y) -> !y
  %16 = nd.add %9, %15 : (!y, !y) -> !y
  %17 = nd.mul %g, %16 : (!y, !y) -> !y
  %18 = nd.cast %17 : (!y) -> !hy
  return %1, %18 : !hy, !hy
}

// A gelu without a bias keeps the product itself, for whoever reads it.
// CHECK-LABEL: @kept
// CHECK: %[[H:.*]]:2 = exec.product then gelu(%arg0, %arg1)
// CHECK: return %[[H]]#0, %[[H]]#1
func.func @kept(%x: !x {nd.name = "x", nd.role = "input", nd.order = ["b", "i"]}, %w: !w {nd.name = "w", nd.role = "input", nd.order = ["i", "j"]})
    -> (!y {nd.name = "y", nd.role = "metric", nd.order = ["b", "j"]}, !y {nd.name = "c", nd.role = "metric", nd.order = ["b", "j"]}) {
  %0 = nd.einsum %x, %w {reduced = ["i"]} : (!x, !w) -> !y
  %1 = nd.gelu %0 : (!y) -> !y
  return %1, %0 : !y, !y
}

// The sum is needed for the other factor of the product: it cannot come from it.
// CHECK-LABEL: @cycle
// CHECK-NOT: exec.product then
func.func @cycle(%y: !y {nd.name = "iy", nd.role = "input", nd.order = ["b", "j"]}, %x: !x {nd.name = "x", nd.role = "input", nd.order = ["b", "i"]})
    -> (!w {nd.name = "dw", nd.role = "metric", nd.order = ["i", "j"]}, !v {nd.name = "dv", nd.role = "metric", nd.order = ["j"]}) {
  %0 = nd.reduce_sum %y {dims = ["b"]} : (!y) -> !v
  %1 = nd.reduce_sum %0 {dims = ["j"]} : (!v) -> !f
  %2 = nd.mul %x, %1 : (!x, !f) -> !x
  %3 = nd.einsum %2, %y {reduced = ["b"]} : (!x, !y) -> !w
  return %3, %0 : !w, !v
}

// Of two columns a mask would be as large as the result.
// CHECK-LABEL: @narrow
// CHECK: exec.product then relu(
// CHECK-NOT: relu_gradient
func.func @narrow(%x: !x {nd.name = "x", nd.role = "input", nd.order = ["b", "i"]}, %w: !nd.tensor<f32, [i = 8, n = 2]> {nd.name = "wn", nd.role = "input", nd.order = ["i", "n"]})
    -> (!nd.tensor<f32, [b = 12, n = 2]> {nd.name = "yn", nd.role = "metric", nd.order = ["b", "n"]}, !nd.tensor<f32, [b = 12, n = 2]> {nd.name = "dn", nd.role = "metric", nd.order = ["b", "n"]}) {
  %0 = nd.einsum %x, %w {reduced = ["i"]} : (!x, !nd.tensor<f32, [i = 8, n = 2]>) -> !nd.tensor<f32, [b = 12, n = 2]>
  %1 = nd.relu %0 : (!nd.tensor<f32, [b = 12, n = 2]>) -> !nd.tensor<f32, [b = 12, n = 2]>
  %l = nd.einsum %1, %w {reduced = ["n"]} : (!nd.tensor<f32, [b = 12, n = 2]>, !nd.tensor<f32, [i = 8, n = 2]>) -> !x
  %2 = nd.einsum %l, %w {reduced = ["i"]} : (!x, !nd.tensor<f32, [i = 8, n = 2]>) -> !nd.tensor<f32, [b = 12, n = 2]>
  %zero = nd.constant 0.0 : f32 -> !f
  %3 = nd.compare gt %1, %zero : (!nd.tensor<f32, [b = 12, n = 2]>, !f) -> !nd.tensor<i1, [b = 12, n = 2]>
  %4 = nd.select %3, %2, %zero : (!nd.tensor<i1, [b = 12, n = 2]>, !nd.tensor<f32, [b = 12, n = 2]>, !f) -> !nd.tensor<f32, [b = 12, n = 2]>
  return %1, %4 : !nd.tensor<f32, [b = 12, n = 2]>, !nd.tensor<f32, [b = 12, n = 2]>
}

// Small kernels become one, but not those that a product's call does.
// CHECK-LABEL: @two_heads
// CHECK: exec.product then relu(
// CHECK: exec.product then relu(
func.func @two_heads(%x: !x {nd.name = "x", nd.role = "input", nd.order = ["b", "i"]}, %w: !w {nd.name = "w", nd.role = "input", nd.order = ["i", "j"]}, %u: !w {nd.name = "u", nd.role = "input", nd.order = ["i", "j"]})
    -> (!y {nd.name = "y", nd.role = "metric", nd.order = ["b", "j"]}, !y {nd.name = "z", nd.role = "metric", nd.order = ["b", "j"]}) {
  %0 = nd.einsum %x, %w {reduced = ["i"]} : (!x, !w) -> !y
  %1 = nd.relu %0 : (!y) -> !y
  %2 = nd.einsum %x, %u {reduced = ["i"]} : (!x, !w) -> !y
  %3 = nd.relu %2 : (!y) -> !y
  return %1, %3 : !y, !y
}

// Factors that lie so that cublasLt has no such call: the sum of a transposed one.
// CHECK-LABEL: @factor_as_it_lies
// CHECK-NOT: exec.product then
func.func @factor_as_it_lies(%x: !x {nd.name = "x", nd.role = "input", nd.order = ["b", "i"]}, %y: !y {nd.name = "iyt", nd.role = "input", nd.order = ["j", "b"]})
    -> (!w {nd.name = "dw", nd.role = "metric", nd.order = ["i", "j"]}, !v {nd.name = "dv", nd.role = "metric", nd.order = ["j"]}) {
  %0 = nd.reduce_sum %y {dims = ["b"]} : (!y) -> !v
  %1 = nd.einsum %x, %y {reduced = ["b"]} : (!x, !y) -> !w
  return %1, %0 : !w, !v
}
}
