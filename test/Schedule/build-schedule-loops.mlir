// RUN: mesh-opt %s --pass-pipeline='builtin.module(func.func(meshc-place-results,meshc-schedule-ops),meshc-plan-arena,meshc-build-schedule)' --split-input-file | FileCheck %s

!v = !nd.tensor<f32, [i = 10]>
!vs = !nd.tensor<f32, [d = 3, i = 10]>

// Entries lie at multiples of 8 bytes, on which one kernel relies; the other is
// launched on whole tensors.
// CHECK: exec.kernel @kernel_0 {{.*}} in {{\[\[}}"i"]] out {{\[\[}}"i"]] {
// CHECK: exec.kernel @kernel_1 {{.*}} attributes {alignments = array<i64: 8, 8>}
// CHECK-LABEL: exec.func @eval_step
// CHECK: exec.launch @kernel_0
// CHECK-NEXT: exec.loop "d" 3 backwards {
// CHECK-NEXT: %[[X:.*]] = exec.buffer at 0 strides [40]
// CHECK-NEXT: %[[Y:.*]] = exec.buffer at 192 strides [40]
// CHECK-NEXT: exec.launch @kernel_1(%[[X]]) -> (%[[Y]])
// CHECK-NEXT: }
func.func @eval_step(%xs: !vs {nd.name = "xs", nd.role = "input", nd.order = ["d", "i"]}, %x: !v {nd.name = "x", nd.role = "input", nd.order = ["i"]})
    -> (!vs {nd.name = "ys", nd.role = "metric", nd.order = ["d", "i"]}, !v {nd.name = "y", nd.role = "metric", nd.order = ["i"]}) {
  %0 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [10]>(%x) : (!v) -> !v attributes {exec.orders = [["i"]]} {
  ^bb0(%in: !v):
    %5 = nd.tanh %in : (!v) -> !v
    exec.yield %5 : !v
  }
  %ys = nd.scan "d" 3 backwards stacked(%xs : !vs) -> !vs attributes {exec.orders = [["d", "i"]]} {
  ^bb0(%e: !v):
    %4 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [10]>(%e) : (!v) -> !v attributes {exec.orders = [["i"]]} {
    ^bb0(%in: !v):
      %5 = nd.tanh %in : (!v) -> !v
      exec.yield %5 : !v
    }
    nd.yield %4 : !v
  }
  return %ys, %0 : !vs, !v
}
