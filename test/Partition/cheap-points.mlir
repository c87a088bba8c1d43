// RUN: mesh-opt %s -split-input-file -meshc-choose-plan=point-cost=0.01 -meshc-partition-program -meshc-verify-partition | FileCheck %s

// Where bytes cost much more than pointwise work, the all-reduce does not pay.
!n = !nd.tensor<f32, [n = 16]>
!nt = !nd.tensor<f32, [n = 16 on {t}]>
!s = !nd.tensor<f32, []>
module attributes {nd.mesh = #nd.mesh<t = 4>} {
  // CHECK-LABEL: func.func @cheap_points
  // CHECK: nd.reduce_sum {{.*}} -> !nd.tensor<f32, []>
  func.func @cheap_points(%x: !n {nd.sharding = !nt}) -> (!n {nd.sharding = !n}, !s {nd.sharding = !s}) {
    %e = nd.exp %x {nd.sharding = [!n], nd.open_dims = [["n"]]} : (!n) -> !n
    %s = nd.reduce_sum %e {dims = ["n"], nd.sharding = [!s]} : (!n) -> !s
    return %x, %s : !n, !s
  }
}
