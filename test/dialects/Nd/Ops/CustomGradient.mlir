// RUN: mesh-opt %s -split-input-file -verify-diagnostics | FileCheck %s

!x = !nd.tensor<f32, [i = 4]>

// CHECK-LABEL: func.func @two
func.func @two(%x: !x, %y: !x) -> (!x, !x) {
  // CHECK-NEXT: %[[R:.*]]:2 = nd.custom_gradient values(%arg0, %arg1 : {{.*}}) arguments(%arg0 : {{.*}}) residuals(%arg1 : {{.*}}) -> !nd.tensor<f32, [i = 4]>, !nd.tensor<f32, [i = 4]> {
  %a, %b = nd.custom_gradient values(%x, %y : !x, !x) arguments(%x : !x) residuals(%y : !x) -> !x, !x {
  // CHECK-NEXT: ^bb0(%[[G:.*]]: {{.*}}, %{{.*}}: {{.*}}, %[[S:.*]]: {{.*}}):
  ^bb0(%g: !x, %h: !x, %s: !x):
    // CHECK-NEXT: %[[D:.*]] = nd.mul %[[G]], %[[S]]
    %d = nd.mul %g, %s : (!x, !x) -> !x
    // CHECK-NEXT: nd.yield %[[D]]
    nd.yield %d : !x
  }
  return %a, %b : !x, !x
}

// CHECK-LABEL: func.func @none
func.func @none(%x: !x) -> !x {
  // CHECK-NEXT: nd.custom_gradient values(%arg0 : {{.*}}) -> !nd.tensor<f32, [i = 4]> {
  %a = nd.custom_gradient values(%x : !x) -> !x {
  ^bb0(%g: !x):
    nd.yield
  }
  return %a : !x
}

// -----

func.func @f(%x: !nd.tensor<f32, [i = 4]>) {
  // expected-error @+1 {{the results must have the types of the values}}
  %a = nd.custom_gradient values(%x : !nd.tensor<f32, [i = 4]>) -> !nd.tensor<f32, [i = 5]> {
  ^bb0(%g: !nd.tensor<f32, [i = 5]>):
    nd.yield
  }
  return
}

// -----

func.func @f(%x: !nd.tensor<i32, [i = 4]>) {
  // expected-error @+1 {{only floats have gradients, got an argument}}
  %a = nd.custom_gradient values(%x : !nd.tensor<i32, [i = 4]>) arguments(%x : !nd.tensor<i32, [i = 4]>) -> !nd.tensor<i32, [i = 4]> {
  ^bb0(%g: !nd.tensor<i32, [i = 4]>):
    nd.yield %g : !nd.tensor<i32, [i = 4]>
  }
  return
}

// -----

func.func @f(%x: !nd.tensor<f32, [i = 4]>) {
  // expected-error @+1 {{the block's arguments must be the gradients of the results and the residuals}}
  %a = nd.custom_gradient values(%x : !nd.tensor<f32, [i = 4]>) -> !nd.tensor<f32, [i = 4]> {
  ^bb0:
    nd.yield
  }
  return
}

// -----

func.func @f(%x: !nd.tensor<f32, [i = 4]>) {
  // expected-error @+1 {{the block must yield the gradients of the arguments}}
  %a = nd.custom_gradient values(%x : !nd.tensor<f32, [i = 4]>) arguments(%x : !nd.tensor<f32, [i = 4]>) -> !nd.tensor<f32, [i = 4]> {
  ^bb0(%g: !nd.tensor<f32, [i = 4]>):
    nd.yield
  }
  return
}
