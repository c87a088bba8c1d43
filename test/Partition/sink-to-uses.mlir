// RUN: mesh-opt %s -meshc-assign-shardings -meshc-choose-plan -meshc-partition-program | FileCheck %s

// The phase decides how a value lies where the value is used: what is not a product moves to its first user. It does not move past a
// loop, nor to the end of the block, and products stay.

!x = !nd.tensor<f32, [batch = 64, io = 32]>
!w = !nd.tensor<f32, [hidden = 16, io = 32]>
!h = !nd.tensor<f32, [batch = 64, hidden = 16]>
!o = !nd.tensor<f32, [io = 32, other = 64]>
!r = !nd.tensor<f32, [hidden = 16, other = 64]>
!s = !nd.tensor<f32, []>
module attributes {nd.mesh = #nd.mesh<data = 2>} {
  nd.rule "batch" -> ["data"]

  // A chain keeps its order.
  // CHECK-LABEL: func.func @chain
  // CHECK-NEXT: %[[H:.*]] = nd.einsum %arg0, %arg2
  // CHECK-NEXT: %[[E:.*]] = nd.exp %arg1
  // CHECK-NEXT: %[[T:.*]] = nd.tanh %[[E]]
  // CHECK-NEXT: nd.einsum %[[T]], %arg2
  func.func @chain(%x: !x, %y: !x, %w: !w) -> (!h, !h) {
    %e = nd.exp %y : (!x) -> !x
    %t = nd.tanh %e : (!x) -> !x
    %h = nd.einsum %x, %w {reduced = ["io"]} : (!x, !w) -> !h
    %k = nd.einsum %t, %w {reduced = ["io"]} : (!x, !w) -> !h
    return %h, %k : !h, !h
  }

  // To the first of two users.
  // CHECK-LABEL: func.func @users
  // CHECK-NEXT: nd.exp %arg1
  // CHECK-NEXT: nd.tanh
  // CHECK-NEXT: nd.einsum
  func.func @users(%x: !x, %y: !x, %w: !w) -> (!h, !x, !x) {
    %e = nd.exp %y : (!x) -> !x
    %t = nd.tanh %e : (!x) -> !x
    %h = nd.einsum %x, %w {reduced = ["io"]} : (!x, !w) -> !h
    %s = nd.sqrt %e : (!x) -> !x
    return %h, %t, %s : !h, !x, !x
  }

  // A rename moves to where its operand is needed.
  // CHECK-LABEL: func.func @renames
  // CHECK-NEXT: nd.einsum %arg0, %arg2
  // CHECK-NEXT: %[[E:.*]] = nd.exp %arg1
  // CHECK-NEXT: %[[R:.*]] = nd.rename %[[E]]
  // CHECK-NEXT: nd.einsum %[[E]], %arg2
  // CHECK-NEXT: nd.einsum %[[R]], %arg3
  func.func @renames(%x: !x, %y: !x, %w: !w, %v: !w) -> (!h, !h, !r) {
    %e = nd.exp %y : (!x) -> !x
    %r = nd.rename %e {from = ["batch"], to = ["other"]} : (!x) -> !o
    %h = nd.einsum %x, %w {reduced = ["io"]} : (!x, !w) -> !h
    %k = nd.einsum %e, %w {reduced = ["io"]} : (!x, !w) -> !h
    %l = nd.einsum %r, %v {reduced = ["io"]} : (!o, !w) -> !r
    return %h, %k, %l : !h, !h, !r
  }

  // What two products need keeps its order.
  // CHECK-LABEL: func.func @order
  // CHECK-NEXT: nd.einsum %arg0, %arg2
  // CHECK-NEXT: nd.exp %arg1
  // CHECK-NEXT: nd.tanh %arg0
  // CHECK-NEXT: nd.add
  func.func @order(%x: !x, %y: !x, %w: !w) -> (!h, !x) {
    %e = nd.exp %y : (!x) -> !x
    %t = nd.tanh %x : (!x) -> !x
    %h = nd.einsum %x, %w {reduced = ["io"]} : (!x, !w) -> !h
    %a = nd.add %t, %e : (!x, !x) -> !x
    %k = nd.einsum %a, %w {reduced = ["io"]} : (!x, !w) -> !h
    return %k, %a : !h, !x
  }

  // A product stays, and so does what a return needs.
  // CHECK-LABEL: func.func @products
  // CHECK-NEXT: nd.exp %arg1
  // CHECK-NEXT: nd.einsum %arg1
  // CHECK-NEXT: nd.einsum %arg0
  // CHECK-NEXT: nd.tanh
  func.func @products(%x: !x, %y: !x, %w: !w) -> (!h, !x, !h) {
    %e = nd.exp %y : (!x) -> !x
    %k = nd.einsum %y, %w {reduced = ["io"]} : (!x, !w) -> !h
    %h = nd.einsum %x, %w {reduced = ["io"]} : (!x, !w) -> !h
    %t = nd.tanh %k : (!h) -> !h
    return %h, %e, %t : !h, !x, !h
  }

  // CHECK-LABEL: func.func @loop
  // CHECK: nd.exp %arg1
  // CHECK: nd.scan
  // CHECK: nd.tanh
  func.func @loop(%x: !x, %y: !x) -> !x {
    %e = nd.exp %y : (!x) -> !x
    %z = nd.scan "layers" 4 carried(%x : !x) -> !x {
    ^bb0(%c: !x):
      %o = nd.sqrt %c : (!x) -> !x
      nd.yield %o : !x
    }
    %t = nd.tanh %e : (!x) -> !x
    %a = nd.add %z, %t : (!x, !x) -> !x
    return %a : !x
  }
}
