// RUN: mesh-opt %s -split-input-file -meshc-assign-shardings -meshc-choose-plan=kept-byte-cost=0.01 -meshc-partition-program -cse -meshc-verify-partition | FileCheck %s

// The second loop could take %m from the first one. But it takes %r, too, and
// then needs no %m: only the stack of %r is kept.
!x = !nd.tensor<f32, [batch = 64, io = 32]>
!xs = !nd.tensor<f32, [batch = 64, io = 32, layers = 4]>
!k = !nd.tensor<f32, [batch = 64, io = 32, z = 8]>
!ks = !nd.tensor<f32, [batch = 64, io = 32, layers = 4, z = 8]>
module attributes {nd.mesh = #nd.mesh<data = 2, tensor = 2>} {
  nd.rule "batch" -> ["data"]
  nd.rule "batch" -> ["tensor"] in "k"
  nd.rule "batch" -> ["tensor"] in "m"
  nd.rule "batch" -> ["tensor"] in "r"
  // CHECK-LABEL: func.func @unused
  // CHECK: %[[F:.*]]:3 = nd.scan "layers" 4
  // CHECK: nd.reduce_sum
  // CHECK-NEXT: %[[R:.*]] = spmd.reshard {{.*}} {nd.name = "r"}
  // CHECK: nd.yield %{{.*}}, %{{.*}}, %[[R]]
  // CHECK: nd.scan "layers" 4 backwards {{.*}} stacked(%[[F]]#1, %arg1, %[[F]]#2 : !
  // CHECK-NOT: nd.mul
  // CHECK: return
  func.func @unused(%x: !x, %kk: !ks {nd.name = "k"}) -> !x {
    %y:2 = nd.scan "layers" 4 carried(%x : !x) stacked(%kk : !ks) -> !x, !xs {
    ^bb0(%c: !x, %k: !k):
      %e = nd.exp %c : (!x) -> !x
      %m = nd.mul %e, %k {nd.name = "m"} : (!x, !k) -> !k
      %r = nd.reduce_sum %m {dims = ["z"], nd.name = "r"} : (!k) -> !x
      %a = nd.tanh %r  : (!x) -> !x
      nd.yield %a, %e : !x, !x
    }
    %z = nd.scan "layers" 4 backwards carried(%y#0 : !x) stacked(%y#1, %kk : !xs, !ks) -> !x {
    ^bb0(%d: !x, %e: !x, %k: !k):
      %m = nd.mul %e, %k {nd.name = "m"} : (!x, !k) -> !k
      %r = nd.reduce_sum %m {dims = ["z"], nd.name = "r"} : (!k) -> !x
      %a = nd.tanh %r  : (!x) -> !x
      %b = nd.add %a, %d : (!x, !x) -> !x
      nd.yield %b : !x
    }
    return %z : !x
  }

  // Nor is %m kept if the second loop computes it twice.
  // CHECK-LABEL: func.func @unused_twice
  // CHECK: %[[F:.*]]:3 = nd.scan "layers" 4
  // CHECK: %[[R:.*]] = spmd.reshard {{.*}} {nd.name = "r"}
  // CHECK: nd.yield %{{.*}}, %{{.*}}, %[[R]]
  // CHECK: nd.scan "layers" 4 backwards {{.*}} stacked(%[[F]]#1, %arg1, %[[F]]#2, %[[F]]#2 : !
  // CHECK-NOT: nd.mul
  // CHECK: return
  func.func @unused_twice(%x: !x, %kk: !ks {nd.name = "k"}) -> !x {
    %y:2 = nd.scan "layers" 4 carried(%x : !x) stacked(%kk : !ks) -> !x, !xs {
    ^bb0(%c: !x, %k: !k):
      %e = nd.exp %c : (!x) -> !x
      %m = nd.mul %e, %k {nd.name = "m"} : (!x, !k) -> !k
      %r = nd.reduce_sum %m {dims = ["z"], nd.name = "r"} : (!k) -> !x
      %a = nd.tanh %r  : (!x) -> !x
      nd.yield %a, %e : !x, !x
    }
    %z = nd.scan "layers" 4 backwards carried(%y#0 : !x) stacked(%y#1, %kk : !xs, !ks) -> !x {
    ^bb0(%d: !x, %e: !x, %k: !k):
      %m = nd.mul %e, %k {nd.name = "m"} : (!x, !k) -> !k
      %n = nd.mul %e, %k {nd.name = "m"} : (!x, !k) -> !k
      %r = nd.reduce_sum %m {dims = ["z"], nd.name = "r"} : (!k) -> !x
      %s = nd.reduce_sum %n {dims = ["z"], nd.name = "r"} : (!k) -> !x
      %a = nd.tanh %r  : (!x) -> !x
      %t = nd.exp %s  : (!x) -> !x
      %b = nd.add %a, %d : (!x, !x) -> !x
      %f = nd.add %b, %t : (!x, !x) -> !x
      nd.yield %f : !x
    }
    return %z : !x
  }
}

