// RUN: mesh-opt %s -split-input-file -meshc-assign-shardings -meshc-choose-plan -meshc-partition-program -cse -meshc-fold-reshards -meshc-lower-reshards -meshc-combine-collectives -meshc-verify-collectives | FileCheck %s

// What an iteration does not change is gathered once, before the loop. What it
// needs of a stacked tensor is gathered in it, in one call for two entries.
!x = !nd.tensor<f32, [batch = 64, model = 4]>
!w = !nd.tensor<f32, [hidden = 6, model = 4]>
!ws = !nd.tensor<f32, [hidden = 6, layers = 3, model = 4]>
!b = !nd.tensor<f32, [model = 4]>
!h = !nd.tensor<f32, [batch = 64, hidden = 6]>
!xs = !nd.tensor<f32, [batch = 64, layers = 3, model = 4]>
!gs = !nd.tensor<f32, [batch = 64, hidden = 6, layers = 3]>
module attributes {nd.mesh = #nd.mesh<data = 2>} {
  nd.rule "batch" -> ["data"]
  nd.rule "model" -> ["data"] in "parameter"
  nd.rule "model" -> ["data"] in "gradient"

  // CHECK-LABEL: func.func @step
  // CHECK: %[[B:.*]] = spmd.all_gather ["data"] from ["model"] %arg3 {nd.name = "b"}
  // CHECK-NOT: spmd.
  // CHECK: nd.scan
  // CHECK-NEXT: ^bb0
  // CHECK-NEXT: spmd.all_gather ["data"] from ["model", "model"]
  // CHECK-SAME: !nd.tensor<f32, [hidden = 6, model = 4 on {data}]>, !nd.tensor<f32, [hidden = 6, model = 4 on {data}]>
  // CHECK-NOT: spmd.
  // CHECK: nd.yield
  // CHECK-NOT: spmd.
  // CHECK: return
  func.func @step(%x: !x, %w: !ws {nd.name = "w", nd.role = "parameter"}, %v: !ws {nd.name = "v", nd.role = "parameter"},
                  %b: !b {nd.name = "b", nd.role = "parameter"}) -> !x {
    %y = nd.scan "layers" 3 carried(%x : !x) stacked(%w, %v : !ws, !ws) whole(%b : !b) -> !x {
    ^bb0(%c: !x, %e: !w, %f: !w, %d: !b):
      %h = nd.einsum %c, %e {reduced = ["model"]} : (!x, !w) -> !nd.tensor<f32, [batch = 64, hidden = 6]>
      %o = nd.einsum %h, %f {reduced = ["hidden"]} : (!h, !w) -> !x
      %a = nd.add %o, %d : (!x, !b) -> !x
      nd.yield %a : !x
    }
    return %y : !x
  }

  // The gradient of a stacked tensor is reduced entry by entry, that of a whole
  // one after the loop. These two reductions have the same kind and axes, but
  // are on different sides of the loop's border: they stay two.
  // CHECK-LABEL: func.func @gradients
  // CHECK: %[[R:.*]]:2 = nd.scan
  // CHECK: spmd.reduce_scatter sum ["data"] to ["model"] %{{[0-9]+}} {nd.name = "gradient of w"}
  // CHECK-NOT: spmd.
  // CHECK: nd.yield
  // CHECK: spmd.reduce_scatter sum ["data"] to ["model"] %[[R]]#0 {nd.name = "gradient of b"}
  // CHECK-NOT: spmd.
  // CHECK: return
  func.func @gradients(%x: !xs, %g: !gs)
      -> (!ws {nd.name = "gradient of w", nd.class = "gradient", nd.of = "w"},
          !b {nd.name = "gradient of b", nd.class = "gradient", nd.of = "b"}) {
    %z = nd.constant 0.0 : f32 -> !b
    %y:2 = nd.scan "layers" 3 carried(%z : !b) stacked(%x, %g : !xs, !gs) -> !b, !ws attributes {res_attrs = [
        {nd.name = "gradient of b", nd.class = "gradient", nd.of = "b"},
        {nd.name = "gradient of w", nd.class = "gradient", nd.of = "w"}]} {
    ^bb0(%t: !b, %c: !x, %h: !h):
      %d = nd.einsum %c, %h {reduced = ["batch"], nd.name = "gradient of w", nd.class = "gradient", nd.of = "w"} : (!x, !h) -> !w
      %b = nd.reduce_sum %c {dims = ["batch"]} : (!x) -> !b
      %s = nd.add %t, %b : (!b, !b) -> !b
      nd.yield %s, %d : !b, !w
    }
    return %y#1, %y#0 : !ws, !b
  }
}
