// RUN: mesh-opt %s -meshc-build-steps -meshc-verify-steps | FileCheck %s

!s = !nd.tensor<f32, []>
!w = !nd.tensor<f32, [i = 4]>

// The region computes the gradient, from residuals too; that of a result without
// influence is zero. Nothing else of the op is left.
// CHECK-LABEL: func.func @train_step
// CHECK-SAME: (%[[W:[a-z0-9]*]]: {{.*}}, %[[X:[a-z0-9]*]]: {{.*}})
// CHECK: %[[F:.*]] = nd.floor %[[W]]
// CHECK: %[[P:.*]] = nd.mul %[[F]], %[[X]]
// CHECK: nd.reduce_sum %[[P]]
// CHECK: %[[G:.*]] = nd.mul %{{.*}}, %[[X]]
// CHECK: %[[ZERO:.*]] = nd.constant 0.000000e+00
// CHECK: %[[H:.*]] = nd.mul %[[G]], %[[F]]
// CHECK: %[[D:.*]] = nd.add %[[H]], %[[ZERO]]
// CHECK: nd.sgd_update %[[W]], %[[D]]
// CHECK-NOT: nd.custom_gradient
func.func @m(%x: !w {nd.name = "x", nd.order = ["i"]}) -> (!s {nd.name = "loss"}) {
  %w = nd.parameter "w" ["i"] : !w {
    %0 = nd.random normal "w" : !w
    nd.yield %0 : !w
  }
  %f = nd.floor %w : (!w) -> !w
  %a, %b = nd.custom_gradient values(%f, %w : !w, !w) arguments(%w : !w) residuals(%f : !w) -> !w, !w {
  ^bb0(%g: !w, %h: !w, %r: !w):
    %p = nd.mul %g, %r : (!w, !w) -> !w
    %q = nd.add %p, %h : (!w, !w) -> !w
    nd.yield %q : !w
  }
  %y = nd.mul %a, %x : (!w, !w) -> !w
  %loss = nd.reduce_sum %y {dims = ["i"]} : (!w) -> !s
  return %loss : !s
}
nd.train @m "loss" "sgd" { nd.setting "lr" = 0.1 }
