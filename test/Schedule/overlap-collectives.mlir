// RUN: mesh-opt %s -split-input-file -pass-pipeline='builtin.module(meshc-plan-arena)' | FileCheck %s

!v = !nd.tensor<f32, [i = 16 on {a}]>
!x = !nd.tensor<f32, [i = 16]>
!w = !nd.tensor<f32, [i = 16, j = 16]>
!p = !nd.tensor<f32, [i = 16], sum {a}>
module attributes {nd.mesh = #nd.mesh<a = 2>} {
// A gather begins when what the one before received is used, the first one with the
// step: later, the arena has more than three vectors in any case.
// CHECK-LABEL: @early
// CHECK: spmd.all_gather ["a"] from ["i"] %arg1
// CHECK: nd.exp
// CHECK: spmd.all_gather ["a"] from ["i"] %arg2
// CHECK: nd.add
// CHECK: nd.mul
func.func @early(%x: !x {nd.name = "x", nd.role = "input", nd.order = ["i"]}, %v: !v {nd.name = "v", nd.role = "parameter", nd.order = ["i"]}, %u: !v {nd.name = "u", nd.role = "parameter", nd.order = ["i"]}) -> (!x {nd.name = "z", nd.role = "metric", nd.order = ["i"]}, !x {nd.name = "y", nd.role = "metric", nd.order = ["i"]}) {
  %0 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [16]>(%x) : (!x) -> !x attributes {exec.orders = [["i"]]} {
  ^bb0(%in0: !x):
    %t = nd.exp %in0 : (!x) -> !x
    exec.yield %t : !x
  }
  %g = spmd.all_gather ["a"] from ["i"] %v {exec.orders = [["i"]]} : (!v) -> !x
  %1 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [16]>(%0, %g) : (!x, !x) -> !x attributes {exec.orders = [["i"]]} {
  ^bb0(%in0: !x, %in1: !x):
    %t = nd.add %in0, %in1 : (!x, !x) -> !x
    exec.yield %t : !x
  }
  %h = spmd.all_gather ["a"] from ["i"] %u {exec.orders = [["i"]]} : (!v) -> !x
  %2 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [16]>(%1, %h) : (!x, !x) -> !x attributes {exec.orders = [["i"]]} {
  ^bb0(%in0: !x, %in1: !x):
    %t = nd.mul %in0, %in1 : (!x, !x) -> !x
    exec.yield %t : !x
  }
  %big = exec.fusion <parallel = ["i", "j"], reduce = [], lanes = "j", sizes = [16, 16]>(%x) : (!x) -> !w attributes {exec.orders = [["i", "j"]]} {
  ^bb0(%in: !x):
    %t = nd.broadcast %in : (!x) -> !w
    exec.yield %t : !w
  }
  %y = exec.fusion <parallel = ["i"], reduce = ["j"], lanes = "j", sizes = [16, 16]>(%big) : (!w) -> !x attributes {exec.orders = [["i"]]} {
  ^bb0(%in: !w):
    %t = nd.reduce_sum %in {dims = ["j"]} : (!w) -> !x
    exec.yield %t : !x
  }
  return %2, %y : !x, !x
}
}

// -----

!v = !nd.tensor<f32, [i = 16 on {a}]>
!x = !nd.tensor<f32, [i = 16]>
!w = !nd.tensor<f32, [i = 16, j = 16]>
!p = !nd.tensor<f32, [i = 16], sum {a}>
module attributes {nd.mesh = #nd.mesh<a = 2>} {
// Here a third vector would make the arena larger: the second gather stays behind the
// op that the first one is for.
// CHECK-LABEL: @late
// CHECK: spmd.all_gather ["a"] from ["i"] %arg1
// CHECK: nd.add
// CHECK: spmd.all_gather ["a"] from ["i"] %arg2
// CHECK: nd.mul
func.func @late(%x: !x {nd.name = "x", nd.role = "input", nd.order = ["i"]}, %v: !v {nd.name = "v", nd.role = "parameter", nd.order = ["i"]}, %u: !v {nd.name = "u", nd.role = "parameter", nd.order = ["i"]}) -> (!x {nd.name = "z", nd.role = "metric", nd.order = ["i"]}) {
  %0 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [16]>(%x) : (!x) -> !x attributes {exec.orders = [["i"]]} {
  ^bb0(%in0: !x):
    %t = nd.exp %in0 : (!x) -> !x
    exec.yield %t : !x
  }
  %g = spmd.all_gather ["a"] from ["i"] %v {exec.orders = [["i"]]} : (!v) -> !x
  %1 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [16]>(%0, %g) : (!x, !x) -> !x attributes {exec.orders = [["i"]]} {
  ^bb0(%in0: !x, %in1: !x):
    %t = nd.add %in0, %in1 : (!x, !x) -> !x
    exec.yield %t : !x
  }
  %h = spmd.all_gather ["a"] from ["i"] %u {exec.orders = [["i"]]} : (!v) -> !x
  %2 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [16]>(%1, %h) : (!x, !x) -> !x attributes {exec.orders = [["i"]]} {
  ^bb0(%in0: !x, %in1: !x):
    %t = nd.mul %in0, %in1 : (!x, !x) -> !x
    exec.yield %t : !x
  }
  return %2 : !x
}
}

