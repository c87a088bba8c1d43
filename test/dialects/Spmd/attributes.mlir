// RUN: mesh-opt %s -split-input-file -verify-diagnostics

// Discardable attributes of the dialect: on which ops they are, and their values.

// expected-error @below {{'spmd.what' is no attribute that the dialect 'spmd' knows}}
module attributes {spmd.what = 1 : i64} {}

// -----

// expected-error @below {{'spmd.memory_bound' must be an i64 above 0, got 0 : i64}}
module attributes {spmd.memory_bound = 0 : i64} {}

// -----

// expected-error @below {{'spmd.byte_costs' must be a dictionary of f64 numbers above 0, got {a = -1.0}}
module attributes {spmd.byte_costs = {a = -1.0 : f64}} {}

// -----

// expected-error @below {{'spmd.flops_per_byte' must be a dictionary of f64 numbers from 0 on, got "none"}}
module attributes {spmd.flops_per_byte = "none"} {}

// -----

// expected-error @below {{'spmd.overlap' must be an f64 from 0 to 1, got 1.5}}
module attributes {spmd.overlap = 1.5 : f64} {}

// -----

// expected-error @below {{'spmd.gather_once' must be without a value, got 3 : i64}}
module attributes {spmd.gather_once = 3 : i64} {}

// -----

// expected-error @below {{'spmd.plan' must be on a function}}
module attributes {spmd.plan = #spmd.plan<() { } ()>} {}

// -----

module {
  // expected-error @below {{'spmd.plan' must be a #spmd.plan<…>, got "none"}}
  func.func @f() attributes {spmd.plan = "none"} {
    return
  }
}

// -----

module {
  // expected-error @below {{'spmd.shared_axes' must be on a loop}}
  func.func @f() attributes {spmd.shared_axes = ["data"]} {
    return
  }
}

// -----

!b = !nd.tensor<f32, [i = 8 on {a}]>
!w = !nd.tensor<f32, [i = 8]>
module attributes {nd.mesh = #nd.mesh<a = 2>} {
  func.func @f(%x: !b) -> !w {
    // expected-error @below {{'spmd.use' must be an i64 above 1, got 1 : i64}}
    %0 = spmd.all_gather ["a"] from ["i"] %x {spmd.use = 1 : i64} : (!b) -> !w
    return %0 : !w
  }
}
