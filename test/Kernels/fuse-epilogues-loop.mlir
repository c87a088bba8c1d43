// RUN: mesh-opt %s --pass-pipeline='builtin.module(func.func(meshc-form-fusions,meshc-assign-orders,meshc-fuse-epilogues,meshc-plan-loops,meshc-verify-kernels))' | FileCheck %s

!x = !nd.tensor<f32, [b = 12, i = 96]>
!y = !nd.tensor<f32, [b = 12, j = 96]>
!ys = !nd.tensor<f32, [b = 12, j = 96, n = 3]>
!w = !nd.tensor<f32, [i = 96, j = 96]>
!ws = !nd.tensor<f32, [i = 96, j = 96, n = 3]>
!v = !nd.tensor<f32, [j = 96]>
!f = !nd.tensor<f32, []>

module attributes {exec.gpu, nd.mesh = #nd.mesh<>} {

// The body of a loop is a block as that of a function. The activation's argument,
// which the loop stacks for the gradient, is a result of the product.
// CHECK-LABEL: @forward
// CHECK: nd.scan
// CHECK: %[[P:.*]]:2 = exec.product then gelu_bias(
// CHECK: nd.einsum
// CHECK: exec.fusion
// CHECK: %[[Z:.*]] = nd.add
// CHECK: %[[G:.*]] = nd.gelu %[[Z]]
// CHECK: exec.yield %[[G]], %[[Z]]
// CHECK: nd.yield %{{.*}}, %[[P]]#1
func.func @forward(%x: !x {nd.order = ["b", "i"]}, %w: !ws {nd.order = ["n", "i", "j"]}, %u: !w {nd.order = ["i", "j"]}, %v: !v {nd.order = ["j"]}) -> !ys {
  %0:2 = nd.scan "n" 3 carried(%x : !x) stacked(%w : !ws) whole(%u, %v : !w, !v) -> !x, !ys {
  ^bb0(%h: !x, %wi: !w, %back: !w, %bias: !v):
    %c = nd.einsum %h, %wi {reduced = ["i"]} : (!x, !w) -> !y
    %z = nd.add %c, %bias : (!y, !v) -> !y
    %g = nd.gelu %z : (!y) -> !y
    %r = nd.einsum %g, %back {reduced = ["j"]} : (!y, !w) -> !x
    nd.yield %r, %z : !x, !y
  }
  return %0#1 : !ys
}

// A relu cannot keep its argument: the kernel stays.
// CHECK-LABEL: @relu
// CHECK-NOT: exec.product then
func.func @relu(%x: !x {nd.order = ["b", "i"]}, %w: !ws {nd.order = ["n", "i", "j"]}) -> (!ys, !ys) {
  %0:2 = nd.scan "n" 3 stacked(%w : !ws) whole(%x : !x) -> !ys, !ys {
  ^bb0(%wi: !w, %h: !x):
    %c = nd.einsum %h, %wi {reduced = ["i"]} : (!x, !w) -> !y
    %z = nd.neg %c : (!y) -> !y
    %g = nd.relu %z : (!y) -> !y
    nd.yield %g, %z : !y, !y
  }
  return %0#0, %0#1 : !ys, !ys
}

// The gradient reads an entry of what was stacked.
// CHECK-LABEL: @backward
// CHECK: nd.scan "n" 3 backwards
// CHECK: exec.product then gelu_gradient(
func.func @backward(%g: !x {nd.order = ["b", "i"]}, %w: !ws {nd.order = ["n", "i", "j"]}, %z: !ys {nd.order = ["n", "b", "j"]}) -> !ys {
  %0 = nd.scan "n" 3 backwards stacked(%w, %z : !ws, !ys) whole(%g : !x) -> !ys {
  ^bb0(%wi: !w, %zi: !y, %h: !x):
    %c0 = nd.einsum %h, %wi {reduced = ["i"]} : (!x, !w) -> !y
    %a = nd.constant 0.214064449 : f32 -> !f
    %b = nd.constant 1.59576917 : f32 -> !f
    %c = nd.constant 0.0713548139 : f32 -> !f
    %one = nd.constant 1.0 : f32 -> !f
    %most = nd.constant 256.0 : f32 -> !f
    %4 = nd.square %zi : (!y) -> !y
    %5 = nd.minimum %4, %most : (!y, !f) -> !y
    %6 = nd.mul %4, %c : (!y, !f) -> !y
    %7 = nd.add %6, %b : (!y, !f) -> !y
    %8 = nd.mul %zi, %7 : (!y, !y) -> !y
    %9 = nd.sigmoid %8 : (!y) -> !y
    %10 = nd.mul %5, %a : (!y, !f) -> !y
    %11 = nd.add %10, %b : (!y, !f) -> !y
    %12 = nd.sub %one, %9 : (!f, !y) -> !y
    %13 = nd.mul %9, %12 : (!y, !y) -> !y
    %14 = nd.mul %13, %zi : (!y, !y) -> !y
    %15 = nd.mul %14, %11 : (!y, !y) -> !y
    %16 = nd.add %9, %15 : (!y, !y) -> !y
    %17 = nd.mul %c0, %16 : (!y, !y) -> !y
    nd.yield %17 : !y
  }
  return %0 : !ys
}

// The mask of a relu leaves the forward loop, stacked like the relu itself, and its
// entry enters the other one.
// CHECK-LABEL: @mask
// CHECK: %[[F:.*]]:2 = nd.scan "n" 3 {{.*}} attributes {exec.orders = {{\[\[}}"n", "b", "j"], ["n", "mask"]]}
// CHECK: %[[R:.*]]:2 = exec.product then relu mask(
// CHECK: nd.yield %[[R]]#0, %[[R]]#1
// CHECK: nd.scan "n" 3 backwards stacked(%{{.*}}, %[[F]]#0, %[[F]]#1 : {{.*}}!nd.tensor<i1, [mask = 192, n = 3]>)
// CHECK: ^bb0(%[[W:.*]]: {{.*}}, %{{.*}}: {{.*}}, %[[M:.*]]: !nd.tensor<i1, [mask = 192]>, %[[G:.*]]: {{.*}}):
// CHECK: exec.product then relu_gradient mask(%[[G]], %[[W]], %{{.*}}, %[[M]])
func.func @mask(%x: !x {nd.order = ["b", "i"]}, %w: !ws {nd.order = ["n", "i", "j"]}, %g: !x {nd.order = ["b", "i"]}) -> !ys {
  %0 = nd.scan "n" 3 stacked(%w : !ws) whole(%x : !x) -> !ys {
  ^bb0(%wi: !w, %h: !x):
    %c = nd.einsum %h, %wi {reduced = ["i"]} : (!x, !w) -> !y
    %r = nd.relu %c : (!y) -> !y
    nd.yield %r : !y
  }
  %1 = nd.scan "n" 3 backwards stacked(%w, %0 : !ws, !ys) whole(%g : !x) -> !ys {
  ^bb0(%wi: !w, %r: !y, %h: !x):
    %zero = nd.constant 0.0 : f32 -> !f
    %c = nd.einsum %h, %wi {reduced = ["i"]} : (!x, !w) -> !y
    %p = nd.compare gt %r, %zero : (!y, !f) -> !nd.tensor<i1, [b = 12, j = 96]>
    %d = nd.select %p, %c, %zero : (!nd.tensor<i1, [b = 12, j = 96]>, !y, !f) -> !y
    nd.yield %d : !y
  }
  return %1 : !ys
}
}
