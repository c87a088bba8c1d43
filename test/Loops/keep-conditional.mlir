// RUN: mesh-opt %s -meshc-unroll-loops=keep-conditional=true | FileCheck %s
// RUN: mesh-opt %s -meshc-unroll-loops | FileCheck %s --check-prefix=ALL
// Loops that end early wait for autodiff, which has no gradient for them. What is in them and around them is unrolled.

!x = !nd.tensor<f32, [i = 8]>
!c = !nd.tensor<i1, []>

// ALL-NOT: nd.scan
// CHECK-LABEL: func.func @ends
// CHECK-NOT: nd.scan "outer"
// CHECK: nd.scan "n" 2 while
// CHECK-NOT: nd.scan
// CHECK: nd.square
// CHECK-NEXT: nd.square
// CHECK: nd.scan "n" 2 while
// CHECK-NOT: nd.scan
func.func @ends(%x: !x, %c: !c) -> !x {
  %o = nd.scan "outer" 2 carried(%x : !x) whole(%c : !c) -> !x {
  ^bb0(%p: !x, %q: !c):
    %y:2 = nd.scan "n" 2 while carried(%q, %p : !c, !x) -> !c, !x {
    ^bb0(%g: !c, %a: !x):
      %z = nd.scan "inner" 2 carried(%a : !x) -> !x {
      ^bb0(%b: !x):
        %s = nd.square %b : (!x) -> !x
        nd.yield %s : !x
      }
      nd.yield %g, %z : !c, !x
    }
    nd.yield %y#1 : !x
  }
  return %o : !x
}
