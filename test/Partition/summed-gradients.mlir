// RUN: mesh-opt %s -split-input-file -meshc-assign-shardings -meshc-choose-plan -meshc-partition-program -cse -meshc-verify-partition | FileCheck %s

// Gradients that a loop sums over micro-batches, whose layout cuts them over an axis that also cuts the examples.
!x = !nd.tensor<f32, [batch = 512, io = 32]>
!xs = !nd.tensor<f32, [batch = 512, io = 32, layers = 4]>
!xm = !nd.tensor<f32, [batch = 512, io = 32, micro_batch = 3]>
!h = !nd.tensor<f32, [batch = 512, hidden = 16]>
!hs = !nd.tensor<f32, [batch = 512, hidden = 16, layers = 4]>
!hm = !nd.tensor<f32, [batch = 512, hidden = 16, micro_batch = 3]>
!w = !nd.tensor<f32, [hidden = 16, io = 32]>
!ws = !nd.tensor<f32, [hidden = 16, io = 32, layers = 4]>
!xb = !nd.tensor<bf16, [batch = 512, io = 32]>
!xbm = !nd.tensor<bf16, [batch = 512, io = 32, micro_batch = 3]>
!hb = !nd.tensor<bf16, [batch = 512, hidden = 16]>
!hbm = !nd.tensor<bf16, [batch = 512, hidden = 16, micro_batch = 3]>
!wb = !nd.tensor<bf16, [hidden = 16, io = 32]>
module attributes {nd.mesh = #nd.mesh<pod = 2, data = 2, tensor = 2>} {
  nd.rule "batch" -> ["pod", "data"]
  nd.rule "hidden" -> ["tensor"]
  nd.rule "io" -> ["data"] in "gradient"

  // Each iteration's gradient is scattered over data, and added to a rank's part of the sum. This stays a partial sum over pod, which
  // does not cut it.
  // CHECK-LABEL: func.func @sum
  // CHECK: %[[R:.*]] = nd.scan "micro_batch" 3 carried({{.*}} -> !nd.tensor<f32, [hidden = 16 on {tensor}, io = 32 on {data}], sum {pod}>
  // CHECK: %[[D:.*]] = nd.einsum
  // CHECK-NEXT: %[[S:.*]] = spmd.reshard %[[D]] {nd.name = "gradient of w"} : {{.*}}, sum {pod, data}> -> <f32, [hidden = 16 on {tensor}, io = 32 on {data}], sum {pod}>
  // CHECK-NEXT: nd.add %{{.*}}, %[[S]]
  // CHECK: spmd.reshard %[[R]] {nd.name = "gradient of w"} : {{.*}} -> <f32, [hidden = 16 on {tensor}, io = 32 on {data}]>
  // CHECK-NEXT: return
  func.func @sum(%xs: !xm, %gs: !hm) -> (!w {nd.class = "gradient", nd.name = "gradient of w", nd.of = "w"}) {
    %z = nd.constant 0.0 : f32 -> !w
    %y = nd.scan "micro_batch" 3 carried(%z : !w) stacked(%xs, %gs : !xm, !hm) -> !w attributes {res_attrs = [{nd.class = "gradient", nd.name = "gradient of w", nd.of = "w"}]} {
    ^bb0(%t: !w, %x: !x, %g: !h):
      %d = nd.einsum %x, %g {reduced = ["batch"], nd.class = "gradient", nd.name = "gradient of w", nd.of = "w"} : (!x, !h) -> !w
      %a = nd.add %t, %d : (!w, !w) -> !w
      nd.yield %a : !w
    }
    return %y : !w
  }

