// RUN: mesh-opt %s | mesh-opt | FileCheck %s

// CHECK: module attributes {nd.mesh = #nd.mesh<data = 2, "b c" = 3>}
module attributes {nd.mesh = #nd.mesh<data = 2, "b c" = 3>} {
  // CHECK: nd.rule "batch" -> ["pod", "data"] in "optimizer" optional
  nd.rule "batch" -> ["pod", "data"] in "optimizer" optional
  // CHECK: nd.rule "ffn" -> ["tensor"]
  nd.rule "ffn" -> ["tensor"]
  // CHECK: nd.train @model "loss" "sgd" {
  // CHECK-NEXT: nd.setting "lr" = 1.000000e-01
  // CHECK-NEXT: nd.setting "weight_decay" = 0.000000e+00 of ["*.bias", "head"] optional
  // CHECK-NEXT: %[[RATE:.*]] = nd.constant
  // CHECK-NEXT: nd.setting "lr"(%[[RATE]] : !nd.tensor<f32, []>) of ["w"]
  // CHECK-NEXT: nd.clip(%[[RATE]] : !nd.tensor<f32, []>) as "norm"
  // CHECK-NEXT: nd.average = 7.500000e-01
  // CHECK-NEXT: }
  nd.train @model "loss" "sgd" {
    nd.setting "lr" = 0.1
    nd.setting "weight_decay" = 0.0 of ["*.bias", "head"] optional
    %rate = nd.constant 0.5 : f32 -> !nd.tensor<f32, []>
    nd.setting "lr"(%rate : !nd.tensor<f32, []>) of ["w"]
    nd.clip(%rate : !nd.tensor<f32, []>) as "norm"
    nd.average = 0.75
  }
  // CHECK-LABEL: func.func @model
  func.func @model() -> !nd.tensor<f32, []> {
    // CHECK: nd.parameter "w" ["y", "x"] : !nd.tensor<f32, [x = 2, y = 3]> {
    // CHECK-NEXT: nd.random normal "w"
    // CHECK-NEXT: nd.yield %{{.*}} : !nd.tensor<f32, [x = 2, y = 3]>
    %w = nd.parameter "w" ["y", "x"] : !nd.tensor<f32, [x = 2, y = 3]> {
      %r = nd.random normal "w" : !nd.tensor<f32, [x = 2, y = 3]>
      nd.yield %r : !nd.tensor<f32, [x = 2, y = 3]>
    }
    %l = nd.reduce_sum %w {dims = ["x", "y"]} : (!nd.tensor<f32, [x = 2, y = 3]>) -> !nd.tensor<f32, []>
    return %l : !nd.tensor<f32, []>
  }
}
