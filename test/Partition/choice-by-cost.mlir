// RUN: mesh-opt %s -split-input-file -meshc-choose-plan -meshc-partition-program -meshc-verify-partition | FileCheck %s

!x = !nd.tensor<f32, [batch = 64, io = 32]>
!w = !nd.tensor<f32, [io = 32, wide = 256]>
!h = !nd.tensor<f32, [batch = 64, wide = 256]>
!b = !nd.tensor<f32, [wide = 256]>
!s = !nd.tensor<f32, []>
!xt = !nd.tensor<f32, [batch = 64, io = 32 on {t}]>
!wt = !nd.tensor<f32, [io = 32 on {t}, wide = 256]>
module attributes {nd.mesh = #nd.mesh<t = 4>} {
  // A whole value becomes a partial sum, on one rank of the group, and joins
  // others: one reduction for both products and what is between them.
  // CHECK-LABEL: func.func @joins
  // CHECK: %[[B:.*]] = spmd.reshard %arg3 : <f32, [wide = 256]> -> <f32, [wide = 256], sum {t}>
  // CHECK: nd.add %{{.*}}, %[[B]] {{.*}} -> !nd.tensor<f32, [batch = 64, wide = 256], sum {t}>
  // CHECK: spmd.reshard {{.*}}[batch = 64, wide = 256], sum {t}> -> <f32, [batch = 64, wide = 256]>
  // CHECK-NOT: spmd.reshard
  // CHECK: return
  func.func @joins(%x: !x {nd.sharding = !xt}, %u: !w {nd.sharding = !wt}, %v: !w {nd.sharding = !wt}, %b: !b {nd.sharding = !b})
      -> (!h {nd.sharding = !h}) {
    %p = nd.einsum %x, %u {reduced = ["io"], nd.sharding = [!h]} : (!x, !w) -> !h
    %q = nd.add %p, %b {nd.sharding = [!h], nd.open_dims = [["batch", "wide"]]} : (!h, !b) -> !h
    %r = nd.einsum %x, %v {reduced = ["io"], nd.sharding = [!h]} : (!x, !w) -> !h
    %s = nd.add %q, %r {nd.sharding = [!h], nd.open_dims = [["batch", "wide"]]} : (!h, !h) -> !h
    return %s : !h
  }

  // The sum of a product is larger than its operands: the axis moves from 'io'
  // to 'wide', where nothing needs to be summed.
  // CHECK-LABEL: func.func @moves
  // CHECK: nd.einsum {{.*}} -> !nd.tensor<f32, [batch = 64, wide = 256 on {t}]>
  // CHECK: nd.tanh
  // CHECK: nd.reduce_sum {{.*}} -> !nd.tensor<f32, [], sum {t}>
  func.func @moves(%x: !x {nd.sharding = !xt}, %w: !w {nd.sharding = !wt}) -> (!s {nd.sharding = !s}) {
    %h = nd.einsum %x, %w {reduced = ["io"], nd.sharding = [!h], nd.open_dims = [["batch", "wide"]]} : (!x, !w) -> !h
    %t = nd.tanh %h {nd.sharding = [!h], nd.open_dims = [["batch", "wide"]]} : (!h) -> !h
    %s = nd.reduce_sum %t {dims = ["batch", "wide"], nd.sharding = [!s]} : (!h) -> !s
    return %s : !s
  }

  // It stays where this saves less than half: the result is wanted whole.
  // CHECK-LABEL: func.func @stays
  // CHECK: nd.einsum {{.*}} -> !nd.tensor<f32, [batch = 64, wide = 256], sum {t}>
  func.func @stays(%x: !x {nd.sharding = !xt}, %w: !w {nd.sharding = !wt}) -> (!h {nd.sharding = !h}) {
    %h = nd.einsum %x, %w {reduced = ["io"], nd.sharding = [!h], nd.open_dims = [["batch", "wide"]]} : (!x, !w) -> !h
    return %h : !h
  }
}

// -----
// Bytes over a network cost more than those within a node: of two axes with
// equal bytes, the faster one cuts the op.
!i = !nd.tensor<f32, [i = 64]>
!a = !nd.tensor<f32, [i = 64 on {a}]>
!b = !nd.tensor<f32, [i = 64 on {b}]>
module attributes {nd.mesh = #nd.mesh<a = 4, b = 4>, spmd.byte_costs = {a = 5.0 : f64, b = 1.0 : f64}} {
  // CHECK-LABEL: func.func @faster_axis
  // CHECK: nd.mul {{.*}} -> !nd.tensor<f32, [i = 64 on {b}]>
  func.func @faster_axis(%x: !i {nd.sharding = !a}, %y: !i {nd.sharding = !b}) -> (!i {nd.sharding = !i}) {
    %z = nd.mul %x, %y {nd.sharding = [!i], nd.open_dims = [["i"]]} : (!i, !i) -> !i
    return %z : !i
  }
}

