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

// The entries of a stacked result go straight where the tensor is needed, out
// of nested loops, too: each rank reduces its block only.
!ps = !nd.tensor<f32, [i = 8], sum {a}>
!xs = !nd.tensor<f32, [i = 8, n = 4]>
!ys = !nd.tensor<f32, [i = 8, m = 3, n = 4]>
!bs = !nd.tensor<f32, [i = 8 on {a}, m = 3, n = 4]>
!cut = !nd.tensor<f32, [i = 8, m = 3, n = 4 on {a}]>
module attributes {nd.mesh = #nd.mesh<a = 2>} {
  // CHECK-LABEL: func.func @entries
  // CHECK: %[[R:.*]] = nd.scan "n" 4 {{.*}} -> !nd.tensor<f32, [i = 8 on {a}, m = 3, n = 4]>
  // CHECK: %[[S:.*]] = nd.scan "m" 3 {{.*}} -> !nd.tensor<f32, [i = 8 on {a}, m = 3]>
  // CHECK: %[[E:.*]] = spmd.reduce_scatter sum ["a"] to ["i"]
  // CHECK-NEXT: nd.yield %[[E]]
  // CHECK: nd.yield %[[S]]
  // CHECK: return %[[R]]
  func.func @entries(%x: !nd.tensor<f32, [b = 6 on {a}, i = 8]>) -> !bs {
    %r = nd.scan "n" 4 whole(%x : !nd.tensor<f32, [b = 6 on {a}, i = 8]>) -> !ys {
    ^bb0(%v: !nd.tensor<f32, [b = 6 on {a}, i = 8]>):
      %s = nd.scan "m" 3 whole(%v : !nd.tensor<f32, [b = 6 on {a}, i = 8]>) -> !nd.tensor<f32, [i = 8, m = 3], sum {a}> {
      ^bb1(%w: !nd.tensor<f32, [b = 6 on {a}, i = 8]>):
        %p = nd.reduce_sum %w {dims = ["b"]} : (!nd.tensor<f32, [b = 6 on {a}, i = 8]>) -> !ps
        %q = spmd.reshard %p : !ps -> !ps
        nd.yield %q : !ps
      }
      %e = spmd.reshard %s : !nd.tensor<f32, [i = 8, m = 3], sum {a}> -> !nd.tensor<f32, [i = 8, m = 3]>
      nd.yield %e : !nd.tensor<f32, [i = 8, m = 3]>
    }
    %b = spmd.reshard %r : !ys -> !bs
    return %b : !bs
  }

  // Not if the tensor is needed as it is, or cut along the loop's dim, or if
  // the entry is used in the body.
  // CHECK-LABEL: func.func @stays
  // CHECK: nd.scan {{.*}} -> !nd.tensor<f32, [i = 8]>, !nd.tensor<f32, [i = 8, n = 4]>, !nd.tensor<f32, [i = 8, n = 4]>, !nd.tensor<f32, [i = 8, n = 4]>
  // CHECK-COUNT-3: spmd.all_reduce
  // CHECK: nd.yield
  // CHECK-COUNT-3: spmd.slice
  func.func @stays(%x: !nd.tensor<f32, [b = 6 on {a}, i = 8]>)
      -> (!xs, !nd.tensor<f32, [i = 8 on {a}, n = 4]>, !nd.tensor<f32, [i = 8, n = 4 on {a}]>, !nd.tensor<f32, [i = 8 on {a}, n = 4]>, !nd.tensor<f32, [i = 8]>) {
    %z = nd.constant 0.0 : f32 -> !nd.tensor<f32, [i = 8]>
    %r:4 = nd.scan "n" 4 carried(%z : !nd.tensor<f32, [i = 8]>) whole(%x : !nd.tensor<f32, [b = 6 on {a}, i = 8]>) -> !nd.tensor<f32, [i = 8]>, !xs, !xs, !xs {
    ^bb0(%c: !nd.tensor<f32, [i = 8]>, %v: !nd.tensor<f32, [b = 6 on {a}, i = 8]>):
      %p = nd.reduce_sum %v {dims = ["b"]} : (!nd.tensor<f32, [b = 6 on {a}, i = 8]>) -> !ps
      %e = spmd.reshard %p : !ps -> !nd.tensor<f32, [i = 8]>
      %f = spmd.reshard %p : !ps -> !nd.tensor<f32, [i = 8]>
      %g = spmd.reshard %p : !ps -> !nd.tensor<f32, [i = 8]>
      %n = nd.add %c, %g : (!nd.tensor<f32, [i = 8]>, !nd.tensor<f32, [i = 8]>) -> !nd.tensor<f32, [i = 8]>
      nd.yield %n, %e, %f, %g : !nd.tensor<f32, [i = 8]>, !nd.tensor<f32, [i = 8]>, !nd.tensor<f32, [i = 8]>, !nd.tensor<f32, [i = 8]>
    }
    %b = spmd.reshard %r#1 : !xs -> !nd.tensor<f32, [i = 8 on {a}, n = 4]>
    %d = spmd.reshard %r#2 : !xs -> !nd.tensor<f32, [i = 8, n = 4 on {a}]>
    %h = spmd.reshard %r#3 : !xs -> !nd.tensor<f32, [i = 8 on {a}, n = 4]>
    return %r#1, %b, %d, %h, %r#0 : !xs, !nd.tensor<f32, [i = 8 on {a}, n = 4]>, !nd.tensor<f32, [i = 8, n = 4 on {a}]>, !nd.tensor<f32, [i = 8 on {a}, n = 4]>, !nd.tensor<f32, [i = 8]>
  }
}
