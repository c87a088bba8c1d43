// RUN: mesh-opt %s -meshc-scatter-into-sums | FileCheck %s

!u = !nd.tensor<f32, [b = 8, d = 4]>
!i = !nd.tensor<i32, [b = 8]>
!t = !nd.tensor<f32, [d = 4, v = 16]>
!uh = !nd.tensor<bf16, [b = 8, d = 4]>
!h = !nd.tensor<bf16, [d = 4, v = 16]>
!d = !nd.tensor<f32, [d = 4]>
!part = !nd.tensor<f32, [d = 4, v = 16], sum {data}>
!up = !nd.tensor<f32, [b = 8 on {data}, d = 4]>
!ip = !nd.tensor<i32, [b = 8 on {data}]>

module attributes {nd.mesh = #nd.mesh<data = 2>} {
// Either operand of a sum, one after another.
// CHECK-LABEL: @chain
// CHECK-SAME: (%[[X:.*]]: !{{.*}}, %[[U:.*]]: !{{.*}}, %[[I:.*]]: !{{.*}}, %[[J:.*]]: !{{.*}})
// CHECK-NEXT: %[[FIRST:.*]] = nd.scatter_add %[[U]], %[[I]] into %[[X]] {dim = "v"}
// CHECK-NEXT: %[[SECOND:.*]] = nd.scatter_add %[[U]], %[[J]] into %[[FIRST]] {dim = "v", nd.name = "g"}
// CHECK-NEXT: return %[[SECOND]]
func.func @chain(%x: !t, %u: !u, %i: !i, %j: !i) -> !t {
  %0 = nd.scatter_add %u, %i {dim = "v"} : (!u, !i) -> !t
  %1 = nd.scatter_add %u, %j {dim = "v"} : (!u, !i) -> !t
  %2 = nd.add %x, %0 : (!t, !t) -> !t
  %3 = nd.add %1, %2 {nd.name = "g"} : (!t, !t) -> !t
  return %3 : !t
}

// Partial sums of the ranks: those of the product and of its own updates.
// CHECK-LABEL: @partial
// CHECK: nd.scatter_add %{{.*}}, %{{.*}} into %{{.*}} -> !nd.tensor<f32, [d = 4, v = 16], sum {data}>
// CHECK-NOT: nd.add
func.func @partial(%x: !part, %u: !up, %i: !ip) -> !part {
  %0 = nd.scatter_add %u, %i {dim = "v"} : (!up, !ip) -> !part
  %1 = nd.add %0, %x : (!part, !part) -> !part
  return %1 : !part
}

// In the body of a loop, to what the loop carries.
// CHECK-LABEL: @carried
// CHECK: nd.scan
// CHECK: ^bb0(%[[C:.*]]: !nd.tensor<f32, [d = 4, v = 16]>,
// CHECK: nd.scatter_add %{{.*}}, %{{.*}} into %[[C]]
// CHECK-NOT: nd.add
func.func @carried(%x: !t, %u: !u, %i: !i) -> !t {
  %0 = nd.scan "n" 3 carried(%x : !t) whole(%u, %i : !u, !i) -> !t {
  ^bb0(%c: !t, %v: !u, %j: !i):
    %1 = nd.scatter_add %v, %j {dim = "v"} : (!u, !i) -> !t
    %2 = nd.add %c, %1 : (!t, !t) -> !t
    nd.yield %2 : !t
  }
  return %0 : !t
}

// In 16 bits, two ops mean two roundings: of the scattered tensor and of the sum.
// CHECK-LABEL: @short
// CHECK-NOT: into
// CHECK: nd.add
func.func @short(%x: !h, %u: !uh, %i: !i) -> !h {
  %0 = nd.scatter_add %u, %i {dim = "v"} : (!uh, !i) -> !h
  %1 = nd.add %x, %0 : (!h, !h) -> !h
  return %1 : !h
}

// A tensor that is repeated is no table; nor is a sum, if something else reads what is scattered.
// CHECK-LABEL: @not
// CHECK-NOT: into
func.func @not(%x: !t, %y: !d, %u: !u, %i: !i) -> (!t, !t, !t, !t) {
  %0 = nd.scatter_add %u, %i {dim = "v"} : (!u, !i) -> !t
  %1 = nd.add %0, %y : (!t, !d) -> !t
  %2 = nd.scatter_add %u, %i {dim = "v"} : (!u, !i) -> !t
  %3 = nd.add %2, %x : (!t, !t) -> !t
  %4 = nd.scatter_add %u, %i {dim = "v"} : (!u, !i) -> !t
  %5 = nd.sub %x, %4 : (!t, !t) -> !t
  return %1, %2, %3, %5 : !t, !t, !t, !t
}
}
