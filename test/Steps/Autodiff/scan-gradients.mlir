// RUN: mesh-opt %s -split-input-file -meshc-build-steps -canonicalize -cse -meshc-verify-steps | FileCheck %s

!s = !nd.tensor<f32, []>
!x = !nd.tensor<f32, [b = 8]>
!n = !nd.tensor<f32, [n = 3]>
!xn = !nd.tensor<f32, [b = 8, n = 3]>

// A loop over a stacked parameter %w and a whole one %v. The gradient runs backwards. It reads the entries of %w and the
// stored carried values, and yields one gradient of %w per iteration. The gradient of %v is a sum; adding to it comes last.
// CHECK-LABEL: func.func @train_step
// CHECK: %[[ZERO:.*]] = nd.constant 0.000000e+00 : f32 -> !nd.tensor<f32, []>
// CHECK: %[[Y:[a-z0-9]+]]:2 = nd.scan "n" 3 carried(%arg2 : {{.*}}) stacked(%arg0 : {{.*}}) whole(%arg1 : {{.*}}) -> {{.*}} attributes {res_attrs = [{nd.name = "h"}, {nd.name = "h"}]} {
// CHECK-NEXT: ^bb0(%[[H:[a-z0-9]+]]: !nd.tensor<f32, [b = 8]>, %{{.*}}
// CHECK: nd.yield %{{.*}}, %[[H]] :
// CHECK: %[[DY:.*]] = nd.mul %[[Y]]#0, %{{.*}}
// CHECK: %[[G:[a-z0-9]+]]:3 = nd.scan "n" 3 backwards carried(%[[DY]], %[[ZERO]] : {{.*}}) stacked(%arg0, %[[Y]]#1 : {{.*}}) -> {{.*}} attributes {res_attrs = [{}, {nd.class = "gradient", nd.name = "gradient of v", nd.of = "v"}, {nd.class = "gradient", nd.name = "gradient of w", nd.of = "w"}]} {
// CHECK-NEXT: ^bb0(%[[D:[a-z0-9]+]]: !nd.tensor<f32, [b = 8]>, %[[SUM:[a-z0-9]+]]: !nd.tensor<f32, []>, %[[W:[a-z0-9]+]]: !nd.tensor<f32, []>, %[[H:[a-z0-9]+]]: !nd.tensor<f32, [b = 8]>):
// CHECK-NEXT: %[[DV:.*]] = nd.reduce_sum %[[D]]
// CHECK-NEXT: %[[DH:.*]] = nd.mul %[[D]], %[[W]]
// CHECK-NEXT: %[[EACH:.*]] = nd.mul %[[D]], %[[H]]
// CHECK-NEXT: %[[DW:.*]] = nd.reduce_sum %[[EACH]]
// CHECK-NEXT: %[[NEXT:.*]] = nd.add %[[SUM]], %[[DV]]
// CHECK-NEXT: nd.yield %[[DH]], %[[NEXT]], %[[DW]] :
// CHECK: nd.sgd_update %arg0, %[[G]]#2,
// CHECK: nd.sgd_update %arg1, %[[G]]#1,
// CHECK-LABEL: func.func @eval_step
// CHECK: nd.scan "n" 3 carried(%arg2 : {{.*}}) stacked(%arg0 : {{.*}}) whole(%arg1 : {{.*}}) -> !nd.tensor<f32, [b = 8]> attributes {res_attrs = [{nd.name = "h"}]} {
func.func @forward(%x: !x {nd.name = "x", nd.order = ["b"]}) -> (!s {nd.name = "loss"}) {
  %w = nd.parameter "w" ["n"] : !n {
    %0 = nd.random normal "w" : !n
    nd.yield %0 : !n
  }
  %v = nd.parameter "v" [] : !s {
    %0 = nd.random normal "v" : !s
    nd.yield %0 : !s
  }
  %y = nd.scan "n" 3 carried(%x : !x) stacked(%w : !n) whole(%v : !s) -> !x attributes {res_attrs = [{nd.name = "h"}]} {
  ^bb0(%h: !x, %wi: !s, %vi: !s):
    %0 = nd.mul %h, %wi : (!x, !s) -> !x
    %1 = nd.add %0, %vi : (!x, !s) -> !x
    nd.yield %1 : !x
  }
  %z = nd.square %y : (!x) -> !x
  %loss = nd.reduce_sum %z {dims = ["b"]} : (!x) -> !s
  return %loss : !s
}
nd.train @forward "loss" "sgd" { nd.setting "lr" = 0.1 }

// -----

!s = !nd.tensor<f32, []>
!x = !nd.tensor<f32, [b = 8]>
!xt = !nd.tensor<f32, [b = 8, t = 3]>
!i = !nd.tensor<i32, []>

