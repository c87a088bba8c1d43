// RUN: mesh-opt %s -split-input-file -meshc-choose-residuals=policy=none -canonicalize | FileCheck %s --check-prefixes=CHECK,NONE
// RUN: mesh-opt %s -split-input-file -meshc-choose-residuals=policy=cheap -canonicalize | FileCheck %s --check-prefixes=CHECK,CHEAP
// RUN: mesh-opt %s -split-input-file -meshc-choose-residuals -canonicalize | FileCheck %s --check-prefixes=CHECK,CHEAP
// RUN: mesh-opt %s -split-input-file -meshc-choose-residuals=policy=full -canonicalize | FileCheck %s --check-prefixes=CHECK,FULL

!x = !nd.tensor<f32, [b = 8, i = 4]>
!y = !nd.tensor<f32, [b = 8, o = 4]>
!w = !nd.tensor<f32, [i = 4, o = 4]>
!h = !nd.tensor<f32, [i = 4]>
!xs = !nd.tensor<f32, [b = 8, i = 4, n = 6]>
!ws = !nd.tensor<f32, [i = 4, n = 6, o = 4]>

// Stored at first: a product with a bias, its tanh, and a carried value. The tanh is pointwise; the product is not. It is
// repeated by the policy full alone, from the carried value, the stacked matrix and the whole bias.
// CHECK-LABEL: func.func @policies

// NONE: %[[Y:.*]]:4 = nd.scan "n" 6
// NONE: nd.scan "n" 6 backwards carried(%[[Y]]#0 : {{.*}}) stacked(%[[Y]]#1, %[[Y]]#2, %[[Y]]#3 :
// NONE-NOT: nd.tanh
// NONE: return

// CHEAP: %[[Y:.*]]:3 = nd.scan "n" 6
// CHEAP-NEXT: ^bb0(%[[H:[a-z0-9]+]]:
// CHEAP: %[[A:.*]] = nd.add
// CHEAP: nd.yield %{{.*}}, %[[A]], %[[H]] :
// CHEAP: nd.scan "n" 6 backwards carried(%[[Y]]#0 : {{.*}}) stacked(%[[Y]]#1, %[[Y]]#2 :
// CHEAP-NEXT: ^bb0(%[[D:[a-z0-9]+]]: {{.*}}, %[[A:[a-z0-9]+]]: {{.*}}, %[[H:[a-z0-9]+]]: {{.*}}):
// CHEAP-NEXT: %[[T:.*]] = nd.tanh %[[A]]
// CHEAP-NEXT: %[[M:.*]] = nd.mul %[[D]], %[[A]]
// CHEAP-NEXT: %[[N:.*]] = nd.mul %[[M]], %[[T]]
// CHEAP-NEXT: nd.mul %[[N]], %[[H]]

// FULL: %[[Y:.*]]:2 = nd.scan "n" 6
// FULL-NEXT: ^bb0(%[[H:[a-z0-9]+]]:
// FULL: nd.yield %{{.*}}, %[[H]] :
// FULL: nd.scan "n" 6 backwards carried(%[[Y]]#0 : {{.*}}) stacked(%[[Y]]#1, %arg1 : {{.*}}) whole(%arg2 :
// FULL-NEXT: ^bb0(%[[D:[a-z0-9]+]]: {{.*}}, %[[H:[a-z0-9]+]]: {{.*}}, %[[W:[a-z0-9]+]]: {{.*}}, %[[B:[a-z0-9]+]]: {{.*}}):
// FULL-NEXT: %[[P:.*]] = nd.einsum %[[H]], %[[W]]
// FULL-NEXT: %[[R:.*]] = nd.rename %[[P]]
// FULL-NEXT: %[[A:.*]] = nd.add %[[R]], %[[B]]
// FULL-NEXT: %[[T:.*]] = nd.tanh %[[A]]
// FULL-NEXT: %[[M:.*]] = nd.mul %[[D]], %[[A]]
// FULL-NEXT: %[[N:.*]] = nd.mul %[[M]], %[[T]]
// FULL-NEXT: nd.mul %[[N]], %[[H]]
func.func @policies(%x: !x, %w: !ws, %b: !h) -> !x {
  %y:4 = nd.scan "n" 6 carried(%x : !x) stacked(%w : !ws) whole(%b : !h) -> !x, !xs, !xs, !xs {
  ^bb0(%h: !x, %wi: !w, %bi: !h):
    %0 = nd.einsum %h, %wi {reduced = ["i"]} : (!x, !w) -> !y
    %1 = nd.rename %0 {from = ["o"], to = ["i"]} : (!y) -> !x
    %2 = nd.add %1, %bi : (!x, !h) -> !x
    %3 = nd.tanh %2 : (!x) -> !x
    %4 = nd.add %3, %h : (!x, !x) -> !x
    nd.yield %4, %2, %3, %h : !x, !x, !x, !x
  }
  %g = nd.scan "n" 6 backwards carried(%y#0 : !x) stacked(%y#1, %y#2, %y#3 : !xs, !xs, !xs) -> !x {
  ^bb0(%d: !x, %a: !x, %t: !x, %h: !x):
    %0 = nd.mul %d, %a : (!x, !x) -> !x
    %1 = nd.mul %0, %t : (!x, !x) -> !x
    %2 = nd.mul %1, %h : (!x, !x) -> !x
    nd.yield %2 : !x
  }
  return %g : !x
}