// -----
!i = !nd.tensor<f32, [i = 64]>
!a = !nd.tensor<f32, [i = 64 on {a}]>
!b = !nd.tensor<f32, [i = 64 on {b}]>
module attributes {nd.mesh = #nd.mesh<a = 4, b = 4>, spmd.byte_costs = {a = 1.0 : f64, b = 5.0 : f64}} {
  // CHECK-LABEL: func.func @other_is_faster
  // CHECK: nd.mul {{.*}} -> !nd.tensor<f32, [i = 64 on {a}]>
  func.func @other_is_faster(%x: !i {nd.sharding = !a}, %y: !i {nd.sharding = !b}) -> (!i {nd.sharding = !i}) {
    %z = nd.mul %x, %y {nd.sharding = [!i], nd.open_dims = [["i"]]} : (!i, !i) -> !i
    return %z : !i
  }
}

// -----
// What was a maximum and is reduced may join sums, over any axes, each time
// from its whole form.
!x = !nd.tensor<f32, [k = 64, n = 256]>
!xt = !nd.tensor<f32, [k = 64 on {t}, n = 256]>
!n = !nd.tensor<f32, [n = 256]>
module attributes {nd.mesh = #nd.mesh<t = 4>} {
  // CHECK-LABEL: func.func @maximum_joins
  // CHECK: %[[M:.*]] = spmd.reshard %{{.*}} : <f32, [n = 256], max {t}> -> <f32, [n = 256]>
  // CHECK: %[[P:.*]] = spmd.reshard %[[M]] : <f32, [n = 256]> -> <f32, [n = 256], sum {t}>
  // CHECK: nd.add %[[P]]
  func.func @maximum_joins(%x: !x {nd.sharding = !xt}) -> (!n {nd.sharding = !n}, !n {nd.sharding = !n}) {
    %m = nd.reduce_max %x {dims = ["k"], nd.sharding = [!n], nd.open_dims = [["n"]]} : (!x) -> !n
    %e = nd.exp %m {nd.sharding = [!n], nd.open_dims = [["n"]]} : (!n) -> !n
    %xx = nd.mul %x, %x {nd.sharding = [!x], nd.open_dims = [["k", "n"]]} : (!x, !x) -> !x
    %s = nd.reduce_sum %x {dims = ["k"], nd.sharding = [!n], nd.open_dims = [["n"]]} : (!x) -> !n
    %t = nd.reduce_sum %xx {dims = ["k"], nd.sharding = [!n], nd.open_dims = [["n"]]} : (!x) -> !n
    %a = nd.add %m, %s {nd.sharding = [!n], nd.open_dims = [["n"]]} : (!n, !n) -> !n
    %y = nd.add %a, %t {nd.sharding = [!n], nd.open_dims = [["n"]]} : (!n, !n) -> !n
    return %y, %e : !n, !n
  }
}

// -----
// The phase notes the least share of bytes for which it moved no axes, for
// whoever can tell whether it would shorten the step.
!x = !nd.tensor<f32, [batch = 64, io = 32]>
!w = !nd.tensor<f32, [io = 32, wide = 256]>
!h = !nd.tensor<f32, [batch = 64, wide = 256]>
!xt = !nd.tensor<f32, [batch = 64, io = 32 on {t}]>
!wt = !nd.tensor<f32, [io = 32 on {t}, wide = 256]>
// CHECK: module attributes {{.*}}spmd.refused_share = 6.25{{0*}}e-01 : f64
module attributes {nd.mesh = #nd.mesh<t = 4>} {
  // CHECK-LABEL: func.func @refused
  // CHECK: nd.einsum {{.*}} -> !nd.tensor<f32, [batch = 64, wide = 256], sum {t}>
  func.func @refused(%x: !x {nd.sharding = !xt}, %w: !w {nd.sharding = !wt}) -> (!h {nd.sharding = !h}) {
    %h = nd.einsum %x, %w {reduced = ["io"], nd.sharding = [!h], nd.open_dims = [["batch", "wide"]]} : (!x, !w) -> !h
    return %h : !h
  }
}

// -----
// Of a function that sends much more elsewhere, the block is not worth another
// program: it would save 0.3 % of the bytes, which is not noted.
!x = !nd.tensor<f32, [batch = 64, io = 32]>
!w = !nd.tensor<f32, [io = 32, wide = 256]>
!h = !nd.tensor<f32, [batch = 64, wide = 256]>
!xt = !nd.tensor<f32, [batch = 64, io = 32 on {t}]>
!wt = !nd.tensor<f32, [io = 32 on {t}, wide = 256]>
!l = !nd.tensor<f32, [large = 16384, wide = 256]>
!lt = !nd.tensor<f32, [large = 16384 on {t}, wide = 256]>
// CHECK-NOT: spmd.refused_share
module attributes {nd.mesh = #nd.mesh<t = 4>} {
  // CHECK-LABEL: func.func @small
  func.func @small(%x: !x {nd.sharding = !xt}, %w: !w {nd.sharding = !wt}, %l: !l {nd.sharding = !lt})
      -> (!h {nd.sharding = !h}, !l {nd.sharding = !l}) {
    %h = nd.einsum %x, %w {reduced = ["io"], nd.sharding = [!h], nd.open_dims = [["batch", "wide"]]} : (!x, !w) -> !h
    %n = nd.neg %l {nd.sharding = [!l]} : (!l) -> !l
    return %h, %n : !h, !l
  }
}

