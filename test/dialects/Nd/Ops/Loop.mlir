// RUN: mesh-opt %s | mesh-opt | FileCheck %s

!x = !nd.tensor<f32, [i = 8]>
!xs = !nd.tensor<f32, [i = 8, n = 4]>

// CHECK-LABEL: func.func @all_ties
func.func @all_ties(%x: !x, %w: !xs, %b: !nd.tensor<f32, []>) -> (!x, !xs) {
  // CHECK: %[[r:.*]]:2 = nd.scan "n" 4 carried(%arg0 : !nd.tensor<f32, [i = 8]>) stacked(%arg1 : !nd.tensor<f32, [i = 8, n = 4]>) whole(%arg2 : !nd.tensor<f32, []>) -> !nd.tensor<f32, [i = 8]>, !nd.tensor<f32, [i = 8, n = 4]> {
  // CHECK-NEXT: ^bb0(%[[c:.*]]: !nd.tensor<f32, [i = 8]>, %[[e:.*]]: !nd.tensor<f32, [i = 8]>, %[[g:.*]]: !nd.tensor<f32, []>):
  %y:2 = nd.scan "n" 4 carried(%x : !x) stacked(%w : !xs) whole(%b : !nd.tensor<f32, []>) -> !x, !xs {
  ^bb0(%c: !x, %e: !x, %g: !nd.tensor<f32, []>):
    %m = nd.mul %c, %e : (!x, !x) -> !x
    %s = nd.mul %m, %g : (!x, !nd.tensor<f32, []>) -> !x
    // CHECK: nd.yield %{{.*}}, %[[c]]
    nd.yield %s, %c : !x, !x
  }
  return %y#0, %y#1 : !x, !xs
}

// Names are those of results.
// CHECK-LABEL: func.func @backwards
func.func @backwards(%x: !x) -> !x {
  // CHECK: nd.scan "n" 3 backwards carried(%arg0 : !nd.tensor<f32, [i = 8]>) -> !nd.tensor<f32, [i = 8]> attributes {res_attrs = [{nd.name = "h"}]} {
  %y = nd.scan "n" 3 backwards carried(%x : !x) -> !x attributes {res_attrs = [{nd.name = "h"}]} {
  ^bb0(%c: !x):
    nd.yield %c : !x
  }
  return %y : !x
}

// The first carried value is the condition.
// CHECK-LABEL: func.func @ends_early
func.func @ends_early(%x: !x) -> !x {
  %true = nd.constant true -> !nd.tensor<i1, []>
  %least = nd.constant 1.0e-3 : f32 -> !nd.tensor<f32, []>
  // CHECK: nd.scan "n" 3 backwards while carried(%{{.*}}, %arg0 : !nd.tensor<i1, []>, !nd.tensor<f32, [i = 8]>)
  %y:2 = nd.scan "n" 3 backwards while carried(%true, %x : !nd.tensor<i1, []>, !x) whole(%least : !nd.tensor<f32, []>) -> !nd.tensor<i1, []>, !x {
  ^bb0(%go: !nd.tensor<i1, []>, %c: !x, %e: !nd.tensor<f32, []>):
    %h = nd.mul %c, %c : (!x, !x) -> !x
    %m = nd.reduce_max %h {dims = ["i"]} : (!x) -> !nd.tensor<f32, []>
    %next = nd.compare gt %m, %e : (!nd.tensor<f32, []>, !nd.tensor<f32, []>) -> !nd.tensor<i1, []>
    nd.yield %next, %h : !nd.tensor<i1, []>, !x
  }
  return %y#1 : !x
}

// Carried values may be partial sums, and all but the dim may be cut.
module attributes {nd.mesh = #nd.mesh<a = 2, b = 2>} {
  // CHECK-LABEL: func.func @cut
  func.func @cut(%x: !nd.tensor<f32, [i = 8 on {a}], sum {b}>, %w: !nd.tensor<f32, [i = 8 on {a}, n = 4]>) {
    // CHECK: nd.scan
    %y = nd.scan "n" 4 carried(%x : !nd.tensor<f32, [i = 8 on {a}], sum {b}>) stacked(%w : !nd.tensor<f32, [i = 8 on {a}, n = 4]>) -> !nd.tensor<f32, [i = 8 on {a}], sum {b}> {
    ^bb0(%c: !nd.tensor<f32, [i = 8 on {a}], sum {b}>, %e: !nd.tensor<f32, [i = 8 on {a}]>):
      nd.yield %c : !nd.tensor<f32, [i = 8 on {a}], sum {b}>
    }
    return
  }
}
