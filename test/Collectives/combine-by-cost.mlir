// RUN: mesh-opt %s -split-input-file -meshc-combine-collectives | FileCheck %s

// There are eight sums of 32 bytes: n = 256 bytes. A call costs two latencies of 8 bytes each: L = 16. Computations hide half of each
// call, and they take longer than all calls. So there are sqrt(n / L) = 4 calls and one more, because the first may send only 2 L bytes.
// CHECK-LABEL: @step
// CHECK: spmd.all_reduce sum ["a"] %arg0 :
// CHECK: spmd.all_reduce sum ["a"] %arg1, %arg2 {
// CHECK: spmd.all_reduce sum ["a"] %arg3, %arg4 {
// CHECK: spmd.all_reduce sum ["a"] %arg5, %arg6 {
// CHECK: spmd.all_reduce sum ["a"] %arg7 :
!p = !nd.tensor<f32, [i = 8], sum {a}>
!w = !nd.tensor<f32, [i = 8]>
module attributes {nd.mesh = #nd.mesh<a = 2>, spmd.latency_bytes = {a = 8.0}, spmd.flops_per_byte = {f32 = 0.001}, spmd.overlap = 0.5} {
  func.func @step(%x0: !p, %x1: !p, %x2: !p, %x3: !p, %x4: !p, %x5: !p, %x6: !p, %x7: !p)
      -> (!w, !w, !w, !w, !w, !w, !w, !w) {
    %u0 = spmd.all_reduce sum ["a"] %x0 : (!p) -> !w
    %m0 = nd.mul %u0, %u0 : (!w, !w) -> !w
    %u1 = spmd.all_reduce sum ["a"] %x1 : (!p) -> !w
    %m1 = nd.mul %u1, %u1 : (!w, !w) -> !w
    %u2 = spmd.all_reduce sum ["a"] %x2 : (!p) -> !w
    %m2 = nd.mul %u2, %u2 : (!w, !w) -> !w
    %u3 = spmd.all_reduce sum ["a"] %x3 : (!p) -> !w
    %m3 = nd.mul %u3, %u3 : (!w, !w) -> !w
    %u4 = spmd.all_reduce sum ["a"] %x4 : (!p) -> !w
    %m4 = nd.mul %u4, %u4 : (!w, !w) -> !w
    %u5 = spmd.all_reduce sum ["a"] %x5 : (!p) -> !w
    %m5 = nd.mul %u5, %u5 : (!w, !w) -> !w
    %u6 = spmd.all_reduce sum ["a"] %x6 : (!p) -> !w
    %m6 = nd.mul %u6, %u6 : (!w, !w) -> !w
    %u7 = spmd.all_reduce sum ["a"] %x7 : (!p) -> !w
    %m7 = nd.mul %u7, %u7 : (!w, !w) -> !w
    return %m0, %m1, %m2, %m3, %m4, %m5, %m6, %m7 : !w, !w, !w, !w, !w, !w, !w, !w
  }
}

// -----

// Computations are over soon: one call, after a first one of 2 L bytes.
// CHECK-LABEL: @step
// CHECK: spmd.all_reduce sum ["a"] %arg0 :
// CHECK: spmd.all_reduce sum ["a"] %arg1, %arg2, %arg3, %arg4, %arg5, %arg6, %arg7 {
!p = !nd.tensor<f32, [i = 8], sum {a}>
!w = !nd.tensor<f32, [i = 8]>
module attributes {nd.mesh = #nd.mesh<a = 2>, spmd.latency_bytes = {a = 8.0}, spmd.flops_per_byte = {f32 = 1.0e9}, spmd.overlap = 0.5} {
  func.func @step(%x0: !p, %x1: !p, %x2: !p, %x3: !p, %x4: !p, %x5: !p, %x6: !p, %x7: !p)
      -> (!w, !w, !w, !w, !w, !w, !w, !w) {
    %u0 = spmd.all_reduce sum ["a"] %x0 : (!p) -> !w
    %m0 = nd.mul %u0, %u0 : (!w, !w) -> !w
    %u1 = spmd.all_reduce sum ["a"] %x1 : (!p) -> !w
    %m1 = nd.mul %u1, %u1 : (!w, !w) -> !w
    %u2 = spmd.all_reduce sum ["a"] %x2 : (!p) -> !w
    %m2 = nd.mul %u2, %u2 : (!w, !w) -> !w
    %u3 = spmd.all_reduce sum ["a"] %x3 : (!p) -> !w
    %m3 = nd.mul %u3, %u3 : (!w, !w) -> !w
    %u4 = spmd.all_reduce sum ["a"] %x4 : (!p) -> !w
    %m4 = nd.mul %u4, %u4 : (!w, !w) -> !w
    %u5 = spmd.all_reduce sum ["a"] %x5 : (!p) -> !w
    %m5 = nd.mul %u5, %u5 : (!w, !w) -> !w
    %u6 = spmd.all_reduce sum ["a"] %x6 : (!p) -> !w
    %m6 = nd.mul %u6, %u6 : (!w, !w) -> !w
    %u7 = spmd.all_reduce sum ["a"] %x7 : (!p) -> !w
    %m7 = nd.mul %u7, %u7 : (!w, !w) -> !w
    return %m0, %m1, %m2, %m3, %m4, %m5, %m6, %m7 : !w, !w, !w, !w, !w, !w, !w, !w
  }
}

