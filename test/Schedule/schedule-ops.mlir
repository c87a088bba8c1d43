// RUN: mesh-opt %s -split-input-file -verify-diagnostics -meshc-schedule-ops | FileCheck %s

!v = !nd.tensor<f32, [i = 8]>
!sum = !nd.tensor<f32, [i = 8], sum {a}>
module attributes {nd.mesh = #nd.mesh<a = 2>} {
// A collective starts as soon as its operand is there.
// CHECK-LABEL: @collective_first
// CHECK: %[[P:.*]] = exec.fusion {{.*}}(%arg0) : {{.*}}sum {a}>
// CHECK: spmd.all_reduce sum ["a"] %[[P]]
// CHECK: %[[T:.*]] = exec.fusion {{.*}}(%arg1)
// CHECK: exec.fusion {{.*}}(%[[T]])
func.func @collective_first(%x: !v, %y: !v) -> (!v, !v) {
  %p = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>(%x) : (!v) -> !sum {
  ^bb0(%in: !v):
    %1 = nd.exp %in : (!v) -> !sum
    exec.yield %1 : !sum
  }
  %t = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>(%y) : (!v) -> !v {
  ^bb0(%in: !v):
    %1 = nd.exp %in : (!v) -> !v
    exec.yield %1 : !v
  }
  %u = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>(%t) : (!v) -> !v {
  ^bb0(%in: !v):
    %1 = nd.exp %in : (!v) -> !v
    exec.yield %1 : !v
  }
  %r = spmd.all_reduce sum ["a"] %p : (!sum) -> !v
  return %u, %r : !v, !v
}
}

// -----

!v = !nd.tensor<f32, [i = 8]>
!w = !nd.tensor<f32, [i = 8, j = 8]>

// Of two that are ready, the one that frees memory comes first: the sum of %0 before the next large value.
// CHECK-LABEL: @frees_memory
// CHECK: %[[A:.*]] = exec.fusion {{.*}}(%arg0)
// CHECK: exec.fusion {{.*}}(%[[A]])
// CHECK: %[[B:.*]] = exec.fusion {{.*}}(%arg1)
// CHECK: exec.fusion {{.*}}(%[[B]])
func.func @frees_memory(%x: !w, %y: !w) -> (!v, !v) {
  %0 = exec.fusion <parallel = ["i", "j"], reduce = [], lanes = "j", sizes = [8, 8]>(%x) : (!w) -> !w {
  ^bb0(%in: !w):
    %4 = nd.exp %in : (!w) -> !w
    exec.yield %4 : !w
  }
  %1 = exec.fusion <parallel = ["i", "j"], reduce = [], lanes = "j", sizes = [8, 8]>(%y) : (!w) -> !w {
  ^bb0(%in: !w):
    %4 = nd.exp %in : (!w) -> !w
    exec.yield %4 : !w
  }
  %2 = exec.fusion <parallel = ["i"], reduce = ["j"], lanes = "j", sizes = [8, 8]>(%0) : (!w) -> !v {
  ^bb0(%in: !w):
    %4 = nd.reduce_sum %in {dims = ["j"]} : (!w) -> !v
    exec.yield %4 : !v
  }
  %3 = exec.fusion <parallel = ["i"], reduce = ["j"], lanes = "j", sizes = [8, 8]>(%1) : (!w) -> !v {
  ^bb0(%in: !w):
    %4 = nd.reduce_sum %in {dims = ["j"]} : (!w) -> !v
    exec.yield %4 : !v
  }
  return %2, %3 : !v, !v
}

// -----

!v = !nd.tensor<f32, [i = 8]>

// The reader of a parameter runs before the op that overwrites it, although it comes later in the program.
// CHECK-LABEL: @readers_first
// CHECK: %[[Y:.*]] = exec.fusion
// CHECK: nd.exp
// CHECK: %[[NEW:.*]] = exec.fusion
// CHECK: nd.neg
// CHECK: return %[[NEW]], %[[Y]]
func.func @readers_first(%p: !v {nd.name = "p", nd.role = "parameter"})
    -> (!v {nd.name = "p", nd.role = "parameter"}, !v {nd.name = "y", nd.role = "metric"}) {
  %0 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>(%p) : (!v) -> !v {
  ^bb0(%in: !v):
    %2 = nd.neg %in : (!v) -> !v
    exec.yield %2 : !v
  }
  %1 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>(%p) : (!v) -> !v {
  ^bb0(%in: !v):
    %2 = nd.exp %in : (!v) -> !v
    exec.yield %2 : !v
  }
  return %0, %1 : !v, !v
}

