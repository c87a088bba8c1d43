// RUN: mesh-opt %s -split-input-file -meshc-assign-shardings -meshc-choose-plan -meshc-partition-program -meshc-verify-partition | FileCheck %s

// What no rule places lies as is cheapest.
!x = !nd.tensor<f32, [batch = 64, model = 32]>
!w = !nd.tensor<f32, [ffn = 128, model = 32]>
!h = !nd.tensor<f32, [batch = 64, ffn = 128]>
module attributes {nd.mesh = #nd.mesh<data = 2>} {
  nd.rule "batch" -> ["data"] in "x"
  nd.rule "ffn" -> ["data"] in "kept"
  nd.rule "ffn" -> [] in "whole"

  // A chain follows its operand; the result of the function is whole.
  // CHECK-LABEL: func.func @follow
  // CHECK: nd.einsum {{.*}} -> !nd.tensor<f32, [batch = 64 on {data}, ffn = 128]>
  // CHECK-NEXT: nd.exp {{.*}} -> !nd.tensor<f32, [batch = 64 on {data}, ffn = 128]>
  // CHECK-NEXT: spmd.reshard {{.*}} -> <f32, [batch = 64, ffn = 128]>
  // CHECK-NEXT: return
  func.func @follow(%x: !x {nd.name = "x", nd.role = "input"}, %w: !w) -> !h {
    %a = nd.einsum %x, %w {reduced = ["model"]} : (!x, !w) -> !h
    %b = nd.exp %a : (!h) -> !h
    return %b : !h
  }

  // Copies share a form of what they copy: one gather.
  // CHECK-LABEL: func.func @copies
  // CHECK-COUNT-1: spmd.reshard %arg0
  // CHECK-NOT: spmd.reshard
  // CHECK: return
  func.func @copies(%x: !nd.tensor<f32, [batch = 64]> {nd.name = "x", nd.role = "input"}) -> (!nd.tensor<f32, [a = 64]>, !nd.tensor<f32, [b = 64]>) {
    %a = nd.rename %x {from = ["batch"], to = ["a"]} : (!nd.tensor<f32, [batch = 64]>) -> !nd.tensor<f32, [a = 64]>
    %b = nd.rename %x {from = ["batch"], to = ["b"]} : (!nd.tensor<f32, [batch = 64]>) -> !nd.tensor<f32, [b = 64]>
    return %a, %b : !nd.tensor<f32, [a = 64]>, !nd.tensor<f32, [b = 64]>
  }

  // 'dim -> ()' keeps a dim whole, though its operand is cut.
  // CHECK-LABEL: func.func @whole
  // CHECK: nd.exp {{.*}} -> !nd.tensor<f32, [ffn = 128 on {data}, model = 32]>
  // CHECK: spmd.reshard {{.*}} -> <f32, [ffn = 128, model = 32]>
  func.func @whole(%k: !w {nd.name = "kept", nd.role = "input"}) -> (!w {nd.name = "kept"}) {
    %a = nd.exp %k {nd.name = "whole"} : (!w) -> !w
    return %a : !w
  }
}

// -----

// Through a loop: what it carries keeps the sharding of the initial value, and
// stacked entries that of the value that the body makes.
!r = !nd.tensor<f32, [model = 4, seq = 8]>
module attributes {nd.mesh = #nd.mesh<ring = 2>} {
  nd.rule "seq" -> ["ring"] in "x"
  // CHECK-LABEL: func.func @loop
  // CHECK: nd.scan "layers" 3 carried(%{{.*}} : !nd.tensor<f32, [model = 4, seq = 8 on {ring}]>) -> {{.*}}!nd.tensor<f32, [model = 4, seq = 8 on {ring}]>, !nd.tensor<f32, [layers = 3, model = 4, seq = 8 on {ring}]>
  // CHECK-NOT: spmd.reshard
  // CHECK: nd.yield
  func.func @loop(%x: !r {nd.name = "x", nd.role = "input"}) -> (!r {nd.name = "x"}) {
    %n = nd.neg %x : (!r) -> !r
    %0:2 = nd.scan "layers" 3 carried(%n : !r) -> !r, !nd.tensor<f32, [layers = 3, model = 4, seq = 8]> {
    ^bb0(%c: !r):
      %e = nd.exp %c : (!r) -> !r
      nd.yield %e, %e : !r, !r
    }
    %1 = nd.reduce_sum %0#1 {dims = ["layers"]} : (!nd.tensor<f32, [layers = 3, model = 4, seq = 8]>) -> !r
    return %1 : !r
  }
}

// -----

!x = !nd.tensor<f32, [batch = 64, model = 32]>
!w = !nd.tensor<f32, [ffn = 128, model = 32]>
!h = !nd.tensor<f32, [batch = 64, ffn = 128]>
module attributes {nd.mesh = #nd.mesh<data = 2>} {
  nd.rule "batch" -> ["data"]
  nd.rule "model" -> ["data"] in "state"

  // A gradient is reduced as the state that it changes lies: a reduce-scatter.
  // CHECK-LABEL: func.func @gradient
  // CHECK: %[[G:.*]] = nd.einsum {{.*}}sum {data}
  // CHECK-NEXT: %[[R:.*]] = spmd.reshard %[[G]] {{.*}} -> <f32, [ffn = 128, model = 32 on {data}]>
  // CHECK-NEXT: nd.reduce_sum
  // CHECK: nd.add %arg2, %[[R]]
  func.func @gradient(%x: !x {nd.role = "input"}, %h: !h {nd.role = "input"}, %s: !w {nd.name = "state", nd.role = "optimizer"}) -> (!w {nd.name = "state", nd.role = "optimizer"}, !nd.tensor<f32, []>) {
    %g = nd.einsum %x, %h {reduced = ["batch"]} : (!x, !h) -> !w
    %n = nd.reduce_sum %g {dims = ["ffn", "model"]} : (!w) -> !nd.tensor<f32, []>
    %u = nd.add %s, %g : (!w, !w) -> !w
    return %u, %n : !w, !nd.tensor<f32, []>
  }
}
