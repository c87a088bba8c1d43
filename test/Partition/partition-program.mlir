// RUN: mesh-opt %s -meshc-assign-shardings -meshc-choose-plan -meshc-partition-program -meshc-verify-partition | FileCheck %s

!x = !nd.tensor<f32, [batch = 64, io = 32]>
!h = !nd.tensor<f32, [batch = 64, hidden = 16]>
!w = !nd.tensor<f32, [hidden = 16, io = 32]>
!b = !nd.tensor<f32, [batch = 64]>
!s = !nd.tensor<f32, []>
module attributes {nd.mesh = #nd.mesh<data = 2, tensor = 2>} {
  nd.rule "batch" -> ["data"]
  nd.rule "io" -> ["tensor"]

  // A product over a cut dim is a partial sum; what is not linear needs all of
  // it; the other use takes the same reshard.
  // CHECK-LABEL: func.func @reduced_once
  // CHECK: %[[P:.*]] = nd.einsum %arg0, %arg1 {{.*}} -> !nd.tensor<f32, [batch = 64 on {data}, hidden = 16], sum {tensor}>
  // CHECK: %[[R:.*]] = spmd.reshard %[[P]] {nd.name = "h"} : {{.*}} -> <f32, [batch = 64 on {data}, hidden = 16]>
  // CHECK: nd.relu %[[R]]
  // CHECK: nd.tanh %[[R]]
  // CHECK-NOT: spmd.reshard
  func.func @reduced_once(%x: !x, %w: !w) -> (!h, !h) {
    %h = nd.einsum %x, %w {reduced = ["io"], nd.name = "h"} : (!x, !w) -> !h
    %r = nd.relu %h : (!h) -> !h
    %t = nd.tanh %h : (!h) -> !h
    return %r, %t : !h, !h
  }

  // A sum of partial sums is reduced once, at its end.
  // CHECK-LABEL: func.func @sums_join
  // CHECK-COUNT-1: spmd.reshard {{.*}}sum {tensor}
  // CHECK-NOT: spmd.reshard
  func.func @sums_join(%x: !x, %u: !w, %v: !w, %w: !w) -> !h {
    %a = nd.einsum %x, %u {reduced = ["io"]} : (!x, !w) -> !h
    %b = nd.einsum %x, %v {reduced = ["io"]} : (!x, !w) -> !h
    %c = nd.einsum %x, %w {reduced = ["io"]} : (!x, !w) -> !h
    %d = nd.add %a, %b : (!h, !h) -> !h
    %e = nd.add %d, %c : (!h, !h) -> !h
    return %e : !h
  }

  // A bias is no partial sum: the product is reduced before it is added.
  // CHECK-LABEL: func.func @bias_is_added_once
  // CHECK: %[[R:.*]] = spmd.reshard
  // CHECK: nd.add %[[R]], %arg2
  func.func @bias_is_added_once(%x: !x, %w: !w, %b: !b) -> !h {
    %a = nd.einsum %x, %w {reduced = ["io"]} : (!x, !w) -> !h
    %c = nd.add %a, %b : (!h, !b) -> !h
    return %c : !h
  }

  // Maxima stay maxima.
  // CHECK-LABEL: func.func @largest
  // CHECK: nd.reduce_max {{.*}} -> !nd.tensor<f32, [batch = 64 on {data}], max {tensor}>
  // CHECK: spmd.reshard
  func.func @largest(%x: !x) -> !b {
    %m = nd.reduce_max %x {dims = ["io"]} : (!x) -> !b
    return %m : !b
  }

  // Another name, another sharding: what is renamed moves, for all of its copies.
  // CHECK-LABEL: func.func @renamed
  // CHECK: %[[X:.*]] = spmd.reshard %arg0 {{.*}} -> <f32, [batch = 64 on {data}, io = 32]>
  // CHECK: %[[R:.*]] = nd.rename %[[X]] {{.*}} -> !nd.tensor<f32, [batch = 64 on {data}, whole = 32]>
  // CHECK: return %[[R]]
  func.func @renamed(%x: !x) -> !nd.tensor<f32, [batch = 64, whole = 32]> {
    %r = nd.rename %x {from = ["io"], to = ["whole"]} : (!x) -> !nd.tensor<f32, [batch = 64, whole = 32]>
    return %r : !nd.tensor<f32, [batch = 64, whole = 32]>
  }

  // Whole operands, a cut result: each rank computes its block only.
  // CHECK-LABEL: func.func @own_block_only
  // CHECK: %[[W:.*]] = nd.rename {{.*}} -> !nd.tensor<f32, [io = 32 on {tensor}]>
  // CHECK: nd.mul %[[W]], %arg1
  func.func @own_block_only(%w: !nd.tensor<f32, [whole = 32]>, %x: !nd.tensor<f32, [io = 32]>) -> !nd.tensor<f32, [io = 32]> {
    %r = nd.rename %w {from = ["whole"], to = ["io"]} : (!nd.tensor<f32, [whole = 32]>) -> !nd.tensor<f32, [io = 32]>
    %e = nd.mul %r, %x : (!nd.tensor<f32, [io = 32]>, !nd.tensor<f32, [io = 32]>) -> !nd.tensor<f32, [io = 32]>
    return %e : !nd.tensor<f32, [io = 32]>
  }

  // A slice of a dim that is cut takes entries of other ranks' blocks.
  // CHECK-LABEL: func.func @part
  // CHECK-NEXT: spmd.window "io" [0, 0, 3, 8] {{.*}} %arg0 : (!nd.tensor<f32, [batch = 64 on {data}, io = 32 on {tensor}]>) -> !nd.tensor<f32, [batch = 64 on {data}, io = 8 on {tensor}]>
  // CHECK-NEXT: return
  func.func @part(%x: !x) -> !nd.tensor<f32, [batch = 64, io = 8]> {
    %p = nd.slice %x {dim = "io", start = 3 : i64, size = 8 : i64} : (!x) -> !nd.tensor<f32, [batch = 64, io = 8]>
    return %p : !nd.tensor<f32, [batch = 64, io = 8]>
  }
}
