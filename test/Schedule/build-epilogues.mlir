// RUN: mesh-opt %s --pass-pipeline='builtin.module(func.func(meshc-verify-kernels,meshc-place-results,meshc-schedule-ops),meshc-plan-arena,meshc-build-schedule,exec.func(meshc-place-waits),meshc-verify-schedule)' | FileCheck %s

!x = !nd.tensor<f32, [b = 4, i = 8]>
!w = !nd.tensor<f32, [i = 8, j = 16]>
!y = !nd.tensor<f32, [b = 4, j = 16]>
!v = !nd.tensor<f32, [j = 16]>

// One call: the product and its kernel, which finds c where it leaves its argument.
// CHECK: exec.kernel @kernel_0
// CHECK: exec.func @eval_step
// CHECK: exec.gemm %{{.*}}, %{{.*}} -> %[[C:[0-9]+]] [4, 16, 8, 8, 16, 16, 1, 0, 0, 0] scratch %{{.*}} : !exec.scratch<{{[0-9]+}}> then gelu_bias @kernel_0(%[[C]], %{{.*}}) -> (%{{.*}}, %[[C]])
// CHECK-NOT: exec.launch
func.func @eval_step(%x: !x {nd.name = "x", nd.role = "input", nd.order = ["b", "i"]}, %w: !w {nd.name = "w", nd.role = "parameter", nd.order = ["i", "j"]}, %v: !v {nd.name = "v", nd.role = "parameter", nd.order = ["j"]})
    -> (!y {nd.name = "y", nd.role = "metric", nd.order = ["b", "j"]}, !y {nd.name = "z", nd.role = "metric", nd.order = ["b", "j"]}) {
  %0:2 = exec.product then gelu_bias(%x, %w, %v) : (!x, !w, !v) -> (!y, !y) attributes {exec.orders = [["b", "j"], ["b", "j"]]} {
  ^bb0(%a: !x, %b: !w, %bias: !v):
    %1 = nd.einsum %a, %b {reduced = ["i"], exec.orders = [["b", "j"]]} : (!x, !w) -> !y
    %2:2 = exec.fusion <parallel = ["b", "j"], reduce = [], lanes = "j", sizes = [4, 16]>(%1, %bias) : (!y, !v) -> (!y, !y) attributes {exec.orders = [["b", "j"], ["b", "j"]]} {
    ^bb0(%c: !y, %d: !v):
      %3 = nd.add %c, %d : (!y, !v) -> !y
      %4 = nd.gelu %3 : (!y) -> !y
      exec.yield %4, %3 : !y, !y
    }
    exec.yield %2#0, %2#1 : !y, !y
  }
  return %0#0, %0#1 : !y, !y
}
