// RUN: mesh-opt %s -split-input-file -meshc-choose-residuals=policy=none -canonicalize | FileCheck %s
// RUN: mesh-opt %s -split-input-file -meshc-choose-residuals=policy=full -canonicalize | FileCheck %s --check-prefix=FULL

!x = !nd.tensor<f32, [b = 8]>
!xs = !nd.tensor<f32, [b = 8, n = 6]>

// Two blocks, one after the other. What each uses from outside is stored: the product, and the sine, which the other
// block computes. The rest is computed again.
// CHECK-LABEL: func.func @blocks
// CHECK: %[[Y:.*]]:4 = nd.scan "n" 6 carried(%arg0 : {{.*}}) stacked(%arg1 :
// CHECK-NEXT: ^bb0(%[[H:[a-z0-9]+]]:
// CHECK-NEXT: %[[P:.*]] = nd.mul %[[H]]
// CHECK-NEXT: %[[E:.*]] = nd.exp %[[P]] :
// CHECK-NEXT: %[[S:.*]] = nd.sin %[[E]] :
// CHECK-NEXT: %[[C:.*]] = nd.cos %[[S]] :
// CHECK-NEXT: %[[T:.*]] = nd.tanh %[[C]] :
// CHECK-NEXT: %[[L:.*]] = nd.relu %[[T]]
// CHECK-NEXT: nd.yield %[[L]], %[[S]], %[[L]], %[[P]] :
// CHECK: nd.scan "n" 6 backwards carried(%[[Y]]#0 : {{.*}}) stacked(%[[Y]]#1, %[[Y]]#2, %[[Y]]#3 :
// CHECK-NEXT: ^bb0(%[[D:[a-z0-9]+]]: {{.*}}, %[[S:[a-z0-9]+]]: {{.*}}, %[[L:[a-z0-9]+]]: {{.*}}, %[[P:[a-z0-9]+]]:
// CHECK-DAG: %[[E:.*]] = nd.exp %[[P]] :
// CHECK-DAG: %[[C:.*]] = nd.cos %[[S]] :
// CHECK-DAG: %[[T:.*]] = nd.tanh %[[C]] :
// CHECK-DAG: nd.mul %[[D]], %[[E]]
// CHECK: return

// The policy 'full' stores the block's inputs too, and nothing else: the values outside of blocks can be computed from them.
// FULL-LABEL: func.func @blocks
// FULL: %[[Y:.*]]:3 = nd.scan "n" 6
// FULL: %[[P:.*]] = nd.mul
// FULL: %[[S:.*]] = nd.sin
// FULL: nd.yield %{{.*}}, %[[S]], %[[P]] :
// FULL: nd.scan "n" 6 backwards
// FULL: nd.relu
func.func @blocks(%x: !x, %w: !xs) -> !x {
  %y:6 = nd.scan "n" 6 carried(%x : !x) stacked(%w : !xs) -> !x, !xs, !xs, !xs, !xs, !xs {
  ^bb0(%h: !x, %wi: !x):
    %0 = nd.mul %h, %wi : (!x, !x) -> !x
    %1 = nd.exp %0 {nd.recompute = 0} : (!x) -> !x
    %2 = nd.sin %1 {nd.recompute = 0} : (!x) -> !x
    %3 = nd.cos %2 {nd.recompute = 1} : (!x) -> !x
    %4 = nd.tanh %3 {nd.recompute = 1} : (!x) -> !x
    %5 = nd.relu %4 : (!x) -> !x
    nd.yield %5, %1, %2, %3, %4, %5 : !x, !x, !x, !x, !x, !x
  }
  %g = nd.scan "n" 6 backwards carried(%y#0 : !x) stacked(%y#1, %y#2, %y#3, %y#4, %y#5 : !xs, !xs, !xs, !xs, !xs) -> !x {
  ^bb0(%d: !x, %a: !x, %b: !x, %c: !x, %e: !x, %f: !x):
    %0 = nd.mul %d, %a : (!x, !x) -> !x
    %1 = nd.mul %0, %b : (!x, !x) -> !x
    %2 = nd.mul %1, %c : (!x, !x) -> !x
    %3 = nd.mul %2, %e : (!x, !x) -> !x
    %4 = nd.mul %3, %f : (!x, !x) -> !x
    nd.yield %4 : !x
  }
  return %g : !x
}

// -----

!x = !nd.tensor<f32, [b = 8]>
!xs = !nd.tensor<f32, [b = 8, n = 6]>

// The block's input is carried. What the model reads of the block is stored anyway: the tanh is computed from it.
// CHECK-LABEL: func.func @carried
// CHECK: %[[Y:.*]]:3 = nd.scan "n" 6
// CHECK-NEXT: ^bb0(%[[H:[a-z0-9]+]]:
// CHECK-NEXT: %[[E:.*]] = nd.exp %[[H]] :
// CHECK-NEXT: %[[S:.*]] = nd.sin %[[E]] :
// CHECK: nd.yield %{{.*}}, %[[S]], %[[H]] :
// CHECK: nd.scan "n" 6 backwards carried(%[[Y]]#0 : {{.*}}) stacked(%[[Y]]#2, %[[Y]]#1 :
// CHECK-NEXT: ^bb0(%[[D:[a-z0-9]+]]: {{.*}}, %[[H:[a-z0-9]+]]: {{.*}}, %[[S:[a-z0-9]+]]: {{.*}}):
// CHECK-NEXT: %[[E:.*]] = nd.exp %[[H]] :
// CHECK-NEXT: nd.cos %[[E]] :
// CHECK-NEXT: nd.tanh %[[S]] :
// CHECK: return
// FULL-LABEL: func.func @carried
// FULL: backwards
// FULL: nd.exp
func.func @carried(%x: !x) -> (!x, !xs) {
  %y:4 = nd.scan "n" 6 carried(%x : !x) -> !x, !xs, !xs, !xs {
  ^bb0(%h: !x):
    %1 = nd.exp %h {nd.recompute = 7} : (!x) -> !x
    %2 = nd.sin %1 {nd.recompute = 7} : (!x) -> !x
    %3 = nd.cos %1 {nd.recompute = 7} : (!x) -> !x
    %4 = nd.tanh %2 {nd.recompute = 7} : (!x) -> !x
    nd.yield %4, %2, %3, %4 : !x, !x, !x, !x
  }
  %g = nd.scan "n" 6 backwards carried(%y#0 : !x) stacked(%y#2, %y#3 : !xs, !xs) -> !x {
  ^bb0(%d: !x, %c: !x, %t: !x):
    %0 = nd.mul %d, %c : (!x, !x) -> !x
    %1 = nd.mul %0, %t : (!x, !x) -> !x
    nd.yield %1 : !x
  }
  return %g, %y#1 : !x, !xs
}