// -----

// Nothing hides a call, or attributes that are no positive numbers: one call.
// CHECK-LABEL: @step
// CHECK: spmd.all_reduce sum ["a"] %arg0, %arg1, %arg2, %arg3, %arg4, %arg5, %arg6, %arg7 {
!p = !nd.tensor<f32, [i = 8], sum {a}>
!w = !nd.tensor<f32, [i = 8]>
module attributes {nd.mesh = #nd.mesh<a = 2>, spmd.latency_bytes = {a = 8.0}, spmd.flops_per_byte = {f32 = 0.001}} {
  func.func @step(%x0: !p, %x1: !p, %x2: !p, %x3: !p, %x4: !p, %x5: !p, %x6: !p, %x7: !p)
      -> (!w, !w, !w, !w, !w, !w, !w, !w) {
    %u0 = spmd.all_reduce sum ["a"] %x0 : (!p) -> !w
    %m0 = nd.mul %u0, %u0 : (!w, !w) -> !w
    %u1 = spmd.all_reduce sum ["a"] %x1 : (!p) -> !w
    %m1 = nd.mul %u1, %u1 : (!w, !w) -> !w
    %u2 = spmd.all_reduce sum ["a"] %x2 : (!p) -> !w
    %m2 = nd.mul %u2, %u2 : (!w, !w) -> !w
    %u3 = spmd.all_reduce sum ["a"] %x3 : (!p) -> !w
    %m3 = nd.mul %u3, %u3 : (!w, !w) -> !w
    %u4 = spmd.all_reduce sum ["a"] %x4 : (!p) -> !w
    %m4 = nd.mul %u4, %u4 : (!w, !w) -> !w
    %u5 = spmd.all_reduce sum ["a"] %x5 : (!p) -> !w
    %m5 = nd.mul %u5, %u5 : (!w, !w) -> !w
    %u6 = spmd.all_reduce sum ["a"] %x6 : (!p) -> !w
    %m6 = nd.mul %u6, %u6 : (!w, !w) -> !w
    %u7 = spmd.all_reduce sum ["a"] %x7 : (!p) -> !w
    %m7 = nd.mul %u7, %u7 : (!w, !w) -> !w
    return %m0, %m1, %m2, %m3, %m4, %m5, %m6, %m7 : !w, !w, !w, !w, !w, !w, !w, !w
  }
}

// -----

// CHECK-LABEL: @step
// CHECK: spmd.all_reduce sum ["a"] %arg0, %arg1, %arg2, %arg3, %arg4, %arg5, %arg6, %arg7 {
!p = !nd.tensor<f32, [i = 8], sum {a}>
!w = !nd.tensor<f32, [i = 8]>
module attributes {nd.mesh = #nd.mesh<a = 2>, spmd.overlap = 0.5} {
  func.func @step(%x0: !p, %x1: !p, %x2: !p, %x3: !p, %x4: !p, %x5: !p, %x6: !p, %x7: !p)
      -> (!w, !w, !w, !w, !w, !w, !w, !w) {
    %u0 = spmd.all_reduce sum ["a"] %x0 : (!p) -> !w
    %m0 = nd.mul %u0, %u0 : (!w, !w) -> !w
    %u1 = spmd.all_reduce sum ["a"] %x1 : (!p) -> !w
    %m1 = nd.mul %u1, %u1 : (!w, !w) -> !w
    %u2 = spmd.all_reduce sum ["a"] %x2 : (!p) -> !w
    %m2 = nd.mul %u2, %u2 : (!w, !w) -> !w
    %u3 = spmd.all_reduce sum ["a"] %x3 : (!p) -> !w
    %m3 = nd.mul %u3, %u3 : (!w, !w) -> !w
    %u4 = spmd.all_reduce sum ["a"] %x4 : (!p) -> !w
    %m4 = nd.mul %u4, %u4 : (!w, !w) -> !w
    %u5 = spmd.all_reduce sum ["a"] %x5 : (!p) -> !w
    %m5 = nd.mul %u5, %u5 : (!w, !w) -> !w
    %u6 = spmd.all_reduce sum ["a"] %x6 : (!p) -> !w
    %m6 = nd.mul %u6, %u6 : (!w, !w) -> !w
    %u7 = spmd.all_reduce sum ["a"] %x7 : (!p) -> !w
    %m7 = nd.mul %u7, %u7 : (!w, !w) -> !w
    return %m0, %m1, %m2, %m3, %m4, %m5, %m6, %m7 : !w, !w, !w, !w, !w, !w, !w, !w
  }
}

