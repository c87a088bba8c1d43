// RUN: mesh-opt %s -meshc-repeat-gathers=min-bytes=64 | FileCheck %s
// RUN: mesh-opt %s -meshc-repeat-gathers | FileCheck %s --check-prefix=SMALL

!v = !nd.tensor<f32, [i = 16 on {a}]>
!w = !nd.tensor<f32, [i = 16 on {a}, j = 4]>
!x = !nd.tensor<f32, [i = 16]>
!y = !nd.tensor<f32, [i = 16, j = 4]>
module attributes {nd.mesh = #nd.mesh<a = 2>} {
  // Each parameter is gathered before its first user, and again behind the gather
  // of a larger one. What is computed from a parameter is there, too. Two users
  // side by side share a gather.
  // CHECK-LABEL: @repeated
  // CHECK: %[[E:.*]] = nd.exp %arg0
  // CHECK: %[[G:.*]] = spmd.all_gather ["a"] from ["i"] %[[E]] : (
  // CHECK-NEXT: nd.tanh %[[G]]
  // CHECK-NEXT: %[[H:.*]] = spmd.all_gather ["a"] from ["i"] %arg1
  // CHECK-NEXT: nd.exp %[[H]]
  // CHECK-NEXT: nd.neg %[[H]]
  // CHECK-NEXT: %[[A:.*]] = spmd.all_gather ["a"] from ["i"] %[[E]] {spmd.use = 2 : i64}
  // CHECK-NEXT: nd.exp %[[A]]
  // CHECK-NEXT: nd.neg %[[A]]
  // CHECK-NEXT: return
  // Few bytes in between divide nothing.
  // SMALL-LABEL: @repeated
  // SMALL-COUNT-2: spmd.all_gather
  // SMALL-NOT: spmd.all_gather
  // SMALL: return
  func.func @repeated(%v: !v {nd.name = "v", nd.role = "parameter"}, %w: !w {nd.name = "w", nd.role = "parameter"}) -> (!x, !y, !y, !x, !x) {
    %e = nd.exp %v : (!v) -> !v
    %g = spmd.all_gather ["a"] from ["i"] %e : (!v) -> !x
    %h = spmd.all_gather ["a"] from ["i"] %w : (!w) -> !y
    %0 = nd.tanh %g : (!x) -> !x
    %1 = nd.exp %h : (!y) -> !y
    %2 = nd.neg %h : (!y) -> !y
    %3 = nd.exp %g : (!x) -> !x
    %4 = nd.neg %g : (!x) -> !x
    return %0, %1, %2, %3, %4 : !x, !y, !y, !x, !x
  }

  // Not behind the gather of a smaller one.
  // CHECK-LABEL: @larger
  // CHECK-COUNT-2: spmd.all_gather
  // CHECK-NOT: spmd.all_gather
  // CHECK: return
  func.func @larger(%v: !v {nd.name = "v", nd.role = "parameter"}, %w: !w {nd.name = "w", nd.role = "parameter"}) -> (!y, !x, !y) {
    %h = spmd.all_gather ["a"] from ["i"] %w : (!w) -> !y
    %0 = nd.exp %h : (!y) -> !y
    %g = spmd.all_gather ["a"] from ["i"] %v : (!v) -> !x
    %1 = nd.exp %g : (!x) -> !x
    %2 = nd.neg %h : (!y) -> !y
    return %0, %1, %2 : !y, !x, !y
  }

  // An input is gathered once, and so is what is computed from an input and a
  // parameter.
  // CHECK-LABEL: @activations
  // CHECK-COUNT-3: spmd.all_gather
  // CHECK-NOT: spmd.all_gather
  // CHECK: return
  func.func @activations(%x: !v {nd.name = "x", nd.role = "input"}, %v: !v {nd.name = "v", nd.role = "parameter"}, %w: !w {nd.name = "w", nd.role = "parameter"}) -> (!x, !x, !y, !x, !x) {
    %s = nd.add %x, %v : (!v, !v) -> !v
    %f = spmd.all_gather ["a"] from ["i"] %x : (!v) -> !x
    %g = spmd.all_gather ["a"] from ["i"] %s : (!v) -> !x
    %h = spmd.all_gather ["a"] from ["i"] %w : (!w) -> !y
    %0 = nd.exp %f : (!x) -> !x
    %1 = nd.exp %g : (!x) -> !x
    %2 = nd.exp %h : (!y) -> !y
    %3 = nd.neg %f : (!x) -> !x
    %4 = nd.neg %g : (!x) -> !x
    return %0, %1, %2, %3, %4 : !x, !x, !y, !x, !x
  }

  // The body of a loop keeps what it has gathered.
  // CHECK-LABEL: @body
  // CHECK-COUNT-2: spmd.all_gather
  // CHECK-NOT: spmd.all_gather
  // CHECK: nd.yield
  func.func @body(%x: !x, %v: !nd.tensor<f32, [d = 3, i = 16 on {a}]> {nd.name = "v", nd.role = "parameter"}, %w: !nd.tensor<f32, [d = 3, i = 16 on {a}, j = 4]> {nd.name = "w", nd.role = "parameter"}) -> !x {
    %r = nd.scan "d" 3 carried(%x : !x) stacked(%v, %w : !nd.tensor<f32, [d = 3, i = 16 on {a}]>, !nd.tensor<f32, [d = 3, i = 16 on {a}, j = 4]>) -> !x {
    ^bb0(%c: !x, %e: !v, %f: !w):
      %g = spmd.all_gather ["a"] from ["i"] %e : (!v) -> !x
      %h = spmd.all_gather ["a"] from ["i"] %f : (!w) -> !y
      %0 = nd.add %c, %g : (!x, !x) -> !x
      %1 = nd.reduce_sum %h {dims = ["j"]} : (!y) -> !x
      %2 = nd.add %0, %1 : (!x, !x) -> !x
      %3 = nd.mul %2, %g : (!x, !x) -> !x
      nd.yield %3 : !x
    }
    return %r : !x
  }

  // A micro-batch gathers like a step.
  // CHECK-LABEL: @micro_batch
  // CHECK: nd.scan "n" 3 micro_batches
  // CHECK: spmd.all_gather ["a"] from ["i"] %{{[a-z0-9]*}} :
  // CHECK: spmd.all_gather
  // CHECK: spmd.all_gather {{.*}} {spmd.use = 2 : i64}
  // CHECK-NOT: spmd.all_gather
  // CHECK: nd.yield
  func.func @micro_batch(%x: !x, %v: !v {nd.name = "v", nd.role = "parameter"}, %w: !w {nd.name = "w", nd.role = "parameter"}) -> !x {
    %r = nd.scan "n" 3 micro_batches carried(%x : !x) whole(%v, %w : !v, !w) -> !x {
    ^bb0(%c: !x, %e: !v, %f: !w):
      %g = spmd.all_gather ["a"] from ["i"] %e : (!v) -> !x
      %h = spmd.all_gather ["a"] from ["i"] %f : (!w) -> !y
      %0 = nd.add %c, %g : (!x, !x) -> !x
      %1 = nd.reduce_sum %h {dims = ["j"]} : (!y) -> !x
      %2 = nd.add %0, %1 : (!x, !x) -> !x
      %3 = nd.mul %2, %g : (!x, !x) -> !x
      nd.yield %3 : !x
    }
    return %r : !x
  }
}