// -----
// The layout cuts "seq" of what both loops gather, and it is not kept so. But
// it does not cut "memory", another name of the same dim: gathered there, the
// first loop keeps it, and the second one takes it for both names.
!c = !nd.tensor<f32, [heads = 64, memory = 64]>
!d = !nd.tensor<f32, [heads = 64, model = 8]>
!x = !nd.tensor<f32, [batch = 4, model = 8, seq = 64]>
!xs = !nd.tensor<f32, [batch = 4, layers = 4, model = 8, seq = 64]>
!s = !nd.tensor<f32, [batch = 4, memory = 64, model = 8]>
!q = !nd.tensor<f32, [batch = 4, heads = 64, seq = 64]>
!k = !nd.tensor<f32, [batch = 4, heads = 64, memory = 64]>
!qs = !nd.tensor<f32, [batch = 4, heads = 64, layers = 4, seq = 64]>
!ks = !nd.tensor<f32, [batch = 4, heads = 64, layers = 4, memory = 64]>
!i = !nd.tensor<i32, [batch = 4, slot = 96]>
!t = !nd.tensor<f32, [batch = 4, model = 8, slot = 96]>
!u = !nd.tensor<f32, [batch = 4, heads = 64, slot = 96]>
!us = !nd.tensor<f32, [batch = 4, heads = 64, layers = 4, slot = 96]>
module attributes {nd.mesh = #nd.mesh<tensor = 2>} {
  nd.rule "heads" -> ["tensor"]
  nd.rule "seq" -> ["tensor"] weak
  // CHECK-LABEL: func.func @renamed
  // CHECK: %[[F:.*]]:2 = nd.scan "layers" 4
  // CHECK: %[[X:.*]] = spmd.reshard {{.*}} -> <f32, [batch = 4, model = 8, seq = 64]>
  // CHECK-NOT: spmd.reshard
  // CHECK: nd.yield %{{.*}}, %[[S:.*]] : {{.*}}, !nd.tensor<f32, [batch = 4, memory = 64, model = 8]>
  // CHECK: nd.scan "layers" 4 backwards {{.*}}%[[F]]#1 : !
  // CHECK-NEXT: ^bb0({{.*}}, %[[S:[^:]*]]: !nd.tensor<f32, [batch = 4, memory = 64, model = 8]>):
  // CHECK-NOT: spmd.reshard
  // CHECK: nd.einsum %{{.*}}, %[[S]]
  // CHECK: %[[X:.*]] = nd.rename %[[S]] {from = ["memory"], to = ["seq"]}
  // CHECK: nd.einsum %{{.*}}, %[[X]]
  // CHECK-NOT: spmd.reshard
  // CHECK: return
  func.func @renamed(%c0: !c, %d0: !d, %xs: !xs, %w: !d, %qs: !qs, %ks: !ks) -> (!c, !d) {
    %y = nd.scan "layers" 4 carried(%c0 : !c) stacked(%xs : !xs) whole(%w : !d) -> !c {
    ^bb0(%c: !c, %x: !x, %v: !d):
      %n = nd.exp %x : (!x) -> !x
      %s = nd.rename %n {from = ["seq"], to = ["memory"]} : (!x) -> !s
      %q = nd.einsum %n, %v {reduced = ["model"]} : (!x, !d) -> !q
      %k = nd.einsum %s, %v {reduced = ["model"]} : (!s, !d) -> !k
      %p = nd.einsum %q, %k {reduced = ["batch", "seq"]} : (!q, !k) -> !c
      %o = nd.add %c, %p : (!c, !c) -> !c
      nd.yield %o : !c
    }
    %z = nd.scan "layers" 4 backwards carried(%d0 : !d) stacked(%xs, %qs, %ks : !xs, !qs, !ks) -> !d {
    ^bb0(%d: !d, %x: !x, %q: !q, %k: !k):
      %n = nd.exp %x : (!x) -> !x
      %s = nd.rename %n {from = ["seq"], to = ["memory"]} : (!x) -> !s
      %a = nd.einsum %k, %s {reduced = ["batch", "memory"]} : (!k, !s) -> !d
      %b = nd.einsum %q, %n {reduced = ["batch", "seq"]} : (!q, !x) -> !d
      %e = nd.add %d, %a : (!d, !d) -> !d
      %o = nd.add %e, %b : (!d, !d) -> !d
      nd.yield %o : !d
    }
    return %y, %z : !c, !d
  }

