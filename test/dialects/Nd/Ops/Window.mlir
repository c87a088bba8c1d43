// RUN: mesh-opt %s | mesh-opt | FileCheck %s

// CHECK-LABEL: func.func @windows
func.func @windows(%a: !nd.tensor<f32, [x = 6, y = 4]>, %b: !nd.tensor<f32, [x = 2, y = 4]>) {
  // CHECK: nd.slice %{{.*}} {dim = "x", size = 2 : i64, start = 3 : i64}
  %c = nd.slice %a {dim = "x", start = 3, size = 2} : (!nd.tensor<f32, [x = 6, y = 4]>) -> !nd.tensor<f32, [x = 2, y = 4]>
  // CHECK: nd.concat %{{.*}}, %{{.*}} {dim = "x"} : {{.*}} -> !nd.tensor<f32, [x = 8, y = 4]>
  %d = nd.concat %a, %b {dim = "x"} : (!nd.tensor<f32, [x = 6, y = 4]>, !nd.tensor<f32, [x = 2, y = 4]>) -> !nd.tensor<f32, [x = 8, y = 4]>
  // CHECK: nd.pad %{{.*}} {dim = "x", high = 1 : i64, low = 2 : i64, value = 5.000000e-01 : f64} : {{.*}} -> !nd.tensor<f32, [x = 9, y = 4]>
  %e = nd.pad %a {dim = "x", low = 2, high = 1, value = 0.5 : f64} : (!nd.tensor<f32, [x = 6, y = 4]>) -> !nd.tensor<f32, [x = 9, y = 4]>
  return
}
