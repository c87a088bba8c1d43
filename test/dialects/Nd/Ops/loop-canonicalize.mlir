// RUN: mesh-opt %s -canonicalize -split-input-file | FileCheck %s

!x = !nd.tensor<f32, [i = 8]>
!xs = !nd.tensor<f32, [i = 8, n = 2]>

// Unused stacked results and operands go, with what only they need. The names of the other results remain theirs.
// CHECK-LABEL: func.func @unused
// CHECK: %[[Y:[a-z0-9]+]]:2 = nd.scan "n" 2 carried(%arg0 : {{.*}}) stacked(%arg2 : {{.*}}) whole(%arg4 : {{.*}}) -> {{.*}} attributes {res_attrs = [{nd.name = "h"}, {nd.name = "kept"}]} {
// CHECK-NEXT: ^bb0(%[[H:[a-z0-9]+]]: {{.*}}, %[[W:[a-z0-9]+]]: {{.*}}, %[[B:[a-z0-9]+]]: {{.*}}):
// CHECK-NEXT: %[[M:.*]] = nd.mul %[[H]], %[[W]]
// CHECK-NEXT: %[[A:.*]] = nd.add %[[M]], %[[B]]
// CHECK-NEXT: nd.yield %[[A]], %[[M]] :
// CHECK: return %[[Y]]#0, %[[Y]]#1
func.func @unused(%x: !x, %v: !xs, %w: !xs, %a: !x, %b: !x) -> (!x, !xs) {
  %y:3 = nd.scan "n" 2 carried(%x : !x) stacked(%v, %w : !xs, !xs) whole(%a, %b : !x, !x) -> !x, !xs, !xs attributes {res_attrs = [{nd.name = "h"}, {nd.name = "dropped"}, {nd.name = "kept"}]} {
  ^bb0(%h: !x, %vi: !x, %wi: !x, %ai: !x, %bi: !x):
    %0 = nd.mul %vi, %ai : (!x, !x) -> !x
    %1 = nd.mul %h, %wi : (!x, !x) -> !x
    %2 = nd.add %1, %bi : (!x, !x) -> !x
    nd.yield %2, %0, %1 : !x, !x, !x
  }
  return %y#0, %y#2 : !x, !xs
}

// -----

!x = !nd.tensor<f32, [i = 8]>
!xs = !nd.tensor<f32, [i = 8, n = 2]>

// p and q need only one another; k is needed by the stacked result, its own result is not.
// CHECK-LABEL: func.func @dead_cycle
// CHECK: %[[Y:[a-z0-9]+]]:2 = nd.scan "n" 2 carried(%arg0 : {{.*}}) stacked(%arg1 : {{.*}}) ->
// CHECK-NEXT: ^bb0(%[[K:[a-z0-9]+]]: {{.*}}, %[[W:[a-z0-9]+]]: {{.*}}):
// CHECK-NEXT: %[[A:.*]] = nd.add %[[K]], %[[W]]
// CHECK-NEXT: nd.yield %[[A]], %[[K]] :
// CHECK: return %[[Y]]#1
func.func @dead_cycle(%x: !x, %w: !xs) -> !xs {
  %y:4 = nd.scan "n" 2 carried(%x, %x, %x : !x, !x, !x) stacked(%w : !xs) -> !x, !x, !x, !xs {
  ^bb0(%p: !x, %k: !x, %q: !x, %wi: !x):
    %0 = nd.mul %p, %wi : (!x, !x) -> !x
    %1 = nd.add %k, %wi : (!x, !x) -> !x
    %2 = nd.exp %q : (!x) -> !x
    nd.yield %2, %1, %0, %k : !x, !x, !x, !x
  }
  return %y#3 : !xs
}

// -----

!x = !nd.tensor<f32, [i = 8]>
!xs = !nd.tensor<f32, [i = 8, n = 2]>

// A loop without results that somebody needs.
// CHECK-LABEL: func.func @dead(
// CHECK-NEXT: return %arg0
func.func @dead(%x: !x, %w: !xs) -> !x {
  %y = nd.scan "n" 2 carried(%x : !x) stacked(%w : !xs) -> !x {
  ^bb0(%h: !x, %wi: !x):
    %0 = nd.mul %h, %wi : (!x, !x) -> !x
    nd.yield %0 : !x
  }
  return %x : !x
}

// -----