  // With few examples it is cheaper to move them: what is scattered in each iteration costs more than what is reduced once.
  // CHECK-LABEL: func.func @few
  // CHECK: %[[R:.*]] = nd.scan "micro_batch" 3 carried({{.*}} -> !nd.tensor<f32, [hidden = 16 on {tensor}, io = 32 on {data}], sum {pod}>
  // CHECK: %[[X:.*]] = spmd.reshard {{.*}} -> <f32, [batch = 16 on {pod}, io = 32 on {data}]>
  // CHECK: %[[D:.*]] = nd.einsum %[[X]]{{.*}} -> !nd.tensor<f32, [hidden = 16 on {tensor}, io = 32 on {data}], sum {pod}>
  // CHECK-NEXT: nd.add %{{.*}}, %[[D]]
  func.func @few(%xs: !nd.tensor<f32, [batch = 16, io = 32, micro_batch = 3]>, %gs: !nd.tensor<f32, [batch = 16, hidden = 16, micro_batch = 3]>)
      -> (!w {nd.class = "gradient", nd.name = "gradient of w", nd.of = "w"}) {
    %z = nd.constant 0.0 : f32 -> !w
    %y = nd.scan "micro_batch" 3 carried(%z : !w) stacked(%xs, %gs : !nd.tensor<f32, [batch = 16, io = 32, micro_batch = 3]>, !nd.tensor<f32, [batch = 16, hidden = 16, micro_batch = 3]>) -> !w attributes {res_attrs = [{nd.class = "gradient", nd.name = "gradient of w", nd.of = "w"}]} {
    ^bb0(%t: !w, %x: !nd.tensor<f32, [batch = 16, io = 32]>, %g: !nd.tensor<f32, [batch = 16, hidden = 16]>):
      %d = nd.einsum %x, %g {reduced = ["batch"], nd.class = "gradient", nd.name = "gradient of w", nd.of = "w"} : (!nd.tensor<f32, [batch = 16, io = 32]>, !nd.tensor<f32, [batch = 16, hidden = 16]>) -> !w
      %a = nd.add %t, %d : (!w, !w) -> !w
      nd.yield %a : !w
    }
    return %y : !w
  }

  // Entries of a stacked gradient are scattered in the loop that makes them.
  // CHECK-LABEL: func.func @stack
  // CHECK: %[[R:.*]] = nd.scan "micro_batch" 3
  // CHECK: nd.scan "layers" 4 {{.*}} -> !nd.tensor<f32, [hidden = 16 on {tensor}, io = 32 on {data}, layers = 4], sum {pod}>
  // CHECK: %[[E:.*]] = nd.einsum
  // CHECK-NEXT: %[[S:.*]] = spmd.reshard %[[E]] {nd.name = "gradient of w"} {{.*}} -> <f32, [hidden = 16 on {tensor}, io = 32 on {data}], sum {pod}>
  // CHECK-NEXT: nd.yield %[[S]]
  // CHECK-NOT: spmd.reshard
  // CHECK: }
  // CHECK: spmd.reshard %[[R]] {{.*}} -> <f32, [hidden = 16 on {tensor}, io = 32 on {data}, layers = 4]>
  // CHECK-NEXT: return
  func.func @stack(%xs: !xs, %gs: !hs) -> (!ws {nd.class = "gradient", nd.name = "gradient of w", nd.of = "w"}) {
    %z = nd.constant 0.0 : f32 -> !ws
    %y = nd.scan "micro_batch" 3 carried(%z : !ws) whole(%xs, %gs : !xs, !hs) -> !ws attributes {res_attrs = [{nd.class = "gradient", nd.name = "gradient of w", nd.of = "w"}]} {
    ^bb0(%t: !ws, %xu: !xs, %gu: !hs):
      %d = nd.scan "layers" 4 stacked(%xu, %gu : !xs, !hs) -> !ws attributes {res_attrs = [{nd.class = "gradient", nd.name = "gradient of w", nd.of = "w"}]} {
      ^bb1(%x: !x, %g: !h):
        %e = nd.einsum %x, %g {reduced = ["batch"]} : (!x, !h) -> !w
        nd.yield %e : !w
      }
      %a = nd.add %t, %d : (!ws, !ws) -> !ws
      nd.yield %a : !ws
    }
    return %y : !ws
  }

