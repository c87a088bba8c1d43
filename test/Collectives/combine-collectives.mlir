// RUN: mesh-opt %s -meshc-combine-collectives | FileCheck %s
// RUN: mesh-opt %s -meshc-combine-collectives=max-bytes=40 | FileCheck %s --check-prefix=SMALL
// RUN: mesh-opt %s '-meshc-combine-collectives=min-bytes=40 parts=2' | FileCheck %s --check-prefix=PARTS

// CHECK-DAG: #[[U:loc[0-9]+]] = loc("u"(
// CHECK-DAG: #[[V:loc[0-9]+]] = loc("v"(
!p = !nd.tensor<f32, [i = 8], sum {a}>
!w = !nd.tensor<f32, [i = 8]>
!b = !nd.tensor<f32, [i = 8 on {a}]>
module attributes {nd.mesh = #nd.mesh<a = 2, b = 2>} {
  // Independent ones join where the last one was, users behind them; each
  // operand keeps its cause.
  // CHECK-LABEL: @independent
  // CHECK: %[[R:.*]]:2 = spmd.all_reduce sum ["a"] %arg0, %arg1 {spmd.causes = [#[[U]], #[[V]]]}
  // CHECK-NEXT: nd.exp %[[R]]#0
  // CHECK-NEXT: nd.exp %[[R]]#1
  // SMALL-LABEL: @independent
  // SMALL: spmd.all_reduce
  // SMALL: spmd.all_reduce
  func.func @independent(%x: !p, %y: !p) -> (!w, !w) {
    %u = spmd.all_reduce sum ["a"] %x {nd.name = "u"} : (!p) -> !w
    %e = nd.exp %u : (!w) -> !w
    %v = spmd.all_reduce sum ["a"] %y {nd.name = "v"} : (!p) -> !w
    %f = nd.exp %v : (!w) -> !w
    return %e, %f : !w, !w
  }

  // Permutes join if the same ranks send to the same.
  // CHECK-LABEL: @permutes
  // CHECK: spmd.permute ["a", "b"] to ["b", "a"] %arg0, %arg1
  // CHECK: spmd.permute ["b", "a"] to ["a", "b"] %arg2
  func.func @permutes(%x: !nd.tensor<f32, [i = 8 on {a, b}]>, %y: !nd.tensor<f32, [j = 4 on {a}]>, %z: !nd.tensor<f32, [k = 8 on {b, a}]>)
      -> (!nd.tensor<f32, [i = 8 on {b, a}]>, !nd.tensor<f32, [j = 4 on {b}]>, !nd.tensor<f32, [k = 8 on {a, b}]>) {
    %u = spmd.permute ["a", "b"] to ["b", "a"] %x : (!nd.tensor<f32, [i = 8 on {a, b}]>) -> !nd.tensor<f32, [i = 8 on {b, a}]>
    %v = spmd.permute ["a", "b"] to ["b", "a"] %y : (!nd.tensor<f32, [j = 4 on {a}]>) -> !nd.tensor<f32, [j = 4 on {b}]>
    %w = spmd.permute ["b", "a"] to ["a", "b"] %z : (!nd.tensor<f32, [k = 8 on {b, a}]>) -> !nd.tensor<f32, [k = 8 on {a, b}]>
    return %u, %v, %w : !nd.tensor<f32, [i = 8 on {b, a}]>, !nd.tensor<f32, [j = 4 on {b}]>, !nd.tensor<f32, [k = 8 on {a, b}]>
  }

  // CHECK-LABEL: @shifts
  // CHECK: spmd.permute ["a"] to ["a"] shift 1 %arg0
  // CHECK: spmd.permute ["a"] to ["a"] %arg0
  func.func @shifts(%x: !nd.tensor<f32, [i = 8 on {a}]>) -> (!nd.tensor<f32, [i = 8 on {a}]>, !nd.tensor<f32, [i = 8 on {a}]>) {
    %u = spmd.permute ["a"] to ["a"] shift 1 %x : (!nd.tensor<f32, [i = 8 on {a}]>) -> !nd.tensor<f32, [i = 8 on {a}]>
    %v = spmd.permute ["a"] to ["a"] %x : (!nd.tensor<f32, [i = 8 on {a}]>) -> !nd.tensor<f32, [i = 8 on {a}]>
    return %u, %v : !nd.tensor<f32, [i = 8 on {a}]>, !nd.tensor<f32, [i = 8 on {a}]>
  }

