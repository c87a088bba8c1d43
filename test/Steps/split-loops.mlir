// Products of all iterations at once.
// RUN: mesh-opt %s --pass-pipeline='builtin.module(func.func(meshc-split-loops),canonicalize)' -split-input-file | FileCheck %s

!x = !nd.tensor<f32, [i = 16]>
!xs = !nd.tensor<f32, [i = 16, n = 8]>
!w = !nd.tensor<f32, [i = 16, j = 32]>
!y = !nd.tensor<f32, [j = 32]>
!ys = !nd.tensor<f32, [j = 32, n = 8]>
// A pointwise op on the entry comes along; a product with what the loop carries
// stays, and so does the addition.
// CHECK-LABEL: @before
// CHECK: %[[E:.*]] = nd.exp %{{.*}} : (!nd.tensor<f32, [i = 16, n = 8]>)
// CHECK: %[[P:.*]] = nd.einsum %[[E]], %{{.*}} {reduced = ["i"]} : ({{.*}}) -> !nd.tensor<f32, [j = 32, n = 8]>
// CHECK: nd.scan "n" 8 carried({{.*}}) stacked(%[[P]] :
// CHECK-NOT: whole
// CHECK-NOT: nd.einsum
func.func @before(%xs: !xs, %w: !w, %h: !y) -> !ys {
  %last, %all = nd.scan "n" 8 carried(%h : !y) stacked(%xs : !xs) whole(%w : !w) -> !y, !ys {
  ^bb0(%a: !y, %x: !x, %v: !w):
    %e = nd.exp %x : (!x) -> !x
    %p = nd.einsum %e, %v {reduced = ["i"]} : (!x, !w) -> !y
    %b = nd.add %a, %p : (!y, !y) -> !y
    nd.yield %b, %b : !y, !y
  }
  return %all : !ys
}

// -----

!x = !nd.tensor<f32, [b = 16, i = 16]>
!xs = !nd.tensor<f32, [b = 16, i = 16, n = 8]>
!w = !nd.tensor<f32, [i = 16, j = 32]>
!y = !nd.tensor<f32, [b = 16, j = 32]>
!ys = !nd.tensor<f32, [b = 16, j = 32, n = 8]>
// 2 * 16 * 32 elements of the stack are more than 16 * 32 of the weights.
// CHECK-LABEL: @many_rows
// CHECK: nd.scan
// CHECK: nd.einsum
func.func @many_rows(%xs: !xs, %w: !w, %h: !y) -> !ys {
  %last, %all = nd.scan "n" 8 carried(%h : !y) stacked(%xs : !xs) whole(%w : !w) -> !y, !ys {
  ^bb0(%a: !y, %x: !x, %v: !w):
    %p = nd.einsum %x, %v {reduced = ["i"]} : (!x, !w) -> !y
    %b = nd.add %a, %p : (!y, !y) -> !y
    nd.yield %b, %b : !y, !y
  }
  return %all : !ys
}

// -----

!x = !nd.tensor<f32, [b = 4, i = 16]>
!xs = !nd.tensor<f32, [b = 4, i = 16, n = 8]>
!w = !nd.tensor<f32, [i = 16, j = 32]>
!y = !nd.tensor<f32, [b = 4, j = 32]>
!ys = !nd.tensor<f32, [b = 4, j = 32, n = 8]>
// The gradients of a recurrence: a sum of products, and what an entry of the
// input gets. The factor that the body computes becomes a stack.
// CHECK-LABEL: @behind
// CHECK: %[[L:.*]]:2 = nd.scan "n" 8 backwards
// CHECK: %[[D:.*]] = nd.tanh
// CHECK-NOT: nd.einsum
// CHECK: nd.yield %[[D]], %[[D]]
// CHECK: %[[X:.*]] = nd.einsum %[[L]]#1, %arg1 {reduced = ["j"]} : (!nd.tensor<f32, [b = 4, j = 32, n = 8]>, {{.*}}) -> !nd.tensor<f32, [b = 4, i = 16, n = 8]>
// CHECK: %[[W:.*]] = nd.einsum %arg0, %[[L]]#1 {nd.class = "gradient", nd.name = "gradient of w", nd.of = "w", reduced = ["b", "n"]}
// CHECK: return %[[W]], %[[X]]
func.func @behind(%xs: !xs, %w: !w, %h: !y) -> (!w, !xs) {
  %zero = nd.constant 0.0 : f32 -> !w
  %last, %sum, %all = nd.scan "n" 8 backwards carried(%h, %zero : !y, !w) stacked(%xs : !xs) whole(%w : !w) -> !y, !w, !xs
      attributes {res_attrs = [{}, {nd.class = "gradient", nd.name = "gradient of w", nd.of = "w"}, {}]} {
  ^bb0(%a: !y, %s: !w, %x: !x, %v: !w):
    %d = nd.tanh %a : (!y) -> !y
    %g = nd.einsum %x, %d {reduced = ["b"]} : (!x, !y) -> !w
    %t = nd.add %s, %g : (!w, !w) -> !w
    %p = nd.einsum %d, %v {reduced = ["j"]} : (!y, !w) -> !x
    nd.yield %d, %t, %p : !y, !w, !x
  }
  return %sum, %all : !w, !xs
}

// -----

