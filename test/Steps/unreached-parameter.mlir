// RUN: mesh-opt %s -meshc-build-steps 2>/dev/null | FileCheck %s

// A parameter that the loss does not reach stays as it is: weight decay does not
// shrink it, its optimizer state does not change. [L7.2]
// CHECK: func.func @train_step(
// CHECK-SAME: %arg1: !nd.tensor<f32, []> {nd.class = "parameter", nd.name = "v",
// CHECK-SAME: %arg4: !nd.tensor<f32, []> {nd.class = "optimizer", nd.name = "v.m",
// CHECK-SAME: %arg5: !nd.tensor<f32, []> {nd.class = "optimizer", nd.name = "v.v",
// CHECK-COUNT-1: nd.adamw_update
// CHECK-NOT: nd.adamw_update
// CHECK: return %{{[^,]+}}, %arg1, %{{[^,]+}}, %{{[^,]+}}, %arg4, %arg5,
!x = !nd.tensor<f32, [batch = 4]>
!s = !nd.tensor<f32, []>
module {
  func.func @m(%x: !x {nd.name = "x", nd.order = ["batch"]}) -> (!s {nd.name = "loss"}) {
    %w = nd.parameter "w" [] : !s {
      %0 = nd.constant 1.0 : f32 -> !s
      nd.yield %0 : !s
    }
    %v = nd.parameter "v" [] : !s {
      %0 = nd.constant 1.0 : f32 -> !s
      nd.yield %0 : !s
    }
    %y = nd.mul %x, %w : (!x, !s) -> !x
    %loss = nd.reduce_sum %y {dims = ["batch"]} : (!x) -> !s
    return %loss : !s
  }
  nd.train @m "loss" "adamw" {
    nd.setting "lr" = 0.1
    nd.setting "weight_decay" = 0.5
  }
}
