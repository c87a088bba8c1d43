// Of a mask, what compares i32 of rows and memory becomes labels. Nothing has the scores' size then.
// RUN: mesh-opt %s -canonicalize | FileCheck %s

!q = !nd.tensor<f32, [b = 2, d = 4, s = 8]>
!k = !nd.tensor<f32, [b = 2, d = 4, m = 8]>
!r = !nd.tensor<f32, [b = 2, s = 8]>
!s = !nd.tensor<i32, [s = 8]>
!m = !nd.tensor<i32, [m = 8]>
!b = !nd.tensor<i32, [b = 2]>
!n = !nd.tensor<i32, []>
!bs = !nd.tensor<i32, [b = 2, s = 8]>
!bm = !nd.tensor<i32, [b = 2, m = 8]>
!known = !nd.tensor<i1, [b = 2, m = 8]>
!band = !nd.tensor<i1, [m = 8, s = 8]>
!mask = !nd.tensor<i1, [b = 2, m = 8, s = 8]>

// Documents, beside a band and a mask of the memory alone.
// CHECK-LABEL: func.func @documents
// CHECK-NOT: nd.compare
// CHECK: nd.attention %arg0, %arg1, %arg1, %arg4, %arg2, %arg3 {highest = 0 : i64, key = "d", memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 1, 1>, position = "s", predicate = #nd<predicate eq>}
func.func @documents(%q: !q, %k: !k, %rows: !bs, %memory: !bm, %known: !known) -> !q {
  %s = nd.iota : () -> !s
  %m = nd.iota : () -> !m
  %causal = nd.compare le %m, %s : (!m, !s) -> !band
  %same = nd.compare eq %rows, %memory : (!bs, !bm) -> !mask
  %0 = nd.and %known, %same : (!known, !mask) -> !mask
  %1 = nd.and %0, %causal : (!mask, !band) -> !mask
  %y, %l = nd.attention %q, %k, %k, %1 {key = "d", memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0>} : (!q, !k, !k, !mask) -> (!q, !r)
  return %y : !q
}

// The memory's label is on the left of the predicate; a negation inverts it.
// CHECK-LABEL: func.func @order
// CHECK: nd.attention %arg0, %arg1, %arg1, %arg2, %arg3 {{.*}}predicate = #nd<predicate ge>}
// CHECK: nd.attention %arg0, %arg1, %arg1, %arg2, %arg3 {{.*}}predicate = #nd<predicate lt>}
func.func @order(%q: !q, %k: !k, %rows: !bs, %memory: !bm) -> (!q, !q) {
  %0 = nd.compare le %rows, %memory : (!bs, !bm) -> !mask
  %y, %l = nd.attention %q, %k, %k, %0 {key = "d", memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0>} : (!q, !k, !k, !mask) -> (!q, !r)
  %1 = nd.not %0 : (!mask) -> !mask
  %z, %o = nd.attention %q, %k, %k, %1 {key = "d", memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0>} : (!q, !k, !k, !mask) -> (!q, !r)
  return %y, %z : !q, !q
}

// A prefix or the past: the index along the memory has one bound for each row, the larger of the two. What is subtracted from a
// bound beyond all indices does not wrap.
// CHECK-LABEL: func.func @prefix
// CHECK-DAG: %[[ONE:.*]] = nd.constant -1 : i32
// CHECK-DAG: %[[LEAST:.*]] = nd.constant 0 : i32
// CHECK-DAG: %[[MOST:.*]] = nd.constant 9 : i32
// CHECK-DAG: %[[S:.*]] = nd.iota : () -> !nd.tensor<i32, [s = 8]>
// CHECK: %[[LOW:.*]] = nd.maximum %arg2, %[[LEAST]]
// CHECK: %[[LENGTH:.*]] = nd.minimum %[[LOW]], %[[MOST]]
// CHECK: %[[LAST:.*]] = nd.add %[[LENGTH]], %[[ONE]]
// CHECK: %[[ROWS:.*]] = nd.maximum %[[S]], %[[LAST]]
// CHECK: %[[M:.*]] = nd.iota : () -> !nd.tensor<i32, [m = 8]>
// CHECK-NOT: nd.or
// CHECK: nd.attention %arg0, %arg1, %arg1, %[[ROWS]], %[[M]] {{.*}}predicate = #nd<predicate le>}
func.func @prefix(%q: !q, %k: !k, %length: !b) -> !q {
  %s = nd.iota : () -> !s
  %m = nd.iota : () -> !m
  %past = nd.compare le %m, %s : (!m, !s) -> !band
  %in = nd.compare lt %m, %length : (!m, !b) -> !known
  %0 = nd.or %past, %in : (!band, !known) -> !mask
  %y, %l = nd.attention %q, %k, %k, %0 {key = "d", memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0>} : (!q, !k, !k, !mask) -> (!q, !r)
  return %y : !q
}