// -----

!v = !nd.tensor<f32, [i = 16 on {a}]>
!x = !nd.tensor<f32, [i = 16]>
!w = !nd.tensor<f32, [i = 16, j = 16]>
!p = !nd.tensor<f32, [i = 16], sum {a}>
module attributes {nd.mesh = #nd.mesh<a = 2>} {
// What is sent stays as long as the arena has room for it: the next op writes to
// another place.
// CHECK-LABEL: @kept
// CHECK: exec.fusion {{.*}}exec.offsets = array<i64: [[P:[0-9]+]]>
// CHECK: nd.exp
// CHECK: spmd.reduce_scatter
// CHECK-NOT: exec.offsets = array<i64: [[P]]>
// CHECK: nd.neg
func.func @kept(%x: !x {nd.name = "x", nd.role = "input", nd.order = ["i"]}, %v: !v {nd.name = "v", nd.role = "parameter", nd.order = ["i"]}, %u: !v {nd.name = "u", nd.role = "parameter", nd.order = ["i"]}) -> (!v {nd.name = "z", nd.role = "metric", nd.order = ["i"]}, !x {nd.name = "e", nd.role = "metric", nd.order = ["i"]}, !x {nd.name = "y", nd.role = "metric", nd.order = ["i"]}) {
  %0 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [16]>(%x) : (!x) -> !p attributes {exec.orders = [["i"]]} {
  ^bb0(%in0: !x):
    %t = nd.exp %in0 : (!x) -> !p
    exec.yield %t : !p
  }
  %r = spmd.reduce_scatter sum ["a"] to ["i"] %0 {exec.orders = [["i"]]} : (!p) -> !v
  %1 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [16]>(%x) : (!x) -> !x attributes {exec.orders = [["i"]]} {
  ^bb0(%in0: !x):
    %t = nd.neg %in0 : (!x) -> !x
    exec.yield %t : !x
  }
  %2 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [16]>(%1) : (!x) -> !x attributes {exec.orders = [["i"]]} {
  ^bb0(%in0: !x):
    %t = nd.tanh %in0 : (!x) -> !x
    exec.yield %t : !x
  }
  %big = exec.fusion <parallel = ["i", "j"], reduce = [], lanes = "j", sizes = [16, 16]>(%x) : (!x) -> !w attributes {exec.orders = [["i", "j"]]} {
  ^bb0(%in: !x):
    %t = nd.broadcast %in : (!x) -> !w
    exec.yield %t : !w
  }
  %y = exec.fusion <parallel = ["i"], reduce = ["j"], lanes = "j", sizes = [16, 16]>(%big) : (!w) -> !x attributes {exec.orders = [["i"]]} {
  ^bb0(%in: !w):
    %t = nd.reduce_sum %in {dims = ["j"]} : (!w) -> !x
    exec.yield %t : !x
  }
  return %r, %2, %y : !v, !x, !x
}
}

// -----

!v = !nd.tensor<f32, [i = 16 on {a}]>
!x = !nd.tensor<f32, [i = 16]>
!w = !nd.tensor<f32, [i = 16, j = 16]>
!p = !nd.tensor<f32, [i = 16], sum {a}>
module attributes {nd.mesh = #nd.mesh<a = 2>} {
// Here it has none.
// CHECK-LABEL: @dropped
// CHECK: exec.fusion {{.*}}exec.offsets = array<i64: [[P:[0-9]+]]>
// CHECK: nd.exp
// CHECK: spmd.reduce_scatter
// CHECK: exec.offsets = array<i64: [[P]]>
// CHECK: nd.neg
func.func @dropped(%x: !x {nd.name = "x", nd.role = "input", nd.order = ["i"]}, %v: !v {nd.name = "v", nd.role = "parameter", nd.order = ["i"]}, %u: !v {nd.name = "u", nd.role = "parameter", nd.order = ["i"]}) -> (!v {nd.name = "z", nd.role = "metric", nd.order = ["i"]}, !x {nd.name = "e", nd.role = "metric", nd.order = ["i"]}) {
  %0 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [16]>(%x) : (!x) -> !p attributes {exec.orders = [["i"]]} {
  ^bb0(%in0: !x):
    %t = nd.exp %in0 : (!x) -> !p
    exec.yield %t : !p
  }
  %r = spmd.reduce_scatter sum ["a"] to ["i"] %0 {exec.orders = [["i"]]} : (!p) -> !v
  %1 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [16]>(%x) : (!x) -> !x attributes {exec.orders = [["i"]]} {
  ^bb0(%in0: !x):
    %t = nd.neg %in0 : (!x) -> !x
    exec.yield %t : !x
  }
  %2 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [16]>(%1) : (!x) -> !x attributes {exec.orders = [["i"]]} {
  ^bb0(%in0: !x):
    %t = nd.tanh %in0 : (!x) -> !x
    exec.yield %t : !x
  }
  return %r, %2 : !v, !x
}
}
