// RUN: mesh-opt %s -meshc-sum-windows | FileCheck %s

!u = !nd.tensor<f32, [c = 32, place = 14, wide = 5]>
!x = !nd.tensor<f32, [c = 32, col = 14]>
!p = !nd.tensor<i32, [place = 14]>
!w = !nd.tensor<i32, [wide = 5]>
!i = !nd.tensor<i32, [place = 14, wide = 5]>
!s = !nd.tensor<i32, []>
!far = !nd.tensor<f32, [c = 32, col = 29]>
!cut = !nd.tensor<f32, [c = 32, place = 14 on {rows}, wide = 5]>
!pcut = !nd.tensor<i32, [place = 14 on {rows}]>
!icut = !nd.tensor<i32, [place = 14 on {rows}, wide = 5]>
!part = !nd.tensor<f32, [c = 32, col = 14], sum {rows}>
!own = !nd.tensor<f32, [c = 32 on {rows}, place = 14, wide = 5]>
!xown = !nd.tensor<f32, [c = 32 on {rows}, col = 14]>

module attributes {nd.mesh = #nd.mesh<rows = 2>} {
// place = col - wide + 2
// CHECK-LABEL: @windows
// CHECK: %[[C:.*]] = nd.iota : () -> !nd.tensor<i32, [col = 14]>
// CHECK-NEXT: %[[W:.*]] = nd.iota : () -> !nd.tensor<i32, [wide = 5]>
// CHECK-NEXT: %[[M:.*]] = nd.constant -1 : i32
// CHECK-NEXT: %[[N:.*]] = nd.mul %[[W]], %[[M]]
// CHECK-NEXT: %[[I:.*]] = nd.add %[[C]], %[[N]]
// CHECK-NEXT: %[[TWO:.*]] = nd.constant 2 : i32
// CHECK-NEXT: %[[P:.*]] = nd.add %[[I]], %[[TWO]]
// CHECK-NEXT: %[[G:.*]] = nd.gather %arg0, %[[P]] {dim = "place"} : {{.*}} -> !nd.tensor<f32, [c = 32, col = 14, wide = 5]>
// CHECK-NEXT: %[[X:.*]] = nd.reduce_sum %[[G]] {dims = ["wide"], nd.name = "g"}
// CHECK-NEXT: return %[[X]]
func.func @windows(%u: !u) -> !x {
  %p = nd.iota : () -> !p
  %w = nd.iota : () -> !w
  %two = nd.constant 2 : i32 -> !s
  %q = nd.sub %p, %two : (!p, !s) -> !p
  %i = nd.add %q, %w : (!p, !w) -> !i
  %0 = nd.scatter_add %u, %i {dim = "col", nd.name = "g"} : (!u, !i) -> !x
  return %0 : !x
}

// Places in reverse, windows with dilation: place = 13 - col + 2 * wide
// CHECK-LABEL: @reversed
// CHECK: %[[C:.*]] = nd.iota : () -> !nd.tensor<i32, [col = 14]>
// CHECK-NEXT: nd.constant -1 : i32
// CHECK: nd.iota : () -> !nd.tensor<i32, [wide = 5]>
// CHECK-NEXT: nd.constant 2 : i32
// CHECK: nd.constant 13 : i32
// CHECK: nd.gather
// CHECK-NOT: nd.scatter_add
func.func @reversed(%u: !u) -> !x {
  %p = nd.iota : () -> !p
  %w = nd.iota : () -> !w
  %last = nd.constant 13 : i32 -> !s
  %two = nd.constant 2 : i32 -> !s
  %q = nd.sub %last, %p : (!s, !p) -> !p
  %d = nd.mul %w, %two : (!w, !s) -> !w
  %i = nd.add %q, %d : (!p, !w) -> !i
  %0 = nd.scatter_add %u, %i {dim = "col"} : (!u, !i) -> !x
  return %0 : !x
}

// A rank has a part of the channels: their blocks stay.
// CHECK-LABEL: @channels
// CHECK: nd.gather {{.*}} -> !nd.tensor<f32, [c = 32 on {rows}, col = 14, wide = 5]>
// CHECK: nd.reduce_sum {{.*}} -> !nd.tensor<f32, [c = 32 on {rows}, col = 14]>
func.func @channels(%u: !own) -> !xown {
  %p = nd.iota : () -> !p
  %w = nd.iota : () -> !w
  %i = nd.add %p, %w : (!p, !w) -> !i
  %0 = nd.scatter_add %u, %i {dim = "col"} : (!own, !i) -> !xown
  return %0 : !xown
}

// Indices from elsewhere.
// CHECK-LABEL: @indices
// CHECK: nd.scatter_add
func.func @indices(%u: !u, %i: !i) -> !x {
  %0 = nd.scatter_add %u, %i {dim = "col"} : (!u, !i) -> !x
  return %0 : !x
}

// A sum would read twice as many entries and more.
// CHECK-LABEL: @far
// CHECK: nd.scatter_add
func.func @far(%u: !u) -> !far {
  %p = nd.iota : () -> !p
  %w = nd.iota : () -> !w
  %i = nd.add %p, %w : (!p, !w) -> !i
  %0 = nd.scatter_add %u, %i {dim = "col"} : (!u, !i) -> !far
  return %0 : !far
}

// With a stride, most entries have no place in most windows.
// CHECK-LABEL: @strided
// CHECK: nd.scatter_add
func.func @strided(%u: !u) -> !x {
  %p = nd.iota : () -> !p
  %w = nd.iota : () -> !w
  %two = nd.constant 2 : i32 -> !s
  %d = nd.mul %p, %two : (!p, !s) -> !p
  %e = nd.mul %w, %two : (!w, !s) -> !w
  %i = nd.add %d, %e : (!p, !w) -> !i
  %0 = nd.scatter_add %u, %i {dim = "col"} : (!u, !i) -> !x
  return %0 : !x
}

// A rank has a block of the places.
// CHECK-LABEL: @cut
// CHECK: nd.scatter_add
func.func @cut(%u: !cut) -> !part {
  %p = nd.iota : () -> !pcut
  %w = nd.iota : () -> !w
  %i = nd.add %p, %w : (!pcut, !w) -> !icut
  %0 = nd.scatter_add %u, %i {dim = "col"} : (!cut, !icut) -> !part
  return %0 : !part
}
}
