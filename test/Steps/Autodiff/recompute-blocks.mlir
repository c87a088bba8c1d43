// RUN: mesh-opt %s -split-input-file -meshc-choose-residuals=policy=none -canonicalize | FileCheck %s
// RUN: mesh-opt %s -split-input-file -meshc-choose-residuals=policy=cheap -canonicalize | FileCheck %s --check-prefix=CHEAP
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

// -----

!x = !nd.tensor<f32, [b = 8]>
!xt = !nd.tensor<f32, [b = 8, t = 6]>
!xn = !nd.tensor<f32, [b = 8, n = 2]>
!xnt = !nd.tensor<f32, [b = 8, n = 2, t = 6]>

// A block in a loop in a loop. The outer loop stores what the block reads whole and by entry: it is repeated. The product
// that the outer loop uses is repeated with it.
// CHECK-LABEL: func.func @nested
// CHECK: %[[Y:.*]]:4 = nd.scan "n" 2
// CHECK: nd.scan "n" 2 backwards carried(%[[Y]]#0 : {{.*}}) stacked(%[[Y]]#2, %[[Y]]#3 :
// CHECK-NEXT: ^bb0(%[[D:[a-z0-9]+]]: {{.*}}, %[[A:[a-z0-9]+]]: {{.*}}, %[[B:[a-z0-9]+]]:
// CHECK: nd.scan "t" 6 backwards carried(%{{.*}}) stacked(%[[B]] : {{.*}}) whole(%[[A]] :
// CHECK-NEXT: ^bb0(%[[P:[a-z0-9]+]]: {{.*}}, %[[BI:[a-z0-9]+]]: {{.*}}, %[[AI:[a-z0-9]+]]:
// CHECK-NEXT: %[[M:.*]] = nd.mul %[[AI]], %[[BI]]
// CHECK-NEXT: %[[S:.*]] = nd.sin %[[M]]
// CHECK-NEXT: nd.mul %[[P]], %[[S]]
// CHECK: return
// FULL-LABEL: func.func @nested
func.func @nested(%x: !x, %xt: !xt) -> !x {
  %y:5 = nd.scan "n" 2 carried(%x, %xt : !x, !xt) -> !x, !xt, !xnt, !xn, !xnt {
  ^bb0(%a: !x, %b: !xt):
    %z:3 = nd.scan "t" 6 carried(%a : !x) stacked(%b : !xt) whole(%a : !x) -> !x, !xt, !xt {
    ^bb0(%h: !x, %bi: !x, %ai: !x):
      %0 = nd.mul %ai, %bi {nd.recompute = 0} : (!x, !x) -> !x
      %1 = nd.sin %0 {nd.recompute = 0} : (!x) -> !x
      %2 = nd.mul %h, %1 : (!x, !x) -> !x
      nd.yield %2, %1, %0 : !x, !x, !x
    }
    nd.yield %z#0, %z#2, %z#1, %a, %b : !x, !xt, !xt, !x, !xt
  }
  %g = nd.scan "n" 2 backwards carried(%y#0 : !x) stacked(%y#2, %y#3, %y#4 : !xnt, !xn, !xnt) -> !x {
  ^bb0(%d: !x, %ss: !xt, %a: !x, %b: !xt):
    %0 = nd.mul %d, %a : (!x, !x) -> !x
    %1 = nd.reduce_sum %b {dims = ["t"]} : (!xt) -> !x
    %2 = nd.mul %0, %1 : (!x, !x) -> !x
    %z = nd.scan "t" 6 backwards carried(%2 : !x) stacked(%ss : !xt) -> !x {
    ^bb0(%p: !x, %s: !x):
      %3 = nd.mul %p, %s : (!x, !x) -> !x
      nd.yield %3 : !x
    }
    nd.yield %z : !x
  }
  return %g : !x
}

// -----

!x = !nd.tensor<f32, [b = 8]>
!xt = !nd.tensor<f32, [b = 8, t = 6]>
!xnt = !nd.tensor<f32, [b = 8, n = 2, t = 6]>

