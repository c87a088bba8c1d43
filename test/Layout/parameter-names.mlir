// RUN: mesh-opt %s -meshc-assign-shardings -meshc-verify-layout | FileCheck %s

// A tensor's parameter is what nd.of says, whatever the names look like: parameters
// 'gradient of w', 'w' and 'w.v' have rules of their own.
!w = !nd.tensor<f32, [model = 4, out = 16]>
module attributes {nd.mesh = #nd.mesh<a = 2, b = 2, c = 2>} {
  nd.rule "out" -> ["a"] in "w"
  nd.rule "out" -> ["b"] in "gradient of w"
  nd.rule "out" -> ["c"] in "w.v"

  // CHECK-LABEL: func.func @names
  // CHECK-SAME: %arg0: {{[^{]*}}{nd.name = "gradient of w", nd.role = "parameter", nd.sharding = !nd.tensor<f32, [model = 4, out = 16 on {b}]>}
  // CHECK-SAME: %arg1: {{[^{]*}}{nd.name = "w.v", nd.role = "parameter", nd.sharding = !nd.tensor<f32, [model = 4, out = 16 on {c}]>}
  // CHECK-SAME: %arg2: {{[^{]*}}{nd.name = "w.v.m", nd.of = "w.v", nd.role = "optimizer", nd.sharding = !nd.tensor<f32, [model = 4, out = 16 on {c}]>}
  // CHECK-SAME: %arg3: {{[^{]*}}{nd.name = "w.m.n", nd.of = "w", nd.role = "optimizer", nd.sharding = !nd.tensor<f32, [model = 4, out = 16 on {a}]>}
  func.func @names(%p: !w {nd.name = "gradient of w", nd.role = "parameter"},
                   %q: !w {nd.name = "w.v", nd.role = "parameter"},
                   %m: !w {nd.name = "w.v.m", nd.role = "optimizer", nd.of = "w.v"},
                   %n: !w {nd.name = "w.m.n", nd.role = "optimizer", nd.of = "w"}) {
    // CHECK: nd.exp {{.*}}nd.of = "gradient of w", {{.*}}nd.sharding = [!nd.tensor<f32, [model = 4, out = 16 on {b}]>]
    %0 = nd.exp %p {nd.name = "gradient of gradient of w", nd.class = "gradient", nd.of = "gradient of w"} : (!w) -> !w
    // CHECK: nd.neg {{.*}}nd.of = "w", {{.*}}nd.sharding = [!nd.tensor<f32, [model = 4, out = 16 on {a}]>]
    %1 = nd.neg %q {nd.name = "dw", nd.class = "gradient", nd.of = "w"} : (!w) -> !w
    // An activation that only looks like a gradient.
    // CHECK: nd.abs {{.*}}nd.name = "gradient of w.v", {{.*}}nd.sharding = [!nd.tensor<f32, [model = 4, out = 16]>]
    %2 = nd.abs %q {nd.name = "gradient of w.v"} : (!w) -> !w
    // CHECK: nd.square {{.*}}nd.of = "w.v", nd.sharding = [!nd.tensor<f32, [model = 4, out = 16 on {c}]>]
    %3 = nd.square %q {nd.name = "w.update", nd.class = "optimizer", nd.of = "w.v"} : (!w) -> !w
    return
  }
}
