// A mask that is computed before loops becomes a band inside. What else the mask is stays outside of the loops.
// RUN: mesh-opt %s -canonicalize -split-input-file | FileCheck %s

!q = !nd.tensor<f32, [d = 4, s = 8]>
!k = !nd.tensor<f32, [d = 4, m = 8]>
!r = !nd.tensor<f32, [s = 8]>
!s = !nd.tensor<i32, [s = 8]>
!m = !nd.tensor<i32, [m = 8]>
!mask = !nd.tensor<i1, [m = 8, s = 8]>

// The keys stay whole operands, the mask does not.
// CHECK-LABEL: func.func @causal
// CHECK-NOT: nd.compare
// CHECK: nd.scan "n" 2 carried(%arg0 : {{[^)]*}}) whole(%arg1 : !nd.tensor<f32, [d = 4, m = 8]>) ->
// CHECK: nd.attention %{{[^ ]*}}, %{{[^ ]*}}, %{{[^ ]*}} {highest = 0 : i64, key = "d", memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>, position = "s"}
func.func @causal(%q: !q, %k: !k) -> !q {
  %s = nd.iota : () -> !s
  %m = nd.iota : () -> !m
  %mask = nd.compare le %m, %s : (!m, !s) -> !mask
  %y = nd.scan "n" 2 carried(%q : !q) whole(%k, %mask : !k, !mask) -> !q {
  ^bb0(%h: !q, %ki: !k, %allowed: !mask):
    %z, %l = nd.attention %h, %ki, %ki, %allowed {key = "d", memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0>} : (!q, !k, !k, !mask) -> (!q, !r)
    nd.yield %z : !q
  }
  return %y : !q
}

// -----

!q = !nd.tensor<f32, [d = 4, s = 8]>
!k = !nd.tensor<f32, [d = 4, m = 8]>
!r = !nd.tensor<f32, [s = 8]>
!s = !nd.tensor<i32, [s = 8]>
!m = !nd.tensor<i32, [m = 8]>
!n = !nd.tensor<i32, []>
!mask = !nd.tensor<i1, [m = 8, s = 8]>

// Indices come from outside of two loops, the band from between them, and the difference is compared with a number.
// CHECK-LABEL: func.func @indices
// CHECK-NOT: nd.iota
// CHECK: nd.scan "n" 2 carried(%arg0 : {{[^)]*}}) whole(%arg1 : !nd.tensor<f32, [d = 4, m = 8]>) ->
// CHECK-NOT: nd.compare
// CHECK: nd.scan "o" 3 carried(%{{[^)]*}}) whole(%{{[^ ]*}} : !nd.tensor<f32, [d = 4, m = 8]>) ->
// CHECK: nd.attention %{{[^ ]*}}, %{{[^ ]*}}, %{{[^ ]*}} {highest = -1 : i64, key = "d", lowest = -3 : i64, memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>, position = "s"}
func.func @indices(%q: !q, %k: !k) -> !q {
  %s = nd.iota : () -> !s
  %m = nd.iota : () -> !m
  %one = nd.constant 1 : i32 -> !n
  %y = nd.scan "n" 2 carried(%q : !q) whole(%k, %s, %m, %one : !k, !s, !m, !n) -> !q {
  ^bb0(%h: !q, %k1: !k, %s1: !s, %m1: !m, %n1: !n):
    %after = nd.add %n1, %m1 : (!n, !m) -> !m
    %causal = nd.compare le %after, %s1 : (!m, !s) -> !mask
    %z = nd.scan "o" 3 carried(%h : !q) whole(%k1, %s1, %m1, %causal : !k, !s, !m, !mask) -> !q {
    ^bb0(%i: !q, %k2: !k, %s2: !s, %m2: !m, %known: !mask):
      %four = nd.constant 4 : i32 -> !n
      %distance = nd.sub %s2, %m2 : (!s, !m) -> !nd.tensor<i32, [m = 8, s = 8]>
      %near = nd.compare lt %distance, %four : (!nd.tensor<i32, [m = 8, s = 8]>, !n) -> !mask
      %allowed = nd.and %near, %known : (!mask, !mask) -> !mask
      %w, %l = nd.attention %i, %k2, %k2, %allowed {key = "d", memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0>} : (!q, !k, !k, !mask) -> (!q, !r)
      nd.yield %w : !q
    }
    nd.yield %z : !q
  }
  return %y : !q
}

// -----

!q = !nd.tensor<f32, [b = 2, d = 4, s = 8]>
!k = !nd.tensor<f32, [b = 2, d = 4, m = 8]>
!r = !nd.tensor<f32, [b = 2, s = 8]>
!s = !nd.tensor<i32, [s = 8]>
!m = !nd.tensor<i32, [m = 8]>
!band = !nd.tensor<i1, [m = 8, s = 8]>
!known = !nd.tensor<i1, [b = 2, m = 8]>
!mask = !nd.tensor<i1, [b = 2, m = 8, s = 8]>