// -----

!s = !nd.tensor<f32, []>
!w = !nd.tensor<f32, [i = 8, j = 8]>

// The update of a parameter runs when its gradient is there, before the next
// gradient is computed: the scalar that it reads does not wait for the end.
// CHECK-LABEL: @update_early
// CHECK: nd.constant
// CHECK: %[[G1:.*]] = exec.fusion {{.*}}(%arg2)
// CHECK: %[[P:.*]] = exec.fusion {{.*}}(%arg0, %[[G1]], %{{.*}})
// CHECK: %[[G2:.*]] = exec.fusion {{.*}}(%arg2)
// CHECK: %[[Q:.*]] = exec.fusion {{.*}}(%arg1, %[[G2]], %{{.*}})
// CHECK: return %[[P]], %[[Q]]
func.func @update_early(%p: !w {nd.name = "p", nd.role = "parameter"}, %q: !w {nd.name = "q", nd.role = "parameter"}, %x: !w)
    -> (!w {nd.name = "p", nd.role = "parameter"}, !w {nd.name = "q", nd.role = "parameter"}) {
  %g1 = exec.fusion <parallel = ["i", "j"], reduce = [], lanes = "j", sizes = [8, 8]>(%x) : (!w) -> !w {
  ^bb0(%in: !w):
    %1 = nd.exp %in : (!w) -> !w
    exec.yield %1 : !w
  }
  %g2 = exec.fusion <parallel = ["i", "j"], reduce = [], lanes = "j", sizes = [8, 8]>(%x) : (!w) -> !w {
  ^bb0(%in: !w):
    %1 = nd.neg %in : (!w) -> !w
    exec.yield %1 : !w
  }
  %rate = exec.fusion <parallel = [], reduce = [], lanes = "", sizes = []>() : () -> !s {
    %1 = nd.constant 0.5 : f32 -> !s
    exec.yield %1 : !s
  }
  %newp = exec.fusion <parallel = ["i", "j"], reduce = [], lanes = "j", sizes = [8, 8]>(%p, %g1, %rate) : (!w, !w, !s) -> !w {
  ^bb0(%in: !w, %g: !w, %r: !s):
    %1 = nd.mul %g, %r : (!w, !s) -> !w
    %2 = nd.sub %in, %1 : (!w, !w) -> !w
    exec.yield %2 : !w
  }
  %newq = exec.fusion <parallel = ["i", "j"], reduce = [], lanes = "j", sizes = [8, 8]>(%q, %g2, %rate) : (!w, !w, !s) -> !w {
  ^bb0(%in: !w, %g: !w, %r: !s):
    %1 = nd.mul %g, %r : (!w, !s) -> !w
    %2 = nd.sub %in, %1 : (!w, !w) -> !w
    exec.yield %2 : !w
  }
  return %newp, %newq : !w, !w
}

// -----

!v = !nd.tensor<f32, [i = 8]>

// With nothing to gain, the order of the program stays.
// CHECK-LABEL: @unchanged
// CHECK: nd.neg
// CHECK: nd.exp
func.func @unchanged(%x: !v) -> (!v, !v) {
  %0 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>(%x) : (!v) -> !v {
  ^bb0(%in: !v):
    %2 = nd.neg %in : (!v) -> !v
    exec.yield %2 : !v
  }
  %1 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>(%x) : (!v) -> !v {
  ^bb0(%in: !v):
    %2 = nd.exp %in : (!v) -> !v
    exec.yield %2 : !v
  }
  return %0, %1 : !v, !v
}

// -----

!v = !nd.tensor<f32, [i = 8]>

// Each new parameter is the old value of the other: each op must run before the other. meshc-place-results copies.
// expected-error @below {{'swap' cannot be scheduled: results replace arguments in a cycle}}
func.func @swap(%a: !v {nd.name = "a", nd.role = "parameter"}, %b: !v {nd.name = "b", nd.role = "parameter"})
    -> (!v {nd.name = "a", nd.role = "parameter"}, !v {nd.name = "b", nd.role = "parameter"}) {
  %0 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>(%b) : (!v) -> !v {
  ^bb0(%in: !v):
    exec.yield %in : !v
  }
  %1 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>(%a) : (!v) -> !v {
  ^bb0(%in: !v):
    exec.yield %in : !v
  }
  return %0, %1 : !v, !v
}

// -----

