// RUN: mesh-opt %s -meshc-unroll-loops -split-input-file -verify-diagnostics | FileCheck %s
// RUN: mesh-opt %s -meshc-unroll-loops=primitive=true -split-input-file -verify-diagnostics | FileCheck %s --check-prefix=PRIMITIVE

!x = !nd.tensor<f32, [i = 8]>
!xs = !nd.tensor<f32, [i = 8, n = 2]>
!number = !nd.tensor<i32, []>

// CHECK-LABEL: func.func @forward
// CHECK-SAME: (%[[x:.*]]: !nd.tensor<f32, [i = 8]>, %[[w:.*]]: !nd.tensor<f32, [i = 8, n = 2]>, %[[b:.*]]: !nd.tensor<f32, [i = 8]>)
func.func @forward(%x: !x, %w: !xs, %b: !x) -> (!x, !xs) {
  // CHECK: %[[e:.*]]:2 = nd.unstack %[[w]] {dim = "n"}
  // CHECK: %[[m0:.*]] = nd.mul %[[x]], %[[e]]#0
  // CHECK: %[[a0:.*]] = nd.add %[[m0]], %[[b]]
  // CHECK: %[[m1:.*]] = nd.mul %[[a0]], %[[e]]#1
  // CHECK: %[[a1:.*]] = nd.add %[[m1]], %[[b]]
  // CHECK: %[[s:.*]] = nd.stack %[[m0]], %[[m1]] {dim = "n", nd.name = "m"}
  // CHECK: return %[[a1]], %[[s]]
  %y:2 = nd.scan "n" 2 carried(%x : !x) stacked(%w : !xs) whole(%b : !x) -> !x, !xs attributes {res_attrs = [{}, {nd.name = "m"}]} {
  ^bb0(%c: !x, %e: !x, %g: !x):
    %m = nd.mul %c, %e : (!x, !x) -> !x
    %s = nd.add %m, %g : (!x, !x) -> !x
    nd.yield %s, %m : !x, !x
  }
  return %y#0, %y#1 : !x, !xs
}

// From the last entry; results that nobody uses are not stacked.
// CHECK-LABEL: func.func @backwards
func.func @backwards(%x: !x, %w: !xs) -> !x {
  // CHECK: %[[e:.*]]:2 = nd.unstack
  // CHECK: %[[m0:.*]] = nd.mul %{{.*}}, %[[e]]#1
  // CHECK: %[[m1:.*]] = nd.mul %[[m0]], %[[e]]#0
  // CHECK-NEXT: return %[[m1]]
  %y:2 = nd.scan "n" 2 backwards carried(%x : !x) stacked(%w : !xs) -> !x, !xs {
  ^bb0(%c: !x, %e: !x):
    %m = nd.mul %c, %e : (!x, !x) -> !x
    nd.yield %m, %m : !x, !x
  }
  return %y#0 : !x
}

// All iterations are there, but nothing changes after one that yields false. The
// first one always runs.
// CHECK-LABEL: func.func @ends_early
// CHECK-SAME: (%[[x:.*]]: !nd.tensor<f32, [i = 8]>, %[[l:.*]]: !nd.tensor<f32, []>)
func.func @ends_early(%x: !x, %l: !nd.tensor<f32, []>) -> !x {
  // CHECK: %[[h0:.*]] = nd.mul %[[x]], %[[x]]
  // CHECK: %[[c0:.*]] = nd.compare gt
  // CHECK-NEXT: %[[h1:.*]] = nd.mul %[[h0]], %[[h0]]
  // CHECK: %[[c1:.*]] = nd.compare gt
  // CHECK-NEXT: %[[g1:.*]] = nd.select %[[c0]], %[[c1]], %[[c0]]
  // CHECK-NEXT: %[[k1:.*]] = nd.select %[[c0]], %[[h1]], %[[h0]]
  // CHECK-NEXT: %[[h2:.*]] = nd.mul %[[k1]], %[[k1]]
  // CHECK: %[[k2:.*]] = nd.select %[[g1]], %[[h2]], %[[k1]]
  // CHECK-NEXT: return %[[k2]]
  %true = nd.constant true -> !nd.tensor<i1, []>
  %y:2 = nd.scan "n" 3 while carried(%true, %x : !nd.tensor<i1, []>, !x) whole(%l : !nd.tensor<f32, []>) -> !nd.tensor<i1, []>, !x {
  ^bb0(%go: !nd.tensor<i1, []>, %c: !x, %e: !nd.tensor<f32, []>):
    %h = nd.mul %c, %c : (!x, !x) -> !x
    %m = nd.reduce_max %h {dims = ["i"]} : (!x) -> !nd.tensor<f32, []>
    %next = nd.compare gt %m, %e : (!nd.tensor<f32, []>, !nd.tensor<f32, []>) -> !nd.tensor<i1, []>
    nd.yield %next, %h : !nd.tensor<i1, []>, !x
  }
  return %y#1 : !x
}

