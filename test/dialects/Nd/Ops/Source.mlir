// RUN: mesh-opt %s | mesh-opt | FileCheck %s

// CHECK-LABEL: func.func @sources
func.func @sources() {
  // CHECK: nd.constant 1.000000e+00 : f32 -> !nd.tensor<f32, []>
  %a = nd.constant 1.0 : f32 -> !nd.tensor<f32, []>
  // CHECK: nd.constant true -> !nd.tensor<i1, [x = 2]>
  %b = nd.constant true -> !nd.tensor<i1, [x = 2]>
  // CHECK: nd.constant -3 : i32 -> !nd.tensor<i32, []>
  %c = nd.constant -3 : i32 -> !nd.tensor<i32, []>
  // CHECK: nd.iota : () -> !nd.tensor<bf16, [x = 8]>
  %d = nd.iota : () -> !nd.tensor<bf16, [x = 8]>
  // CHECK: nd.random normal "w" : !nd.tensor<f32, [x = 8, y = 2]>
  %e = nd.random normal "w" : !nd.tensor<f32, [y = 2, x = 8]>
  // CHECK: nd.random uniform "u" : !nd.tensor<f16, []>
  %f = nd.random uniform "u" : !nd.tensor<f16, []>
  // CHECK: nd.step : () -> !nd.tensor<i32, []>
  %g = nd.step : () -> !nd.tensor<i32, []>
  // CHECK: nd.random uniform "v"(%{{.*}} : !nd.tensor<i32, []>) : !nd.tensor<f32, [x = 2]>
  %h = nd.random uniform "v" (%g : !nd.tensor<i32, []>) : !nd.tensor<f32, [x = 2]>
  return
}