!w = !nd.tensor<f32, [i = 8]>
module attributes {exec.gpu} {
// On a GPU the update of %p waits for that of %q.
// CHECK-LABEL: @updates_wait
// CHECK: %[[A:.*]] = exec.fusion {{.*}}(%arg2)
// CHECK: %[[B:.*]] = exec.fusion {{.*}}(%[[A]])
// CHECK: exec.fusion {{.*}}(%arg0, %[[A]])
// CHECK: exec.fusion {{.*}}(%arg1, %[[B]])
func.func @updates_wait(%p: !w {nd.name = "p", nd.role = "parameter"}, %q: !w {nd.name = "q", nd.role = "parameter"}, %x: !w)
    -> (!w {nd.name = "p", nd.role = "parameter"}, !w {nd.name = "q", nd.role = "parameter"}) {
  %0 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>(%x) : (!w) -> !w {
  ^bb0(%a: !w):
    %4 = nd.exp %a : (!w) -> !w
    exec.yield %4 : !w
  }
  %1 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>(%p, %0) : (!w, !w) -> !w {
  ^bb0(%a: !w, %b: !w):
    %4 = nd.add %a, %b : (!w, !w) -> !w
    exec.yield %4 : !w
  }
  %2 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>(%0) : (!w) -> !w {
  ^bb0(%a: !w):
    %4 = nd.exp %a : (!w) -> !w
    exec.yield %4 : !w
  }
  %3 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>(%q, %2) : (!w, !w) -> !w {
  ^bb0(%a: !w, %b: !w):
    %4 = nd.add %a, %b : (!w, !w) -> !w
    exec.yield %4 : !w
  }
  return %1, %3 : !w, !w
}
}

// -----

!w = !nd.tensor<f32, [i = 4096, j = 4096]>
module attributes {exec.gpu} {
// A gradient of 64 MiB is worth a launch of its own.
// CHECK-LABEL: @large_updates_run
// CHECK: %[[A:.*]] = exec.fusion {{.*}}(%arg2)
// CHECK: exec.fusion {{.*}}(%arg0, %[[A]])
// CHECK: %[[B:.*]] = exec.fusion {{.*}}(%arg2)
// CHECK: exec.fusion {{.*}}(%arg1, %[[B]])
func.func @large_updates_run(%p: !w {nd.name = "p", nd.role = "parameter"}, %q: !w {nd.name = "q", nd.role = "parameter"}, %x: !w)
    -> (!w {nd.name = "p", nd.role = "parameter"}, !w {nd.name = "q", nd.role = "parameter"}) {
  %0 = exec.fusion <parallel = ["i", "j"], reduce = [], lanes = "j", sizes = [4096, 4096]>(%x) : (!w) -> !w {
  ^bb0(%a: !w):
    %4 = nd.exp %a : (!w) -> !w
    exec.yield %4 : !w
  }
  %2 = exec.fusion <parallel = ["i", "j"], reduce = [], lanes = "j", sizes = [4096, 4096]>(%x) : (!w) -> !w {
  ^bb0(%a: !w):
    %4 = nd.neg %a : (!w) -> !w
    exec.yield %4 : !w
  }
  %1 = exec.fusion <parallel = ["i", "j"], reduce = [], lanes = "j", sizes = [4096, 4096]>(%p, %0) : (!w, !w) -> !w {
  ^bb0(%a: !w, %b: !w):
    %4 = nd.add %a, %b : (!w, !w) -> !w
    exec.yield %4 : !w
  }
  %3 = exec.fusion <parallel = ["i", "j"], reduce = [], lanes = "j", sizes = [4096, 4096]>(%q, %2) : (!w, !w) -> !w {
  ^bb0(%a: !w, %b: !w):
    %4 = nd.add %a, %b : (!w, !w) -> !w
    exec.yield %4 : !w
  }
  return %1, %3 : !w, !w
}
}

// -----

