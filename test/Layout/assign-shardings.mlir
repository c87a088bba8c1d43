// RUN: mesh-opt %s -meshc-assign-shardings -meshc-verify-layout | FileCheck %s

// The narrowest scope wins: the tensor's name, its class, its parameter's name,
// none. Metrics are whole; axes of size 1 cut nothing.
!x = !nd.tensor<f32, [batch = 8, model = 4]>
!w = !nd.tensor<f32, [model = 4, out = 16]>
!s = !nd.tensor<f32, [batch = 8]>
module attributes {nd.mesh = #nd.mesh<pod = 2, data = 2, one = 1, tensor = 2>} {
  nd.rule "batch" -> ["pod", "data"]
  nd.rule "model" -> ["one"]
  nd.rule "out" -> ["tensor"]
  nd.rule "out" -> ["data"] in "optimizer"
  nd.rule "out" -> ["pod"] in "v"
  nd.rule "model" -> ["tensor"] in "h"

  // CHECK-LABEL: func.func @step
  // CHECK-SAME: %arg0: {{[^{]*}}{nd.name = "x", nd.role = "input", nd.sharding = !nd.tensor<f32, [batch = 8 on {pod, data}, model = 4]>}
  // CHECK-SAME: %arg1: {{[^{]*}}{nd.name = "w", nd.role = "parameter", nd.sharding = !nd.tensor<f32, [model = 4, out = 16 on {tensor}]>}
  // CHECK-SAME: %arg2: {{[^{]*}}{nd.name = "w.m", nd.of = "w", nd.role = "optimizer", nd.sharding = !nd.tensor<f32, [model = 4, out = 16 on {data}]>}
  // CHECK-SAME: %arg3: {{[^{]*}}{nd.class = "gradient", nd.name = "gradient of v", nd.of = "v", nd.sharding = !nd.tensor<f32, [model = 4, out = 16 on {pod}]>}
  // CHECK-SAME: -> (!nd.tensor<f32, [batch = 8]> {nd.name = "loss", nd.role = "metric", nd.sharding = !nd.tensor<f32, [batch = 8]>})
  func.func @step(%x: !x {nd.name = "x", nd.role = "input"}, %w: !w {nd.name = "w", nd.role = "parameter"},
                  %m: !w {nd.name = "w.m", nd.role = "optimizer", nd.of = "w"},
                  %g: !w {nd.name = "gradient of v", nd.class = "gradient", nd.of = "v"})
      -> (!s {nd.name = "loss", nd.role = "metric"}) {
    // CHECK: nd.exp %arg0 {nd.sharding = [!nd.tensor<f32, [batch = 8 on {pod, data}, model = 4]>]}
    %e = nd.exp %x : (!x) -> !x
    // CHECK: nd.exp %arg0 {nd.name = "h", nd.sharding = [!nd.tensor<f32, [batch = 8 on {pod, data}, model = 4 on {tensor}]>]}
    %h = nd.exp %x {nd.name = "h"} : (!x) -> !x
    %l = nd.reduce_sum %h {dims = ["model"]} : (!x) -> !s
    return %l : !s
  }

  // What only makes state lies as that state does.
  // CHECK-LABEL: func.func @initialize
  // CHECK: nd.random normal "v" {nd.sharding = [!nd.tensor<f32, [model = 4, out = 16 on {pod}]>]}
  func.func @initialize() -> (!w {nd.name = "v", nd.role = "parameter"}) {
    %r = nd.random normal "v" : !w
    return %r : !w
  }
}