// -----
// Only the training step is compared: what another function refuses is not
// noted.
!x = !nd.tensor<f32, [batch = 64, io = 32]>
!w = !nd.tensor<f32, [io = 32, wide = 256]>
!h = !nd.tensor<f32, [batch = 64, wide = 256]>
!xt = !nd.tensor<f32, [batch = 64, io = 32 on {t}]>
!wt = !nd.tensor<f32, [io = 32 on {t}, wide = 256]>
// CHECK-NOT: spmd.refused_share
module attributes {nd.mesh = #nd.mesh<t = 4>} {
  // CHECK-LABEL: func.func @train_step
  func.func @train_step(%x: !x {nd.sharding = !xt}) -> (!x {nd.sharding = !xt}) {
    return %x : !x
  }
  // CHECK-LABEL: func.func @eval_step
  func.func @eval_step(%x: !x {nd.sharding = !xt}, %w: !w {nd.sharding = !wt}) -> (!h {nd.sharding = !h}) {
    %h = nd.einsum %x, %w {reduced = ["io"], nd.sharding = [!h], nd.open_dims = [["batch", "wide"]]} : (!x, !w) -> !h
    return %h : !h
  }
}

// -----
// An axis that moves may cut a dim behind the axes of its rule, and what uses
// the value computes on these blocks. A dim that a rule keeps whole stays so.
!x = !nd.tensor<f32, [batch = 64, io = 32]>
!w = !nd.tensor<f32, [io = 32, wide = 256]>
!h = !nd.tensor<f32, [batch = 64, wide = 256]>
!s = !nd.tensor<f32, []>
!xr = !nd.tensor<f32, [batch = 64, io = 32 on {r}]>
!wrc = !nd.tensor<f32, [io = 32 on {r}, wide = 256 on {c}]>
!wr = !nd.tensor<f32, [io = 32 on {r}, wide = 256]>
!hc = !nd.tensor<f32, [batch = 64, wide = 256 on {c}]>
module attributes {nd.mesh = #nd.mesh<r = 4, c = 2>} {
  // CHECK-LABEL: func.func @cuts_further
  // CHECK: nd.einsum {{.*}} -> !nd.tensor<f32, [batch = 64, wide = 256 on {c, r}]>
  // CHECK: nd.tanh {{.*}} -> !nd.tensor<f32, [batch = 64, wide = 256 on {c, r}]>
  // CHECK: nd.reduce_sum {{.*}} -> !nd.tensor<f32, [], sum {r, c}>
  func.func @cuts_further(%x: !x {nd.sharding = !xr}, %w: !w {nd.sharding = !wrc}) -> (!s {nd.sharding = !s}) {
    %h = nd.einsum %x, %w {reduced = ["io"], nd.sharding = [!hc], nd.open_dims = [["batch"]]} : (!x, !w) -> !h
    %t = nd.tanh %h {nd.sharding = [!hc], nd.open_dims = [["batch"]]} : (!h) -> !h
    %s = nd.reduce_sum %t {dims = ["batch", "wide"], nd.sharding = [!s]} : (!h) -> !s
    return %s : !s
  }

  // CHECK-LABEL: func.func @stays_whole
  // CHECK-NOT: wide = 256 on
  // CHECK: return
  func.func @stays_whole(%x: !x {nd.sharding = !xr}, %w: !w {nd.sharding = !wr}) -> (!s {nd.sharding = !s}) {
    %h = nd.einsum %x, %w {reduced = ["io"], nd.sharding = [!h], nd.open_dims = [["batch"]]} : (!x, !w) -> !h
    %t = nd.tanh %h {nd.sharding = [!h], nd.open_dims = [["batch"]]} : (!h) -> !h
    %s = nd.reduce_sum %t {dims = ["batch", "wide"], nd.sharding = [!s]} : (!h) -> !s
    return %s : !s
  }
}

// -----
// x is wanted whole, so that each rank could compute the sum alone. A sum of
// blocks takes a fourth of the work, and an all-reduce of one number.
!n = !nd.tensor<f32, [n = 16]>
!nt = !nd.tensor<f32, [n = 16 on {t}]>
!s = !nd.tensor<f32, []>
module attributes {nd.mesh = #nd.mesh<t = 4>} {
  // CHECK-LABEL: func.func @dear_points
  // CHECK: nd.reduce_sum {{.*}} -> !nd.tensor<f32, [], sum {t}>
  func.func @dear_points(%x: !n {nd.sharding = !nt}) -> (!n {nd.sharding = !n}, !s {nd.sharding = !s}) {
    %e = nd.exp %x {nd.sharding = [!n], nd.open_dims = [["n"]]} : (!n) -> !n
    %s = nd.reduce_sum %e {dims = ["n"], nd.sharding = [!s]} : (!n) -> !s
    return %x, %s : !n, !s
  }
}