// -----

// A loop has the latencies of each of its four iterations, L = 64, so an iteration has sqrt(256 / 64) = 2 calls; and the first is as
// large as the other.
// CHECK-LABEL: @step
// CHECK: ^bb0(%{{[a-z0-9]*}}: !nd.tensor<f32, [i = 8]>, %[[Y0:[a-z0-9]*]]: {{.*}}, %[[Y3:[a-z0-9]*]]: {{[^%]*}}, %[[Y4:[a-z0-9]*]]: {{[^%]*}}, %{{[^%]*}}, %{{[^%]*}}, %[[Y7:[a-z0-9]*]]: {{[^%]*}}):
// CHECK: spmd.all_reduce sum ["a"] %[[Y0]], %{{[a-z0-9]*}}, %{{[a-z0-9]*}}, %[[Y3]] {
// CHECK: spmd.all_reduce sum ["a"] %[[Y4]], %{{[a-z0-9]*}}, %{{[a-z0-9]*}}, %[[Y7]] {
// CHECK: nd.yield
!p = !nd.tensor<f32, [i = 8], sum {a}>
!w = !nd.tensor<f32, [i = 8]>
module attributes {nd.mesh = #nd.mesh<a = 2>, spmd.latency_bytes = {a = 8.0}, spmd.flops_per_byte = {f32 = 0.001}, spmd.overlap = 0.5} {
  func.func @step(%w: !w, %x0: !p, %x1: !p, %x2: !p, %x3: !p, %x4: !p, %x5: !p, %x6: !p, %x7: !p) -> !w {
    %r = nd.scan "n" 4 carried(%w : !w) whole(%x0, %x1, %x2, %x3, %x4, %x5, %x6, %x7 : !p, !p, !p, !p, !p, !p, !p, !p) -> !w {
    ^bb0(%c: !w, %y0: !p, %y1: !p, %y2: !p, %y3: !p, %y4: !p, %y5: !p, %y6: !p, %y7: !p):
      %u0 = spmd.all_reduce sum ["a"] %y0 : (!p) -> !w
      %m0 = nd.mul %c, %u0 : (!w, !w) -> !w
      %u1 = spmd.all_reduce sum ["a"] %y1 : (!p) -> !w
      %m1 = nd.mul %m0, %u1 : (!w, !w) -> !w
      %u2 = spmd.all_reduce sum ["a"] %y2 : (!p) -> !w
      %m2 = nd.mul %m1, %u2 : (!w, !w) -> !w
      %u3 = spmd.all_reduce sum ["a"] %y3 : (!p) -> !w
      %m3 = nd.mul %m2, %u3 : (!w, !w) -> !w
      %u4 = spmd.all_reduce sum ["a"] %y4 : (!p) -> !w
      %m4 = nd.mul %m3, %u4 : (!w, !w) -> !w
      %u5 = spmd.all_reduce sum ["a"] %y5 : (!p) -> !w
      %m5 = nd.mul %m4, %u5 : (!w, !w) -> !w
      %u6 = spmd.all_reduce sum ["a"] %y6 : (!p) -> !w
      %m6 = nd.mul %m5, %u6 : (!w, !w) -> !w
      %u7 = spmd.all_reduce sum ["a"] %y7 : (!p) -> !w
      %m7 = nd.mul %m6, %u7 : (!w, !w) -> !w
      nd.yield %m7 : !w
    }
    return %r : !w
  }
}