!v = !nd.tensor<f32, [i = 8]>
!p = !nd.tensor<f32, [i = 8], sum {a}>
module attributes {nd.mesh = #nd.mesh<a = 2>} {
// The update of a parameter waits until the next reduction begins, so that what this
// one needs is computed beside the reduction of the parameter's gradient. It costs no
// memory, since %b is larger than both gradients.
// CHECK-LABEL: @overlap
// CHECK: spmd.all_reduce
// CHECK: nd.neg
// CHECK: spmd.all_reduce
// CHECK: nd.sub
// CHECK: nd.mul
func.func @overlap(%w: !v {nd.name = "w", nd.role = "parameter"}, %u: !v {nd.name = "u", nd.role = "parameter"}, %x: !v)
    -> (!v {nd.name = "w", nd.role = "parameter"}, !v {nd.name = "u", nd.role = "parameter"}) {
  %b = exec.fusion <parallel = ["i", "j"], reduce = [], lanes = "j", sizes = [8, 8]>(%x) : (!v) -> !nd.tensor<f32, [i = 8, j = 8]> {
  ^bb0(%in: !v):
    %8 = nd.broadcast %in : (!v) -> !nd.tensor<f32, [i = 8, j = 8]>
    exec.yield %8 : !nd.tensor<f32, [i = 8, j = 8]>
  }
  %y = exec.fusion <parallel = ["i"], reduce = ["j"], lanes = "j", sizes = [8, 8]>(%b) : (!nd.tensor<f32, [i = 8, j = 8]>) -> !v {
  ^bb0(%in: !nd.tensor<f32, [i = 8, j = 8]>):
    %8 = nd.reduce_sum %in {dims = ["j"]} : (!nd.tensor<f32, [i = 8, j = 8]>) -> !v
    exec.yield %8 : !v
  }
  %0 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>(%y) : (!v) -> !p {
  ^bb0(%in: !v):
    %8 = nd.exp %in : (!v) -> !p
    exec.yield %8 : !p
  }
  %1 = spmd.all_reduce sum ["a"] %0 : (!p) -> !v
  %2 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>(%w, %1) : (!v, !v) -> !v {
  ^bb0(%in: !v, %g: !v):
    %8 = nd.sub %in, %g : (!v, !v) -> !v
    exec.yield %8 : !v
  }
  %3 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>(%y) : (!v) -> !p {
  ^bb0(%in: !v):
    %8 = nd.neg %in : (!v) -> !p
    exec.yield %8 : !p
  }
  %4 = spmd.all_reduce sum ["a"] %3 : (!p) -> !v
  %5 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>(%u, %4) : (!v, !v) -> !v {
  ^bb0(%in: !v, %g: !v):
    %8 = nd.mul %in, %g : (!v, !v) -> !v
    exec.yield %8 : !v
  }
  return %2, %5 : !v, !v
}

// Not if the reduced gradient would raise the memory of the block: the second gradient
// comes from a larger value.
// CHECK-LABEL: @no_memory
// CHECK: spmd.all_reduce
// CHECK: nd.sub
// CHECK: nd.broadcast
// CHECK: spmd.all_reduce
// CHECK: nd.mul
func.func @no_memory(%w: !v {nd.name = "w", nd.role = "parameter"}, %u: !v {nd.name = "u", nd.role = "parameter"}, %x: !v)
    -> (!v {nd.name = "w", nd.role = "parameter"}, !v {nd.name = "u", nd.role = "parameter"}) {
  %0 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>(%x) : (!v) -> !p {
  ^bb0(%in: !v):
    %8 = nd.exp %in : (!v) -> !p
    exec.yield %8 : !p
  }
  %1 = spmd.all_reduce sum ["a"] %0 : (!p) -> !v
  %2 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>(%w, %1) : (!v, !v) -> !v {
  ^bb0(%in: !v, %g: !v):
    %8 = nd.sub %in, %g : (!v, !v) -> !v
    exec.yield %8 : !v
  }
  %b = exec.fusion <parallel = ["i", "j"], reduce = [], lanes = "j", sizes = [8, 8]>(%x) : (!v) -> !nd.tensor<f32, [i = 8, j = 8]> {
  ^bb0(%in: !v):
    %8 = nd.broadcast %in : (!v) -> !nd.tensor<f32, [i = 8, j = 8]>
    exec.yield %8 : !nd.tensor<f32, [i = 8, j = 8]>
  }
  %3 = exec.fusion <parallel = ["i"], reduce = ["j"], lanes = "j", sizes = [8, 8]>(%b) : (!nd.tensor<f32, [i = 8, j = 8]>) -> !p {
  ^bb0(%in: !nd.tensor<f32, [i = 8, j = 8]>):
    %8 = nd.reduce_sum %in {dims = ["j"]} : (!nd.tensor<f32, [i = 8, j = 8]>) -> !p
    exec.yield %8 : !p
  }
  %4 = spmd.all_reduce sum ["a"] %3 : (!p) -> !v
  %5 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>(%u, %4) : (!v, !v) -> !v {
  ^bb0(%in: !v, %g: !v):
    %8 = nd.mul %in, %g : (!v, !v) -> !v
    exec.yield %8 : !v
  }
  return %2, %5 : !v, !v
}
}
