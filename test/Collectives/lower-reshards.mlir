// RUN: mesh-opt %s -meshc-lower-reshards | FileCheck %s

module attributes {nd.mesh = #nd.mesh<a = 2, b = 4, c = 2>} {
  // CHECK-LABEL: @sum_to_whole
  // CHECK: spmd.all_reduce sum ["a", "b"]
  func.func @sum_to_whole(%x: !nd.tensor<f32, [i = 64], sum {b, a}>) -> !nd.tensor<f32, [i = 64]> {
    %y = spmd.reshard %x : <f32, [i = 64], sum {b, a}> -> <f32, [i = 64]>
    return %y : !nd.tensor<f32, [i = 64]>
  }
  // CHECK-LABEL: @sum_to_blocks
  // CHECK: spmd.reduce_scatter max ["b"] to ["i"]
  func.func @sum_to_blocks(%x: !nd.tensor<f32, [i = 64], max {b}>) -> !nd.tensor<f32, [i = 64 on {b}]> {
    %y = spmd.reshard %x : <f32, [i = 64], max {b}> -> <f32, [i = 64 on {b}]>
    return %y : !nd.tensor<f32, [i = 64 on {b}]>
  }
  // Parts of f32 of a sum of 16 bits: they are scattered in f32, and gathered in 16 bits.
  // CHECK-LABEL: @wide_sum_to_whole
  // CHECK-NEXT: %[[S:.*]] = spmd.reduce_scatter sum ["b"] to ["i"] %arg0 {nd.name = "h"} : (!nd.tensor<f32, [i = 64], sum {b}>) -> !nd.tensor<f32, [i = 64 on {b}]>
  // CHECK-NEXT: %[[R:.*]] = nd.cast %[[S]] {nd.name = "h"} : (!nd.tensor<f32, [i = 64 on {b}]>) -> !nd.tensor<bf16, [i = 64 on {b}]>
  // CHECK-NEXT: spmd.all_gather ["b"] from ["i"] %[[R]] {nd.name = "h"} : (!nd.tensor<bf16, [i = 64 on {b}]>) -> !nd.tensor<bf16, [i = 64]>
  func.func @wide_sum_to_whole(%x: !nd.tensor<f32, [i = 64], sum {b}>) -> !nd.tensor<bf16, [i = 64]> {
    %y = spmd.reshard %x {nd.name = "h"} : <f32, [i = 64], sum {b}> -> <bf16, [i = 64]>
    return %y : !nd.tensor<bf16, [i = 64]>
  }
  // Nothing is rounded before the last sum ends.
  // CHECK-LABEL: @wide_sum_to_blocks
  // CHECK: spmd.reduce_scatter sum ["b"] to ["i"] {{.*}} -> !nd.tensor<f32, [i = 64 on {b}], sum {a}>
  // CHECK-NEXT: spmd.reduce_scatter sum ["a"] to ["i"] {{.*}} -> !nd.tensor<f32, [i = 64 on {b, a}]>
  // CHECK-NEXT: nd.cast
  // CHECK-NEXT: spmd.all_gather ["a"] {{.*}} -> !nd.tensor<f16, [i = 64 on {b}]>
  // CHECK-NEXT: return
  func.func @wide_sum_to_blocks(%x: !nd.tensor<f32, [i = 64], sum {a, b}>) -> !nd.tensor<f16, [i = 64 on {b}]> {
    %y = spmd.reshard %x : <f32, [i = 64], sum {a, b}> -> <f16, [i = 64 on {b}]>
    return %y : !nd.tensor<f16, [i = 64 on {b}]>
  }
  // A scalar has no blocks.
  // CHECK-LABEL: @wide_scalar
  // CHECK-NEXT: %[[S:.*]] = spmd.all_reduce prod ["a"] %arg0 : (!nd.tensor<f32, [], prod {a}>) -> !nd.tensor<f32, []>
  // CHECK-NEXT: nd.cast %[[S]] : (!nd.tensor<f32, []>) -> !nd.tensor<bf16, []>
  func.func @wide_scalar(%x: !nd.tensor<f32, [], prod {a}>) -> !nd.tensor<bf16, []> {
    %y = spmd.reshard %x : <f32, [], prod {a}> -> <bf16, []>
    return %y : !nd.tensor<bf16, []>
  }
  // What is not needed is dropped before it is summed.
  // CHECK-LABEL: @slice_first
  // CHECK-NEXT: spmd.slice "i" ["b"]
  // CHECK-NEXT: spmd.all_reduce sum ["a"]
  func.func @slice_first(%x: !nd.tensor<f32, [i = 64], sum {a}>) -> !nd.tensor<f32, [i = 64 on {b}]> {
    %y = spmd.reshard %x : <f32, [i = 64], sum {a}> -> <f32, [i = 64 on {b}]>
    return %y : !nd.tensor<f32, [i = 64 on {b}]>
  }
  // CHECK-LABEL: @blocks_to_whole
  // CHECK: spmd.all_gather ["a", "b"] from ["i"]
  func.func @blocks_to_whole(%x: !nd.tensor<f32, [i = 64 on {a, b}]>) -> !nd.tensor<f32, [i = 64]> {
    %y = spmd.reshard %x : <f32, [i = 64 on {a, b}]> -> <f32, [i = 64]>
    return %y : !nd.tensor<f32, [i = 64]>
  }
  // The runtime numbers a group in the mesh's order; another order takes two.
  // CHECK-LABEL: @other_order
  // CHECK-NEXT: spmd.all_gather ["a"] from ["i"]
  // CHECK-NEXT: spmd.all_gather ["b"] from ["i"]
  func.func @other_order(%x: !nd.tensor<f32, [i = 64 on {b, a}]>) -> !nd.tensor<f32, [i = 64]> {
    %y = spmd.reshard %x : <f32, [i = 64 on {b, a}]> -> <f32, [i = 64]>
    return %y : !nd.tensor<f32, [i = 64]>
  }
  // Blocks change places: no rank has more than one.
  // CHECK-LABEL: @to_other_order
  // CHECK-NEXT: spmd.permute ["a", "b"] to ["b", "a"] %arg0 : (!nd.tensor<f32, [i = 64 on {a, b}]>) -> !nd.tensor<f32, [i = 64 on {b, a}]>
  // CHECK-NEXT: return
  func.func @to_other_order(%x: !nd.tensor<f32, [i = 64 on {a, b}]>) -> !nd.tensor<f32, [i = 64 on {b, a}]> {
    %y = spmd.reshard %x : <f32, [i = 64 on {a, b}]> -> <f32, [i = 64 on {b, a}]>
    return %y : !nd.tensor<f32, [i = 64 on {b, a}]>
  }
  // Another axis of the same size, also where it does not divide the dim.
  // CHECK-LABEL: @to_other_axis
  // CHECK-NEXT: spmd.permute ["a", "c"] to ["c", "a"] %arg0 {nd.name = "h"}
  // CHECK-NEXT: return
  func.func @to_other_axis(%x: !nd.tensor<f32, [i = 7 on {a}]>) -> !nd.tensor<f32, [i = 7 on {c}]> {
    %y = spmd.reshard %x {nd.name = "h"} : <f32, [i = 7 on {a}]> -> <f32, [i = 7 on {c}]>
    return %y : !nd.tensor<f32, [i = 7 on {c}]>
  }
  // CHECK-LABEL: @exchange
  // CHECK-NEXT: spmd.permute ["a", "c"] to ["c", "a"]
  // CHECK-NEXT: return
  func.func @exchange(%x: !nd.tensor<f32, [i = 64 on {a}, j = 8 on {c}]>) -> !nd.tensor<f32, [i = 64 on {c}, j = 8 on {a}]> {
    %y = spmd.reshard %x : <f32, [i = 64 on {a}, j = 8 on {c}]> -> <f32, [i = 64 on {c}, j = 8 on {a}]>
    return %y : !nd.tensor<f32, [i = 64 on {c}, j = 8 on {a}]>
  }
  // The outer axis goes: it becomes the inner one before anything is gathered.
  // CHECK-LABEL: @keep_the_minor
  // CHECK-NEXT: spmd.permute ["a", "b"] to ["b", "a"]
  // CHECK-NEXT: spmd.all_gather ["a"] from ["i"]
  // CHECK-NEXT: return
  func.func @keep_the_minor(%x: !nd.tensor<f32, [i = 64 on {a, b}]>) -> !nd.tensor<f32, [i = 64 on {b}]> {
    %y = spmd.reshard %x : <f32, [i = 64 on {a, b}]> -> <f32, [i = 64 on {b}]>
    return %y : !nd.tensor<f32, [i = 64 on {b}]>
  }
  // Blocks of several dims become those of one; none is gathered.
  // CHECK-LABEL: @from_two_dims
  // CHECK-NEXT: spmd.all_to_all
  // CHECK-NEXT: spmd.all_to_all
  // CHECK-NEXT: return
  func.func @from_two_dims(%x: !nd.tensor<f32, [i = 8 on {a}, j = 16, k = 32 on {b}]>) -> !nd.tensor<f32, [i = 8, j = 16 on {a, b}, k = 32]> {
    %y = spmd.reshard %x : <f32, [i = 8 on {a}, j = 16, k = 32 on {b}]> -> <f32, [i = 8, j = 16 on {a, b}, k = 32]>
    return %y : !nd.tensor<f32, [i = 8, j = 16 on {a, b}, k = 32]>
  }
  // CHECK-LABEL: @whole_to_blocks
  // CHECK-NEXT: spmd.slice "i" ["b", "a"]
  // CHECK-NEXT: return
  func.func @whole_to_blocks(%x: !nd.tensor<f32, [i = 64]>) -> !nd.tensor<f32, [i = 64 on {b, a}]> {
    %y = spmd.reshard %x : <f32, [i = 64]> -> <f32, [i = 64 on {b, a}]>
    return %y : !nd.tensor<f32, [i = 64 on {b, a}]>
  }
  // CHECK-LABEL: @other_dim
  // CHECK-NEXT: spmd.all_to_all ["b"] from ["i"] to ["j"]
  // CHECK-NEXT: return
  func.func @other_dim(%x: !nd.tensor<f32, [i = 64 on {b}, j = 8]>) -> !nd.tensor<f32, [i = 64, j = 8 on {b}]> {
    %y = spmd.reshard %x : <f32, [i = 64 on {b}, j = 8]> -> <f32, [i = 64, j = 8 on {b}]>
    return %y : !nd.tensor<f32, [i = 64, j = 8 on {b}]>
  }
  // The minor axis must go first; what is gathered is as little as can be.
  // CHECK-LABEL: @keep_the_major
  // CHECK-NEXT: spmd.all_gather ["b"] from ["i"]
  // CHECK-NEXT: return
  func.func @keep_the_major(%x: !nd.tensor<f32, [i = 64 on {a, b}]>) -> !nd.tensor<f32, [i = 64 on {a}]> {
    %y = spmd.reshard %x : <f32, [i = 64 on {a, b}]> -> <f32, [i = 64 on {a}]>
    return %y : !nd.tensor<f32, [i = 64 on {a}]>
  }
  // Partial over one axis still, names and places kept.
  // CHECK-LABEL: @some_axes
  // CHECK-NEXT: spmd.all_reduce sum ["a"] %arg0 {nd.name = "h"} : (!nd.tensor<f32, [i = 64], sum {a, b}>) -> !nd.tensor<f32, [i = 64], sum {b}>
  func.func @some_axes(%x: !nd.tensor<f32, [i = 64], sum {a, b}>) -> !nd.tensor<f32, [i = 64], sum {b}> {
    %y = spmd.reshard %x {nd.name = "h"} : <f32, [i = 64], sum {a, b}> -> <f32, [i = 64], sum {b}>
    return %y : !nd.tensor<f32, [i = 64], sum {b}>
  }
  // A whole value as a partial sum moves nothing; what is cut is gathered first.
  // CHECK-LABEL: @to_partial
  // CHECK-NEXT: %[[G:.*]] = spmd.all_gather ["b"] from ["i"] %arg0
  // CHECK-NEXT: spmd.to_partial ["b"] %[[G]] : <f32, [i = 64], sum {a}> -> <f32, [i = 64], sum {a, b}>
  // CHECK-NEXT: return
  func.func @to_partial(%x: !nd.tensor<f32, [i = 64 on {b}], sum {a}>) -> !nd.tensor<f32, [i = 64], sum {a, b}> {
    %y = spmd.reshard %x : <f32, [i = 64 on {b}], sum {a}> -> <f32, [i = 64], sum {a, b}>
    return %y : !nd.tensor<f32, [i = 64], sum {a, b}>
  }
  // What is a collective or local already stays.
  // CHECK-LABEL: @lowered
  // CHECK-NEXT: %[[S:.*]] = spmd.all_reduce sum ["a"] %arg0
  // CHECK-NEXT: %[[B:.*]] = spmd.slice "i" ["a"] %[[S]]
  // CHECK-NEXT: nd.exp %[[B]]
  // CHECK-NEXT: return
  func.func @lowered(%x: !nd.tensor<f32, [i = 64], sum {a}>) -> !nd.tensor<f32, [i = 64 on {a}]> {
    %0 = spmd.all_reduce sum ["a"] %x : (!nd.tensor<f32, [i = 64], sum {a}>) -> !nd.tensor<f32, [i = 64]>
    %1 = spmd.slice "i" ["a"] %0 : !nd.tensor<f32, [i = 64]> -> !nd.tensor<f32, [i = 64 on {a}]>
    %2 = nd.exp %1 : (!nd.tensor<f32, [i = 64 on {a}]>) -> !nd.tensor<f32, [i = 64 on {a}]>
    return %2 : !nd.tensor<f32, [i = 64 on {a}]>
  }
}