  // A gradient in 16 bits, whose parts may be rounded, is reduced as such, which sends less than the f32 that is added.
  // CHECK-LABEL: func.func @half
  // CHECK: %[[D:.*]] = nd.einsum {{.*}} -> !nd.tensor<bf16, [hidden = 16 on {tensor}, io = 32], sum {pod, data}>
  // CHECK-NEXT: %[[S:.*]] = spmd.reshard %[[D]] {nd.name = "gradient of w"} : {{.*}} -> <bf16, [hidden = 16 on {tensor}, io = 32 on {data}]>
  // CHECK-NEXT: %[[C:.*]] = nd.cast %[[S]]
  // CHECK-NEXT: nd.add %{{.*}}, %[[C]]
  // CHECK: return
  func.func @half(%xs: !xbm, %gs: !hbm)
      -> (!w {nd.class = "gradient", nd.name = "gradient of w", nd.of = "w"}) {
    %z = nd.constant 0.0 : f32 -> !w
    %y = nd.scan "micro_batch" 3 carried(%z : !w) stacked(%xs, %gs : !xbm, !hbm) -> !w attributes {res_attrs = [{nd.class = "gradient", nd.name = "gradient of w", nd.of = "w"}]} {
    ^bb0(%t: !w, %x: !xb, %g: !hb):
      %d = nd.einsum %x, %g {reduced = ["batch"], nd.rounded_parts} : (!xb, !hb) -> !wb
      %c = nd.cast %d {nd.class = "gradient", nd.name = "gradient of w", nd.of = "w"} : (!wb) -> !w
      %a = nd.add %t, %c : (!w, !w) -> !w
      nd.yield %a : !w
    }
    return %y : !w
  }

  // What is no gradient of a parameter, such as that of one use of it, stays a partial sum in the loop.
  // CHECK-LABEL: func.func @contributions
  // CHECK: %[[R:.*]] = nd.scan "layers" 4 {{.*}} -> !nd.tensor<f32, [hidden = 16 on {tensor}, io = 32], sum {pod, data}>
  // CHECK-NOT: spmd.reshard
  // CHECK: nd.yield
  // CHECK: spmd.reshard %[[R]]
  func.func @contributions(%xs: !xs, %gs: !hs) -> (!w {nd.class = "gradient", nd.name = "gradient of w", nd.of = "w"}) {
    %z = nd.constant 0.0 : f32 -> !w
    %y = nd.scan "layers" 4 carried(%z : !w) stacked(%xs, %gs : !xs, !hs) -> !w attributes {res_attrs = [{nd.class = "gradient", nd.name = "gradient of w", nd.of = "w"}]} {
    ^bb0(%t: !w, %x: !x, %g: !h):
      %d = nd.einsum %x, %g {reduced = ["batch"]} : (!x, !h) -> !w
      %a = nd.add %t, %d : (!w, !w) -> !w
      nd.yield %a : !w
    }
    return %y : !w
  }
}

// -----

// The gradient is made in parts along the dim that the layout cuts otherwise. They are scattered as they lie, and moved once.
!x = !nd.tensor<f32, [batch = 512, io = 32, micro_batch = 3]>
!h = !nd.tensor<f32, [batch = 512, hidden = 16, micro_batch = 3]>
!w = !nd.tensor<f32, [hidden = 16, io = 32]>
module attributes {nd.mesh = #nd.mesh<data = 2, tensor = 2>} {
  nd.rule "batch" -> ["data"]
  nd.rule "io" -> ["tensor"]
  nd.rule "io" -> ["data"] in "gradient"
  // CHECK-LABEL: func.func @elsewhere
  // CHECK: %[[R:.*]] = nd.scan "micro_batch" 3
  // CHECK: %[[D:.*]] = nd.einsum
  // CHECK-NEXT: %[[S:.*]] = spmd.reshard %[[D]] {{.*}} -> <f32, [hidden = 16, io = 32 on {tensor, data}]>
  // CHECK-NEXT: nd.add %{{.*}}, %[[S]]
  // CHECK: spmd.reshard %[[R]] {{.*}} -> <f32, [hidden = 16, io = 32 on {data}]>
  func.func @elsewhere(%xs: !x, %gs: !h) -> (!w {nd.class = "gradient", nd.name = "gradient of w", nd.of = "w"}) {
    %z = nd.constant 0.0 : f32 -> !w
    %y = nd.scan "micro_batch" 3 carried(%z : !w) stacked(%xs, %gs : !x, !h) -> !w attributes {res_attrs = [{nd.class = "gradient", nd.name = "gradient of w", nd.of = "w"}]} {
    ^bb0(%t: !w, %x: !nd.tensor<f32, [batch = 512, io = 32]>, %g: !nd.tensor<f32, [batch = 512, hidden = 16]>):
      %d = nd.einsum %x, %g {reduced = ["batch"], nd.class = "gradient", nd.name = "gradient of w", nd.of = "w"} : (!nd.tensor<f32, [batch = 512, io = 32]>, !nd.tensor<f32, [batch = 512, hidden = 16]>) -> !w
      %a = nd.add %t, %d : (!w, !w) -> !w
      nd.yield %a : !w
    }
    return %y : !w
  }
}
