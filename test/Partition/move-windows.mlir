// RUN: mesh-opt %s -meshc-move-windows | FileCheck %s

// Windows move to values with fewer elements: before a gather along another dim, and behind a scatter along another dim.
!x = !nd.tensor<f32, [row = 64 on {rows}, col = 64 on {cols} ]>
!wide = !nd.tensor<f32, [row = 64 on {rows}, col = 72 on {cols} ]>
!i = !nd.tensor<i32, [line = 64 on {rows}, tall = 3]>
!y = !nd.tensor<f32, [col = 64 on {cols}, line = 64 on {rows}, tall = 3]>
!z = !nd.tensor<f32, [col = 72 on {cols}, line = 64 on {rows}, tall = 3]>
!few = !nd.tensor<f32, [col = 64 on {cols}, line = 8 on {rows} ]>
!few_wide = !nd.tensor<f32, [col = 72 on {cols}, line = 8 on {rows} ]>
!few_i = !nd.tensor<i32, [line = 8 on {rows} ]>
module attributes {nd.mesh = #nd.mesh<rows = 4, cols = 4>} {
  // CHECK-LABEL: func.func @before_gather
  // CHECK-NEXT: %[[J:.*]] = spmd.reindex
  // CHECK-NEXT: %[[W:.*]] = spmd.window "col" [0, 0, -1, 18] repeat [18, 16] fill 0.0{{.*}} %arg0
  // CHECK-NEXT: %[[Z:.*]] = nd.gather %[[W]], %[[J]] {along = "line", dim = "row", nd.name = "y"} : {{.*}} -> !nd.tensor<f32, [col = 72 on {cols}, line = 64 on {rows}, tall = 3]>
  // CHECK-NEXT: return %[[Z]]
  func.func @before_gather(%x: !x, %i: !i) -> !z {
    %j = spmd.reindex "line" stride 1 low 0 size 64 block 16 %i : !i
    %y = nd.gather %x, %j {along = "line", dim = "row", nd.name = "y"} : (!x, !i) -> !y
    %z = spmd.window "col" [0, 0, -1, 18] repeat [18, 16] fill 0.0 %y : (!y) -> !z
    return %z : !z
  }
  // What others use stays for them.
  // CHECK-LABEL: func.func @other_users
  // CHECK: nd.gather %arg0
  // CHECK: spmd.window "col" {{.*}} %arg0
  // CHECK: nd.gather
  func.func @other_users(%x: !x, %i: !i) -> (!y, !z) {
    %j = spmd.reindex "line" stride 1 low 0 size 64 block 16 %i : !i
    %y = nd.gather %x, %j {along = "line", dim = "row"} : (!x, !i) -> !y
    %z = spmd.window "col" [0, 0, -1, 18] repeat [18, 16] fill 0.0 %y : (!y) -> !z
    return %y, %z : !y, !z
  }
  // The gather takes a few rows: its result has fewer elements.
  // CHECK-LABEL: func.func @fewer
  // CHECK: %[[Y:.*]] = nd.gather %arg0
  // CHECK-NEXT: spmd.window "col" {{.*}} %[[Y]]
  func.func @fewer(%x: !x, %i: !few_i) -> !few_wide {
    %j = spmd.reindex "line" stride 8 low 0 size 64 block 16 %i : !few_i
    %y = nd.gather %x, %j {along = "line", dim = "row"} : (!x, !few_i) -> !few
    %z = spmd.window "col" [0, 0, -1, 18] repeat [18, 16] fill 0.0 %y : (!few) -> !few_wide
    return %z : !few_wide
  }
  // A product does not become larger.
  // CHECK-LABEL: func.func @product
  // CHECK: %[[Y:.*]] = nd.einsum
  // CHECK-NEXT: spmd.window "col" {{.*}} %[[Y]]
  func.func @product(%x: !nd.tensor<f32, [k = 4, col = 64 on {cols} ]>, %w: !nd.tensor<f32, [k = 4, out = 16]>) -> !nd.tensor<f32, [col = 72 on {cols}, out = 16]> {
    %y = nd.einsum %x, %w {reduced = ["k"]} : (!nd.tensor<f32, [k = 4, col = 64 on {cols} ]>, !nd.tensor<f32, [k = 4, out = 16]>) -> !nd.tensor<f32, [col = 64 on {cols}, out = 16]>
    %z = spmd.window "col" [0, 0, -1, 18] repeat [18, 16] fill 0.0 %y : (!nd.tensor<f32, [col = 64 on {cols}, out = 16]>) -> !nd.tensor<f32, [col = 72 on {cols}, out = 16]>
    return %z : !nd.tensor<f32, [col = 72 on {cols}, out = 16]>
  }
  // CHECK-LABEL: func.func @behind_scatter
  // CHECK: %[[J:.*]] = spmd.reindex
  // CHECK-NEXT: %[[S:.*]] = nd.scatter_add %arg0, %[[J]] {along = "line", dim = "row"} : {{.*}} -> !nd.tensor<f32, [col = 72 on {cols}, row = 64 on {rows}]>
  // CHECK-NEXT: %[[A:.*]] = spmd.window "col" [0, -1, 0, 1] repeat [16, 18] fill 0.0{{.*}} %[[S]]
  // CHECK-NEXT: %[[B:.*]] = spmd.window "col" [0, 0, 1, 16] repeat [16, 18] fill 0.0{{.*}} %[[S]]
  // CHECK-NEXT: %[[AB:.*]] = nd.add %[[A]], %[[B]]
  // CHECK-NEXT: %[[C:.*]] = spmd.window "col" [0, 16, 17, 1] repeat [16, 18] fill 0.0{{.*}} %[[S]]
  // CHECK-NEXT: %[[G:.*]] = nd.add %[[AB]], %[[C]] {nd.name = "g"} : {{.*}} -> !nd.tensor<f32, [col = 64 on {cols}, row = 64 on {rows}]>
  // CHECK-NEXT: return %[[G]]
  func.func @behind_scatter(%s: !z, %i: !i) -> !x {
    %a = spmd.window "col" [0, -1, 0, 1] repeat [16, 18] fill 0.0 %s : (!z) -> !y
    %b = spmd.window "col" [0, 0, 1, 16] repeat [16, 18] fill 0.0 %s : (!z) -> !y
    %ab = nd.add %a, %b : (!y, !y) -> !y
    %c = spmd.window "col" [0, 16, 17, 1] repeat [16, 18] fill 0.0 %s : (!z) -> !y
    %y = nd.add %ab, %c : (!y, !y) -> !y
    %j = spmd.reindex "line" stride 1 low 0 size 64 block 16 %i : !i
    %g = nd.scatter_add %y, %j {along = "line", dim = "row", nd.name = "g"} : (!y, !i) -> !x
    return %g : !x
  }
  // Another use of the sum.
  // CHECK-LABEL: func.func @used_sum
  // CHECK: %[[A:.*]] = spmd.window
  // CHECK: nd.scatter_add %[[A]]
  func.func @used_sum(%s: !z, %i: !i) -> (!x, !y) {
    %a = spmd.window "col" [0, 0, 1, 16] repeat [16, 18] fill 0.0 %s : (!z) -> !y
    %j = spmd.reindex "line" stride 1 low 0 size 64 block 16 %i : !i
    %g = nd.scatter_add %a, %j {along = "line", dim = "row"} : (!y, !i) -> !x
    return %g, %a : !x, !y
  }
  // Not only windows of one value.
  // CHECK-LABEL: func.func @two_values
  // CHECK: %[[Y:.*]] = nd.add
  // CHECK: nd.scatter_add %[[Y]]
  func.func @two_values(%s: !z, %t: !z, %i: !i) -> !x {
    %a = spmd.window "col" [0, -1, 0, 1] repeat [16, 18] fill 0.0 %s : (!z) -> !y
    %b = spmd.window "col" [0, 0, 1, 16] repeat [16, 18] fill 0.0 %t : (!z) -> !y
    %y = nd.add %a, %b : (!y, !y) -> !y
    %j = spmd.reindex "line" stride 1 low 0 size 64 block 16 %i : !i
    %g = nd.scatter_add %y, %j {along = "line", dim = "row"} : (!y, !i) -> !x
    return %g : !x
  }
}