// -----

!x = !nd.tensor<f32, [i = 4]>
!xs = !nd.tensor<f32, [i = 4, n = 6]>

// A result that is used otherwise is stored, and others are recomputed from it. A value need not be read by the loop that
// it is recomputed for.
// CHECK-LABEL: func.func @used_otherwise
// CHEAP: %[[Y:.*]]:2 = nd.scan "n" 6
// CHEAP: nd.scan "n" 6 backwards carried(%[[Y]]#0 : {{.*}}) stacked(%[[Y]]#1 :
// CHEAP-NEXT: ^bb0(%[[D:[a-z0-9]+]]: {{.*}}, %[[S:[a-z0-9]+]]: {{.*}}):
// CHEAP-NEXT: %[[E:.*]] = nd.square %[[S]]
// CHEAP-NEXT: nd.mul %[[D]], %[[E]]
// CHEAP: return %{{.*}}, %[[Y]]#1
// FULL: %[[Y:.*]]:2 = nd.scan "n" 6
// FULL: nd.scan "n" 6 backwards carried(%[[Y]]#0 : {{.*}}) stacked(%[[Y]]#1 :
// FULL: return %{{.*}}, %[[Y]]#1
func.func @used_otherwise(%x: !x) -> (!x, !xs) {
  %y:3 = nd.scan "n" 6 carried(%x : !x) -> !x, !xs, !xs {
  ^bb0(%h: !x):
    %0 = nd.sin %h : (!x) -> !x
    %1 = nd.square %0 : (!x) -> !x
    nd.yield %1, %0, %1 : !x, !x, !x
  }
  %g = nd.scan "n" 6 backwards carried(%y#0 : !x) stacked(%y#2 : !xs) -> !x {
  ^bb0(%d: !x, %e: !x):
    %0 = nd.mul %d, %e : (!x, !x) -> !x
    nd.yield %0 : !x
  }
  return %g, %y#1 : !x, !xs
}

// -----

!m = !nd.tensor<i1, [i = 4]>
!x = !nd.tensor<f32, [i = 4]>
!xs = !nd.tensor<f32, [i = 4, n = 6]>
!ms = !nd.tensor<i1, [i = 4, n = 6]>

