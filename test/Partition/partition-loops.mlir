// RUN: mesh-opt %s -meshc-assign-shardings -meshc-partition-program -cse -meshc-verify-partition | FileCheck %s

!x = !nd.tensor<f32, [batch = 64, io = 32]>
!xs = !nd.tensor<f32, [batch = 64, io = 32, layers = 4]>
!h = !nd.tensor<f32, [batch = 64, hidden = 16]>
!hs = !nd.tensor<f32, [batch = 64, hidden = 16, layers = 4]>
!w = !nd.tensor<f32, [hidden = 16, io = 32]>
!ws = !nd.tensor<f32, [hidden = 16, io = 32, layers = 4]>
!number = !nd.tensor<i32, []>
!numbers = !nd.tensor<i32, [layers = 4]>
module attributes {nd.mesh = #nd.mesh<data = 2, tensor = 2>} {
  nd.rule "batch" -> ["data"]
  nd.rule "hidden" -> ["tensor"]
  nd.rule "hidden" -> ["data"] in "parameter"
  nd.rule "io" -> ["data"] in "gradient"
  nd.rule "batch" -> ["tensor"] in "other"

  // A block of tensor-parallel products. The carried value has its result's
  // sharding at both ends. Of the stacked weight, one entry is resharded in
  // each iteration, not all before the loop.
  // CHECK-LABEL: func.func @layers
  // CHECK-NOT: spmd.reshard
  // CHECK: %[[R:.*]]:2 = nd.scan "layers" 4
  // CHECK-SAME: carried(%arg0 : !nd.tensor<f32, [batch = 64 on {data}, io = 32]>)
  // CHECK-SAME: stacked(%arg1 : !nd.tensor<f32, [hidden = 16 on {data}, io = 32, layers = 4]>)
  // CHECK-SAME: -> !nd.tensor<f32, [batch = 64 on {data}, io = 32]>, !nd.tensor<f32, [batch = 64 on {data}, hidden = 16 on {tensor}, layers = 4]>
  // CHECK-NEXT: ^bb0(%[[C:.*]]: !nd.tensor<f32, [batch = 64 on {data}, io = 32]>, %[[E:.*]]: !nd.tensor<f32, [hidden = 16 on {data}, io = 32]>):
  // CHECK: %[[W:.*]] = spmd.reshard %[[E]] {nd.name = "w"} {{.*}} -> <f32, [hidden = 16 on {tensor}, io = 32]>
  // CHECK: %[[H:.*]] = nd.einsum %[[C]], %[[W]]
  // CHECK: %[[P:.*]] = nd.einsum %[[H]], %[[W]] {{.*}}-> !nd.tensor<f32, [batch = 64 on {data}, io = 32], sum {tensor}>
  // CHECK: %[[S:.*]] = spmd.reshard %[[P]] {nd.name = "x"}
  // CHECK-NOT: spmd.reshard
  // CHECK: nd.yield %[[S]], %[[H]]
  // CHECK-NOT: spmd.reshard
  // CHECK: return %[[R]]#0, %[[R]]#1
  func.func @layers(%x: !x, %w: !ws {nd.name = "w", nd.role = "parameter"}) -> (!x, !hs) {
    %y:2 = nd.scan "layers" 4 carried(%x : !x) stacked(%w : !ws) -> !x, !hs attributes {res_attrs = [{nd.name = "x"}, {}]} {
    ^bb0(%c: !x, %e: !w):
      %h = nd.einsum %c, %e {reduced = ["io"]} : (!x, !w) -> !h
      %o = nd.einsum %h, %e {reduced = ["hidden"]} : (!h, !w) -> !x
      nd.yield %o, %h : !x, !h
    }
    return %y#0, %y#1 : !x, !hs
  }

