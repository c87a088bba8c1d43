// RUN: mesh-opt %s -meshc-fold-reshards -meshc-lower-reshards | FileCheck %s

module attributes {nd.mesh = #nd.mesh<a = 2>} {
  // A sum of which each rank keeps its block.
  // CHECK-LABEL: @only_the_block
  // CHECK-NEXT: spmd.reduce_scatter sum ["a"] to ["i"]
  // CHECK-NEXT: return
  func.func @only_the_block(%x: !nd.tensor<f32, [i = 8], sum {a}>) -> !nd.tensor<f32, [i = 8 on {a}]> {
    %y = spmd.reshard %x : <f32, [i = 8], sum {a}> -> <f32, [i = 8]>
    %z = spmd.reshard %y : <f32, [i = 8]> -> <f32, [i = 8 on {a}]>
    return %z : !nd.tensor<f32, [i = 8 on {a}]>
  }
  // The whole is used too.
  // CHECK-LABEL: @the_whole_too
  // CHECK-NEXT: spmd.all_reduce
  // CHECK-NEXT: spmd.slice
  func.func @the_whole_too(%x: !nd.tensor<f32, [i = 8], sum {a}>) -> (!nd.tensor<f32, [i = 8]>, !nd.tensor<f32, [i = 8 on {a}]>) {
    %y = spmd.reshard %x : <f32, [i = 8], sum {a}> -> <f32, [i = 8]>
    %z = spmd.reshard %y : <f32, [i = 8]> -> <f32, [i = 8 on {a}]>
    return %y, %z : !nd.tensor<f32, [i = 8]>, !nd.tensor<f32, [i = 8 on {a}]>
  }
  // There and back.
  // CHECK-LABEL: @there_and_back
  // CHECK-NEXT: return %arg0
  func.func @there_and_back(%x: !nd.tensor<f32, [i = 8 on {a}]>) -> !nd.tensor<f32, [i = 8 on {a}]> {
    %y = spmd.reshard %x : <f32, [i = 8 on {a}]> -> <f32, [i = 8]>
    %z = spmd.reshard %y : <f32, [i = 8]> -> <f32, [i = 8 on {a}]>
    return %z : !nd.tensor<f32, [i = 8 on {a}]>
  }
  // Two shardings are wanted: the whole is computed once.
  // CHECK-LABEL: @two_targets
  // CHECK-NEXT: spmd.all_reduce
  // CHECK-NEXT: spmd.slice "i" ["a"]
  // CHECK-NEXT: spmd.slice "j" ["a"]
  func.func @two_targets(%x: !nd.tensor<f32, [i = 8, j = 8], sum {a}>) -> (!nd.tensor<f32, [i = 8 on {a}, j = 8]>, !nd.tensor<f32, [i = 8, j = 8 on {a}]>) {
    %y = spmd.reshard %x : <f32, [i = 8, j = 8], sum {a}> -> <f32, [i = 8, j = 8]>
    %u = spmd.reshard %y : <f32, [i = 8, j = 8]> -> <f32, [i = 8 on {a}, j = 8]>
    %v = spmd.reshard %y : <f32, [i = 8, j = 8]> -> <f32, [i = 8, j = 8 on {a}]>
    return %u, %v : !nd.tensor<f32, [i = 8 on {a}, j = 8]>, !nd.tensor<f32, [i = 8, j = 8 on {a}]>
  }
  // A reshard alone has nothing to be folded into.
  // CHECK-LABEL: @alone
  // CHECK-NEXT: spmd.all_reduce
  // CHECK-NEXT: nd.exp
  func.func @alone(%x: !nd.tensor<f32, [i = 8], sum {a}>) -> !nd.tensor<f32, [i = 8]> {
    %y = spmd.reshard %x : <f32, [i = 8], sum {a}> -> <f32, [i = 8]>
    %z = nd.exp %y : (!nd.tensor<f32, [i = 8]>) -> !nd.tensor<f32, [i = 8]>
    return %z : !nd.tensor<f32, [i = 8]>
  }
}
