// RUN: mesh-opt %s -meshc-order-scatters --split-input-file | FileCheck %s

!u = !nd.tensor<f32, [b = 8 on {data}, d = 4, s = 6 on {seq}]>
!i = !nd.tensor<i32, [b = 8 on {data}, s = 6 on {seq}]>
!t = !nd.tensor<f32, [d = 4, v = 16], sum {data, seq}>
!ub = !nd.tensor<f32, [b = 8 on {data}, place = 4, s = 6 on {seq}]>
!tb = !nd.tensor<f32, [b = 8 on {data}, place = 4, v = 16], sum {seq}>
!one = !nd.tensor<f32, [b = 8 on {data}, v = 16]>
!ib = !nd.tensor<i32, [b = 8 on {data}]>
!xb = !nd.tensor<f32, [b = 8 on {data}]>

// The places of a rank's block, in one dim for all that are summed.
// CHECK-LABEL: @blocks
// CHECK-NEXT: %[[MERGED:.*]] = nd.merge_dims %arg1 {dims = ["b", "s"], into = "place"} : {{.*}} -> !nd.tensor<i32, [place = 48 on {data, seq}]>
// CHECK-NEXT: %[[ORDER:.*]] = nd.argsort %[[MERGED]] {count = 48 : i64, dim = "place", into = "place"}
// CHECK-NEXT: nd.scatter_add %arg0, %arg1 ordered %[[ORDER]] {dim = "v"}
module attributes {exec.gpu, nd.mesh = #nd.mesh<data = 2, seq = 3>} {
func.func @blocks(%u: !u, %i: !i) -> !t {
  %0 = nd.scatter_add %u, %i {dim = "v"} : (!u, !i) -> !t
  return %0 : !t
}

// A dim that the result has tells rows apart. The name of the places is a new one.
// CHECK-LABEL: @rows
// CHECK-NEXT: %[[MERGED:.*]] = nd.merge_dims %arg1 {dims = ["s"], into = "place_"} : {{.*}} -> !nd.tensor<i32, [b = 8 on {data}, place_ = 6 on {seq}]>
// CHECK-NEXT: %[[ORDER:.*]] = nd.argsort %[[MERGED]] {count = 6 : i64, dim = "place_", into = "place_"}
// CHECK-NEXT: nd.scatter_add %arg0, %arg1 ordered %[[ORDER]] {dim = "v"}
func.func @rows(%u: !ub, %i: !i) -> !tb {
  %0 = nd.scatter_add %u, %i {dim = "v"} : (!ub, !i) -> !tb
  return %0 : !tb
}

// Nothing is summed.
// CHECK-LABEL: @one
// CHECK-NOT: argsort
// CHECK: return
func.func @one(%u: !xb, %i: !ib) -> !one {
  %0 = nd.scatter_add %u, %i {dim = "v"} : (!xb, !ib) -> !one
  return %0 : !one
}
}

// -----

!u = !nd.tensor<f32, [b = 9 on {data}, d = 4, s = 7 on {seq}]>
!i = !nd.tensor<i32, [b = 9 on {data}, s = 7 on {seq}]>
!t = !nd.tensor<f32, [d = 4, v = 16], sum {data, seq}>
!ur = !nd.tensor<f32, [b = 9 on {data}, d = 4, s = 6 on {seq}]>
!ir = !nd.tensor<i32, [b = 9 on {data}, s = 6 on {seq}]>
!tr = !nd.tensor<f32, [b = 9 on {data}, d = 4, v = 16], sum {seq}>

// Blocks of 5 by 3 places, with their padding.
// CHECK-LABEL: @padding
// CHECK-NEXT: %[[FLAT:.*]] = spmd.flatten ["b", "s"] "place" %arg1 : {{.*}} -> {{.*}}<i32, [place = 90 on {data, seq}]>
// CHECK-NEXT: %[[ORDER:.*]] = nd.argsort %[[FLAT]] {count = 90 : i64, dim = "place", into = "place"}
// CHECK-NEXT: nd.scatter_add %arg0, %arg1 ordered %[[ORDER]] {dim = "v"}
module attributes {exec.gpu, nd.mesh = #nd.mesh<data = 2, seq = 3>} {
func.func @padding(%u: !u, %i: !i) -> !t {
  %0 = nd.scatter_add %u, %i {dim = "v"} : (!u, !i) -> !t
  return %0 : !t
}

// Rows of padding do not matter.
// CHECK-LABEL: @rows
// CHECK-NEXT: nd.merge_dims %arg1 {dims = ["s"], into = "place"} : {{.*}} -> !nd.tensor<i32, [b = 9 on {data}, place = 6 on {seq}]>
func.func @rows(%u: !ur, %i: !ir) -> !tr {
  %0 = nd.scatter_add %u, %i {dim = "v"} : (!ur, !ir) -> !tr
  return %0 : !tr
}
}

// -----

// The host needs no order.
// CHECK-LABEL: @host
// CHECK-NOT: argsort
// CHECK: return
func.func @host(%u: !nd.tensor<f32, [b = 8]>, %i: !nd.tensor<i32, [b = 8]>) -> !nd.tensor<f32, [v = 16]> {
  %0 = nd.scatter_add %u, %i {dim = "v"} : (!nd.tensor<f32, [b = 8]>, !nd.tensor<i32, [b = 8]>) -> !nd.tensor<f32, [v = 16]>
  return %0 : !nd.tensor<f32, [v = 16]>
}