  // A whole tensor is resharded before the loop, once for each form that the
  // body needs. Forms that it does not need do not enter.
  // CHECK-LABEL: func.func @whole
  // CHECK: %[[W:.*]] = spmd.reshard %arg1 {nd.name = "w"} {{.*}} -> <f32, [hidden = 16 on {tensor}, io = 32]>
  // CHECK-NEXT: nd.scan "layers" 4 carried(%arg0 {{.*}}whole(%[[W]] : !nd.tensor<f32, [hidden = 16 on {tensor}, io = 32]>)
  // CHECK-NEXT: ^bb0({{.*}}, %[[V:.*]]: !nd.tensor<f32, [hidden = 16 on {tensor}, io = 32]>):
  // CHECK-NOT: spmd.reshard %[[V]]
  // CHECK: nd.yield
  // CHECK-NOT: spmd.reshard
  // CHECK: return
  func.func @whole(%x: !x, %w: !w {nd.name = "w", nd.role = "parameter"}) -> !x {
    %y = nd.scan "layers" 4 carried(%x : !x) whole(%w : !w) -> !x {
    ^bb0(%c: !x, %v: !w):
      %h = nd.einsum %c, %v {reduced = ["io"]} : (!x, !w) -> !h
      %o = nd.einsum %h, %v {reduced = ["hidden"]} : (!h, !w) -> !x
      nd.yield %o : !x
    }
    return %y : !x
  }

  // The gradient of a whole tensor: partial sums, reduced after the loop.
  // CHECK-LABEL: func.func @sum
  // CHECK: %[[Z:.*]] = nd.constant 0.000000e+00 : f32 -> !nd.tensor<f32, [hidden = 16 on {tensor}, io = 32], sum {data}>
  // CHECK: %[[R:.*]] = nd.scan "layers" 4 backwards carried(%[[Z]]
  // CHECK: %[[G:.*]] = nd.einsum
  // CHECK-NEXT: %[[A:.*]] = nd.add %{{.*}}, %[[G]] {{.*}}-> !nd.tensor<f32, [hidden = 16 on {tensor}, io = 32], sum {data}>
  // CHECK-NEXT: nd.yield %[[A]]
  // CHECK: spmd.reshard %[[R]] {nd.name = "gradient of w"} : {{.*}} -> <f32, [hidden = 16 on {tensor}, io = 32 on {data}]>
  // CHECK-NOT: spmd.reshard
  func.func @sum(%xs: !xs, %gs: !hs) -> (!w {nd.class = "gradient", nd.name = "gradient of w", nd.of = "w"}) {
    %z = nd.constant 0.0 : f32 -> !w
    %y = nd.scan "layers" 4 backwards carried(%z : !w) stacked(%xs, %gs : !xs, !hs) -> !w attributes {res_attrs = [{nd.class = "gradient", nd.name = "gradient of w", nd.of = "w"}]} {
    ^bb0(%t: !w, %x: !x, %g: !h):
      %d = nd.einsum %x, %g {reduced = ["batch"], nd.class = "gradient"} : (!x, !h) -> !w
      %a = nd.add %t, %d {nd.class = "gradient"} : (!w, !w) -> !w
      nd.yield %a : !w
    }
    return %y : !w
  }

  // A sum that starts from another value, or that something else reads, is
  // reduced in each iteration.
  // CHECK-LABEL: func.func @other_sums
  // CHECK: nd.scan {{.*}} -> !nd.tensor<f32, [hidden = 16 on {tensor}, io = 32]>, !nd.tensor<f32, [hidden = 16 on {tensor}, io = 32]> {
  // CHECK: nd.einsum
  // CHECK-NEXT: spmd.reshard
  // CHECK: nd.yield
  // CHECK-NOT: spmd.reshard
  // CHECK: return
  func.func @other_sums(%xs: !xs, %gs: !hs, %w: !w) -> (!w, !w) {
    %z = nd.constant 0.0 : f32 -> !w
    %y:2 = nd.scan "layers" 4 carried(%w, %z : !w, !w) stacked(%xs, %gs : !xs, !hs) -> !w, !w {
    ^bb0(%t: !w, %u: !w, %x: !x, %g: !h):
      %d = nd.einsum %x, %g {reduced = ["batch"]} : (!x, !h) -> !w
      %a = nd.add %t, %d : (!w, !w) -> !w
      %n = nd.exp %u : (!w) -> !w
      %b = nd.add %u, %n : (!w, !w) -> !w
      nd.yield %a, %b : !w, !w
    }
    return %y#0, %y#1 : !w, !w
  }

