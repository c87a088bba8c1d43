// RUN: mesh-opt %s -meshc-assign-shardings -meshc-choose-plan -meshc-partition-program -cse -meshc-verify-partition | FileCheck %s

!x = !nd.tensor<f32, [batch = 64, io = 32]>
!xs = !nd.tensor<f32, [batch = 64, io = 32, layers = 4]>
!h = !nd.tensor<f32, [batch = 64, hidden = 16]>
!hs = !nd.tensor<f32, [batch = 64, hidden = 16, layers = 4]>
!w = !nd.tensor<f32, [hidden = 16, io = 32]>
!ws = !nd.tensor<f32, [hidden = 16, io = 32, layers = 4]>
!wss = !nd.tensor<f32, [hidden = 16, io = 32, layers = 4, steps = 3]>
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
      %d = nd.einsum %x, %g {reduced = ["batch"]} : (!x, !h) -> !w
      %a = nd.add %t, %d : (!w, !w) -> !w
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

  // A stack of partial sums whose user needs it reduced is reduced in the loop,
  // entry by entry.
  // CHECK-LABEL: func.func @one_loop
  // CHECK: nd.scan {{.*}} -> !nd.tensor<f32, [hidden = 16 on {tensor}, io = 32 on {data}, layers = 4]>
  // CHECK: %[[G:.*]] = nd.einsum
  // CHECK-NEXT: %[[R:.*]] = spmd.reshard %[[G]] {nd.name = "gradient of w"} : <f32, [hidden = 16 on {tensor}, io = 32], sum {data}> -> <f32, [hidden = 16 on {tensor}, io = 32 on {data}]>
  // CHECK-NEXT: nd.yield %[[R]]
  // CHECK-NOT: spmd.reshard
  // CHECK: return
  func.func @one_loop(%xs: !xs, %gs: !hs) -> (!ws {nd.class = "gradient", nd.name = "gradient of w", nd.of = "w"}) {
    %d = nd.scan "layers" 4 stacked(%xs, %gs : !xs, !hs) -> !ws attributes {res_attrs = [{nd.class = "gradient", nd.name = "gradient of w", nd.of = "w"}]} {
    ^bb0(%x: !x, %g: !h):
      %e = nd.einsum %x, %g {reduced = ["batch"]} : (!x, !h) -> !w
      nd.yield %e : !w
    }
    return %d : !ws
  }

  // The summands of one gradient, from two loops and from outside of them, stay
  // partial until they are added. The sum is reduced once.
  // CHECK-LABEL: func.func @two_loops
  // CHECK: %[[A:.*]] = nd.scan {{.*}} -> !nd.tensor<f32, [hidden = 16 on {tensor}, io = 32, layers = 4], sum {data}>
  // CHECK-NOT: spmd.reshard
  // CHECK: %[[B:.*]] = nd.scan {{.*}} -> !nd.tensor<f32, [hidden = 16 on {tensor}, io = 32, layers = 4], sum {data}>
  // CHECK-NOT: spmd.reshard
  // CHECK: %[[C:.*]] = nd.einsum %arg0, %arg1
  // CHECK-NEXT: %[[AB:.*]] = nd.add %[[A]], %[[B]]
  // CHECK-NEXT: %[[ABC:.*]] = nd.add %[[AB]], %[[C]] {{.*}} sum {data}>
  // CHECK-NEXT: %[[R:.*]] = spmd.reshard %[[ABC]] {nd.name = "gradient of w"} : {{.*}} -> <f32, [hidden = 16 on {tensor}, io = 32 on {data}, layers = 4]>
  // CHECK-NEXT: return %[[R]]
  func.func @two_loops(%xs: !xs, %gs: !hs) -> (!ws {nd.class = "gradient", nd.name = "gradient of w", nd.of = "w"}) {
    %a = nd.scan "layers" 4 stacked(%xs, %gs : !xs, !hs) -> !ws {
    ^bb0(%x: !x, %g: !h):
      %e = nd.einsum %x, %g {reduced = ["batch"]} : (!x, !h) -> !w
      nd.yield %e : !w
    }
    %b = nd.scan "layers" 4 backwards stacked(%xs, %gs : !xs, !hs) -> !ws {
    ^bb0(%x: !x, %g: !h):
      %e = nd.einsum %x, %g {reduced = ["batch"]} : (!x, !h) -> !w
      nd.yield %e : !w
    }
    %c = nd.einsum %xs, %gs {reduced = ["batch"]} : (!xs, !hs) -> !ws
    %ab = nd.add %a, %b : (!ws, !ws) -> !ws
    %abc = nd.add %ab, %c {nd.class = "gradient", nd.name = "gradient of w", nd.of = "w"} : (!ws, !ws) -> !ws
    return %abc : !ws
  }

  // Loops in loops: the first two stacks are added before they are reduced. To
  // reduce the third one after its factor saves nothing: its entries are reduced
  // in the inner loop. The sum over the iterations of the fourth is cheaper to
  // reduce than its entries.
  // CHECK-LABEL: func.func @stacks_of_stacks
  // CHECK: %[[R:.*]]:4 = nd.scan "steps" 3 {{.*}} layers = 4, steps = 3], sum {data}>, {{.*}} layers = 4, steps = 3], sum {data}>, {{.*}} layers = 4, steps = 3]>, {{.*}} layers = 4, steps = 3], sum {data}> {
  // CHECK: %[[I:.*]]:4 = nd.scan "layers" 4
  // CHECK: %[[P:.*]] = nd.tanh
  // CHECK: spmd.reshard
  // CHECK-NOT: spmd.reshard
  // CHECK: nd.yield
  // CHECK: nd.yield %[[I]]#0, %[[I]]#1, %[[I]]#2, %[[I]]#3
  // CHECK: %[[S:.*]] = nd.add %[[R]]#0, %[[R]]#1 {{.*}} sum {data}>
  // CHECK: %[[T:.*]] = nd.mul %[[R]]#2
  // CHECK: nd.reduce_sum %[[R]]#3 {{.*}} -> !nd.tensor<f32, [hidden = 16 on {tensor}, io = 32, layers = 4], sum {data}>
  func.func @stacks_of_stacks(%xs: !xs, %gs: !hs) -> (!wss, !wss, !ws) {
    %two = nd.constant 2.0 : f32 -> !nd.tensor<f32, []>
    %a:4 = nd.scan "steps" 3 whole(%xs, %gs : !xs, !hs) -> !wss, !wss, !wss, !wss {
    ^bb0(%xu: !xs, %gu: !hs):
      %b:4 = nd.scan "layers" 4 stacked(%xu, %gu : !xs, !hs) -> !ws, !ws, !ws, !ws {
      ^bb1(%x: !x, %g: !h):
        %c = nd.einsum %x, %g {reduced = ["batch"]} : (!x, !h) -> !w
        %y = nd.exp %x : (!x) -> !x
        %d = nd.einsum %y, %g {reduced = ["batch"]} : (!x, !h) -> !w
        %z = nd.square %x : (!x) -> !x
        %e = nd.einsum %z, %g {reduced = ["batch"]} : (!x, !h) -> !w
        %t = nd.tanh %x : (!x) -> !x
        %f = nd.einsum %t, %g {reduced = ["batch"]} : (!x, !h) -> !w
        nd.yield %c, %d, %e, %f : !w, !w, !w, !w
      }
      nd.yield %b#0, %b#1, %b#2, %b#3 : !ws, !ws, !ws, !ws
    }
    %both = nd.add %a#0, %a#1 : (!wss, !wss) -> !wss
    %twice = nd.mul %a#2, %two : (!wss, !nd.tensor<f32, []>) -> !wss
    %sum = nd.reduce_sum %a#3 {dims = ["steps"]} : (!wss) -> !ws
    return %both, %twice, %sum : !wss, !wss, !ws
  }

  // The sum over the iterations of an outer loop is a stack of partial sums, too.
  // CHECK-LABEL: func.func @sum_of_stacks
  // CHECK: %[[Z:.*]] = nd.constant 0.000000e+00 : f32 -> !nd.tensor<f32, [hidden = 16 on {tensor}, io = 32, layers = 4], sum {data}>
  // CHECK: %[[R:.*]] = nd.scan "steps" 3 carried(%[[Z]]
  // CHECK: %[[I:.*]] = nd.scan "layers" 4
  // CHECK-NOT: spmd.reshard
  // CHECK: nd.add %{{.*}}, %[[I]] {{.*}} sum {data}>
  // CHECK-NOT: spmd.reshard
  // CHECK: spmd.reshard %[[R]] {{.*}} -> <f32, [hidden = 16 on {tensor}, io = 32 on {data}, layers = 4]>
  // CHECK-NEXT: return
  func.func @sum_of_stacks(%xs: !xs, %gs: !hs) -> (!ws {nd.class = "gradient", nd.name = "gradient of w", nd.of = "w"}) {
    %z = nd.constant 0.0 : f32 -> !ws
    %y = nd.scan "steps" 3 carried(%z : !ws) whole(%xs, %gs : !xs, !hs) -> !ws attributes {res_attrs = [{nd.class = "gradient", nd.name = "gradient of w", nd.of = "w"}]} {
    ^bb0(%t: !ws, %xu: !xs, %gu: !hs):
      %d = nd.scan "layers" 4 stacked(%xu, %gu : !xs, !hs) -> !ws {
      ^bb1(%x: !x, %g: !h):
        %e = nd.einsum %x, %g {reduced = ["batch"]} : (!x, !h) -> !w
        nd.yield %e : !w
      }
      %a = nd.add %t, %d : (!ws, !ws) -> !ws
      nd.yield %a : !ws
    }
    return %y : !ws
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
