// RUN: mesh-opt %s -split-input-file -meshc-recompute-fusions | FileCheck %s

!v = !nd.tensor<f32, [i = 8]>
!w = !nd.tensor<f32, [i = 8, j = 8]>
!big = !nd.tensor<f32, [i = 8, k = 2]>
!m = !nd.tensor<f32, [m = 20]>
!one = !nd.tensor<f32, []>
// Most memory is in use at %2, which does not read %0. The last op reads %0 again.
// CHECK: module {
module attributes {exec.recompute} {
// CHECK-LABEL: @late_user
// CHECK: exec.fusion {{.*}}(%arg0)
// CHECK: %[[D:.*]] = exec.fusion {{.*}} reduce = ["j"]
// CHECK-NEXT: ^bb0
// CHECK: %[[AGAIN:.*]] = exec.fusion {{.*}}(%arg0)
// CHECK: exec.fusion {{.*}}(%[[D]], %[[AGAIN]])
func.func @late_user(%x: !v, %z: !w) -> !v {
  %0 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>(%x) : (!v) -> !v {
  ^bb0(%in: !v):
    %r0 = nd.neg %in : (!v) -> !v
    exec.yield %r0 : !v
  }
  %1 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>(%0) : (!v) -> !v {
  ^bb0(%in: !v):
    %r0 = nd.neg %in : (!v) -> !v
    exec.yield %r0 : !v
  }
  %2 = exec.fusion <parallel = ["i", "j"], reduce = [], lanes = "j", sizes = [8, 8]>(%1, %z) : (!v, !w) -> !w {
  ^bb0(%p: !v, %q: !w):
    %r = nd.mul %p, %q : (!v, !w) -> !w
    exec.yield %r : !w
  }
  %3 = exec.fusion <parallel = ["i"], reduce = ["j"], lanes = "j", sizes = [8, 8]>(%2) : (!w) -> !v {
  ^bb0(%in: !w):
    %r = nd.reduce_sum %in {dims = ["j"]} : (!w) -> !v
    exec.yield %r : !v
  }
  %4 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>(%3, %0) : (!v, !v) -> !v {
  ^bb0(%p: !v, %q: !v):
    %r = nd.mul %p, %q : (!v, !v) -> !v
    exec.yield %r : !v
  }
  return %4 : !v
}

// The body of a loop is a block of its own.
// CHECK-LABEL: @loop
// CHECK: nd.scan
// CHECK-NEXT: ^bb0(%{{[^:]*}}: !nd.tensor<f32, [i = 8]>, %[[X:[^:]*]]:
// CHECK: %[[D:.*]] = exec.fusion {{.*}} reduce = ["j"]
// CHECK: %[[AGAIN:.*]] = exec.fusion {{.*}}(%[[X]])
// CHECK: exec.fusion {{.*}}(%[[D]], %[[AGAIN]])
func.func @loop(%c: !v, %xs: !nd.tensor<f32, [i = 8, n = 4]>, %w: !w) -> !v {
  %l = nd.scan "n" 4 carried(%c : !v) stacked(%xs : !nd.tensor<f32, [i = 8, n = 4]>) whole(%w : !w) -> !v {
  ^bb0(%carried: !v, %x: !v, %z: !w):
    %0 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>(%x) : (!v) -> !v {
    ^bb0(%in: !v):
      %r0 = nd.neg %in : (!v) -> !v
      exec.yield %r0 : !v
    }
    %1 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>(%0) : (!v) -> !v {
    ^bb0(%in: !v):
      %r0 = nd.neg %in : (!v) -> !v
      exec.yield %r0 : !v
    }
    %2 = exec.fusion <parallel = ["i", "j"], reduce = [], lanes = "j", sizes = [8, 8]>(%1, %z) : (!v, !w) -> !w {
    ^bb0(%p: !v, %q: !w):
      %r = nd.mul %p, %q : (!v, !w) -> !w
      exec.yield %r : !w
    }
    %3 = exec.fusion <parallel = ["i"], reduce = ["j"], lanes = "j", sizes = [8, 8]>(%2) : (!w) -> !v {
    ^bb0(%in: !w):
      %r = nd.reduce_sum %in {dims = ["j"]} : (!w) -> !v
      exec.yield %r : !v
    }
    %4 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>(%3, %0) : (!v, !v) -> !v {
    ^bb0(%p: !v, %q: !v):
      %r = nd.mul %p, %q : (!v, !v) -> !v
      exec.yield %r : !v
    }
  %5 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>(%4, %carried) : (!v, !v) -> !v {
  ^bb0(%p: !v, %q: !v):
    %r = nd.mul %p, %q : (!v, !v) -> !v
    exec.yield %r : !v
  }
    nd.yield %5 : !v
  }
  return %l : !v
}

// %0 is used at the peak.
// CHECK-LABEL: @used_at_peak
// CHECK-COUNT-4: exec.fusion
// CHECK-NOT: exec.fusion
// CHECK: return
func.func @used_at_peak(%x: !v, %z: !w) -> !v {
  %0 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>(%x) : (!v) -> !v {
  ^bb0(%in: !v):
    %r0 = nd.neg %in : (!v) -> !v
    exec.yield %r0 : !v
  }
  %2 = exec.fusion <parallel = ["i", "j"], reduce = [], lanes = "j", sizes = [8, 8]>(%0, %z) : (!v, !w) -> !w {
  ^bb0(%p: !v, %q: !w):
    %r = nd.mul %p, %q : (!v, !w) -> !w
    exec.yield %r : !w
  }
  %3 = exec.fusion <parallel = ["i"], reduce = ["j"], lanes = "j", sizes = [8, 8]>(%2, %0) : (!w, !v) -> !v {
  ^bb0(%p: !w, %q: !v):
    %r = nd.mul %p, %q : (!w, !v) -> !w
    %t = nd.reduce_sum %r {dims = ["j"]} : (!w) -> !v
    exec.yield %t : !v
  }
  %4 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>(%3, %0) : (!v, !v) -> !v {
  ^bb0(%p: !v, %q: !v):
    %r = nd.mul %p, %q : (!v, !v) -> !v
    exec.yield %r : !v
  }
  return %4 : !v
}

// It takes 36 operations per byte to compute %0.
// CHECK-LABEL: @dear
// CHECK-COUNT-5: exec.fusion
// CHECK-NOT: exec.fusion
// CHECK: return
func.func @dear(%x: !v, %z: !w) -> !v {
  %0 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>(%x) : (!v) -> !v {
  ^bb0(%in: !v):
    %r0 = nd.exp %in : (!v) -> !v
    %r1 = nd.exp %r0 : (!v) -> !v
    %r2 = nd.exp %r1 : (!v) -> !v
    %r3 = nd.exp %r2 : (!v) -> !v
    %r4 = nd.exp %r3 : (!v) -> !v
    %r5 = nd.exp %r4 : (!v) -> !v
    %r6 = nd.exp %r5 : (!v) -> !v
    %r7 = nd.exp %r6 : (!v) -> !v
    %r8 = nd.exp %r7 : (!v) -> !v
    exec.yield %r8 : !v
  }
  %1 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>(%0) : (!v) -> !v {
  ^bb0(%in: !v):
    %r0 = nd.neg %in : (!v) -> !v
    exec.yield %r0 : !v
  }
  %2 = exec.fusion <parallel = ["i", "j"], reduce = [], lanes = "j", sizes = [8, 8]>(%1, %z) : (!v, !w) -> !w {
  ^bb0(%p: !v, %q: !w):
    %r = nd.mul %p, %q : (!v, !w) -> !w
    exec.yield %r : !w
  }
  %3 = exec.fusion <parallel = ["i"], reduce = ["j"], lanes = "j", sizes = [8, 8]>(%2) : (!w) -> !v {
  ^bb0(%in: !w):
    %r = nd.reduce_sum %in {dims = ["j"]} : (!w) -> !v
    exec.yield %r : !v
  }
  %4 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>(%3, %0) : (!v, !v) -> !v {
  ^bb0(%p: !v, %q: !v):
    %r = nd.mul %p, %q : (!v, !v) -> !v
    exec.yield %r : !v
  }
  return %4 : !v
}

// %0 is a sum.
// CHECK-LABEL: @reduced
// CHECK-COUNT-5: exec.fusion
// CHECK-NOT: exec.fusion
// CHECK: return
func.func @reduced(%x: !w, %z: !w) -> !v {
  %0 = exec.fusion <parallel = ["i"], reduce = ["j"], lanes = "j", sizes = [8, 8]>(%x) : (!w) -> !v {
  ^bb0(%in: !w):
    %r = nd.reduce_sum %in {dims = ["j"]} : (!w) -> !v
    exec.yield %r : !v
  }
  %1 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>(%0) : (!v) -> !v {
  ^bb0(%in: !v):
    %r0 = nd.neg %in : (!v) -> !v
    exec.yield %r0 : !v
  }
  %2 = exec.fusion <parallel = ["i", "j"], reduce = [], lanes = "j", sizes = [8, 8]>(%1, %z) : (!v, !w) -> !w {
  ^bb0(%p: !v, %q: !w):
    %r = nd.mul %p, %q : (!v, !w) -> !w
    exec.yield %r : !w
  }
  %3 = exec.fusion <parallel = ["i"], reduce = ["j"], lanes = "j", sizes = [8, 8]>(%2) : (!w) -> !v {
  ^bb0(%in: !w):
    %r = nd.reduce_sum %in {dims = ["j"]} : (!w) -> !v
    exec.yield %r : !v
  }
  %4 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>(%3, %0) : (!v, !v) -> !v {
  ^bb0(%p: !v, %q: !v):
    %r = nd.mul %p, %q : (!v, !v) -> !v
    exec.yield %r : !v
  }
  return %4 : !v
}

// What %0 reads would have to live instead, and is as large.
// CHECK-LABEL: @input_is_as_large
// CHECK-COUNT-6: exec.fusion
// CHECK-NOT: exec.fusion
// CHECK: return
func.func @input_is_as_large(%x: !w, %z: !w) -> !v {
  %g = exec.fusion <parallel = ["i"], reduce = ["j"], lanes = "j", sizes = [8, 8]>(%x) : (!w) -> !v {
  ^bb0(%in: !w):
    %r = nd.reduce_sum %in {dims = ["j"]} : (!w) -> !v
    exec.yield %r : !v
  }
  %0 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>(%g) : (!v) -> !v {
  ^bb0(%in: !v):
    %r0 = nd.neg %in : (!v) -> !v
    exec.yield %r0 : !v
  }
  %1 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>(%0) : (!v) -> !v {
  ^bb0(%in: !v):
    %r0 = nd.neg %in : (!v) -> !v
    exec.yield %r0 : !v
  }
  %2 = exec.fusion <parallel = ["i", "j"], reduce = [], lanes = "j", sizes = [8, 8]>(%1, %z) : (!v, !w) -> !w {
  ^bb0(%p: !v, %q: !w):
    %r = nd.mul %p, %q : (!v, !w) -> !w
    exec.yield %r : !w
  }
  %3 = exec.fusion <parallel = ["i"], reduce = ["j"], lanes = "j", sizes = [8, 8]>(%2) : (!w) -> !v {
  ^bb0(%in: !w):
    %r = nd.reduce_sum %in {dims = ["j"]} : (!w) -> !v
    exec.yield %r : !v
  }
  %4 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>(%3, %0) : (!v, !v) -> !v {
  ^bb0(%p: !v, %q: !v):
    %r = nd.mul %p, %q : (!v, !v) -> !v
    exec.yield %r : !v
  }
  return %4 : !v
}

// A smaller one lives instead of %0.
// CHECK-LABEL: @input_is_smaller
// CHECK: %[[G:.*]] = exec.fusion {{.*}} reduce = ["j"], {{.*}}(%arg0)
// CHECK: exec.fusion {{.*}}(%[[G]], %arg1)
// CHECK: exec.fusion {{.*}}(%[[G]], %arg1)
// CHECK: return
func.func @input_is_smaller(%x: !w, %z: !w) -> !v {
  %g = exec.fusion <parallel = ["i"], reduce = ["j"], lanes = "j", sizes = [8, 8]>(%x) : (!w) -> !v {
  ^bb0(%in: !w):
    %r = nd.reduce_sum %in {dims = ["j"]} : (!w) -> !v
    exec.yield %r : !v
  }
  %0 = exec.fusion <parallel = ["i", "j"], reduce = [], lanes = "j", sizes = [8, 8]>(%g, %z) : (!v, !w) -> !w {
  ^bb0(%p: !v, %q: !w):
    %r = nd.mul %p, %q : (!v, !w) -> !w
    exec.yield %r : !w
  }
  %1 = exec.fusion <parallel = ["i"], reduce = ["j"], lanes = "j", sizes = [8, 8]>(%0) : (!w) -> !v {
  ^bb0(%in: !w):
    %r = nd.reduce_sum %in {dims = ["j"]} : (!w) -> !v
    exec.yield %r : !v
  }
  %2 = exec.fusion <parallel = ["i", "j"], reduce = [], lanes = "j", sizes = [8, 8]>(%1, %z) : (!v, !w) -> !w {
  ^bb0(%p: !v, %q: !w):
    %r = nd.mul %p, %q : (!v, !w) -> !w
    exec.yield %r : !w
  }
  %3 = exec.fusion <parallel = ["i"], reduce = ["j"], lanes = "j", sizes = [8, 8]>(%2) : (!w) -> !v {
  ^bb0(%in: !w):
    %r = nd.reduce_sum %in {dims = ["j"]} : (!w) -> !v
    exec.yield %r : !v
  }
  %4 = exec.fusion <parallel = ["i"], reduce = ["j"], lanes = "j", sizes = [8, 8]>(%0, %3) : (!w, !v) -> !v {
  ^bb0(%p: !w, %q: !v):
    %r = nd.mul %p, %q : (!w, !v) -> !w
    %t = nd.reduce_sum %r {dims = ["j"]} : (!w) -> !v
    exec.yield %t : !v
  }
  return %4 : !v
}

// A parameter that was updated is not there any more.
// CHECK-LABEL: @overwritten
// CHECK-COUNT-6: exec.fusion
// CHECK-NOT: exec.fusion
// CHECK: return
func.func @overwritten(%x: !v {nd.name = "p", nd.role = "parameter", nd.order = ["i"]}, %z: !w)
    -> (!v {nd.name = "p", nd.role = "parameter", nd.order = ["i"]}, !v) {
  %0 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>(%x) : (!v) -> !v {
  ^bb0(%in: !v):
    %r0 = nd.neg %in : (!v) -> !v
    exec.yield %r0 : !v
  }
  %1 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>(%0) : (!v) -> !v {
  ^bb0(%in: !v):
    %r0 = nd.neg %in : (!v) -> !v
    exec.yield %r0 : !v
  }
  %2 = exec.fusion <parallel = ["i", "j"], reduce = [], lanes = "j", sizes = [8, 8]>(%1, %z) : (!v, !w) -> !w {
  ^bb0(%p: !v, %q: !w):
    %r = nd.mul %p, %q : (!v, !w) -> !w
    exec.yield %r : !w
  }
  %3 = exec.fusion <parallel = ["i"], reduce = ["j"], lanes = "j", sizes = [8, 8]>(%2) : (!w) -> !v {
  ^bb0(%in: !w):
    %r = nd.reduce_sum %in {dims = ["j"]} : (!w) -> !v
    exec.yield %r : !v
  }
  %u = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>(%3, %x) : (!v, !v) -> !v {
  ^bb0(%p: !v, %q: !v):
    %r = nd.mul %p, %q : (!v, !v) -> !v
    exec.yield %r : !v
  }
  %4 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>(%3, %0) : (!v, !v) -> !v {
  ^bb0(%p: !v, %q: !v):
    %r = nd.mul %p, %q : (!v, !v) -> !v
    exec.yield %r : !v
  }
  return %u, %4 : !v, !v
}

// The first peak is that of %t3, where %v is not used. %r is computed from %v and lives at the second peak. When %v is computed again, the
// loop takes over the memory of the copy: %r cannot be computed from it behind the loop.
// CHECK-LABEL: @taken_over
// CHECK: nd.scan
// CHECK-NOT: nd.neg
// CHECK: return
func.func @taken_over(%x: !v, %z: !w, %big: !big, %m: !m) -> (!v, !v) {
  %v = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>(%x) : (!v) -> !v {
  ^bb0(%p0: !v):
    %e = nd.tanh %p0 : (!v) -> !v
    exec.yield %e : !v
  }
  %extra = exec.fusion <parallel = ["m"], reduce = [], lanes = "m", sizes = [20]>(%m) : (!m) -> !m {
  ^bb0(%p0: !m):
    %e = nd.exp %p0 : (!m) -> !m
    exec.yield %e : !m
  }
  %t = exec.fusion <parallel = ["i", "j"], reduce = [], lanes = "j", sizes = [8, 8]>(%x, %z) : (!v, !w) -> !w {
  ^bb0(%p0: !v, %p1: !w):
    %e = nd.mul %p0, %p1 : (!v, !w) -> !w
    exec.yield %e : !w
  }
  %t2 = exec.fusion <parallel = ["i", "j"], reduce = [], lanes = "j", sizes = [8, 8]>(%t, %t) : (!w, !w) -> !w {
  ^bb0(%p0: !w, %p1: !w):
    %e = nd.mul %p0, %p1 : (!w, !w) -> !w
    exec.yield %e : !w
  }
  %t3 = exec.fusion <parallel = ["i", "j"], reduce = ["m"], lanes = "j", sizes = [8, 8, 20]>(%t2, %t, %extra) : (!w, !w, !m) -> !w {
  ^bb0(%p0: !w, %p1: !w, %p2: !m):
    %e = nd.reduce_sum %p2 {dims = ["m"]} : (!m) -> !one
    %f = nd.mul %p0, %p1 : (!w, !w) -> !w
    %g = nd.mul %f, %e : (!w, !one) -> !w
    exec.yield %g : !w
  }
  %s = exec.fusion <parallel = ["i"], reduce = ["j"], lanes = "j", sizes = [8, 8]>(%t3) : (!w) -> !v {
  ^bb0(%p0: !w):
    %e = nd.reduce_sum %p0 {dims = ["j"]} : (!w) -> !v
    exec.yield %e : !v
  }
  %r = exec.fusion <parallel = ["i", "k"], reduce = [], lanes = "k", sizes = [8, 2]>(%v, %big) : (!v, !big) -> !big {
  ^bb0(%p0: !v, %p1: !big):
    %e = nd.neg %p0 : (!v) -> !v
    %g = nd.mul %e, %p1 : (!v, !big) -> !big
    exec.yield %g : !big
  }
  %l = nd.scan "n" 4 carried(%v : !v) -> !v {
  ^bb0(%c: !v):
    %n = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>(%c) : (!v) -> !v {
    ^bb0(%p: !v):
      %e = nd.exp %p : (!v) -> !v
      exec.yield %e : !v
    }
    nd.yield %n : !v
  }
  %u = exec.fusion <parallel = ["i", "j"], reduce = [], lanes = "j", sizes = [8, 8]>(%s, %z) : (!v, !w) -> !w {
  ^bb0(%p0: !v, %p1: !w):
    %e = nd.mul %p0, %p1 : (!v, !w) -> !w
    exec.yield %e : !w
  }
  %u2 = exec.fusion <parallel = ["i", "j"], reduce = [], lanes = "j", sizes = [8, 8]>(%u, %u) : (!w, !w) -> !w {
  ^bb0(%p0: !w, %p1: !w):
    %e = nd.mul %p0, %p1 : (!w, !w) -> !w
    exec.yield %e : !w
  }
  %u3 = exec.fusion <parallel = ["i", "j"], reduce = [], lanes = "j", sizes = [8, 8]>(%u2, %u) : (!w, !w) -> !w {
  ^bb0(%p0: !w, %p1: !w):
    %e = nd.mul %p0, %p1 : (!w, !w) -> !w
    exec.yield %e : !w
  }
  %q = exec.fusion <parallel = ["i"], reduce = ["j"], lanes = "j", sizes = [8, 8]>(%u3) : (!w) -> !v {
  ^bb0(%p0: !w):
    %e = nd.reduce_sum %p0 {dims = ["j"]} : (!w) -> !v
    exec.yield %e : !v
  }
  %o = exec.fusion <parallel = ["i"], reduce = ["k"], lanes = "k", sizes = [8, 2]>(%q, %r, %s) : (!v, !big, !v) -> !v {
  ^bb0(%p0: !v, %p1: !big, %p2: !v):
    %d = nd.mul %p0, %p2 : (!v, !v) -> !v
    %e = nd.mul %d, %p1 : (!v, !big) -> !big
    %g = nd.reduce_sum %e {dims = ["k"]} : (!big) -> !v
    exec.yield %g : !v
  }
  return %l, %o : !v, !v
}
}