// Bounds from below, in the gradient.
// CHECK-LABEL: func.func @suffix
// CHECK: %[[ROWS:.*]] = nd.minimum %{{.*}}, %arg2 : {{.*}} -> !nd.tensor<i32, [b = 2, s = 8]>
// CHECK: nd.attention_gradient %arg0, %arg1, %arg1, %[[ROWS]], %{{.*}}, %arg0, %arg3, %arg0 {{.*}}predicate = #nd<predicate ge>}
func.func @suffix(%q: !q, %k: !k, %start: !b, %r: !r) -> !q {
  %s = nd.iota : () -> !s
  %m = nd.iota : () -> !m
  %future = nd.compare ge %m, %s : (!m, !s) -> !band
  %in = nd.compare le %start, %m : (!b, !m) -> !known
  %0 = nd.or %future, %in : (!band, !known) -> !mask
  %dq, %dk, %dv = nd.attention_gradient %q, %k, %k, %0, %q, %r, %q {key = "d", memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 1, 1, 1>}
    : (!q, !k, !k, !mask, !q, !r, !q) -> (!q, !k, !k)
  return %dq : !q
}

// The labels of a mask that is computed outside of loops are whole operands of them.
// CHECK-LABEL: func.func @loops
// CHECK-NOT: nd.compare
// CHECK: nd.scan "n" 2 carried(%arg0 : {{[^)]*}}) whole(%arg1, %arg2, %arg3, %arg4 :
// CHECK-NEXT: ^bb0({{.*}}, %[[ROWS:[a-z0-9]+]]: !nd.tensor<i32, [b = 2, s = 8]>, %[[MEMORY:[a-z0-9]+]]: !nd.tensor<i32, [b = 2, m = 8]>, %[[KNOWN:[a-z0-9]+]]: !nd.tensor<i1
// CHECK-NEXT: nd.attention %{{.*}}, %{{.*}}, %{{.*}}, %[[KNOWN]], %[[ROWS]], %[[MEMORY]] {
func.func @loops(%q: !q, %k: !k, %rows: !bs, %memory: !bm, %known: !known) -> !q {
  %same = nd.compare eq %memory, %rows : (!bm, !bs) -> !mask
  %mask = nd.and %same, %known : (!mask, !known) -> !mask
  %y = nd.scan "n" 2 carried(%q : !q) whole(%k, %mask : !k, !mask) -> !q {
  ^bb0(%h: !q, %ki: !k, %allowed: !mask):
    %z, %l = nd.attention %h, %ki, %ki, %allowed {key = "d", memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0>} : (!q, !k, !k, !mask) -> (!q, !r)
    nd.yield %z : !q
  }
  return %y : !q
}

// A mask stays: of floats, a second comparison, bounds from two sides, and one that all rows of a text share.
// CHECK-LABEL: func.func @kept
// CHECK: nd.attention {{.*}} array<i32: 1, 1, 1, 1, 0, 0, 0>}
// CHECK: nd.attention {{.*}} array<i32: 1, 1, 1, 1, 0, 1, 1>, predicate = #nd<predicate eq>}
// CHECK: nd.attention {{.*}} array<i32: 1, 1, 1, 1, 0, 0, 0>}
// CHECK: nd.attention {{.*}} array<i32: 1, 1, 1, 1, 0, 0, 0>}
func.func @kept(%q: !q, %k: !k, %rows: !bs, %memory: !bm, %length: !b, %x: !nd.tensor<f32, [s = 8]>, %z: !nd.tensor<f32, [m = 8]>) -> (!q, !q, !q, !q) {
  %s = nd.iota : () -> !s
  %m = nd.iota : () -> !m
  %floats = nd.compare le %x, %z : (!nd.tensor<f32, [s = 8]>, !nd.tensor<f32, [m = 8]>) -> !band
  %y, %l = nd.attention %q, %k, %k, %floats {key = "d", memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0>} : (!q, !k, !k, !band) -> (!q, !r)
  %same = nd.compare eq %rows, %memory : (!bs, !bm) -> !mask
  %less = nd.compare lt %rows, %memory : (!bs, !bm) -> !mask
  %two = nd.and %same, %less : (!mask, !mask) -> !mask
  %y1, %l1 = nd.attention %q, %k, %k, %two {key = "d", memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0>} : (!q, !k, !k, !mask) -> (!q, !r)
  %past = nd.compare le %m, %s : (!m, !s) -> !band
  %in = nd.compare gt %m, %length : (!m, !b) -> !known
  %sides = nd.or %past, %in : (!band, !known) -> !mask
  %y2, %l2 = nd.attention %q, %k, %k, %sides {key = "d", memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0>} : (!q, !k, !k, !mask) -> (!q, !r)
  %y3, %l3 = nd.attention %q, %k, %k, %in {key = "d", memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0>} : (!q, !k, !k, !known) -> (!q, !r)
  return %y, %y1, %y2, %y3 : !q, !q, !q, !q
}