// Left alone by cheap: two transcendental functions for the one byte of a mask. Left alone by full, too: the mask is
// smaller than the carried value that it would take.
// CHECK-LABEL: func.func @mask
// CHECK: %[[Y:.*]]:2 = nd.scan "n" 6 {{.*}} -> !nd.tensor<f32, [i = 4]>, !nd.tensor<i1, [i = 4, n = 6]>
// CHECK: nd.scan "n" 6 backwards carried(%[[Y]]#0 : {{.*}}) stacked(%[[Y]]#1 :
// CHECK-NEXT: ^bb0
// CHECK-NEXT: nd.select
// CHECK-NEXT: nd.yield
func.func @mask(%x: !x, %w: !xs) -> !x {
  %y:2 = nd.scan "n" 6 carried(%x : !x) stacked(%w : !xs) -> !x, !ms {
  ^bb0(%h: !x, %wi: !x):
    %0 = nd.sin %wi : (!x) -> !x
    %1 = nd.exp %0 : (!x) -> !x
    %2 = nd.compare gt %1, %h : (!x, !x) -> !m
    %3 = nd.select %2, %1, %h : (!m, !x, !x) -> !x
    nd.yield %3, %2 : !x, !m
  }
  %g = nd.scan "n" 6 backwards carried(%y#0 : !x) stacked(%y#1 : !ms) -> !x {
  ^bb0(%d: !x, %m: !m):
    %0 = nd.select %m, %d, %d : (!m, !x, !x) -> !x
    nd.yield %0 : !x
  }
  return %g : !x
}

// -----

!x = !nd.tensor<f32, [i = 4]>
!xm = !nd.tensor<f32, [i = 4, m = 6]>
!xn = !nd.tensor<f32, [i = 4, n = 6]>
!xmn = !nd.tensor<f32, [i = 4, m = 6, n = 6]>

// Left alone by all: the second loop runs over another dim, the third sees the values whole.
// CHECK-LABEL: func.func @other_dim
// CHECK: %[[Y:.*]]:3 = nd.scan "n" 6
// CHECK: %[[Z:.*]] = nd.scan "m" 6 carried(%arg0 : {{.*}}) stacked(%[[Y]]#1 :
// CHECK: nd.scan "n" 6 carried(%[[Z]] : {{.*}}) whole(%[[Y]]#2 :
func.func @other_dim(%x: !x, %w: !xmn) -> (!x, !xm) {
  %zero = nd.constant 0.0 : f32 -> !xm
  %y:3 = nd.scan "n" 6 carried(%zero : !xm) stacked(%w : !xmn) -> !xm, !xmn, !xmn {
  ^bb0(%h: !xm, %wi: !xm):
    %0 = nd.exp %wi : (!xm) -> !xm
    %1 = nd.add %0, %h : (!xm, !xm) -> !xm
    %2 = nd.sin %wi : (!xm) -> !xm
    nd.yield %1, %0, %2 : !xm, !xm, !xm
  }
  %z = nd.scan "m" 6 carried(%x : !x) stacked(%y#1 : !xmn) -> !x {
  ^bb0(%d: !x, %e: !xn):
    %0 = nd.mul %d, %e : (!x, !xn) -> !xn
    %1 = nd.reduce_sum %0 {dims = ["n"]} : (!xn) -> !x
    nd.yield %1 : !x
  }
  %g = nd.scan "n" 6 carried(%z : !x) whole(%y#2 : !xmn) -> !x {
  ^bb0(%d: !x, %all: !xmn):
    %0 = nd.mul %all, %d : (!xmn, !x) -> !xmn
    %1 = nd.reduce_sum %0 {dims = ["m", "n"]} : (!xmn) -> !x
    nd.yield %1 : !x
  }
  return %g, %y#0 : !x, !xm
}

// -----

!x = !nd.tensor<f32, [i = 4]>
!xt = !nd.tensor<f32, [i = 4, t = 6]>
!xnt = !nd.tensor<f32, [i = 4, n = 2, t = 6]>