// From the last entry; the gradient starts from the first one. The loss sees the stacked result. The counter, the input
// and the second carried value, which does not depend on %v, get no gradient. The named value is stored under
// its name once, as it is a result already.
// CHECK-LABEL: func.func @train_step
// CHECK: %[[Y:[a-z0-9]+]]:5 = nd.scan "t" 3 backwards carried({{.*}}) -> {{.*}} attributes {res_attrs = [{}, {}, {}, {nd.name = "all"}, {}]} {
// CHECK-NEXT: ^bb0(%[[P:[a-z0-9]+]]: !nd.tensor<f32, [b = 8]>, %{{.*}}
// CHECK: %[[H:[a-z0-9]+]] = nd.tanh
// CHECK-NEXT: nd.yield %[[H]], %{{.*}}, %{{.*}}, %[[H]], %[[P]] :
// CHECK: nd.scan "t" 3 carried(%{{.*}}, %{{.*}} : !nd.tensor<f32, [b = 8]>, !nd.tensor<f32, []>) stacked(%[[Y]]#3, %[[Y]]#4 : {{.*}}) whole(%arg0 : {{.*}}) -> !nd.tensor<f32, [b = 8]>, !nd.tensor<f32, []> attributes
// CHECK-NEXT: ^bb0(%[[D:[a-z0-9]+]]: {{.*}}, %[[SUM:[a-z0-9]+]]: {{.*}}, %[[H:[a-z0-9]+]]: {{.*}}, %[[P:[a-z0-9]+]]: {{.*}}, %[[V:[a-z0-9]+]]: {{.*}}):
// CHECK: nd.add %[[D]], %{{.*}}
// CHECK: nd.square %[[H]]
func.func @backwards(%x: !xt {nd.name = "x", nd.order = ["b", "t"]}) -> (!s {nd.name = "loss"}) {
  %v = nd.parameter "v" [] : !s {
    %0 = nd.random normal "v" : !s
    nd.yield %0 : !s
  }
  %one = nd.constant 1 : i32 -> !i
  %zero = nd.constant 0.0 : f32 -> !x
  %h, %d, %c, %all = nd.scan "t" 3 backwards carried(%zero, %zero, %one : !x, !x, !i) stacked(%x : !xt) whole(%v : !s) -> !x, !x, !i, !xt attributes {res_attrs = [{}, {}, {}, {nd.name = "all"}]} {
  ^bb0(%p: !x, %q: !x, %i: !i, %xi: !x, %vi: !s):
    %0 = nd.add %i, %i : (!i, !i) -> !i
    %1 = nd.cast %0 : (!i) -> !s
    %2 = nd.mul %q, %xi : (!x, !x) -> !x
    %3 = nd.mul %2, %1 : (!x, !s) -> !x
    %4 = nd.mul %p, %vi : (!x, !s) -> !x
    %5 = nd.add %4, %3 : (!x, !x) -> !x
    %6 = nd.tanh %5 : (!x) -> !x
    nd.yield %6, %2, %0, %6 : !x, !x, !i, !x
  }
  %loss = nd.reduce_sum %all {dims = ["b", "t"]} : (!xt) -> !s
  return %loss : !s
}
nd.train @backwards "loss" "sgd" { nd.setting "lr" = 0.1 }

// -----

!s = !nd.tensor<f32, []>
!x = !nd.tensor<f32, [b = 8]>
!xt = !nd.tensor<f32, [b = 8, t = 3]>
!n = !nd.tensor<f32, [n = 2]>

// A loop in a loop: what the gradient of the inner one reads is stacked twice. %w is an entry outside and whole inside.
// CHECK-LABEL: func.func @train_step
// CHECK: %[[Y:[a-z0-9]+]]:2 = nd.scan "n" 2 carried(%arg1 : {{.*}}) stacked(%arg0 : {{.*}}) -> !nd.tensor<f32, [b = 8, t = 3]>, !nd.tensor<f32, [b = 8, n = 2, t = 3]> {
// CHECK: %[[HS:[a-z0-9]+]]:3 = nd.scan "t" 3 carried({{.*}}
// CHECK-NEXT: ^bb0(%[[P:[a-z0-9]*]]:
// CHECK: nd.yield %[[H:[a-z0-9]+]], %[[H]], %[[P]] :
// CHECK: nd.yield %[[HS]]#1, %[[HS]]#2 :
// CHECK: nd.scan "n" 2 backwards carried(%{{.*}}) stacked(%arg0, %[[Y]]#1 : {{.*}}) -> !nd.tensor<f32, [b = 8, t = 3]>, !nd.tensor<f32, [n = 2]>
// CHECK-NEXT: ^bb0(%[[D:[a-z0-9]+]]: {{.*}}, %[[W:[a-z0-9]+]]: {{.*}}, %[[PS:[a-z0-9]+]]: {{.*}}):
// CHECK: %[[G:[a-z0-9]+]]:3 = nd.scan "t" 3 backwards carried(%{{.*}}) stacked(%[[D]], %[[PS]] : {{.*}}) whole(%[[W]] : {{.*}}) -> !nd.tensor<f32, [b = 8]>, !nd.tensor<f32, []>, !nd.tensor<f32, [b = 8, t = 3]>
// CHECK: nd.yield %[[G]]#2, %[[G]]#1 :
func.func @nested(%x: !xt {nd.name = "x", nd.order = ["b", "t"]}) -> (!s {nd.name = "loss"}) {
  %w = nd.parameter "w" ["n"] : !n {
    %0 = nd.random normal "w" : !n
    nd.yield %0 : !n
  }
  %y = nd.scan "n" 2 carried(%x : !xt) stacked(%w : !n) -> !xt {
  ^bb0(%xs: !xt, %wi: !s):
    %zero = nd.constant 0.0 : f32 -> !x
    %h, %hs = nd.scan "t" 3 carried(%zero : !x) stacked(%xs : !xt) whole(%wi : !s) -> !x, !xt {
    ^bb0(%p: !x, %xi: !x, %a: !s):
      %0 = nd.mul %p, %a : (!x, !s) -> !x
      %1 = nd.add %0, %xi : (!x, !x) -> !x
      nd.yield %1, %1 : !x, !x
    }
    nd.yield %hs : !xt
  }
  %loss = nd.reduce_sum %y {dims = ["b", "t"]} : (!xt) -> !s
  return %loss : !s
}
nd.train @nested "loss" "sgd" { nd.setting "lr" = 0.1 }