  // The order of its products does not matter.
  // CHECK-LABEL: func.func @renamed_first
  // CHECK: nd.scan "layers" 4 backwards
  // CHECK-NOT: spmd.reshard
  // CHECK: return
  func.func @renamed_first(%c0: !c, %d0: !d, %xs: !xs, %w: !d, %qs: !qs, %ks: !ks) -> (!c, !d) {
    %y = nd.scan "layers" 4 carried(%c0 : !c) stacked(%xs : !xs) whole(%w : !d) -> !c {
    ^bb0(%c: !c, %x: !x, %v: !d):
      %n = nd.exp %x : (!x) -> !x
      %s = nd.rename %n {from = ["seq"], to = ["memory"]} : (!x) -> !s
      %q = nd.einsum %n, %v {reduced = ["model"]} : (!x, !d) -> !q
      %k = nd.einsum %s, %v {reduced = ["model"]} : (!s, !d) -> !k
      %p = nd.einsum %q, %k {reduced = ["batch", "seq"]} : (!q, !k) -> !c
      %o = nd.add %c, %p : (!c, !c) -> !c
      nd.yield %o : !c
    }
    %z = nd.scan "layers" 4 backwards carried(%d0 : !d) stacked(%xs, %qs, %ks : !xs, !qs, !ks) -> !d {
    ^bb0(%d: !d, %x: !x, %q: !q, %k: !k):
      %n = nd.exp %x : (!x) -> !x
      %s = nd.rename %n {from = ["seq"], to = ["memory"]} : (!x) -> !s
      %b = nd.einsum %q, %n {reduced = ["batch", "seq"]} : (!q, !x) -> !d
      %a = nd.einsum %k, %s {reduced = ["batch", "memory"]} : (!k, !s) -> !d
      %e = nd.add %d, %a : (!d, !d) -> !d
      %o = nd.add %e, %b : (!d, !d) -> !d
      nd.yield %o : !d
    }
    return %y, %z : !c, !d
  }

  // Both loops look up entries of what they gather. The first one keeps them:
  // the layout does not cut "slot".
  // CHECK-LABEL: func.func @looked_up
  // CHECK: %[[F:.*]]:2 = nd.scan "layers" 4
  // CHECK: %[[X:.*]] = spmd.reshard {{.*}} -> <f32, [batch = 4, model = 8, seq = 64]>
  // CHECK: %[[S:.*]] = nd.gather %[[X]]
  // CHECK: nd.yield %{{.*}}, %[[S]] : {{.*}}, !nd.tensor<f32, [batch = 4, model = 8, slot = 96]>
  // CHECK: nd.scan "layers" 4 backwards {{.*}}%arg5, %[[F]]#1 : !
  // CHECK-NOT: spmd.reshard
  // CHECK: return
  func.func @looked_up(%c0: !u, %d0: !d, %xs: !xs, %w: !d, %i: !i, %us: !us) -> (!u, !d) {
    %y = nd.scan "layers" 4 carried(%c0 : !u) stacked(%xs : !xs) whole(%w, %i : !d, !i) -> !u {
    ^bb0(%c: !u, %x: !x, %v: !d, %j: !i):
      %n = nd.exp %x : (!x) -> !x
      %t = nd.gather %n, %j {dim = "seq"} : (!x, !i) -> !t
      %p = nd.einsum %t, %v {reduced = ["model"]} : (!t, !d) -> !u
      %o = nd.add %c, %p : (!u, !u) -> !u
      nd.yield %o : !u
    }
    %z = nd.scan "layers" 4 backwards carried(%d0 : !d) stacked(%xs, %us : !xs, !us) whole(%i : !i) -> !d {
    ^bb0(%d: !d, %x: !x, %u: !u, %j: !i):
      %n = nd.exp %x : (!x) -> !x
      %t = nd.gather %n, %j {dim = "seq"} : (!x, !i) -> !t
      %a = nd.einsum %u, %t {reduced = ["batch", "slot"]} : (!u, !t) -> !d
      %o = nd.add %d, %a : (!d, !d) -> !d
      nd.yield %o : !d
    }
    return %y, %z : !u, !d
  }
}

