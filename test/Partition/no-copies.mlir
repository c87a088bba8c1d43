// RUN: mesh-opt %s -split-input-file -meshc-assign-shardings -meshc-choose-plan -meshc-partition-program -cse -meshc-verify-partition | FileCheck %s

// Unless the program says so, no copies are kept.
!x = !nd.tensor<f32, [batch = 64, io = 32]>
!h = !nd.tensor<f32, [batch = 64, hidden = 16]>
!w = !nd.tensor<f32, [hidden = 16, io = 32]>
!ws = !nd.tensor<f32, [hidden = 16, io = 32, layers = 4]>
module attributes {nd.mesh = #nd.mesh<data = 2, tensor = 2>} {
  nd.rule "batch" -> ["data"]
  nd.rule "hidden" -> ["tensor"]
  nd.rule "hidden" -> ["data"] in "parameter"
  // CHECK-LABEL: func.func @not_kept
  // CHECK: nd.scan "layers" 4
  // CHECK: spmd.reshard %{{.*}} {nd.name = "w"}
  // CHECK: nd.scan "layers" 4
  // CHECK: spmd.reshard %{{.*}} {nd.name = "w"}
  // CHECK: return
  func.func @not_kept(%x: !x, %w: !ws {nd.name = "w", nd.role = "parameter"}) -> !x {
    %y = nd.scan "layers" 4 carried(%x : !x) stacked(%w : !ws) -> !x {
    ^bb0(%c: !x, %e: !w):
      %h = nd.einsum %c, %e {reduced = ["io"]} : (!x, !w) -> !h
      %o = nd.einsum %h, %e {reduced = ["hidden"]} : (!h, !w) -> !x
      nd.yield %o : !x
    }
    %z = nd.scan "layers" 4 backwards carried(%y : !x) stacked(%w : !ws) -> !x {
    ^bb0(%c: !x, %e: !w):
      %h = nd.einsum %c, %e {reduced = ["io"]} : (!x, !w) -> !h
      %o = nd.einsum %h, %e {reduced = ["hidden"]} : (!h, !w) -> !x
      nd.yield %o : !x
    }
    return %z : !x
  }
}
