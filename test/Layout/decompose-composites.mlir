// RUN: mesh-opt %s -meshc-decompose-composites | FileCheck %s

// CHECK-NOT: nd.softmax
// CHECK-NOT: momentum_update
!x = !nd.tensor<f32, [batch = 8, model = 4]>
!w = !nd.tensor<f32, [model = 4]>
!s = !nd.tensor<f32, []>
// CHECK-LABEL: func.func @step
func.func @step(%x: !x, %p: !w, %g: !w, %v: !w, %rate: !s) -> (!x, !w, !w) {
  // CHECK: nd.reduce_max
  // CHECK: %[[P:.*]] = nd.{{.*}}{{{.*}}nd.name = "weights"
  %a = nd.softmax %x {dim = "model", nd.name = "weights"} : (!x) -> !x
  %n = nd.step : () -> !nd.tensor<i32, []>
  // The slot, the update's insides, the parameter.
  // CHECK-DAG: %[[V:.*]] = nd.{{.*}}nd.class = "optimizer", nd.name = "w.velocity"
  // CHECK-DAG: nd.mul {{.*}}nd.class = "optimizer", nd.name = "w.update"
  // CHECK-DAG: %[[W:.*]] = nd.sub {{.*}}nd.class = "parameter", nd.name = "w"
  %u:2 = nd.momentum_update %p, %g, %rate, %n, %v {nd.name = "w", nd.class = "optimizer"} : (!w, !w, !s, !nd.tensor<i32, []>, !w) -> (!w, !w)
  // CHECK: return %[[P]], %[[W]], %[[V]]
  return %a, %u#0, %u#1 : !x, !w, !w
}