// A loop in a loop: full repeats the inner one in the outer one's gradient, where the policy applies to it: it stores
// its carried values for the time of one iteration. Cheap recomputes what has been stacked twice, in the inner gradient.
// CHECK-LABEL: func.func @nested
// NONE: %[[Y:.*]]:3 = nd.scan "n" 2
// CHEAP: %[[Y:.*]]:2 = nd.scan "n" 2
// CHEAP: nd.scan "n" 2 backwards carried(%[[Y]]#0 : {{.*}}) stacked(%[[Y]]#1 :
// CHEAP: nd.scan "t" 6 backwards
// CHEAP-NEXT: ^bb0(%{{[a-z0-9]+}}: {{.*}}, %{{[a-z0-9]+}}: {{.*}}, %[[S:[a-z0-9]+]]: {{.*}}):
// CHEAP-NEXT: nd.exp %[[S]]
// FULL: %[[Y:.*]]:2 = nd.scan "n" 2
// FULL-NEXT: ^bb0(%[[XS:[a-z0-9]+]]:
// FULL: nd.yield %{{.*}}, %[[XS]] : !nd.tensor<f32, [i = 4, t = 6]>, !nd.tensor<f32, [i = 4, t = 6]>
// FULL: nd.scan "n" 2 backwards carried(%[[Y]]#0 : {{.*}}) stacked(%[[Y]]#1 :
// FULL-NEXT: ^bb0(%[[D:[a-z0-9]+]]: {{.*}}, %[[XS:[a-z0-9]+]]: {{.*}}):
// FULL: %[[I:.*]] = nd.scan "t" 6 {{.*}} stacked(%[[XS]] : {{.*}}) ->
// FULL-NEXT: ^bb0(%[[P:[a-z0-9]+]]:
// FULL: nd.yield %{{.*}}, %[[P]] :
// FULL: nd.scan "t" 6 backwards
// FULL: nd.sin
// FULL: nd.exp
// FULL: return
func.func @nested(%x: !xt) -> !xt {
  %y:3 = nd.scan "n" 2 carried(%x : !xt) -> !xt, !xnt, !xnt {
  ^bb0(%xs: !xt):
    %zero = nd.constant 0.0 : f32 -> !x
    %h:4 = nd.scan "t" 6 carried(%zero : !x) stacked(%xs : !xt) -> !x, !xt, !xt, !xt {
    ^bb0(%p: !x, %xi: !x):
      %0 = nd.sin %p : (!x) -> !x
      %1 = nd.exp %0 : (!x) -> !x
      %2 = nd.add %1, %xi : (!x, !x) -> !x
      nd.yield %2, %2, %0, %1 : !x, !x, !x, !x
    }
    nd.yield %h#1, %h#2, %h#3 : !xt, !xt, !xt
  }
  %g = nd.scan "n" 2 backwards carried(%y#0 : !xt) stacked(%y#1, %y#2 : !xnt, !xnt) -> !xt {
  ^bb0(%d: !xt, %ss: !xt, %es: !xt):
    %zero = nd.constant 0.0 : f32 -> !x
    %h:2 = nd.scan "t" 6 backwards carried(%zero : !x) stacked(%d, %ss, %es : !xt, !xt, !xt) -> !x, !xt {
    ^bb0(%p: !x, %di: !x, %s: !x, %e: !x):
      %0 = nd.mul %s, %e : (!x, !x) -> !x
      %1 = nd.mul %0, %p : (!x, !x) -> !x
      %2 = nd.add %1, %di : (!x, !x) -> !x
      nd.yield %2, %2 : !x, !x
    }
    nd.yield %h#1 : !xt
  }
  return %g : !xt
}

// -----

!s = !nd.tensor<f32, []>
!x = !nd.tensor<f32, [i = 4]>
!xt = !nd.tensor<f32, [i = 4, t = 6]>
!xnt = !nd.tensor<f32, [i = 4, n = 2, t = 6]>
!n = !nd.tensor<f32, [n = 2]>
!ts = !nd.tensor<i32, [t = 6]>
!i = !nd.tensor<i32, []>

