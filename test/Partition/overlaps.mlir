// RUN: mesh-opt %s -meshc-assign-shardings -meshc-choose-plan -meshc-partition-program -meshc-verify-partition | FileCheck %s

// Gathers with affine indices, and their gradients, on blocks that overlap.
!x = !nd.tensor<f32, [batch = 8, row = 64]>
!windows = !nd.tensor<f32, [batch = 8, line = 64, tall = 5]>
!half = !nd.tensor<f32, [batch = 8, line = 32, tall = 5]>
!half_indices = !nd.tensor<i32, [line = 32, tall = 5]>
!indices = !nd.tensor<i32, [line = 64, tall = 5]>
!lines = !nd.tensor<i32, [line = 64]>
!taps = !nd.tensor<i32, [tall = 5]>
!number = !nd.tensor<i32, []>
module attributes {nd.mesh = #nd.mesh<a = 2, rows = 4>} {
  nd.rule "row" -> ["rows"]
  nd.rule "line" -> ["rows"]
  nd.rule "k" -> ["a"]

  // Each rank has its 16 rows between two of the rank before and two of the next.
  // CHECK-LABEL: func.func @gather
  // CHECK: %[[I:.*]] = spmd.reindex "line" stride 1 low -2 size 64 block 20 %{{.*}} : <i32, [line = 64 on {rows}, tall = 5]>
  // CHECK-NEXT: %[[W:.*]] = spmd.window "row" [0, 0, -2, 20] repeat [20, 16] fill 0.0{{.*}} %arg0 : (!nd.tensor<f32, [batch = 8, row = 64 on {rows}]>) -> !nd.tensor<f32, [batch = 8, row = 80 on {rows}]>
  // CHECK-NEXT: nd.gather %[[W]], %[[I]] {along = "line", dim = "row"} : {{.*}} -> !nd.tensor<f32, [batch = 8, line = 64 on {rows}, tall = 5]>
  // CHECK-NEXT: return
  func.func @gather(%x: !x) -> !windows {
    %l = nd.iota : () -> !lines
    %t = nd.iota : () -> !taps
    %two = nd.constant 2 : i32 -> !number
    %s = nd.add %l, %t : (!lines, !taps) -> !indices
    %i = nd.sub %s, %two : (!indices, !number) -> !indices
    %y = nd.gather %x, %i {dim = "row"} : (!x, !indices) -> !windows
    return %y : !windows
  }
  // Every second row; the last rows of a rank's windows are those of the next rank.
  // CHECK-LABEL: func.func @stride
  // CHECK: spmd.reindex "line" stride 2 low 0 size 64 block 19
  // CHECK-NEXT: spmd.window "row" [0, 0, 0, 19] repeat [19, 16]
  // CHECK-NEXT: nd.gather {{.*}} {along = "line", dim = "row"}
  // CHECK-NEXT: return
  func.func @stride(%x: !x) -> !half {
    %l = nd.iota : () -> !nd.tensor<i32, [line = 32]>
    %t = nd.iota : () -> !taps
    %two = nd.constant 2 : i32 -> !number
    %m = nd.mul %l, %two : (!nd.tensor<i32, [line = 32]>, !number) -> !nd.tensor<i32, [line = 32]>
    %i = nd.add %m, %t : (!nd.tensor<i32, [line = 32]>, !taps) -> !half_indices
    %y = nd.gather %x, %i {dim = "row"} : (!x, !half_indices) -> !half
    return %y : !half
  }
  // What is of blocks before a rank's own, of its own, and of those after it.
  // CHECK-LABEL: func.func @scatter
  // CHECK: %[[I:.*]] = spmd.reindex "line" stride 1 low -2 size 64 block 20
  // CHECK-NEXT: %[[S:.*]] = nd.scatter_add %arg0, %[[I]] {along = "line", dim = "row"} : {{.*}} -> !nd.tensor<f32, [batch = 8, row = 80 on {rows}]>
  // CHECK-NEXT: %[[A:.*]] = spmd.window "row" [0, -2, 0, 2] repeat [16, 20] fill 0.0{{.*}} %[[S]] {spmd.causes = [#[[CAUSE:.*]]]}
  // CHECK-NEXT: %[[B:.*]] = spmd.window "row" [0, 0, 2, 16] repeat [16, 20] fill 0.0{{.*}} %[[S]] {spmd.causes = [#[[CAUSE]]]}
  // CHECK-NEXT: %[[AB:.*]] = nd.add %[[A]], %[[B]]
  // CHECK-NEXT: %[[C:.*]] = spmd.window "row" [0, 16, 18, 2] repeat [16, 20] fill 0.0{{.*}} %[[S]] {spmd.causes = [#[[CAUSE]]]}
  // CHECK-NEXT: nd.add %[[AB]], %[[C]] {nd.name = "y"} : {{.*}} -> !nd.tensor<f32, [batch = 8, row = 64 on {rows}]>
  // CHECK-NEXT: return
  func.func @scatter(%g: !windows) -> !x {
    %l = nd.iota : () -> !lines
    %t = nd.iota : () -> !taps
    %two = nd.constant 2 : i32 -> !number
    %s = nd.add %l, %t : (!lines, !taps) -> !indices
    %i = nd.sub %s, %two : (!indices, !number) -> !indices
    %y = nd.scatter_add %g, %i {dim = "row", nd.name = "y"} : (!windows, !indices) -> !x
    return %y : !x
  }
  // A partial sum stays one.
  // CHECK-LABEL: func.func @partial
  // CHECK: %[[P:.*]] = nd.einsum {{.*}} sum {a}>
  // CHECK: spmd.window "row" [0, 0, 0, 20] repeat [20, 16] fill 0.0{{.*}} %[[P]]
  // CHECK-NEXT: nd.gather {{.*}} {along = "line", dim = "row"} : {{.*}} sum {a}>
  func.func @partial(%x: !nd.tensor<f32, [batch = 8, k = 4, row = 64]>) -> !nd.tensor<f32, [batch = 8]> {
    %one = nd.constant 1.0 : f32 -> !nd.tensor<f32, []>
    %p = nd.einsum %x, %one {reduced = ["k"]} : (!nd.tensor<f32, [batch = 8, k = 4, row = 64]>, !nd.tensor<f32, []>) -> !x
    %l = nd.iota : () -> !lines
    %t = nd.iota : () -> !taps
    %i = nd.add %l, %t : (!lines, !taps) -> !indices
    %y = nd.gather %p, %i {dim = "row"} : (!x, !indices) -> !windows
    %z = nd.reduce_sum %y {dims = ["line", "tall"]} : (!windows) -> !nd.tensor<f32, [batch = 8]>
    return %z : !nd.tensor<f32, [batch = 8]>
  }
  // Indices that are not affine may be any: the rows are gathered.
  // CHECK-LABEL: func.func @other_indices
  // CHECK-NOT: spmd.reindex
  // CHECK: spmd.reshard %arg0 {{.*}} -> <f32, [batch = 8, row = 64]>
  // CHECK: nd.gather {{.*}} {dim = "row"}
  func.func @other_indices(%x: !x, %i: !indices) -> !windows {
    %y = nd.gather %x, %i {dim = "row"} : (!x, !indices) -> !windows
    return %y : !windows
  }
  // The table has the dim of the indices: nothing overlaps.
  // CHECK-LABEL: func.func @aligned
  // CHECK-NOT: along
  // CHECK: return
  func.func @aligned(%x: !nd.tensor<f32, [batch = 8, row = 64]>) -> !nd.tensor<f32, [batch = 8]> {
    %i = nd.iota : () -> !nd.tensor<i32, [batch = 8]>
    %y = nd.gather %x, %i {dim = "row"} : (!x, !nd.tensor<i32, [batch = 8]>) -> !nd.tensor<f32, [batch = 8]>
    return %y : !nd.tensor<f32, [batch = 8]>
  }
  // The windows of a rank are as wide as the table: nobody gains.
  // CHECK-LABEL: func.func @wide
  // CHECK-NOT: along
  // CHECK: return
  func.func @wide(%x: !x) -> !nd.tensor<f32, [batch = 8, line = 64, wide = 64]> {
    %l = nd.iota : () -> !lines
    %t = nd.iota : () -> !nd.tensor<i32, [wide = 64]>
    %i = nd.add %l, %t : (!lines, !nd.tensor<i32, [wide = 64]>) -> !nd.tensor<i32, [line = 64, wide = 64]>
    %y = nd.gather %x, %i {dim = "row"} : (!x, !nd.tensor<i32, [line = 64, wide = 64]>) -> !nd.tensor<f32, [batch = 8, line = 64, wide = 64]>
    return %y : !nd.tensor<f32, [batch = 8, line = 64, wide = 64]>
  }
}