!x = !nd.tensor<f32, [i = 8]>
!xs = !nd.tensor<f32, [i = 8, n = 2]>
// CHECK-LABEL: func.func @duplicates
// CHECK: %[[Y:[a-z0-9]+]]:3 = nd.scan "n" 2 carried(%arg0 : {{.*}}) stacked(%arg1 : {{.*}}) whole(%arg2 : {{.*}}) -> {{.*}} attributes {res_attrs = [{}, {nd.name = "a"}, {nd.name = "b"}]} {
// CHECK-NEXT: ^bb0(%[[H:[a-z0-9]+]]: {{.*}}, %[[W:[a-z0-9]+]]: {{.*}}, %[[A:[a-z0-9]+]]: {{.*}}):
// CHECK-NEXT: %[[S:.*]] = nd.mul %[[W]], %[[W]]
// CHECK-NEXT: %[[M:.*]] = nd.mul %[[A]], %[[H]]
// CHECK-NEXT: %[[N:.*]] = nd.mul %[[M]], %[[A]]
// CHECK-NEXT: %[[P:.*]] = nd.add %[[N]], %[[S]]
// CHECK-NEXT: nd.yield %[[P]], %[[S]], %[[S]] :
// CHECK: return %[[Y]]#0, %[[Y]]#1, %[[Y]]#1, %[[Y]]#2
func.func @duplicates(%x: !x, %w: !xs, %a: !x) -> (!x, !xs, !xs, !xs) {
  %y:4 = nd.scan "n" 2 carried(%x : !x) stacked(%w, %w : !xs, !xs) whole(%a, %a : !x, !x) -> !x, !xs, !xs, !xs attributes {res_attrs = [{}, {}, {nd.name = "a"}, {nd.name = "b"}]} {
  ^bb0(%h: !x, %vi: !x, %wi: !x, %ai: !x, %bi: !x):
    %0 = nd.mul %vi, %wi : (!x, !x) -> !x
    %1 = nd.mul %ai, %h : (!x, !x) -> !x
    %2 = nd.mul %1, %bi : (!x, !x) -> !x
    %3 = nd.add %2, %0 : (!x, !x) -> !x
    nd.yield %3, %0, %0, %0 : !x, !x, !x, !x
  }
  return %y#0, %y#1, %y#2, %y#3 : !x, !xs, !xs, !xs
}

// -----

!x = !nd.tensor<f32, [i = 8]>
!xs = !nd.tensor<f32, [i = 8, n = 2]>

// What is yielded as it came is the initial value after each iteration, and its entries are a broadcast of that.
// CHECK-LABEL: func.func @unchanged
// CHECK: %[[Y:[a-z0-9]+]] = nd.scan "n" 2 carried(%arg0 : {{.*}}) stacked(%arg2 : {{.*}}) whole(%arg1 : {{.*}}) ->
// CHECK-NEXT: ^bb0(%[[H:[a-z0-9]+]]: {{.*}}, %[[W:[a-z0-9]+]]: {{.*}}, %[[K:[a-z0-9]+]]: {{.*}}):
// CHECK-NEXT: %[[M:.*]] = nd.mul %[[H]], %[[W]]
// CHECK-NEXT: %[[A:.*]] = nd.add %[[M]], %[[K]]
// CHECK-NEXT: nd.yield %[[A]] :
// CHECK: %[[ALL:.*]] = nd.broadcast %arg1 : (!nd.tensor<f32, [i = 8]>) -> !nd.tensor<f32, [i = 8, n = 2]>
// CHECK: return %arg1, %[[Y]], %[[ALL]]
func.func @unchanged(%x: !x, %c: !x, %w: !xs) -> (!x, !x, !xs) {
  %y:3 = nd.scan "n" 2 carried(%c, %x : !x, !x) stacked(%w : !xs) -> !x, !x, !xs {
  ^bb0(%k: !x, %h: !x, %wi: !x):
    %0 = nd.mul %h, %wi : (!x, !x) -> !x
    %1 = nd.add %0, %k : (!x, !x) -> !x
    nd.yield %k, %1, %k : !x, !x, !x
  }
  return %y#0, %y#1, %y#2 : !x, !x, !xs
}

// -----

!s = !nd.tensor<f32, []>
!x = !nd.tensor<f32, [i = 8]>
!xs = !nd.tensor<f32, [i = 8, n = 2]>
!n = !nd.tensor<f32, [n = 2]>

// Constants, and what is repeated for each entry.
// CHECK-LABEL: func.func @equal_entries
// CHECK: nd.scan "n" 2 carried(%arg0 : {{.*}}) whole(%arg1 : !nd.tensor<f32, []>) ->
// CHECK-NEXT: ^bb0(%[[H:[a-z0-9]+]]: {{.*}}, %[[A:[a-z0-9]+]]: {{.*}}):
// CHECK-NEXT: %[[TWO:.*]] = nd.constant 2.000000e+00 : f32 -> !nd.tensor<f32, []>
// CHECK-NEXT: %[[HALF:.*]] = nd.constant 5.000000e-01 : f32 -> !nd.tensor<f32, []>
// CHECK-NEXT: %[[B:.*]] = nd.broadcast %[[A]] : (!nd.tensor<f32, []>) -> !nd.tensor<f32, [i = 8]>
// CHECK-NEXT: %[[M:.*]] = nd.mul %[[H]], %[[TWO]]
// CHECK-NEXT: %[[N:.*]] = nd.mul %[[M]], %[[B]]
// CHECK-NEXT: nd.add %[[N]], %[[HALF]]
func.func @equal_entries(%x: !x, %a: !s) -> !x {
  %half = nd.constant 0.5 : f32 -> !s
  %two = nd.constant 2.0 : f32 -> !n
  %as = nd.broadcast %a : (!s) -> !xs
  %y = nd.scan "n" 2 carried(%x : !x) stacked(%two, %as : !n, !xs) whole(%half : !s) -> !x {
  ^bb0(%h: !x, %t: !s, %ai: !x, %hi: !s):
    %0 = nd.mul %h, %t : (!x, !s) -> !x
    %1 = nd.mul %0, %ai : (!x, !x) -> !x
    %2 = nd.add %1, %hi : (!x, !s) -> !x
    nd.yield %2 : !x
  }
  return %y : !x
}

