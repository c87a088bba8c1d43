// RUN: mesh-opt %s -split-input-file -meshc-assign-shardings "-meshc-choose-plan=move-share=1 may-cut-further" -meshc-partition-program -cse -meshc-verify-partition | FileCheck %s

// Where axes may move, entries of a stack stay cut further than their rule
// says (unless a move wants the stack exactly: PlanMovesTest).
!x = !nd.tensor<f32, []>
!w = !nd.tensor<f32, [hidden = 16]>
!ws = !nd.tensor<f32, [hidden = 16, layers = 4]>
module attributes {nd.mesh = #nd.mesh<data = 2, tensor = 2>} {
  nd.rule "hidden" -> ["tensor"]
  nd.rule "hidden" -> ["tensor", "data"] in "parameter"
  // CHECK-LABEL: func.func @further
  // CHECK: nd.scan "layers" 4 {{.*}} -> !nd.tensor<f32, []>, !nd.tensor<f32, [hidden = 16 on {tensor, data}, layers = 4]>
  // CHECK-NOT: spmd.reshard
  // CHECK: nd.yield
  func.func @further(%x: !x, %w: !ws {nd.name = "w", nd.role = "parameter"}) -> (!x, !ws) {
    %y:2 = nd.scan "layers" 4 carried(%x : !x) stacked(%w : !ws) -> !x, !ws {
    ^bb0(%c: !x, %e: !w):
      %g = nd.exp %e : (!w) -> !w
      nd.yield %c, %g : !x, !w
    }
    return %y#0, %y#1 : !x, !ws
  }
}
