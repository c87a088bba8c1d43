// RUN: mesh-opt %s --meshc-plan-arena --split-input-file | FileCheck %s

!v = !nd.tensor<f32, [i = 10]>
!vs = !nd.tensor<f32, [d = 3, i = 10]>

// What the loop carries has one place from its initial value on, here that of
// the metric. A yielded entry is an entry of the stacked result, and a stacked
// argument one of the operand: they move by 40 bytes per iteration. The body has
// one temporary.
// CHECK: module attributes {exec.arena_bytes = 384 : i64}
// CHECK: exec.tensor "xs" input ["d", "i"] at 0
// CHECK: exec.tensor "h" metric ["i"] at 128
// CHECK: exec.tensor "hs" metric ["d", "i"] at 192
// CHECK-LABEL: @eval_step
// CHECK: exec.fusion {{.*}}exec.offsets = array<i64: 128>
// CHECK: nd.scan {{.*}}exec.offsets = array<i64: 128, 192, 128, 0>
// CHECK-SAME: exec.strides = [array<i64>, array<i64>, array<i64: 0>, array<i64: 40>]
// CHECK: exec.fusion {{.*}}exec.offsets = array<i64: 320>
// CHECK: exec.fusion {{.*}}exec.offsets = array<i64: 192>{{.*}}exec.strides = [array<i64: 40>]
// CHECK: exec.fusion {{.*}}exec.offsets = array<i64: 128>
func.func @eval_step(%xs: !vs {nd.name = "xs", nd.role = "input", nd.order = ["d", "i"]})
    -> (!v {nd.name = "h", nd.role = "metric", nd.order = ["i"]},
        !vs {nd.name = "hs", nd.role = "metric", nd.order = ["d", "i"]}) {
  %0 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [10]>() : () -> !v attributes {exec.orders = [["i"]]} {
    %1 = nd.constant 1.0 : f32 -> !v
    exec.yield %1 : !v
  }
  %h, %hs = nd.scan "d" 3 carried(%0 : !v) stacked(%xs : !vs) -> !v, !vs attributes {exec.orders = [["i"], ["d", "i"]]} {
  ^bb0(%a: !v, %x: !v):
    %2 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [10]>(%a, %x) : (!v, !v) -> !v attributes {exec.orders = [["i"]]} {
    ^bb0(%in: !v, %other: !v):
      %5 = nd.add %in, %other : (!v, !v) -> !v
      exec.yield %5 : !v
    }
    %3 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [10]>(%a, %2) : (!v, !v) -> !v attributes {exec.orders = [["i"]]} {
    ^bb0(%in: !v, %other: !v):
      %5 = nd.mul %in, %other : (!v, !v) -> !v
      exec.yield %5 : !v
    }
    %4 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [10]>(%2) : (!v) -> !v attributes {exec.orders = [["i"]]} {
    ^bb0(%in: !v):
      %5 = nd.tanh %in : (!v) -> !v
      exec.yield %5 : !v
    }
    nd.yield %4, %3 : !v, !v
  }
  return %h, %hs : !v, !vs
}

// -----

!s = !nd.tensor<f32, []>
!v = !nd.tensor<f32, [e = 4]>
!m = !nd.tensor<f32, [d = 3, e = 4]>

// Entries of entries move with both loops.
// CHECK-LABEL: @eval_step
// CHECK: nd.scan "d" 3 {{.*}}exec.offsets = array<i64: 64, 0>{{.*}}exec.strides = [array<i64>, array<i64: 16>]
// CHECK: nd.scan "e" 4 {{.*}}exec.offsets = array<i64: 64, 0>{{.*}}exec.strides = [array<i64: 16>, array<i64: 16, 4>]
// CHECK: exec.fusion {{.*}}exec.offsets = array<i64: 64>{{.*}}exec.strides = [array<i64: 16, 4>]
func.func @eval_step(%x: !m {nd.name = "x", nd.role = "input", nd.order = ["d", "e"]}) -> (!m {nd.name = "y", nd.role = "metric", nd.order = ["d", "e"]}) {
  %y = nd.scan "d" 3 stacked(%x : !m) -> !m attributes {exec.orders = [["d", "e"]]} {
  ^bb0(%row: !v):
    %z = nd.scan "e" 4 stacked(%row : !v) -> !v attributes {exec.orders = [["e"]]} {
    ^bb0(%at: !s):
      %0 = exec.fusion <parallel = [], reduce = [], lanes = "", sizes = []>(%at) : (!s) -> !s attributes {exec.orders = [[]]} {
      ^bb0(%in: !s):
        %1 = nd.tanh %in : (!s) -> !s
        exec.yield %1 : !s
      }
      nd.yield %0 : !s
    }
    nd.yield %z : !v
  }
  return %y : !m
}
