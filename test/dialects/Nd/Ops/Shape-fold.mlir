// RUN: mesh-opt %s -canonicalize | FileCheck %s

!s = !nd.tensor<f32, []>
!x = !nd.tensor<f32, [x = 2]>

// CHECK-LABEL: func.func @same
func.func @same(%a: !x) -> (!x, !x) {
  // CHECK-NEXT: return %arg0, %arg0
  %b = nd.broadcast %a : (!x) -> !x
  %c = nd.rename %a {from = [], to = []} : (!x) -> !x
  return %b, %c : !x, !x
}

// CHECK-LABEL: func.func @constants
func.func @constants() -> !nd.tensor<f32, [y = 2, z = 3]> {
  // CHECK-NEXT: %[[C:.*]] = nd.constant 2.000000e+00 : f32 -> !nd.tensor<f32, [y = 2, z = 3]>
  // CHECK-NEXT: return %[[C]]
  %a = nd.constant 2.0 : f32 -> !s
  %b = nd.broadcast %a : (!s) -> !x
  %c = nd.rename %b {from = ["x"], to = ["y"]} : (!x) -> !nd.tensor<f32, [y = 2]>
  %d = nd.broadcast %c : (!nd.tensor<f32, [y = 2]>) -> !nd.tensor<f32, [y = 2, z = 3]>
  return %d : !nd.tensor<f32, [y = 2, z = 3]>
}
