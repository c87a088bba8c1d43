// RUN: mesh-opt %s -split-input-file "-meshc-choose-plan=move-share=0.7 may-cut-further" -meshc-partition-program -meshc-verify-partition | FileCheck %s

// With that share, the axis moves.
!x = !nd.tensor<f32, [batch = 64, io = 32]>
!w = !nd.tensor<f32, [io = 32, wide = 256]>
!h = !nd.tensor<f32, [batch = 64, wide = 256]>
!xt = !nd.tensor<f32, [batch = 64, io = 32 on {t}]>
!wt = !nd.tensor<f32, [io = 32 on {t}, wide = 256]>
// CHECK-NOT: spmd.refused_share
module attributes {nd.mesh = #nd.mesh<t = 4>} {
  // CHECK-LABEL: func.func @allowed
  // CHECK: nd.einsum {{.*}} -> !nd.tensor<f32, [batch = 64, wide = 256 on {t}]>
  func.func @allowed(%x: !x {nd.sharding = !xt}, %w: !w {nd.sharding = !wt}) -> (!h {nd.sharding = !h}) {
    %h = nd.einsum %x, %w {reduced = ["io"], nd.sharding = [!h], nd.open_dims = [["batch", "wide"]]} : (!x, !w) -> !h
    return %h : !h
  }
}
