// RUN: mesh-opt %s -meshc-hoist-collectives -cse -meshc-verify-collectives | FileCheck %s
// Where the module says that parameters are gathered once, they are, and the phase takes the attribute away.
// RUN: sed 's/module attributes {/&spmd.gather_once, /' %s | mesh-opt -meshc-hoist-collectives -cse -meshc-verify-collectives | FileCheck %s --check-prefix=ONCE
// ONCE-NOT: gather_once
// ONCE-LABEL: func.func @micro_batches
// ONCE-COUNT-3: spmd.all_gather
// ONCE: nd.scan
// ONCE-NOT: spmd.all_gather
// ONCE: return

!block = !nd.tensor<f32, [i = 8 on {a}]>
!x = !nd.tensor<f32, [i = 8]>
!xs = !nd.tensor<f32, [i = 8, n = 4]>
!blocks = !nd.tensor<f32, [i = 8 on {a}, n = 4]>
module attributes {nd.mesh = #nd.mesh<a = 2>} {
  // What a collective needs leaves with it, and stays if it is used in the body
  // itself. What no collective needs stays.
  // CHECK-LABEL: func.func @operands
  // CHECK: %[[E:.*]] = nd.exp %arg1
  // CHECK-NEXT: %[[G:.*]] = spmd.all_gather ["a"] from ["i"] %[[E]]
  // CHECK-NEXT: nd.scan "n" 4 carried(%arg0 {{.*}}whole(%arg1, %[[G]] :
  // CHECK-NEXT: ^bb0(%{{[^:]*}}: {{[^:]*}}, %[[V:[^:]*]]: !nd.tensor<f32, [i = 8 on {a}]>, %[[W:[^:]*]]: !nd.tensor<f32, [i = 8]>):
  // CHECK-NEXT: nd.exp %[[V]]
  // CHECK-NEXT: nd.tanh
  // CHECK-NOT: spmd.all_gather
  // CHECK: spmd.slice {{.*}} %[[W]]
  // CHECK: nd.yield
  func.func @operands(%x: !block, %w: !block) -> !block {
    %r = nd.scan "n" 4 carried(%x : !block) whole(%w : !block) -> !block {
    ^bb0(%c: !block, %v: !block):
      %e = nd.exp %v : (!block) -> !block
      %t = nd.tanh %e : (!block) -> !block
      %g = spmd.all_gather ["a"] from ["i"] %e : (!block) -> !x
      %s = spmd.slice "i" ["a"] %g : !x -> !block
      %m = nd.mul %c, %s : (!block, !block) -> !block
      %n = nd.mul %m, %t : (!block, !block) -> !block
      nd.yield %n : !block
    }
    return %r : !block
  }

  // A collective that needs another one, through other ops.
  // CHECK-LABEL: func.func @chain
  // CHECK: spmd.all_gather
  // CHECK-NEXT: nd.exp
  // CHECK-NEXT: spmd.slice
  // CHECK-NEXT: %[[G:.*]] = spmd.all_gather
  // CHECK-NEXT: nd.scan {{.*}} whole(%arg1, %[[G]] :
  // CHECK-NOT: spmd.
  // CHECK: return
  func.func @chain(%x: !x, %w: !block) -> !x {
    %r = nd.scan "n" 4 carried(%x : !x) whole(%w : !block) -> !x {
    ^bb0(%c: !x, %v: !block):
      %g = spmd.all_gather ["a"] from ["i"] %v : (!block) -> !x
      %e = nd.exp %g : (!x) -> !x
      %s = spmd.slice "i" ["a"] %e : !x -> !block
      %h = spmd.all_gather ["a"] from ["i"] %s : (!block) -> !x
      %m = nd.mul %c, %h : (!x, !x) -> !x
      nd.yield %m : !x
    }
    return %r : !x
  }