// What the inner loop reads comes from operands of the outer one, by entry or whole, or is a constant of its body.
// CHECK-LABEL: func.func @nested_operands
// CHEAP: %[[Y:.*]] = nd.scan "n" 2
// CHEAP: nd.scan "n" 2 backwards carried(%[[Y]] : {{.*}}) stacked(%arg1, %arg2 : {{.*}}) whole(%arg3 :
// CHEAP-NEXT: ^bb0(%[[D:[a-z0-9]+]]: {{.*}}, %[[XS:[a-z0-9]+]]: {{.*}}, %[[A:[a-z0-9]+]]: {{.*}}, %[[B:[a-z0-9]+]]: {{.*}}):
// CHEAP: %[[T:.*]] = nd.iota
// CHEAP: nd.scan "t" 6 backwards carried(%[[D]] : {{.*}}) stacked(%[[XS]], %[[T]] : {{.*}}) whole(%[[A]], %[[B]] :
// CHEAP-NEXT: ^bb0(%[[P:[a-z0-9]+]]: {{.*}}, %[[XI:[a-z0-9]+]]: {{.*}}, %[[TI:[a-z0-9]+]]: {{.*}}, %[[AI:[a-z0-9]+]]: {{.*}}, %[[BI:[a-z0-9]+]]: {{.*}}):
// CHEAP: nd.mul %[[XI]], %[[AI]]
// CHEAP: nd.mul %{{.*}}, %[[BI]]
// CHEAP: nd.cast %[[TI]]
func.func @nested_operands(%x: !x, %xs: !xnt, %a: !n, %b: !s) -> !x {
  %y:2 = nd.scan "n" 2 carried(%x : !x) stacked(%xs, %a : !xnt, !n) whole(%b : !s) -> !x, !xnt {
  ^bb0(%h: !x, %xi: !xt, %ai: !s, %bi: !s):
    %numbers = nd.iota : () -> !ts
    %z:2 = nd.scan "t" 6 carried(%h : !x) stacked(%xi, %numbers : !xt, !ts) whole(%ai, %bi : !s, !s) -> !x, !xt {
    ^bb0(%p: !x, %xj: !x, %t: !i, %aj: !s, %bj: !s):
      %0 = nd.mul %xj, %aj : (!x, !s) -> !x
      %1 = nd.mul %0, %bj : (!x, !s) -> !x
      %2 = nd.cast %t : (!i) -> !s
      %3 = nd.add %1, %2 : (!x, !s) -> !x
      %4 = nd.mul %3, %p : (!x, !x) -> !x
      nd.yield %4, %3 : !x, !x
    }
    nd.yield %z#0, %z#1 : !x, !xt
  }
  %g = nd.scan "n" 2 backwards carried(%y#0 : !x) stacked(%y#1 : !xnt) -> !x {
  ^bb0(%d: !x, %es: !xt):
    %z = nd.scan "t" 6 backwards carried(%d : !x) stacked(%es : !xt) -> !x {
    ^bb0(%p: !x, %e: !x):
      %0 = nd.mul %e, %p : (!x, !x) -> !x
      nd.yield %0 : !x
    }
    nd.yield %z : !x
  }
  return %g : !x
}

// -----

!x = !nd.tensor<f32, [batch = 4, choice = 2]>
!xs = !nd.tensor<f32, [batch = 4, choice = 2, n = 6]>
!y = !nd.tensor<f32, [experts = 2, group = 4]>
!ys = !nd.tensor<f32, [experts = 2, group = 4, n = 6]>

// By pointwise ops, but the layout cuts batch before the rename and experts after it: the tensor would move between ranks
// once more.
// CHECK-LABEL: func.func @moved
// NONE: nd.rename
// CHEAP: %[[Y:.*]] = nd.scan "n" 6
// CHEAP: nd.rename
// CHEAP: nd.scan "n" 6 backwards {{.*}} stacked(%[[Y]] :
// CHEAP-NOT: nd.rename
// FULL: nd.scan "n" 6 backwards
// FULL: nd.rename
// CHECK: return
module attributes {nd.mesh = #nd.mesh<data = 2>} {
  nd.rule "batch" -> ["data"]
  nd.rule "experts" -> ["data"]
  func.func @moved(%x: !x, %w: !xs, %d: !y) -> !y {
    %a, %b = nd.scan "n" 6 carried(%x : !x) stacked(%w : !xs) -> !x, !ys {
    ^bb0(%h: !x, %wi: !x):
      %0 = nd.rename %wi {from = ["batch", "choice"], to = ["group", "experts"]} : (!x) -> !y
      %1 = nd.add %h, %wi : (!x, !x) -> !x
      nd.yield %1, %0 : !x, !y
    }
    %g = nd.scan "n" 6 backwards carried(%d : !y) stacked(%b : !ys) -> !y {
    ^bb0(%e: !y, %y: !y):
      %0 = nd.mul %e, %y : (!y, !y) -> !y
      nd.yield %0 : !y
    }
    return %g : !y
  }
}