// The number of an iteration is a constant, in nested loops too.
// CHECK-LABEL: func.func @random
func.func @random(%x: !x) -> !x {
  // CHECK-DAG: %[[n0:.*]] = nd.constant 0 : i32
  // CHECK-DAG: %[[n1:.*]] = nd.constant 1 : i32
  // CHECK: nd.random uniform "s"(%[[n0]], %[[k0:[^ ]*]] :
  // CHECK: nd.random uniform "s"(%[[n0]], %[[k1:[^ ]*]] :
  // CHECK: nd.random uniform "s"(%[[n1]], %{{.*}} :
  // CHECK: nd.random uniform "s"(%[[n1]], %{{.*}} :
  // CHECK-NOT: nd.scan
  %n = nd.iota : () -> !nd.tensor<i32, [n = 2]>
  %y = nd.scan "n" 2 carried(%x : !x) stacked(%n : !nd.tensor<i32, [n = 2]>) -> !x {
  ^bb0(%c: !x, %i: !number):
    %k = nd.iota : () -> !nd.tensor<i32, [k = 2]>
    %z = nd.scan "k" 2 carried(%c : !x) stacked(%k : !nd.tensor<i32, [k = 2]>) whole(%i : !number) -> !x {
    ^bb0(%d: !x, %j: !number, %o: !number):
      %r = nd.random uniform "s" (%o, %j : !number, !number) : !x
      %m = nd.mul %d, %r : (!x, !x) -> !x
      nd.yield %m : !x
    }
    nd.yield %z : !x
  }
  return %y : !x
}

// Ops keep what the layout phase says of them.
module attributes {nd.mesh = #nd.mesh<a = 2>} {
  // CHECK-LABEL: func.func @sharded
  func.func @sharded(%x: !x {nd.sharding = !nd.tensor<f32, [i = 8 on {a}]>}, %w: !xs {nd.sharding = !nd.tensor<f32, [i = 8 on {a}, n = 2]>}) -> (!xs {nd.sharding = !nd.tensor<f32, [i = 8 on {a}, n = 2]>}) {
    // CHECK: nd.unstack %{{.*}} {dim = "n", nd.sharding = [!nd.tensor<f32, [i = 8 on {a}]>, !nd.tensor<f32, [i = 8 on {a}]>]}
    // CHECK: nd.stack {{.*}} nd.sharding = [!nd.tensor<f32, [i = 8 on {a}, n = 2]>]
    // PRIMITIVE-LABEL: func.func @sharded
    // PRIMITIVE: nd.entry %arg1 {dim = "n", index = 0 : i64, nd.sharding = [!nd.tensor<f32, [i = 8 on {a}]>]}
    // PRIMITIVE: nd.entry %arg1 {dim = "n", index = 1 : i64, nd.sharding = [!nd.tensor<f32, [i = 8 on {a}]>]}
    // PRIMITIVE-NOT: nd.unstack
    // PRIMITIVE: return
    %y:2 = nd.scan "n" 2 carried(%x : !x) stacked(%w : !xs) -> !x, !xs attributes {nd.sharding = [!nd.tensor<f32, [i = 8 on {a}]>, !nd.tensor<f32, [i = 8 on {a}, n = 2]>]} {
    ^bb0(%c: !x, %e: !x):
      %m = nd.mul %c, %e {nd.sharding = [!nd.tensor<f32, [i = 8 on {a}]>]} : (!x, !x) -> !x
      nd.yield %m, %m : !x, !x
    }
    return %y#1 : !xs
  }
}

// -----

!x = !nd.tensor<f32, [i = 8]>
func.func @too_many(%x: !x) -> !x {
  // expected-error @below {{the loop over 'n' has 2000000 iterations, and would become more than 1000000 ops}}
  %y = nd.scan "n" 2000000 carried(%x : !x) -> !x {
  ^bb0(%c: !x):
    %m = nd.mul %c, %c : (!x, !x) -> !x
    nd.yield %m : !x
  }
  return %y : !x
}