  // Loops in loops: what is whole in both is resharded outside both, and a sum
  // of sums stays partial.
  // CHECK-LABEL: func.func @nested
  // CHECK: %[[W:.*]] = spmd.reshard %arg1 {{.*}} -> <f32, [hidden = 16 on {tensor}, io = 32]>
  // CHECK: %[[R:.*]] = nd.scan "layers" 4 {{.*}} whole(%{{.*}}, %[[W]] :
  // CHECK-NOT: spmd.reshard
  // CHECK: nd.constant 0.0{{.*}} sum {data, tensor}>
  // CHECK-NOT: spmd.reshard
  // CHECK: nd.scan "steps" 3
  // CHECK-NOT: spmd.reshard
  // CHECK: spmd.reshard %[[R]] : <f32, [], sum {data, tensor}> -> <f32, []>
  // CHECK-NEXT: return
  func.func @nested(%x: !x, %w: !w {nd.name = "w", nd.role = "parameter"}) -> (!nd.tensor<f32, []> {nd.role = "metric"}) {
    %z = nd.constant 0.0 : f32 -> !nd.tensor<f32, []>
    %y = nd.scan "layers" 4 carried(%z : !nd.tensor<f32, []>) whole(%x, %w : !x, !w) -> !nd.tensor<f32, []> {
    ^bb0(%t: !nd.tensor<f32, []>, %a: !x, %v: !w):
      %zero = nd.constant 0.0 : f32 -> !nd.tensor<f32, []>
      %s = nd.scan "steps" 3 carried(%zero : !nd.tensor<f32, []>) whole(%a, %v : !x, !w) -> !nd.tensor<f32, []> {
      ^bb1(%u: !nd.tensor<f32, []>, %b: !x, %p: !w):
        %h = nd.einsum %b, %p {reduced = ["io"]} : (!x, !w) -> !h
        %r = nd.reduce_sum %h {dims = ["batch", "hidden"]} : (!h) -> !nd.tensor<f32, []>
        %n = nd.add %u, %r : (!nd.tensor<f32, []>, !nd.tensor<f32, []>) -> !nd.tensor<f32, []>
        nd.yield %n : !nd.tensor<f32, []>
      }
      %m = nd.add %t, %s : (!nd.tensor<f32, []>, !nd.tensor<f32, []>) -> !nd.tensor<f32, []>
      nd.yield %m : !nd.tensor<f32, []>
    }
    return %y : !nd.tensor<f32, []>
  }

  // Random numbers of an iteration need its number alone: any rank computes its
  // block of them.
  // CHECK-LABEL: func.func @random
  // CHECK: nd.scan
  // CHECK: nd.random uniform "s"({{.*}}) : !nd.tensor<f32, [batch = 64 on {data}, io = 32]>
  // CHECK: nd.random uniform "s"({{.*}}) : !nd.tensor<f32, [batch = 64 on {tensor}, io = 32]>
  // CHECK-NOT: spmd.reshard
  // CHECK: return
  func.func @random(%x: !x, %g: !x {nd.name = "other"}) -> (!x, !x {nd.name = "other"}) {
    %n = nd.iota : () -> !numbers
    %y:2 = nd.scan "layers" 4 carried(%x, %g : !x, !x) stacked(%n : !numbers) -> !x, !x attributes {res_attrs = [{}, {nd.name = "other"}]} {
    ^bb0(%c: !x, %d: !x, %i: !number):
      %r = nd.random uniform "s" (%i : !number) : !x
      %m = nd.mul %c, %r : (!x, !x) -> !x
      %k = nd.mul %d, %r {nd.name = "other"} : (!x, !x) -> !x
      nd.yield %m, %k : !x, !x
    }
    return %y#0, %y#1 : !x, !x
  }
}
