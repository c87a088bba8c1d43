// RUN: mesh-opt %s -split-input-file -meshc-assign-shardings -meshc-choose-plan=kept-byte-cost=0.25 -meshc-partition-program -cse -meshc-verify-partition | FileCheck %s

!x = !nd.tensor<f32, [batch = 64, io = 32]>
!h = !nd.tensor<f32, [batch = 64, hidden = 16]>
!w = !nd.tensor<f32, [hidden = 16, io = 32]>
!ws = !nd.tensor<f32, [hidden = 16, io = 32, layers = 4]>
!vs = !nd.tensor<f32, [hidden = 16, io = 32, steps = 4]>
!i = !nd.tensor<i1, []>
module attributes {nd.mesh = #nd.mesh<data = 2, tensor = 2>} {
  nd.rule "batch" -> ["data"]
  nd.rule "hidden" -> ["tensor"]
  nd.rule "hidden" -> ["data"] in "parameter"
  nd.rule "hidden" -> ["data"] in "g"

  // Both loops need entries of the weight elsewhere than they lie. The second
  // one takes them from the first one.
  // CHECK-LABEL: func.func @entries
  // CHECK: %[[F:.*]]:2 = nd.scan "layers" 4 carried(%arg0
  // CHECK-SAME: -> {{.*}}, !nd.tensor<f32, [hidden = 16 on {tensor}, io = 32, layers = 4]>
  // CHECK: %[[W:.*]] = spmd.reshard %{{.*}} {nd.name = "w"} {{.*}} -> <f32, [hidden = 16 on {tensor}, io = 32]>
  // CHECK: nd.yield %{{.*}}, %[[W]]
  // CHECK: nd.scan "layers" 4 backwards carried(%[[F]]#0 {{.*}} stacked(%arg1, %[[F]]#1
  // CHECK-NEXT: ^bb0(%[[C:[^:]*]]: {{[^%]*}}, %[[E:[^:]*]]: {{[^%]*}}, %[[K:[^:]*]]: !nd.tensor<f32, [hidden = 16 on {tensor}, io = 32]>):
  // CHECK-NOT: spmd.reshard %[[E]]
  // CHECK: nd.einsum %[[C]], %[[K]]
  // CHECK-NOT: spmd.reshard %[[E]]
  // CHECK: return
  func.func @entries(%x: !x, %w: !ws {nd.name = "w", nd.role = "parameter"}) -> !x {
    %y = nd.scan "layers" 4 carried(%x : !x) stacked(%w : !ws) -> !x {
    ^bb0(%c: !x, %e: !w):
      %h = nd.einsum %c, %e {reduced = ["io"]} : (!x, !w) -> !h
      %o = nd.einsum %h, %e {reduced = ["hidden"]} : (!h, !w) -> !x
      nd.yield %o : !x
    }
    %z = nd.scan "layers" 4 backwards carried(%y : !x) stacked(%w : !ws) -> !x {
    ^bb0(%c: !x, %e: !w):
      %h = nd.einsum %c, %e {reduced = ["io"]} : (!x, !w) -> !h
      %o = nd.einsum %h, %e {reduced = ["hidden"]} : (!h, !w) -> !x
      nd.yield %o : !x
    }
    return %z : !x
  }

  // What both compute from the same entries. The second loop does not compute
  // it.
  // CHECK-LABEL: func.func @recomputed
  // CHECK: %[[F:.*]]:2 = nd.scan "layers" 4
  // CHECK: %[[W:.*]] = spmd.reshard %{{.*}} -> <f32, [hidden = 16 on {tensor}, io = 32]>
  // CHECK: nd.yield %{{.*}}, %[[W]]
  // CHECK: nd.scan "layers" 4 {{.*}}%[[F]]#1
  // CHECK-NOT: nd.exp
  // CHECK-NOT: -> <f32, [hidden = 16 on {tensor}, io = 32]>
  // CHECK: return
  func.func @recomputed(%x: !x, %w: !ws {nd.name = "w", nd.role = "parameter"}) -> !x {
    %y = nd.scan "layers" 4 carried(%x : !x) stacked(%w : !ws) -> !x {
    ^bb0(%c: !x, %e: !w):
      %g = nd.exp %e {nd.name = "g"} : (!w) -> !w
      %h = nd.einsum %c, %g {reduced = ["io"]} : (!x, !w) -> !h
      %o = nd.einsum %h, %g {reduced = ["hidden"]} : (!h, !w) -> !x
      nd.yield %o : !x
    }
    %z = nd.scan "layers" 4 backwards carried(%y : !x) stacked(%w : !ws) -> !x {
    ^bb0(%c: !x, %e: !w):
      %g = nd.exp %e {nd.name = "g"} : (!w) -> !w
      %h = nd.einsum %c, %g {reduced = ["io"]} : (!x, !w) -> !h
      %o = nd.einsum %h, %g {reduced = ["hidden"]} : (!h, !w) -> !x
      nd.yield %o : !x
    }
    return %z : !x
  }

