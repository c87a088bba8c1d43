// RUN: mesh-opt %s --split-input-file -meshc-lower-reshards | FileCheck %s

// The blocks of 7 entries over 2 and 3 ranks have 4 and 3. To gather the first
// takes 44 bytes, its input and output together. By default a step takes twice
// the larger block, or the least that suffices: 40 bytes, for more traffic.
module attributes {nd.mesh = #nd.mesh<a = 2, b = 3>} {
  // CHECK-LABEL: @by_default
  // CHECK-NEXT: spmd.slice "i" ["b"]
  // CHECK-NEXT: spmd.all_gather ["a", "b"] from ["i"]
  // CHECK-NEXT: spmd.slice "i" ["b"]
  // CHECK-NEXT: return
  func.func @by_default(%x: !nd.tensor<f32, [i = 7 on {a}]>) -> !nd.tensor<f32, [i = 7 on {b}]> {
    %y = spmd.reshard %x : <f32, [i = 7 on {a}]> -> <f32, [i = 7 on {b}]>
    return %y : !nd.tensor<f32, [i = 7 on {b}]>
  }
}

// -----

module attributes {nd.mesh = #nd.mesh<a = 2, b = 3>, spmd.memory_bound = 44 : i64} {
  // CHECK-LABEL: @with_more
  // CHECK-NEXT: spmd.all_gather ["a"] from ["i"]
  // CHECK-NEXT: spmd.slice "i" ["b"]
  // CHECK-NEXT: return
  func.func @with_more(%x: !nd.tensor<f32, [i = 7 on {a}]>) -> !nd.tensor<f32, [i = 7 on {b}]> {
    %y = spmd.reshard %x : <f32, [i = 7 on {a}]> -> <f32, [i = 7 on {b}]>
    return %y : !nd.tensor<f32, [i = 7 on {b}]>
  }
}

// -----

// With too little there is a plan all the same.
module attributes {nd.mesh = #nd.mesh<a = 2, b = 3>, spmd.memory_bound = 1 : i64} {
  // CHECK-LABEL: @with_less
  // CHECK-NEXT: spmd.slice "i" ["b"]
  // CHECK-NEXT: spmd.all_gather ["a", "b"] from ["i"]
  func.func @with_less(%x: !nd.tensor<f32, [i = 7 on {a}]>) -> !nd.tensor<f32, [i = 7 on {b}]> {
    %y = spmd.reshard %x : <f32, [i = 7 on {a}]> -> <f32, [i = 7 on {b}]>
    return %y : !nd.tensor<f32, [i = 7 on {b}]>
  }
}