!x = !nd.tensor<f32, [b = 4, i = 16]>
!xs = !nd.tensor<f32, [b = 4, i = 16, n = 8]>
!w = !nd.tensor<f32, [i = 16, j = 32]>
!y = !nd.tensor<f32, [b = 4, j = 32]>
// These stay: a sum that does not start at zero, one that a later iteration reads,
// one whose product is used twice, what is subtracted, and loops over micro-batches.
// CHECK-LABEL: @sums_that_stay
// CHECK: nd.scan
// CHECK-COUNT-4: nd.einsum
// CHECK: nd.yield
// CHECK: nd.scan "n" 8 micro_batches
// CHECK: nd.einsum
// CHECK: nd.yield
// CHECK-NOT: nd.einsum
func.func @sums_that_stay(%xs: !xs, %w: !w, %h: !y) -> (!w, !w, !w, !w, !w) {
  %zero = nd.constant 0.0 : f32 -> !w
  %last, %a, %b, %c, %minus = nd.scan "n" 8 carried(%h, %w, %zero, %zero, %zero : !y, !w, !w, !w, !w) stacked(%xs : !xs)
      -> !y, !w, !w, !w, !w {
  ^bb0(%y: !y, %s: !w, %t: !w, %u: !w, %v: !w, %x: !x):
    %d = nd.tanh %y : (!y) -> !y
    %g = nd.einsum %x, %d {reduced = ["b"]} : (!x, !y) -> !w
    %s1 = nd.add %s, %g : (!w, !w) -> !w
    %e = nd.exp %d : (!y) -> !y
    %k = nd.einsum %x, %e {reduced = ["b"]} : (!x, !y) -> !w
    %t1 = nd.add %t, %k : (!w, !w) -> !w
    %t2 = nd.exp %t1 : (!w) -> !w
    %m = nd.sqrt %e : (!y) -> !y
    %n = nd.einsum %x, %m {reduced = ["b"]} : (!x, !y) -> !w
    %u1 = nd.add %u, %n : (!w, !w) -> !w
    %r = nd.reduce_sum %n {dims = ["i"]} : (!w) -> !nd.tensor<f32, [j = 32]>
    %y1 = nd.add %d, %r : (!y, !nd.tensor<f32, [j = 32]>) -> !y
    %q = nd.cos %e : (!y) -> !y
    %z = nd.einsum %x, %q {reduced = ["b"]} : (!x, !y) -> !w
    %v1 = nd.sub %v, %z : (!w, !w) -> !w
    nd.yield %y1, %s1, %t2, %u1, %v1 : !y, !w, !w, !w, !w
  }
  %last2, %total = nd.scan "n" 8 micro_batches carried(%h, %zero : !y, !w) stacked(%xs : !xs) -> !y, !w {
  ^bb0(%y: !y, %s: !w, %x: !x):
    %d = nd.tanh %y : (!y) -> !y
    %g = nd.einsum %x, %d {reduced = ["b"]} : (!x, !y) -> !w
    %s1 = nd.add %s, %g : (!w, !w) -> !w
    nd.yield %d, %s1 : !y, !w
  }
  return %a, %b, %c, %minus, %total : !w, !w, !w, !w, !w
}

// -----

!x = !nd.tensor<bf16, [b = 4, i = 16]>
!xs = !nd.tensor<bf16, [b = 4, i = 16, n = 8]>
!p = !nd.tensor<bf16, [i = 16, j = 32]>
!w = !nd.tensor<f32, [i = 16, j = 32]>
!y = !nd.tensor<bf16, [b = 4, j = 32]>
// Weights that an iteration uses twice, with products of 16 bits: the gradient is
// the sum of two. The name is that of the sum.
// CHECK-LABEL: @twice
// CHECK: %[[T:.*]] = nd.tanh %arg0
// CHECK: %[[L:.*]]:2 = nd.scan "n" 8
// CHECK-NOT: nd.einsum
// CHECK: nd.yield
// CHECK: %[[A:.*]] = nd.einsum %arg0, %[[L]]#1 {reduced = ["b", "n"]} : ({{.*}}) -> !nd.tensor<bf16, [i = 16, j = 32]>
// CHECK: %[[B:.*]] = nd.cast %[[A]] : ({{.*}}) -> !nd.tensor<f32,
// CHECK: nd.einsum %[[T]], %[[L]]#1
// CHECK: nd.add %[[B]], %{{.*}} {nd.class = "gradient", nd.name = "gradient of w", nd.of = "w"}
func.func @twice(%xs: !xs, %h: !y) -> !w {
  %zero = nd.constant 0.0 : f32 -> !w
  %last, %sum = nd.scan "n" 8 carried(%h, %zero : !y, !w) stacked(%xs : !xs) -> !y, !w
      attributes {res_attrs = [{}, {nd.class = "gradient", nd.name = "gradient of w", nd.of = "w"}]} {
  ^bb0(%a: !y, %s: !w, %x: !x):
    %d = nd.exp %a : (!y) -> !y
    %g = nd.einsum %x, %d {reduced = ["b"]} : (!x, !y) -> !p
    %gw = nd.cast %g : (!p) -> !w
    %t = nd.tanh %x : (!x) -> !x
    %k = nd.einsum %t, %d {reduced = ["b"]} : (!x, !y) -> !p
    %kw = nd.cast %k : (!p) -> !w
    %both = nd.add %gw, %kw : (!w, !w) -> !w
    %next = nd.add %s, %both : (!w, !w) -> !w
    nd.yield %d, %next : !y, !w
  }
  return %sum : !w
}