  // CHECK-LABEL: @dependent
  // CHECK: spmd.all_reduce
  // CHECK: nd.exp
  // CHECK: spmd.all_reduce
  func.func @dependent(%x: !p) -> !w {
    %u = spmd.all_reduce sum ["a"] %x : (!p) -> !w
    %e = nd.exp %u : (!w) -> !w
    %q = nd.broadcast %e : (!w) -> !nd.tensor<f32, [i = 8, j = 8 on {a}]>
    %r = nd.reduce_sum %q {dims = ["j"]} : (!nd.tensor<f32, [i = 8, j = 8 on {a}]>) -> !p
    %v = spmd.all_reduce sum ["a"] %r : (!p) -> !w
    return %v : !w
  }

  // Two pairs, each dependent across: joining both would be a cycle.
  // CHECK-LABEL: @crossed
  // CHECK-COUNT-3: spmd.all_
  // CHECK-NOT: spmd.all_
  func.func @crossed(%x: !p, %y: !nd.tensor<f32, [i = 8 on {b}]>) -> (!w, !w) {
    %u = spmd.all_reduce sum ["a"] %x : (!p) -> !w
    %s = spmd.slice "i" ["b"] %u : !w -> !nd.tensor<f32, [i = 8 on {b}]>
    %g = spmd.all_gather ["b"] from ["i"] %s : (!nd.tensor<f32, [i = 8 on {b}]>) -> !w
    %h = spmd.all_gather ["b"] from ["i"] %y : (!nd.tensor<f32, [i = 8 on {b}]>) -> !w
    %q = nd.broadcast %h : (!w) -> !nd.tensor<f32, [i = 8, j = 8 on {a}]>
    %r = nd.reduce_sum %q {dims = ["j"]} : (!nd.tensor<f32, [i = 8, j = 8 on {a}]>) -> !p
    %v = spmd.all_reduce sum ["a"] %r : (!p) -> !w
    return %g, %v : !w, !w
  }

  // Other axes, another reduction, another element type, another kind: none can join.
  // CHECK-LABEL: @different
  // CHECK-COUNT-5: spmd.all_
  // CHECK: return
  func.func @different(%u: !p, %v: !nd.tensor<f32, [i = 8], sum {b}>, %w: !nd.tensor<f32, [i = 8], max {a}>,
                       %x: !nd.tensor<bf16, [i = 8], sum {a}>, %y: !nd.tensor<f32, [i = 8 on {a}]>) -> (!w, !w, !w, !nd.tensor<bf16, [i = 8]>, !w) {
    %0 = spmd.all_reduce sum ["a"] %u : (!p) -> !w
    %1 = spmd.all_reduce sum ["b"] %v : (!nd.tensor<f32, [i = 8], sum {b}>) -> !w
    %2 = spmd.all_reduce max ["a"] %w : (!nd.tensor<f32, [i = 8], max {a}>) -> !w
    %3 = spmd.all_reduce sum ["a"] %x : (!nd.tensor<bf16, [i = 8], sum {a}>) -> !nd.tensor<bf16, [i = 8]>
    %4 = spmd.all_gather ["a"] from ["i"] %y : (!nd.tensor<f32, [i = 8 on {a}]>) -> !w
    return %0, %1, %2, %3, %4 : !w, !w, !w, !nd.tensor<bf16, [i = 8]>, !w
  }