// The conditions on data remain one whole operand, computed once. The whole mask stays for what else uses it.
// CHECK-LABEL: func.func @data
// CHECK-DAG: %[[MASK:.*]] = nd.and %{{[0-9]+}}, %arg3 :
// CHECK-DAG: %[[REST:.*]] = nd.and %arg2, %arg3 :
// CHECK: nd.scan "n" 2 carried(%arg0 : {{[^)]*}}) whole(%arg1, %[[REST]] : !nd.tensor<f32, [b = 2, d = 4, m = 8]>, !nd.tensor<i1, [b = 2, m = 8, s = 8]>) ->
// CHECK-NEXT: ^bb0(%{{.*}}: {{.*}}, %{{.*}}: {{.*}}, %[[INSIDE:.*]]: !nd.tensor<i1
// CHECK-NEXT: nd.attention %{{[^ ]*}}, %{{[^ ]*}}, %{{[^ ]*}}, %[[INSIDE]] {highest = 0 : i64, key = "d", memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0>, position = "s"}
// CHECK: return %{{.*}}, %[[MASK]]
func.func @data(%q: !q, %k: !k, %known: !known, %same: !mask) -> (!q, !mask) {
  %s = nd.iota : () -> !s
  %m = nd.iota : () -> !m
  %causal = nd.compare ge %s, %m : (!s, !m) -> !band
  %0 = nd.and %causal, %known : (!band, !known) -> !mask
  %1 = nd.and %0, %same : (!mask, !mask) -> !mask
  %y = nd.scan "n" 2 carried(%q : !q) whole(%k, %1 : !k, !mask) -> !q {
  ^bb0(%h: !q, %ki: !k, %allowed: !mask):
    %z, %l = nd.attention %h, %ki, %ki, %allowed {key = "d", memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0>} : (!q, !k, !k, !mask) -> (!q, !r)
    nd.yield %z : !q
  }
  return %y, %1 : !q, !mask
}

// -----

!q = !nd.tensor<f32, [d = 4, s = 8]>
!k = !nd.tensor<f32, [d = 4, m = 8]>
!r = !nd.tensor<f32, [s = 8]>
!s = !nd.tensor<i32, [s = 8]>
!ss = !nd.tensor<i32, [n = 2, s = 8]>
!m = !nd.tensor<i32, [m = 8]>
!band = !nd.tensor<i1, [m = 8, s = 8]>
!bands = !nd.tensor<i1, [m = 8, n = 2, s = 8]>

// Masks that differ between iterations, are carried, or join other conditions by 'or' stay operands of the loop.
// CHECK-LABEL: func.func @kept
// CHECK: %[[OR:.*]] = nd.or
// CHECK: %[[EACH:.*]] = nd.compare le
// CHECK: nd.scan "n" 2 carried(%arg0, {{.*}}) stacked(%[[EACH]] : {{.*}}) whole(%arg1, %[[OR]], %{{[0-9]+}} :
// CHECK-COUNT-3: nd.attention {{.*}} {key = "d", memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0>}
func.func @kept(%q: !q, %k: !k, %last: !s, %lasts: !ss, %first: !band) -> !q {
  %s = nd.iota : () -> !s
  %m = nd.iota : () -> !m
  %data = nd.compare ge %m, %last : (!m, !s) -> !band
  %causal = nd.compare le %m, %s : (!m, !s) -> !band
  %or = nd.or %data, %causal : (!band, !band) -> !band
  %each = nd.compare le %m, %lasts : (!m, !ss) -> !bands
  %y:2 = nd.scan "n" 2 carried(%q, %first : !q, !band) stacked(%each : !bands) whole(%k, %or, %causal : !k, !band, !band) -> !q, !band {
  ^bb0(%h: !q, %seen: !band, %ei: !band, %ki: !k, %oi: !band, %ci: !band):
    %a, %la = nd.attention %h, %ki, %ki, %ei {key = "d", memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0>} : (!q, !k, !k, !band) -> (!q, !r)
    %c, %lc = nd.attention %a, %ki, %ki, %oi {key = "d", memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0>} : (!q, !k, !k, !band) -> (!q, !r)
    %e, %le = nd.attention %c, %ki, %ki, %seen {key = "d", memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0>} : (!q, !k, !k, !band) -> (!q, !r)
    %next = nd.or %seen, %ci : (!band, !band) -> !band
    nd.yield %e, %next : !q, !band
  }
  return %y#0 : !q
}

// -----

!q = !nd.tensor<f32, [d = 4, s = 8]>
!k = !nd.tensor<f32, [d = 4, m = 8]>
!r = !nd.tensor<f32, [s = 8]>
!m = !nd.tensor<i32, [m = 8]>
!mask = !nd.tensor<i1, [m = 8]>

// A mask that allows everything goes.
// CHECK-LABEL: func.func @everything
// CHECK-NOT: nd.compare
// CHECK: nd.attention {{.*}} {key = "d", memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>}
func.func @everything(%q: !q, %k: !k) -> !q {
  %m = nd.iota : () -> !m
  %0 = nd.constant 0 : i32 -> !nd.tensor<i32, []>
  %mask = nd.compare ge %m, %0 : (!m, !nd.tensor<i32, []>) -> !mask
  %y = nd.scan "n" 2 carried(%q : !q) whole(%k, %mask : !k, !mask) -> !q {
  ^bb0(%h: !q, %ki: !k, %allowed: !mask):
    %z, %l = nd.attention %h, %ki, %ki, %allowed {key = "d", memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0>} : (!q, !k, !k, !mask) -> (!q, !r)
    nd.yield %z : !q
  }
  return %y : !q
}