  // Equal ops on other operands, or other ops on the same ones, are something
  // else.
  // CHECK-LABEL: func.func @others
  // CHECK: nd.scan "layers" 4 {{.*}} -> !nd.tensor<f32, [batch = 64 on {data}, io = 32]>{{ }}
  // CHECK: nd.scan "layers" 4 {{.*}} stacked(%arg1, %arg2 : !
  // CHECK: %[[F:.*]] = nd.sqrt
  // CHECK: spmd.reshard %[[F]] {nd.name = "g"}
  // CHECK: %[[G:.*]] = nd.exp
  // CHECK: spmd.reshard %[[G]] {nd.name = "g"}
  // CHECK: return
  func.func @others(%x: !x, %v: !ws {nd.name = "v", nd.role = "parameter"}, %w: !ws {nd.name = "w", nd.role = "parameter"}) -> !x {
    %y = nd.scan "layers" 4 carried(%x : !x) stacked(%w : !ws) -> !x {
    ^bb0(%c: !x, %e: !w):
      %g = nd.exp %e {nd.name = "g"} : (!w) -> !w
      %h = nd.einsum %c, %g {reduced = ["io"]} : (!x, !w) -> !h
      %o = nd.einsum %h, %g {reduced = ["hidden"]} : (!h, !w) -> !x
      nd.yield %o : !x
    }
    %z = nd.scan "layers" 4 backwards carried(%y : !x) stacked(%v, %w : !ws, !ws) -> !x {
    ^bb0(%c: !x, %d: !w, %e: !w):
      %f = nd.sqrt %e {nd.name = "g"} : (!w) -> !w
      %g = nd.exp %d {nd.name = "g"} : (!w) -> !w
      %h = nd.einsum %c, %f {reduced = ["io"]} : (!x, !w) -> !h
      %o = nd.einsum %h, %g {reduced = ["hidden"]} : (!h, !w) -> !x
      nd.yield %o : !x
    }
    return %z : !x
  }

  // So are entries along another dim, and those of a loop that may end before
  // it has stacked all of them.
  // CHECK-LABEL: func.func @other_entries
  // CHECK: nd.scan "layers" 4 while
  // CHECK: spmd.reshard %{{.*}} {nd.name = "w"}
  // CHECK: nd.scan "steps" 4
  // CHECK: spmd.reshard %{{.*}} {nd.name = "v"}
  // CHECK: nd.scan "layers" 4
  // CHECK: spmd.reshard %{{.*}} {nd.name = "w"}
  // CHECK: return
  func.func @other_entries(%x: !x, %i: !i, %w: !ws {nd.name = "w", nd.role = "parameter"}, %v: !vs {nd.name = "v", nd.role = "parameter"}) -> !x {
    %y:2 = nd.scan "layers" 4 while carried(%i, %x : !i, !x) stacked(%w : !ws) -> !i, !x {
    ^bb0(%on: !i, %c: !x, %e: !w):
      %h = nd.einsum %c, %e {reduced = ["io"]} : (!x, !w) -> !h
      %o = nd.einsum %h, %e {reduced = ["hidden"]} : (!h, !w) -> !x
      nd.yield %on, %o : !i, !x
    }
    %z = nd.scan "steps" 4 carried(%y#1 : !x) stacked(%v : !vs) -> !x {
    ^bb0(%c: !x, %e: !w):
      %h = nd.einsum %c, %e {reduced = ["io"]} : (!x, !w) -> !h
      %o = nd.einsum %h, %e {reduced = ["hidden"]} : (!h, !w) -> !x
      nd.yield %o : !x
    }
    %u = nd.scan "layers" 4 backwards carried(%z : !x) stacked(%w : !ws) -> !x {
    ^bb0(%c: !x, %e: !w):
      %h = nd.einsum %c, %e {reduced = ["io"]} : (!x, !w) -> !h
      %o = nd.einsum %h, %e {reduced = ["hidden"]} : (!h, !w) -> !x
      nd.yield %o : !x
    }
    return %u : !x
  }
}

// -----
// What the layout cuts is not kept gathered: both loops gather the weight.
!x = !nd.tensor<f32, [batch = 64, io = 32]>
!h = !nd.tensor<f32, [batch = 64, hidden = 16]>
!w = !nd.tensor<f32, [hidden = 16, io = 32]>
!ws = !nd.tensor<f32, [hidden = 16, io = 32, layers = 4]>
module attributes {nd.mesh = #nd.mesh<data = 2>} {
  nd.rule "batch" -> ["data"]
  nd.rule "hidden" -> ["data"] in "parameter"
  // CHECK-LABEL: func.func @gathered
  // CHECK: nd.scan "layers" 4
  // CHECK: spmd.reshard %{{.*}} {nd.name = "w"} {{.*}} -> <f32, [hidden = 16, io = 32]>
  // CHECK: nd.scan "layers" 4
  // CHECK: spmd.reshard %{{.*}} {nd.name = "w"} {{.*}} -> <f32, [hidden = 16, io = 32]>
  // CHECK: return
  func.func @gathered(%x: !x, %w: !ws {nd.name = "w", nd.role = "parameter"}) -> !x {
    %y = nd.scan "layers" 4 carried(%x : !x) stacked(%w : !ws) -> !x {
    ^bb0(%c: !x, %e: !w):
      %h = nd.einsum %c, %e {reduced = ["io"]} : (!x, !w) -> !h
      %o = nd.einsum %h, %e {reduced = ["hidden"]} : (!h, !w) -> !x
      nd.yield %o : !x
    }
    %z = nd.scan "layers" 4 backwards carried(%y : !x) stacked(%w : !ws) -> !x {
    ^bb0(%c: !x, %e: !w):
      %h = nd.einsum %c, %e {reduced = ["io"]} : (!x, !w) -> !h
      %o = nd.einsum %h, %e {reduced = ["hidden"]} : (!h, !w) -> !x
      nd.yield %o : !x
    }
    return %z : !x
  }
}