  // Gathers of a loop's entries can begin an iteration early: they do not join
  // those that cannot.
  // CHECK-LABEL: @entries
  // CHECK: nd.scan
  // CHECK-COUNT-2: spmd.all_gather
  // CHECK: nd.yield
  func.func @entries(%w: !nd.tensor<f32, [d = 3, i = 8 on {a}]>, %v: !nd.tensor<f32, [d = 3, i = 8 on {a}]>, %x: !nd.tensor<f32, [i = 8 on {a}]>) -> !w {
    %0 = spmd.all_gather ["a"] from ["i"] %x : (!nd.tensor<f32, [i = 8 on {a}]>) -> !w
    %r = nd.scan "d" 3 carried(%0 : !w) stacked(%w, %v : !nd.tensor<f32, [d = 3, i = 8 on {a}]>, !nd.tensor<f32, [d = 3, i = 8 on {a}]>) -> !w {
    ^bb0(%h: !w, %e: !nd.tensor<f32, [i = 8 on {a}]>, %f: !nd.tensor<f32, [i = 8 on {a}]>):
      %s = spmd.slice "i" ["a"] %h : !w -> !nd.tensor<f32, [i = 8 on {a}]>
      %t = nd.tanh %s : (!nd.tensor<f32, [i = 8 on {a}]>) -> !nd.tensor<f32, [i = 8 on {a}]>
      %1 = spmd.all_gather ["a"] from ["i"] %e : (!nd.tensor<f32, [i = 8 on {a}]>) -> !w
      %2 = spmd.all_gather ["a"] from ["i"] %f : (!nd.tensor<f32, [i = 8 on {a}]>) -> !w
      %3 = spmd.all_gather ["a"] from ["i"] %t : (!nd.tensor<f32, [i = 8 on {a}]>) -> !w
      %4 = nd.add %1, %2 : (!w, !w) -> !w
      %5 = nd.add %3, %4 : (!w, !w) -> !w
      nd.yield %5 : !w
    }
    return %r : !w
  }

  // Of four gathers of 32 bytes each, a part is two. What is summed and stays as
  // large is one.
  // CHECK-LABEL: @parts
  // CHECK-COUNT-2: spmd.all_
  // CHECK-NOT: spmd.all_
  // CHECK: return
  // PARTS-LABEL: @parts
  // PARTS: spmd.all_gather ["a"] from ["i", "i"] %arg0, %arg1
  // PARTS: spmd.all_gather ["a"] from ["i", "i"] %arg2, %arg3
  // PARTS: spmd.all_reduce sum ["a"] %arg4, %arg5
  func.func @parts(%w: !b, %x: !b, %y: !b, %z: !b, %u: !p, %v: !p) -> (!w, !w, !w, !w, !w, !w) {
    %0 = spmd.all_gather ["a"] from ["i"] %w : (!b) -> !w
    %1 = spmd.all_gather ["a"] from ["i"] %x : (!b) -> !w
    %2 = spmd.all_gather ["a"] from ["i"] %y : (!b) -> !w
    %3 = spmd.all_gather ["a"] from ["i"] %z : (!b) -> !w
    %4 = spmd.all_reduce sum ["a"] %u : (!p) -> !w
    %5 = spmd.all_reduce sum ["a"] %v : (!p) -> !w
    return %0, %1, %2, %3, %4, %5 : !w, !w, !w, !w, !w, !w
  }

  // What is gathered again does not join what is gathered once, and stays another op.
  // CHECK-LABEL: @again
  // CHECK: spmd.all_gather ["a"] from ["i", "i"] %arg0, %arg1 {spmd.causes
  // CHECK: spmd.all_gather ["a"] from ["i", "i"] %arg0, %arg1 {spmd.causes = {{.*}}, spmd.use = 2 : i64}
  func.func @again(%x: !b, %y: !b) -> (!w, !w, !w, !w) {
    %0 = spmd.all_gather ["a"] from ["i"] %x : (!b) -> !w
    %1 = spmd.all_gather ["a"] from ["i"] %y : (!b) -> !w
    %2 = spmd.all_gather ["a"] from ["i"] %x {spmd.use = 2 : i64} : (!b) -> !w
    %3 = spmd.all_gather ["a"] from ["i"] %y {spmd.use = 2 : i64} : (!b) -> !w
    return %0, %1, %2, %3 : !w, !w, !w, !w
  }
}