// -----
// If the layout cuts "slot" as well, what was looked up whole is not kept.
!d = !nd.tensor<f32, [heads = 64, model = 8]>
!x = !nd.tensor<f32, [batch = 4, model = 8, seq = 64]>
!xs = !nd.tensor<f32, [batch = 4, layers = 4, model = 8, seq = 64]>
!i = !nd.tensor<i32, [batch = 4, slot = 96]>
!t = !nd.tensor<f32, [batch = 4, model = 8, slot = 96]>
!u = !nd.tensor<f32, [batch = 4, heads = 64, slot = 96]>
!us = !nd.tensor<f32, [batch = 4, heads = 64, layers = 4, slot = 96]>
module attributes {nd.mesh = #nd.mesh<tensor = 2>} {
  nd.rule "heads" -> ["tensor"]
  nd.rule "seq" -> ["tensor"] weak
  nd.rule "slot" -> ["tensor"] weak
  // CHECK-LABEL: func.func @cut_slots
  // CHECK: nd.scan "layers" 4
  // CHECK: nd.yield %{{[0-9]+}} : !
  // CHECK: nd.scan "layers" 4 backwards
  // CHECK: spmd.reshard
  // CHECK: return
  func.func @cut_slots(%c0: !u, %d0: !d, %xs: !xs, %w: !d, %i: !i, %us: !us) -> (!u, !d) {
    %y = nd.scan "layers" 4 carried(%c0 : !u) stacked(%xs : !xs) whole(%w, %i : !d, !i) -> !u {
    ^bb0(%c: !u, %x: !x, %v: !d, %j: !i):
      %n = nd.exp %x : (!x) -> !x
      %t = nd.gather %n, %j {dim = "seq"} : (!x, !i) -> !t
      %p = nd.einsum %t, %v {reduced = ["model"]} : (!t, !d) -> !u
      %o = nd.add %c, %p : (!u, !u) -> !u
      nd.yield %o : !u
    }
    %z = nd.scan "layers" 4 backwards carried(%d0 : !d) stacked(%xs, %us : !xs, !us) whole(%i : !i) -> !d {
    ^bb0(%d: !d, %x: !x, %u: !u, %j: !i):
      %n = nd.exp %x : (!x) -> !x
      %t = nd.gather %n, %j {dim = "seq"} : (!x, !i) -> !t
      %a = nd.einsum %u, %t {reduced = ["batch", "slot"]} : (!u, !t) -> !d
      %o = nd.add %d, %a : (!d, !d) -> !d
      nd.yield %o : !d
    }
    return %y, %z : !u, !d
  }
}

// -----
// The copy is known for as long as either name is used. By itself, the second
// product would rather move %q, which is smaller than %n.
!d = !nd.tensor<f32, [heads = 8, model = 32]>
!x = !nd.tensor<f32, [batch = 4, model = 32, seq = 64]>
!xs = !nd.tensor<f32, [batch = 4, layers = 4, model = 32, seq = 64]>
!s = !nd.tensor<f32, [batch = 4, memory = 64, model = 32]>
!q = !nd.tensor<f32, [batch = 4, heads = 8, seq = 64]>
!k = !nd.tensor<f32, [batch = 4, heads = 8, memory = 64]>
!qs = !nd.tensor<f32, [batch = 4, heads = 8, layers = 4, seq = 64]>
!ks = !nd.tensor<f32, [batch = 4, heads = 8, layers = 4, memory = 64]>
!v = !nd.tensor<f32, [model = 32, wide = 256]>
!y = !nd.tensor<f32, [batch = 4, memory = 64, wide = 256]>
module attributes {nd.mesh = #nd.mesh<tensor = 2>} {
  nd.rule "heads" -> ["tensor"]
  nd.rule "wide" -> ["tensor"]
  nd.rule "seq" -> ["tensor"] weak
  // CHECK-LABEL: func.func @small_gradients
  // CHECK: %[[F:.*]]:2 = nd.scan "layers" 4
  // CHECK: nd.scan "layers" 4 backwards {{.*}}%[[F]]#1 : !
  // CHECK-NOT: spmd.reshard
  // CHECK: return
  func.func @small_gradients(%y0: !y, %d0: !d, %xs: !xs, %v: !v, %qs: !qs, %ks: !ks) -> (!y, !d) {
    %y1 = nd.scan "layers" 4 carried(%y0 : !y) stacked(%xs : !xs) whole(%v : !v) -> !y {
    ^bb0(%c: !y, %x: !x, %w: !v):
      %n = nd.exp %x : (!x) -> !x
      %s = nd.rename %n {from = ["seq"], to = ["memory"]} : (!x) -> !s
      %p = nd.einsum %s, %w {reduced = ["model"]} : (!s, !v) -> !y
      %o = nd.add %c, %p : (!y, !y) -> !y
      nd.yield %o : !y
    }
    %z = nd.scan "layers" 4 backwards carried(%d0 : !d) stacked(%xs, %qs, %ks : !xs, !qs, !ks) -> !d {
    ^bb0(%d: !d, %x: !x, %q: !q, %k: !k):
      %n = nd.exp %x : (!x) -> !x
      %s = nd.rename %n {from = ["seq"], to = ["memory"]} : (!x) -> !s
      %a = nd.einsum %k, %s {reduced = ["batch", "memory"]} : (!k, !s) -> !d
      %e = nd.add %d, %a : (!d, !d) -> !d
      %b = nd.einsum %q, %n {reduced = ["batch", "seq"]} : (!q, !x) -> !d
      %o = nd.add %e, %b : (!d, !d) -> !d
      nd.yield %o : !d
    }
    return %y1, %z : !y, !d
  }
}