// -----

!v = !nd.tensor<f32, [i = 8]>
!w = !nd.tensor<f32, [i = 8, j = 8]>
// If the module does not ask for it, the pass only says what it would save.
// CHECK: module attributes {exec.recompute_gain = 32 : i64} {
// CHECK-COUNT-5: exec.fusion
// CHECK-NOT: exec.fusion
func.func @not_asked(%x: !v, %z: !w) -> !v {
  %0 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>(%x) : (!v) -> !v {
  ^bb0(%in: !v):
    %r0 = nd.neg %in : (!v) -> !v
    exec.yield %r0 : !v
  }
  %1 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>(%0) : (!v) -> !v {
  ^bb0(%in: !v):
    %r0 = nd.neg %in : (!v) -> !v
    exec.yield %r0 : !v
  }
  %2 = exec.fusion <parallel = ["i", "j"], reduce = [], lanes = "j", sizes = [8, 8]>(%1, %z) : (!v, !w) -> !w {
  ^bb0(%p: !v, %q: !w):
    %r = nd.mul %p, %q : (!v, !w) -> !w
    exec.yield %r : !w
  }
  %3 = exec.fusion <parallel = ["i"], reduce = ["j"], lanes = "j", sizes = [8, 8]>(%2) : (!w) -> !v {
  ^bb0(%in: !w):
    %r = nd.reduce_sum %in {dims = ["j"]} : (!w) -> !v
    exec.yield %r : !v
  }
  %4 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>(%3, %0) : (!v, !v) -> !v {
  ^bb0(%p: !v, %q: !v):
    %r = nd.mul %p, %q : (!v, !v) -> !v
    exec.yield %r : !v
  }
  return %4 : !v
}
