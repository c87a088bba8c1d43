// RUN: mesh-opt %s -split-input-file -pass-pipeline='builtin.module(func.func(meshc-delay-gathers))' | FileCheck %s

!v = !nd.tensor<f32, [i = 16 on {a}]>
!x = !nd.tensor<f32, [i = 16]>
module attributes {nd.mesh = #nd.mesh<a = 2>} {
// Each gather stands before its first user. Two for one user stay in their order.
// CHECK-LABEL: @first_users
// CHECK: nd.exp
// CHECK: %[[V:.*]] = spmd.all_gather ["a"] from ["i"] %arg1
// CHECK-NEXT: %[[W:.*]] = spmd.all_gather ["a"] from ["i"] %arg2
// CHECK-NEXT: exec.fusion {{.*}}(%{{.*}}, %[[V]], %[[W]])
func.func @first_users(%x: !x, %v: !v, %w: !v) -> !x {
  %g = spmd.all_gather ["a"] from ["i"] %v : (!v) -> !x
  %h = spmd.all_gather ["a"] from ["i"] %w : (!v) -> !x
  %0 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [16]>(%x) : (!x) -> !x attributes {exec.orders = [["i"]]} {
  ^bb0(%in0: !x):
    %t = nd.exp %in0 : (!x) -> !x
    exec.yield %t : !x
  }
  %1 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [16]>(%0, %g, %h) : (!x, !x, !x) -> !x attributes {exec.orders = [["i"]]} {
  ^bb0(%in0: !x, %in1: !x, %in2: !x):
    %s = nd.add %in0, %in1 : (!x, !x) -> !x
    %t = nd.add %s, %in2 : (!x, !x) -> !x
    exec.yield %t : !x
  }
  return %1 : !x
}
}

// -----

!c = !nd.tensor<f32, [i = 16 on {a, b}]>
!v = !nd.tensor<f32, [i = 16 on {a}]>
!x = !nd.tensor<f32, [i = 16]>
module attributes {nd.mesh = #nd.mesh<a = 2, b = 2>} {
// A gather of what another one receives stays behind it, also if both have the same
// first user.
// CHECK-LABEL: @one_after_the_other
// CHECK: nd.exp
// CHECK: %[[G:.*]] = spmd.all_gather ["b"] from ["i"] %arg1
// CHECK-NEXT: %[[H:.*]] = spmd.all_gather ["a"] from ["i"] %[[G]]
// CHECK-NEXT: exec.fusion {{.*}}(%[[H]])
func.func @one_after_the_other(%x: !x, %c: !c) -> (!x, !x) {
  %g = spmd.all_gather ["b"] from ["i"] %c : (!c) -> !v
  %h = spmd.all_gather ["a"] from ["i"] %g : (!v) -> !x
  %0 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [16]>(%x) : (!x) -> !x attributes {exec.orders = [["i"]]} {
  ^bb0(%in0: !x):
    %t = nd.exp %in0 : (!x) -> !x
    exec.yield %t : !x
  }
  %1 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [16]>(%h) : (!x) -> !x attributes {exec.orders = [["i"]]} {
  ^bb0(%in0: !x):
    %t = nd.neg %in0 : (!x) -> !x
    exec.yield %t : !x
  }
  return %0, %1 : !x, !x
}
}

// -----

!v = !nd.tensor<f32, [i = 16 on {a}]>
!x = !nd.tensor<f32, [i = 16]>
module attributes {nd.mesh = #nd.mesh<a = 2>} {
// The gather of a parameter stays before the op that overwrites the parameter.
// CHECK-LABEL: @overwritten
// CHECK: %[[G:.*]] = spmd.all_gather
// CHECK-NEXT: exec.fusion {{.*}}(%arg0)
// CHECK: nd.exp
// CHECK: exec.fusion {{.*}}(%[[G]])
func.func @overwritten(%p: !v {nd.name = "p", nd.role = "parameter"}) -> (!v {nd.name = "p", nd.role = "parameter"}, !x {nd.name = "y", nd.role = "metric"}) {
  %g = spmd.all_gather ["a"] from ["i"] %p : (!v) -> !x
  %0 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [16]>(%p) : (!v) -> !v attributes {exec.orders = [["i"]]} {
  ^bb0(%in0: !v):
    %t = nd.exp %in0 : (!v) -> !v
    exec.yield %t : !v
  }
  %1 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [16]>(%g) : (!x) -> !x attributes {exec.orders = [["i"]]} {
  ^bb0(%in0: !x):
    %t = nd.neg %in0 : (!x) -> !x
    exec.yield %t : !x
  }
  return %0, %1 : !v, !x
}

// A result of the block has its memory in any case: its gather stays.
// CHECK-LABEL: @result
// CHECK-NEXT: spmd.all_gather
// CHECK: nd.exp
func.func @result(%x: !x, %v: !v) -> (!x, !x) {
  %g = spmd.all_gather ["a"] from ["i"] %v : (!v) -> !x
  %0 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [16]>(%x) : (!x) -> !x attributes {exec.orders = [["i"]]} {
  ^bb0(%in0: !x):
    %t = nd.exp %in0 : (!x) -> !x
    exec.yield %t : !x
  }
  return %0, %g : !x, !x
}

// What is reduced is not gathered.
// CHECK-LABEL: @reduced
// CHECK-NEXT: spmd.reduce_scatter
// CHECK: nd.exp
func.func @reduced(%x: !x, %s: !nd.tensor<f32, [i = 16], sum {a}>) -> (!x, !v) {
  %g = spmd.reduce_scatter sum ["a"] to ["i"] %s : (!nd.tensor<f32, [i = 16], sum {a}>) -> !v
  %0 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [16]>(%x) : (!x) -> !x attributes {exec.orders = [["i"]]} {
  ^bb0(%in0: !x):
    %t = nd.exp %in0 : (!x) -> !x
    exec.yield %t : !x
  }
  %1 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [16]>(%g) : (!v) -> !v attributes {exec.orders = [["i"]]} {
  ^bb0(%in0: !v):
    %t = nd.neg %in0 : (!v) -> !v
    exec.yield %t : !v
  }
  return %0, %1 : !x, !v
}
}
