// RUN: mesh-opt %s --pass-pipeline='builtin.module(func.func(meshc-form-fusions,meshc-assign-orders,meshc-store-yields,meshc-plan-loops,meshc-verify-kernels))' --split-input-file | FileCheck %s

!x = !nd.tensor<f32, [a = 4, b = 8]>
!xs = !nd.tensor<f32, [a = 4, b = 8, n = 3]>
!s = !nd.tensor<f32, [a = 4]>

// The value of the last iteration and the new one, by the kernel that has both.
// CHECK-LABEL: @argument_and_result
// CHECK: nd.scan
// CHECK: ^bb0(%[[H:.*]]: {{.*}}):
// CHECK: %[[F:.*]]:3 = exec.fusion {{.*}}(%[[H]])
// CHECK-SAME: exec.orders = {{\[\[}}"b", "a"], ["b", "a"], ["b", "a"]]
// CHECK: ^bb0(%[[I:.*]]: {{.*}}):
// CHECK: %[[E:.*]] = nd.exp %[[I]]
// CHECK: exec.yield %[[E]], %[[E]], %[[I]]
// CHECK: nd.yield %[[F]]#0, %[[F]]#1, %[[F]]#2
func.func @argument_and_result(%x: !x {nd.order = ["b", "a"]}) -> (!xs, !xs) {
  %0:3 = nd.scan "n" 3 carried(%x : !x) -> !x, !xs, !xs {
  ^bb0(%h: !x):
    %1 = nd.exp %h : (!x) -> !x
    nd.yield %1, %1, %h : !x, !x, !x
  }
  return %0#1, %0#2 : !xs, !xs
}

// A kernel that stores rows stores the rows that it reads.
// CHECK-LABEL: @rows
// CHECK: nd.scan
// CHECK: ^bb0(%[[H:.*]]: {{.*}}):
// CHECK: %[[F:.*]]:2 = exec.fusion <parallel = ["a"], reduce = ["b"], {{.*}}(%[[H]])
// CHECK: nd.yield %[[F]]#0, %[[F]]#1
func.func @rows(%x: !x {nd.order = ["a", "b"]}) -> !xs {
  %0:2 = nd.scan "n" 3 carried(%x : !x) -> !x, !xs {
  ^bb0(%h: !x):
    %1 = nd.reduce_sum %h {dims = ["b"]} : (!x) -> !s
    %2 = nd.div %h, %1 : (!x, !s) -> !x
    nd.yield %2, %h : !x, !x
  }
  return %0#1 : !xs
}

// One that stores only sums does not begin to store rows.
// CHECK-LABEL: @sums
// CHECK: nd.scan
// CHECK: ^bb0(%[[W:.*]]: {{.*}}):
// CHECK: %[[F:.*]] = exec.fusion <parallel = ["a"], reduce = ["b"], {{.*}}(%[[W]])
// CHECK: nd.yield %[[F]], %[[W]]
func.func @sums(%w: !xs {nd.order = ["n", "a", "b"]}) -> (!nd.tensor<f32, [a = 4, n = 3]>, !xs) {
  %0:2 = nd.scan "n" 3 stacked(%w : !xs) -> !nd.tensor<f32, [a = 4, n = 3]>, !xs {
  ^bb0(%wi: !x):
    %1 = nd.reduce_max %wi {dims = ["b"]} : (!x) -> !s
    nd.yield %1, %wi : !s, !x
  }
  return %0#0, %0#1 : !nd.tensor<f32, [a = 4, n = 3]>, !xs
}

// An argument that is read at other points, and one that no kernel reads.
// CHECK-LABEL: @elsewhere
// CHECK: nd.scan
// CHECK: ^bb0(%[[H:.*]]: {{.*}}, %[[W:.*]]: {{.*}}):
// CHECK: nd.yield %{{.*}}, %[[H]], %[[W]]
func.func @elsewhere(%x: !nd.tensor<f32, [a = 8]> {nd.order = ["a"]}, %w: !s {nd.order = ["a"]}) -> (!nd.tensor<f32, [a = 8, n = 3]>, !nd.tensor<f32, [a = 4, n = 3]>) {
  %0:3 = nd.scan "n" 3 carried(%x : !nd.tensor<f32, [a = 8]>) whole(%w : !s) -> !nd.tensor<f32, [a = 8]>, !nd.tensor<f32, [a = 8, n = 3]>, !nd.tensor<f32, [a = 4, n = 3]> {
  ^bb0(%h: !nd.tensor<f32, [a = 8]>, %v: !s):
    %1 = nd.rename %h {from = ["a"], to = ["b"]} : (!nd.tensor<f32, [a = 8]>) -> !nd.tensor<f32, [b = 8]>
    %2 = nd.reduce_sum %1 {dims = ["b"]} : (!nd.tensor<f32, [b = 8]>) -> !nd.tensor<f32, []>
    %3 = nd.broadcast %2 : (!nd.tensor<f32, []>) -> !nd.tensor<f32, [a = 8]>
    nd.yield %3, %h, %v : !nd.tensor<f32, [a = 8]>, !nd.tensor<f32, [a = 8]>, !s
  }
  return %0#1, %0#2 : !nd.tensor<f32, [a = 8, n = 3]>, !nd.tensor<f32, [a = 4, n = 3]>
}