// -----

!s = !nd.tensor<f32, []>
!x = !nd.tensor<f32, [b = 8]>
!xt = !nd.tensor<f32, [b = 8, t = 3]>
!numbers = !nd.tensor<i32, [t = 3]>
!i = !nd.tensor<i32, []>

// What is for training only is a constant in the loop of eval_step, which needs no numbers of iterations then.
// CHECK-LABEL: func.func @train_step
// CHECK: nd.iota
// CHECK: nd.random uniform "r"(%{{.*}}
// CHECK-LABEL: func.func @eval_step
// CHECK-NOT: nd.iota
// CHECK: nd.scan "t" 3 carried(%arg1 : {{.*}}) whole(%arg0 : {{.*}}) ->
// CHECK-NEXT: ^bb0
// CHECK-NEXT: nd.mul
// CHECK-NEXT: nd.yield
func.func @dropout(%x: !x {nd.name = "x", nd.order = ["b"]}) -> (!s {nd.name = "loss"}) {
  %v = nd.parameter "v" [] : !s {
    %0 = nd.random normal "v" : !s
    nd.yield %0 : !s
  }
  %numbers = nd.iota : () -> !numbers
  %y = nd.scan "t" 3 carried(%x : !x) stacked(%numbers : !numbers) whole(%v : !s) -> !x {
  ^bb0(%p: !x, %t: !i, %vi: !s):
    %0 = nd.random uniform "r" (%t : !i) {nd.eval_value = 1.0} : !x
    %1 = nd.mul %p, %0 : (!x, !x) -> !x
    %2 = nd.mul %1, %vi : (!x, !s) -> !x
    nd.yield %2 : !x
  }
  %loss = nd.reduce_sum %y {dims = ["b"]} : (!x) -> !s
  return %loss : !s
}
nd.train @dropout "loss" "sgd" { nd.setting "lr" = 0.1 }

// -----

!s = !nd.tensor<f32, []>
!x = !nd.tensor<f32, [b = 8]>
!n = !nd.tensor<f32, [n = 2]>

// An exchange: the loss sees the first value, whose gradient reaches the second in the next iteration. What floor reads
// has none. Without one, the gradient of a result starts from zero.
// CHECK-LABEL: func.func @train_step
// CHECK: %[[ZERO:.*]] = nd.constant 0.000000e+00 : f32 -> !nd.tensor<f32, [b = 8]>
// CHECK: nd.scan "n" 2 carried
// CHECK: nd.scan "n" 2 backwards carried(%[[DY:[a-z0-9]+]], %[[ZERO]] : !nd.tensor<f32, [b = 8]>, !nd.tensor<f32, [b = 8]>) stacked
// CHECK-NEXT: ^bb0(%[[DP:[a-z0-9]+]]: {{.*}}, %[[DQ:[a-z0-9]+]]: {{.*}}, %[[W:[a-z0-9]+]]: {{.*}}, %[[P:[a-z0-9]+]]: {{.*}}):
// CHECK: %[[NEXT:.*]] = nd.mul %[[DQ]], %[[W]]
// CHECK: nd.yield %[[NEXT]], %[[DP]], %{{.*}} :
func.func @exchange(%x: !x {nd.name = "x", nd.order = ["b"]}) -> (!s {nd.name = "loss"}) {
  %w = nd.parameter "w" ["n"] : !n {
    %0 = nd.random normal "w" : !n
    nd.yield %0 : !n
  }
  %y:3 = nd.scan "n" 2 carried(%x, %x, %x : !x, !x, !x) stacked(%w : !n) -> !x, !x, !x {
  ^bb0(%p: !x, %q: !x, %r: !x, %wi: !s):
    %0 = nd.mul %p, %wi : (!x, !s) -> !x
    %1 = nd.floor %r : (!x) -> !x
    %2 = nd.add %0, %1 : (!x, !x) -> !x
    nd.yield %q, %2, %0 : !x, !x, !x
  }
  %z = nd.square %y#0 : (!x) -> !x
  %loss = nd.reduce_sum %z {dims = ["b"]} : (!x) -> !s
  return %loss : !s
}
nd.train @exchange "loss" "sgd" { nd.setting "lr" = 0.1 }
