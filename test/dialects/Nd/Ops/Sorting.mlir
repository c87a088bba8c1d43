// RUN: mesh-opt %s -split-input-file -verify-diagnostics | FileCheck %s

!x = !nd.tensor<f32, [batch = 4, seq = 6]>

// CHECK-LABEL: func.func @orders
func.func @orders(%x: !x) -> (!nd.tensor<i32, [batch = 4, seq = 6]>, !nd.tensor<i32, [batch = 4, k = 2]>, !nd.tensor<i32, [best = 1, seq = 6]>) {
  // CHECK-NEXT: nd.argsort %arg0 {count = 6 : i64, dim = "seq", into = "seq"} : (!nd.tensor<f32, [batch = 4, seq = 6]>) -> !nd.tensor<i32, [batch = 4, seq = 6]>
  %0 = nd.argsort %x {dim = "seq", into = "seq", count = 6 : i64} : (!x) -> !nd.tensor<i32, [batch = 4, seq = 6]>
  // CHECK-NEXT: nd.argsort %arg0 {count = 2 : i64, descending, dim = "seq", into = "k"}
  %1 = nd.argsort %x {dim = "seq", into = "k", count = 2 : i64, descending} : (!x) -> !nd.tensor<i32, [batch = 4, k = 2]>
  // CHECK-NEXT: nd.top_k %arg0 {count = 1 : i64, dim = "batch", into = "best"}
  %2 = nd.top_k %x {dim = "batch", into = "best", count = 1 : i64} : (!x) -> !nd.tensor<i32, [best = 1, seq = 6]>
  return %0, %1, %2 : !nd.tensor<i32, [batch = 4, seq = 6]>, !nd.tensor<i32, [batch = 4, k = 2]>, !nd.tensor<i32, [best = 1, seq = 6]>
}

// -----

func.func @f(%a: !nd.tensor<f32, [x = 2]>) {
  // expected-error @+2 {{argsort: the operand has no dim 'y'; its dims are 'x'}}
  // expected-error @+1 {{failed to infer}}
  %b = nd.argsort %a {dim = "y", into = "y", count = 2 : i64} : (!nd.tensor<f32, [x = 2]>) -> !nd.tensor<i32, [x = 2]>
  return
}

// -----

func.func @f(%a: !nd.tensor<i1, [x = 2]>) {
  // expected-error @+2 {{argsort: expected floats or i32 ('cast' converts), got 'i1'}}
  // expected-error @+1 {{failed to infer}}
  %b = nd.argsort %a {dim = "x", into = "x", count = 2 : i64} : (!nd.tensor<i1, [x = 2]>) -> !nd.tensor<i32, [x = 2]>
  return
}

// -----

func.func @f(%a: !nd.tensor<f32, [x = 2]>) {
  // expected-error @+2 {{top_k: expected 1 to 2 entries of dim 'x', got 3}}
  // expected-error @+1 {{failed to infer}}
  %b = nd.top_k %a {dim = "x", into = "k", count = 3 : i64} : (!nd.tensor<f32, [x = 2]>) -> !nd.tensor<i32, [k = 3]>
  return
}

// -----

func.func @f(%a: !nd.tensor<f32, [x = 2, y = 3]>) {
  // expected-error @+2 {{argsort: the result would have two dims 'y'}}
  // expected-error @+1 {{failed to infer}}
  %b = nd.argsort %a {dim = "x", into = "y", count = 2 : i64} : (!nd.tensor<f32, [x = 2, y = 3]>) -> !nd.tensor<i32, [y = 2]>
  return
}

// -----

func.func @f(%a: !nd.tensor<f32, [x = 2]>) {
  // expected-error @+2 {{top_k: the result would have two dims 'x'}}
  // expected-error @+1 {{failed to infer}}
  %b = nd.top_k %a {dim = "x", into = "x", count = 2 : i64} : (!nd.tensor<f32, [x = 2]>) -> !nd.tensor<i32, [x = 2]>
  return
}