// The outer loop stores none of what three blocks read: a whole operand, an entry of a stacked one, and a value that the
// inner loop stores for the outer one alone. So the blocks are not repeated.
// CHECK-LABEL: func.func @nested_unreached
// CHECK: %[[Y:.*]]:5 = nd.scan "n" 2
// CHECK: nd.scan "n" 2 backwards carried(%[[Y]]#0 : {{.*}}) stacked(%[[Y]]#2, %[[Y]]#3, %[[Y]]#4 :
// CHECK: nd.scan "t" 6 backwards
// CHECK-NEXT: ^bb0
// CHECK-NEXT: nd.mul
// CHECK-NEXT: nd.mul
// CHECK-NEXT: nd.mul
// CHECK-NEXT: nd.yield
// CHECK: return
// FULL-LABEL: func.func @nested_unreached
func.func @nested_unreached(%x: !x, %xt: !xt) -> !x {
  %y:5 = nd.scan "n" 2 carried(%x, %xt : !x, !xt) -> !x, !xt, !xnt, !xnt, !xnt {
  ^bb0(%a: !x, %b: !xt):
    %z:5 = nd.scan "t" 6 carried(%a : !x) stacked(%b : !xt) whole(%a : !x) -> !x, !xt, !xt, !xt, !xt {
    ^bb0(%h: !x, %bi: !x, %ai: !x):
      %0 = nd.sin %ai {nd.recompute = 0} : (!x) -> !x
      %1 = nd.cos %bi {nd.recompute = 1} : (!x) -> !x
      %2 = nd.mul %h, %0 : (!x, !x) -> !x
      %3 = nd.tanh %2 {nd.recompute = 2} : (!x) -> !x
      %4 = nd.mul %3, %1 : (!x, !x) -> !x
      nd.yield %4, %0, %1, %3, %2 : !x, !x, !x, !x, !x
    }
    nd.yield %z#0, %z#4, %z#1, %z#2, %z#3 : !x, !xt, !xt, !xt, !xt
  }
  %g = nd.scan "n" 2 backwards carried(%y#0 : !x) stacked(%y#2, %y#3, %y#4 : !xnt, !xnt, !xnt) -> !x {
  ^bb0(%d: !x, %ss: !xt, %cs: !xt, %ts: !xt):
    %z = nd.scan "t" 6 backwards carried(%d : !x) stacked(%ss, %cs, %ts : !xt, !xt, !xt) -> !x {
    ^bb0(%p: !x, %s: !x, %c: !x, %t: !x):
      %0 = nd.mul %p, %s : (!x, !x) -> !x
      %1 = nd.mul %0, %c : (!x, !x) -> !x
      %2 = nd.mul %1, %t : (!x, !x) -> !x
      nd.yield %2 : !x
    }
    nd.yield %z : !x
  }
  return %g : !x
}

// -----

!x = !nd.tensor<f32, [b = 8]>
!xt = !nd.tensor<f32, [b = 8, t = 6]>
!xnt = !nd.tensor<f32, [b = 8, n = 2, t = 6]>

// A loop in the same body reads the block, which is repeated for it. This does not help the gradient of the outer loop,
// which reads the sine of the block: the policy 'cheap' leaves the sine stored.
// CHECK-LABEL: func.func @nearby
// CHEAP-LABEL: func.func @nearby
// CHEAP: nd.scan "t" 6 stacked(
// CHEAP: nd.scan "t" 6 carried(
// CHEAP-NEXT: ^bb0
// CHEAP-NEXT: nd.add
// CHEAP-NEXT: nd.mul
// CHEAP: backwards
// CHEAP-NOT: nd.sin
// CHEAP: return
// FULL-LABEL: func.func @nearby
func.func @nearby(%x: !x, %xt: !xt) -> !x {
  %y:2 = nd.scan "n" 2 carried(%x : !x) whole(%xt : !xt) -> !x, !xnt {
  ^bb0(%a: !x, %b: !xt):
    %z:2 = nd.scan "t" 6 stacked(%b : !xt) whole(%a : !x) -> !xt, !xt {
    ^bb0(%bi: !x, %ai: !x):
      %0 = nd.add %ai, %bi {nd.recompute = 0} : (!x, !x) -> !x
      %1 = nd.sin %0 : (!x) -> !x
      nd.yield %0, %1 : !x, !x
    }
    %v = nd.scan "t" 6 carried(%a : !x) stacked(%z#0 : !xt) -> !x {
    ^bb0(%h: !x, %s: !x):
      %0 = nd.mul %h, %s : (!x, !x) -> !x
      nd.yield %0 : !x
    }
    nd.yield %v, %z#1 : !x, !xt
  }
  %g = nd.scan "n" 2 backwards carried(%y#0 : !x) stacked(%y#1 : !xnt) -> !x {
  ^bb0(%d: !x, %ss: !xt):
    %z = nd.scan "t" 6 backwards carried(%d : !x) stacked(%ss : !xt) -> !x {
    ^bb0(%p: !x, %s: !x):
      %0 = nd.mul %p, %s : (!x, !x) -> !x
      nd.yield %0 : !x
    }
    nd.yield %z : !x
  }
  return %g : !x
}
