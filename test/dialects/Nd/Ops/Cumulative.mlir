// RUN: mesh-opt %s -split-input-file -verify-diagnostics | FileCheck %s

!x = !nd.tensor<f32, [batch = 4, seq = 6]>

// CHECK-LABEL: func.func @sums
func.func @sums(%x: !x, %n: !nd.tensor<i32, [seq = 6]>) -> (!x, !x, !nd.tensor<i32, [seq = 6]>) {
  // CHECK-NEXT: nd.cumsum %arg0 {dim = "seq"} : (!nd.tensor<f32, [batch = 4, seq = 6]>) -> !nd.tensor<f32, [batch = 4, seq = 6]>
  %0 = nd.cumsum %x {dim = "seq"} : (!x) -> !x
  // CHECK-NEXT: nd.cumsum %arg0 {backwards, dim = "batch", exclusive}
  %1 = nd.cumsum %x {dim = "batch", exclusive, backwards} : (!x) -> !x
  // CHECK-NEXT: nd.prefix_sum %arg1 {dim = "seq", exclusive}
  %2 = nd.prefix_sum %n {dim = "seq", exclusive} : (!nd.tensor<i32, [seq = 6]>) -> !nd.tensor<i32, [seq = 6]>
  return %0, %1, %2 : !x, !x, !nd.tensor<i32, [seq = 6]>
}

// -----

func.func @f(%a: !nd.tensor<f32, [x = 2]>) {
  // expected-error @+2 {{cumsum: the operand has no dim 'y'; its dims are 'x'}}
  // expected-error @+1 {{failed to infer}}
  %b = nd.cumsum %a {dim = "y"} : (!nd.tensor<f32, [x = 2]>) -> !nd.tensor<f32, [x = 2]>
  return
}

// -----

func.func @f(%a: !nd.tensor<i1, [x = 2]>) {
  // expected-error @+2 {{prefix_sum: expected floats or i32 ('cast' converts), got 'i1'}}
  // expected-error @+1 {{failed to infer}}
  %b = nd.prefix_sum %a {dim = "x"} : (!nd.tensor<i1, [x = 2]>) -> !nd.tensor<i1, [x = 2]>
  return
}