// -----

!s = !nd.tensor<f32, []>
!x = !nd.tensor<f32, [i = 8]>
!xs = !nd.tensor<f32, [i = 8, n = 2]>
!w = !nd.tensor<f32, [i = 8, j = 4]>
!y = !nd.tensor<f32, [j = 4]>
!number = !nd.tensor<i32, []>
!numbers = !nd.tensor<i32, [n = 2]>

// The product, and what needs no more memory than its operand, is computed once. What repeats its operand stays, as does
// what has the number of the iteration.
// CHECK-LABEL: func.func @invariant
// CHECK: %[[TWO:.*]] = nd.constant 2.000000e+00
// CHECK: %[[NUMBERS:.*]] = nd.iota
// CHECK: %[[M:.*]] = nd.mul %arg4, %[[TWO]]
// CHECK: %[[P:.*]] = nd.einsum %[[M]], %arg2
// CHECK: nd.scan "n" 2 carried(%arg1 : {{.*}}) stacked(%[[NUMBERS]] : {{.*}}) whole(%[[P]] : {{.*}}) ->
// CHECK-NEXT: ^bb0(%{{.*}}: {{.*}}, %[[T:[a-z0-9]+]]: {{.*}}, %[[PI:[a-z0-9]+]]: {{.*}}):
// CHECK-NEXT: nd.broadcast %[[PI]]
// CHECK-NEXT: nd.random uniform "r"(%[[T]] : {{.*}})
// CHECK-NEXT: nd.mul
func.func @invariant(%x: !x, %y: !y, %w: !w, %v: !w, %a: !x) -> !y {
  %numbers = nd.iota : () -> !numbers
  %z = nd.scan "n" 2 carried(%y : !y) stacked(%numbers : !numbers) whole(%w, %a : !w, !x) -> !y {
  ^bb0(%h: !y, %t: !number, %wi: !w, %ai: !x):
    %two = nd.constant 2.0 : f32 -> !s
    %0 = nd.mul %ai, %two : (!x, !s) -> !x
    %1 = nd.einsum %0, %wi {reduced = ["i"]} : (!x, !w) -> !y
    %2 = nd.broadcast %1 : (!y) -> !w
    %3 = nd.random uniform "r" (%t : !number) : !w
    %4 = nd.mul %2, %3 : (!w, !w) -> !w
    %5 = nd.reduce_sum %4 {dims = ["i"]} : (!w) -> !y
    %6 = nd.add %h, %5 : (!y, !y) -> !y
    nd.yield %6 : !y
  }
  return %z : !y
}

// -----

!b = !nd.tensor<i1, []>
!s = !nd.tensor<f32, []>
!x = !nd.tensor<f32, [i = 8]>

// The condition stays, with what it needs: how many iterations there are depends on it.
// CHECK-LABEL: func.func @condition
// CHECK: %[[Y:[a-z0-9]+]]:3 = nd.scan "n" 2 while carried(%arg0, %arg1, %arg2 : {{.*}}) -> {{.*}} attributes {res_attrs = [{}, {}, {nd.name = "h"}]} {
// CHECK-NEXT: ^bb0(%{{.*}}: {{.*}}, %[[K:[a-z0-9]+]]: !nd.tensor<f32, []>, %[[H:[a-z0-9]+]]: {{.*}}):
// CHECK-DAG: %[[D:.*]] = nd.add %[[K]], %[[K]]
// CHECK-DAG: %[[A:.*]] = nd.add %[[H]], %[[H]]
// CHECK: %[[C:.*]] = nd.compare
// CHECK: nd.yield %[[C]], %[[D]], %[[A]] :
// CHECK: return %[[Y]]#2
func.func @condition(%b: !b, %s: !s, %x: !x, %unused: !s) -> !x {
  %y:4 = nd.scan "n" 2 while carried(%b, %s, %x, %unused : !b, !s, !x, !s) -> !b, !s, !x, !s attributes {res_attrs = [{}, {}, {nd.name = "h"}, {}]} {
  ^bb0(%go: !b, %k: !s, %h: !x, %u: !s):
    %one = nd.constant 1.0 : f32 -> !s
    %0 = nd.add %k, %k : (!s, !s) -> !s
    %1 = nd.add %h, %h : (!x, !x) -> !x
    %2 = nd.compare lt %0, %one : (!s, !s) -> !b
    %3 = nd.mul %u, %u : (!s, !s) -> !s
    nd.yield %2, %0, %1, %3 : !b, !s, !x, !s
  }
  return %y#2 : !x
}
