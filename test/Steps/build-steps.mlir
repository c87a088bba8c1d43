// RUN: mesh-opt %s -split-input-file -meshc-build-steps -meshc-verify-steps | FileCheck %s

!s = !nd.tensor<f32, []>
!w = !nd.tensor<f32, [i = 4]>
!x = !nd.tensor<f32, [batch = 8, i = 4]>
!y = !nd.tensor<f32, [batch = 8]>

// The slots of the optimizer follow the parameters; each begins as zeros.
// CHECK: module attributes {nd.model = "linear"}
// CHECK-LABEL: func.func @initialize
// CHECK-SAME: () -> ({{[^{]*}}{nd.class = "parameter", nd.name = "w", nd.order = ["i"], nd.role = "parameter"}, {{[^{]*}}{nd.class = "optimizer", nd.name = "w.velocity", nd.of = "w", nd.order = ["i"], nd.role = "optimizer"})
// CHECK: %[[W:.*]] = nd.random normal "w"
// CHECK: %[[ZEROS:.*]] = nd.constant 0.000000e+00
// CHECK: return %[[W]], %[[ZEROS]]

// The loss leads the metrics. What makes the gradient and the update is named after the parameter.
// CHECK-LABEL: func.func @train_step
// CHECK-SAME: %arg0: {{[^{]*}}{{{.*}}nd.name = "w", {{.*}}nd.role = "parameter"}, %arg1: {{[^{]*}}{{{.*}}nd.name = "w.velocity", {{.*}}nd.role = "optimizer"}, %arg2: {{[^{]*}}{{{.*}}nd.name = "x", {{.*}}nd.role = "input"})
// CHECK-SAME: nd.name = "w", {{.*}}nd.name = "w.velocity", {{.*}}nd.name = "loss", {{.*}}nd.name = "largest",
// CHECK: %[[Y:.*]] = nd.einsum %arg2, %arg0
// CHECK: %[[LARGEST:.*]] = nd.reduce_max %[[Y]]
// CHECK: %[[LOSS:.*]] = nd.reduce_sum
// CHECK: %[[G:.*]] = nd.{{.*}}nd.class = "gradient", nd.name = "gradient of w", nd.of = "w"
// CHECK: %[[STEP:.*]] = nd.step
// CHECK: %[[NEW:.*]], %[[VELOCITY:.*]] = nd.momentum_update %arg0, %[[G]], %[[STEP]], %arg1 {adjustable = {lr = "lr", momentum = "momentum"}, nd.class = "optimizer", nd.name = "w", nd.of = "w", settings = {lr = 1.000000e-01 : f64, momentum = 5.000000e-01 : f64}}
// CHECK: return %[[NEW]], %[[VELOCITY]], %[[LOSS]], %[[LARGEST]]

// Evaluation takes no slots. What is for training only is a constant.
// CHECK-LABEL: func.func @eval_step
// CHECK-SAME: %arg0: {{.*}}nd.name = "w", {{.*}}%arg1: {{.*}}nd.name = "x"
// CHECK-NOT: nd.random
// CHECK: %[[ONE:.*]] = nd.constant 1.000000e+00
// CHECK: nd.mul %{{.*}}, %[[ONE]]
// CHECK-NOT: nd.parameter
// CHECK-NOT: nd.train
func.func @linear(%x: !x {nd.name = "x", nd.order = ["batch", "i"]}) -> (!s {nd.name = "largest"}, !s {nd.name = "loss"}) {
  %w = nd.parameter "w" ["i"] : !w {
    %0 = nd.random normal "w" : !w
    nd.yield %0 : !w
  }
  %y = nd.einsum %x, %w {reduced = ["i"]} : (!x, !w) -> !y
  %largest = nd.reduce_max %y {dims = ["batch"]} : (!y) -> !s
  %noise = nd.random uniform "noise" {nd.eval_value = 1.0} : !y
  %z = nd.mul %y, %noise : (!y, !y) -> !y
  %loss = nd.reduce_sum %z {dims = ["batch"]} : (!y) -> !s
  return %largest, %loss : !s, !s
}
nd.train @linear "loss" "momentum" { nd.setting "lr" = 0.1 nd.setting "momentum" = 0.5 }

// -----

!s = !nd.tensor<f32, []>
!y = !nd.tensor<f32, [batch = 8]>

// Without an nd.train there is no step of training.
// CHECK-LABEL: func.func @initialize
// CHECK-NOT: @train_step
// CHECK-LABEL: func.func @eval_step
func.func @mean(%x: !y {nd.name = "x", nd.order = ["batch"]}) -> (!s {nd.name = "sum"}) {
  %0 = nd.reduce_sum %x {dims = ["batch"]} : (!y) -> !s
  return %0 : !s
}