  // Entries and carried values change from one iteration to the next.
  // CHECK-LABEL: func.func @changes
  // CHECK-NEXT: nd.scan
  // CHECK-COUNT-2: spmd.all_gather
  // CHECK: nd.yield
  func.func @changes(%x: !block, %w: !blocks) -> (!block, !xs) {
    %r:2 = nd.scan "n" 4 carried(%x : !block) stacked(%w : !blocks) -> !block, !xs {
    ^bb0(%c: !block, %v: !block):
      %g = spmd.all_gather ["a"] from ["i"] %c : (!block) -> !x
      %h = spmd.all_gather ["a"] from ["i"] %v : (!block) -> !x
      %m = nd.mul %h, %g : (!x, !x) -> !x
      %n = spmd.slice "i" ["a"] %m : !x -> !block
      nd.yield %n, %h : !block, !x
    }
    return %r#0, %r#1 : !block, !xs
  }

  // As far out as possible: one out of both loops, one out of the inner one.
  // CHECK-LABEL: func.func @nested
  // CHECK: %[[G:.*]] = spmd.all_gather ["a"] from ["i"] %arg1
  // CHECK: nd.scan "n" 4 {{.*}} whole(%{{.*}}, %[[G]] :
  // CHECK: %[[H:.*]] = spmd.all_gather
  // CHECK: nd.scan "m" 3 {{.*}} %[[H]]
  // CHECK-NOT: spmd.all_gather
  // CHECK: return
  func.func @nested(%x: !x, %w: !block, %u: !blocks) -> !x {
    %r = nd.scan "n" 4 carried(%x : !x) stacked(%u : !blocks) whole(%w : !block) -> !x {
    ^bb0(%c: !x, %e: !block, %v: !block):
      %s = nd.scan "m" 3 carried(%c : !x) whole(%v, %e : !block, !block) -> !x {
      ^bb1(%d: !x, %p: !block, %q: !block):
        %g = spmd.all_gather ["a"] from ["i"] %p : (!block) -> !x
        %h = spmd.all_gather ["a"] from ["i"] %q : (!block) -> !x
        %m = nd.mul %g, %h : (!x, !x) -> !x
        %n = nd.mul %d, %m : (!x, !x) -> !x
        nd.yield %n : !x
      }
      nd.yield %s : !x
    }
    return %r : !x
  }

  // A loop over micro-batches gathers a parameter, and what is computed from it,
  // in each iteration; that of a loop within leaves only this loop. Other
  // collectives leave both.
  // CHECK-LABEL: func.func @micro_batches
  // CHECK-NEXT: %[[X:.*]] = spmd.all_gather ["a"] from ["i"] %arg2
  // CHECK-NEXT: nd.scan "n" 4 micro_batches carried(%arg0 {{.*}}whole(%arg1, %arg2, %[[X]] :
  // CHECK: nd.exp
  // CHECK-NEXT: spmd.all_gather
  // CHECK-NOT: spmd.all_gather
  // CHECK: nd.mul
  // CHECK-NEXT: nd.mul {{.*}}
  // CHECK-NEXT: spmd.all_gather
  // CHECK-NEXT: nd.scan "m" 2
  // CHECK-NOT: spmd.all_gather
  // CHECK: nd.yield
  func.func @micro_batches(%x: !x, %w: !block {nd.name = "w", nd.role = "parameter"}, %i: !block {nd.name = "i", nd.role = "input"}) -> !x {
    %r = nd.scan "n" 4 micro_batches carried(%x : !x) whole(%w, %i : !block, !block) -> !x {
    ^bb0(%c: !x, %v: !block, %j: !block):
      %e = nd.exp %v : (!block) -> !block
      %g = spmd.all_gather ["a"] from ["i"] %e : (!block) -> !x
      %h = spmd.all_gather ["a"] from ["i"] %j : (!block) -> !x
      %p = nd.mul %c, %g : (!x, !x) -> !x
      %q = nd.mul %p, %h : (!x, !x) -> !x
      %t = nd.scan "m" 2 carried(%q : !x) whole(%v : !block) -> !x {
      ^bb0(%d: !x, %u: !block):
        %k = spmd.all_gather ["a"] from ["i"] %u : (!block) -> !x
        %l = nd.mul %d, %k : (!x, !x) -> !x
        nd.yield %l : !x
      }
      nd.yield %t : !x
    }
    return %r : !x
  }
}
