// RUN: mesh-opt %s -split-input-file -meshc-merge-launches | FileCheck %s

!x = !nd.tensor<f32, [i = 8]>
!y = !nd.tensor<f32, [j = 4]>
!s = !nd.tensor<f32, []>
module attributes {exec.gpu} {
// Different loops in one launch; the scalar is read by both. What reads a result of another kernel begins the next
// launch, and so does what overwrites an operand of another. A sum has a launch of its own.
// CHECK-LABEL: @merges
// CHECK: %[[A:.*]]:2 = exec.fusion <parallel = [], reduce = [], lanes = "", sizes = []>(%arg0, %arg2, %arg1)
// CHECK-SAME: exec.orders = {{\[\[}}"i"], ["j"]]
// CHECK-SAME: parts = [#exec.part<1, <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>>, #exec.part<1, <parallel = ["j"], reduce = [], lanes = "j", sizes = [4]>>]
// CHECK: ^bb0(%[[X:.*]]: {{.*}}, %[[S:.*]]: {{.*}}, %[[Y:.*]]: {{.*}}):
// CHECK: %[[P:.*]] = nd.mul %[[X]], %[[S]]
// CHECK: %[[Q:.*]] = nd.mul %[[Y]], %[[S]]
// CHECK: exec.yield %[[P]], %[[Q]]
// CHECK: %[[C:.*]] = exec.fusion <parallel = ["i"]{{.*}}(%[[A]]#0)
// CHECK: %[[D:.*]] = exec.fusion <parallel = [], reduce = ["i"]
// CHECK: return %[[C]], %[[A]]#1, %[[D]]
func.func @merges(%x: !x, %y: !y, %s: !s) -> (!x, !y, !s) {
  %0 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>(%x, %s) : (!x, !s) -> !x
    attributes {exec.orders = [["i"]]} {
  ^bb0(%a: !x, %b: !s):
    %4 = nd.mul %a, %b : (!x, !s) -> !x
    exec.yield %4 : !x
  }
  %1 = exec.fusion <parallel = ["j"], reduce = [], lanes = "j", sizes = [4]>(%y, %s) : (!y, !s) -> !y
    attributes {exec.orders = [["j"]]} {
  ^bb0(%a: !y, %b: !s):
    %4 = nd.mul %a, %b : (!y, !s) -> !y
    exec.yield %4 : !y
  }
  %2 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>(%0) : (!x) -> !x
    attributes {exec.orders = [["i"]]} {
  ^bb0(%a: !x):
    %4 = nd.exp %a : (!x) -> !x
    exec.yield %4 : !x
  }
  %3 = exec.fusion <parallel = [], reduce = ["i"], lanes = "i", sizes = [8]>(%x) : (!x) -> !s
    attributes {exec.orders = [[]]} {
  ^bb0(%a: !x):
    %4 = nd.reduce_sum %a {dims = ["i"]} : (!x) -> !s
    exec.yield %4 : !s
  }
  return %2, %1, %3 : !x, !y, !s
}
}

// -----

!w = !nd.tensor<f32, [i = 1024, j = 1024]>
module attributes {exec.gpu} {
// Kernels that fill a GPU stay apart, unless they are updates. The second update overwrites what the first one reads.
// CHECK-LABEL: @large
// CHECK-COUNT-2: exec.fusion <parallel = ["i", "j"]
// CHECK-NOT: exec.fusion
// CHECK: return
func.func @large(%x: !w, %y: !w) -> (!w, !w) {
  %0 = exec.fusion <parallel = ["i", "j"], reduce = [], lanes = "j", sizes = [1024, 1024]>(%x) : (!w) -> !w
    attributes {exec.orders = [["i", "j"]]} {
  ^bb0(%a: !w):
    %4 = nd.exp %a : (!w) -> !w
    exec.yield %4 : !w
  }
  %1 = exec.fusion <parallel = ["i", "j"], reduce = [], lanes = "j", sizes = [1024, 1024]>(%y) : (!w) -> !w
    attributes {exec.orders = [["i", "j"]]} {
  ^bb0(%a: !w):
    %4 = nd.exp %a : (!w) -> !w
    exec.yield %4 : !w
  }
  return %0, %1 : !w, !w
}
// CHECK-LABEL: @updates
// CHECK: exec.fusion <parallel = [], {{.*}}(%arg0, %arg1)
// CHECK-NOT: exec.fusion
// CHECK: return
func.func @updates(%x: !w {nd.name = "x", nd.role = "parameter"}, %y: !w {nd.name = "y", nd.role = "parameter"})
    -> (!w {nd.name = "x", nd.role = "parameter"}, !w {nd.name = "y", nd.role = "parameter"}) {
  %0 = exec.fusion <parallel = ["i", "j"], reduce = [], lanes = "j", sizes = [1024, 1024]>(%x) : (!w) -> !w
    attributes {exec.orders = [["i", "j"]]} {
  ^bb0(%a: !w):
    %4 = nd.exp %a : (!w) -> !w
    exec.yield %4 : !w
  }
  %1 = exec.fusion <parallel = ["i", "j"], reduce = [], lanes = "j", sizes = [1024, 1024]>(%y) : (!w) -> !w
    attributes {exec.orders = [["i", "j"]]} {
  ^bb0(%a: !w):
    %4 = nd.exp %a : (!w) -> !w
    exec.yield %4 : !w
  }
  return %0, %1 : !w, !w
}
// CHECK-LABEL: @overwritten
// CHECK-COUNT-2: exec.fusion <parallel = ["i", "j"]
// CHECK-NOT: exec.fusion
// CHECK: return
func.func @overwritten(%x: !w {nd.name = "x", nd.role = "parameter"}, %y: !w {nd.name = "y", nd.role = "parameter"})
    -> (!w {nd.name = "x", nd.role = "parameter"}, !w {nd.name = "y", nd.role = "parameter"}) {
  %0 = exec.fusion <parallel = ["i", "j"], reduce = [], lanes = "j", sizes = [1024, 1024]>(%x, %y) : (!w, !w) -> !w
    attributes {exec.orders = [["i", "j"]]} {
  ^bb0(%a: !w, %b: !w):
    %4 = nd.add %a, %b : (!w, !w) -> !w
    exec.yield %4 : !w
  }
  %1 = exec.fusion <parallel = ["i", "j"], reduce = [], lanes = "j", sizes = [1024, 1024]>(%y) : (!w) -> !w
    attributes {exec.orders = [["i", "j"]]} {
  ^bb0(%a: !w):
    %4 = nd.exp %a : (!w) -> !w
    exec.yield %4 : !w
  }
  return %0, %1 : !w, !w
}
}

// -----

!x = !nd.tensor<f32, [i = 8]>
module {
// The host gains nothing.
// CHECK-LABEL: @host
// CHECK-COUNT-2: exec.fusion <parallel = ["i"]
func.func @host(%x: !x, %y: !x) -> (!x, !x) {
  %0 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>(%x) : (!x) -> !x
    attributes {exec.orders = [["i"]]} {
  ^bb0(%a: !x):
    %4 = nd.exp %a : (!x) -> !x
    exec.yield %4 : !x
  }
  %1 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>(%y) : (!x) -> !x
    attributes {exec.orders = [["i"]]} {
  ^bb0(%a: !x):
    %4 = nd.exp %a : (!x) -> !x
    exec.yield %4 : !x
  }
  return %0, %1 : !x, !x
}
}
