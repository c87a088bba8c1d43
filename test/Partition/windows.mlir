// RUN: mesh-opt %s -meshc-assign-shardings -meshc-choose-plan -meshc-partition-program -meshc-verify-partition | FileCheck %s

!x = !nd.tensor<f32, [batch = 8, seq = 64]>
!short = !nd.tensor<f32, [batch = 8, seq = 63]>
!long = !nd.tensor<f32, [batch = 8, seq = 66]>
!both = !nd.tensor<f32, [batch = 8, seq = 129]>
!few = !nd.tensor<f32, [batch = 8, seq = 5]>
module attributes {nd.mesh = #nd.mesh<a = 2, b = 2, ring = 4>} {
  nd.rule "seq" -> ["ring"]

  // CHECK-LABEL: func.func @slice
  // CHECK-NEXT: spmd.window "seq" [0, 0, 1, 63] fill 0.0{{.*}} %arg0 {nd.name = "y"}
  // CHECK-NEXT: return
  func.func @slice(%x: !x) -> !short {
    %y = nd.slice %x {dim = "seq", start = 1 : i64, size = 63 : i64, nd.name = "y"} : (!x) -> !short
    return %y : !short
  }
  // CHECK-LABEL: func.func @pad
  // CHECK-NEXT: spmd.window "seq" [0, 2, 0, 64] fill 5.0{{.*}} %arg0
  // CHECK-NEXT: return
  func.func @pad(%x: !x) -> !long {
    %y = nd.pad %x {dim = "seq", low = 2 : i64, high = 0 : i64, value = 5.0 : f64} : (!x) -> !long
    return %y : !long
  }
  // Along another dim, ops stay as they are.
  // CHECK-LABEL: func.func @other_dim
  // CHECK-NEXT: nd.slice {{.*}} -> !nd.tensor<f32, [batch = 3, seq = 64 on {ring}]>
  // CHECK-NEXT: return
  func.func @other_dim(%x: !x) -> !nd.tensor<f32, [batch = 3, seq = 64]> {
    %y = nd.slice %x {dim = "batch", start = 1 : i64, size = 3 : i64} : (!x) -> !nd.tensor<f32, [batch = 3, seq = 64]>
    return %y : !nd.tensor<f32, [batch = 3, seq = 64]>
  }
  // CHECK-LABEL: func.func @concat
  // CHECK-NEXT: spmd.window "seq" [0, 0, 0, 63, 1, 63, 0, 66] fill 0.0{{.*}} %arg0, %arg1
  // CHECK-NEXT: return
  func.func @concat(%x: !short, %y: !long) -> !both {
    %z = nd.concat %x, %y {dim = "seq"} : (!short, !long) -> !both
    return %z : !both
  }
  // The tail of a partial sum is a partial sum.
  // CHECK-LABEL: func.func @partial
  // CHECK-NEXT: %[[P:.*]] = nd.einsum {{.*}} -> !nd.tensor<f32, [batch = 8, seq = 64 on {ring}], sum {a}>
  // CHECK-NEXT: %[[W:.*]] = spmd.window "seq" [0, 0, 62, 2] {{.*}} -> !nd.tensor<f32, [batch = 8, seq = 2 on {ring}], sum {a}>
  // CHECK-NEXT: spmd.reshard %[[W]]
  nd.rule "k" -> ["a"]
  func.func @partial(%x: !nd.tensor<f32, [batch = 8, k = 16, seq = 64]>, %w: !nd.tensor<f32, [k = 16]>) -> !nd.tensor<f32, [batch = 8, seq = 2]> {
    %p = nd.einsum %x, %w {reduced = ["k"]} : (!nd.tensor<f32, [batch = 8, k = 16, seq = 64]>, !nd.tensor<f32, [k = 16]>) -> !x
    %y = nd.slice %p {dim = "seq", start = 62 : i64, size = 2 : i64} : (!x) -> !nd.tensor<f32, [batch = 8, seq = 2]>
    return %y : !nd.tensor<f32, [batch = 8, seq = 2]>
  }
  // Blocks of 2, 1, 2 and 0 entries: no distance leads from one to all others. The ranks that have an entry give it.
  // CHECK-LABEL: func.func @nested
  // CHECK-NEXT: %[[S:.*]] = nd.slice %arg0 {{.*}} -> !nd.tensor<f32, [place = 5], sum {a, b}>
  // CHECK-NEXT: spmd.reshard %[[S]] {{.*}} -> <f32, [place = 5 on {a, b}]>
  // CHECK-NEXT: return
  nd.rule "place" -> ["a", "b"]
  func.func @nested(%x: !nd.tensor<f32, [place = 64]>) -> !nd.tensor<f32, [place = 5]> {
    %y = nd.slice %x {dim = "place", start = 59 : i64, size = 5 : i64} : (!nd.tensor<f32, [place = 64]>) -> !nd.tensor<f32, [place = 5]>
    return %y : !nd.tensor<f32, [place = 5]>
  }
  // A single entry is in the first block, whatever the axes.
  // CHECK-LABEL: func.func @last
  // CHECK-NEXT: spmd.window "place" [0, 0, 63, 1] {{.*}} -> !nd.tensor<f32, [place = 1 on {a, b}]>
  // CHECK-NEXT: return
  func.func @last(%x: !nd.tensor<f32, [place = 64]>) -> !nd.tensor<f32, [place = 1]> {
    %y = nd.slice %x {dim = "place", start = 63 : i64, size = 1 : i64} : (!nd.tensor<f32, [place = 64]>) -> !nd.tensor<f32, [place = 1]>
    return %y : !nd.tensor<f32, [place = 1]>
  }
}
