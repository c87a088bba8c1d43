// RUN: mesh-opt %s -meshc-decompose-composites | FileCheck %s

// CHECK-NOT: nd.softmax
// CHECK-NOT: momentum_update
!x = !nd.tensor<f32, [batch = 8, model = 4]>
!w = !nd.tensor<f32, [model = 4]>
!s = !nd.tensor<f32, []>
// CHECK-LABEL: func.func @step
func.func @step(%x: !x, %p: !w, %g: !w, %v: !w, %rate: !s) -> (!x, !w, !w) {
  // CHECK: nd.reduce_max
  // CHECK: %[[P:.*]] = nd.{{.*}}{{{.*}}nd.name = "weights"
  %a = nd.softmax %x {dim = "model", nd.name = "weights"} : (!x) -> !x
  %n = nd.step : () -> !nd.tensor<i32, []>
  // The slot, the update's insides, the parameter.
  // CHECK-DAG: %[[V:.*]] = nd.{{.*}}nd.class = "optimizer", nd.name = "w.velocity", nd.of = "w"
  // CHECK-DAG: nd.mul {{.*}}nd.class = "optimizer", nd.name = "w.update", nd.of = "w"
  // CHECK-DAG: %[[W:.*]] = nd.sub {{.*}}nd.class = "parameter", nd.name = "w"}
  %u:2 = nd.momentum_update %p, %g, %n, %v, %rate {computed = ["lr"], nd.name = "w", nd.class = "optimizer", nd.of = "w"} : (!w, !w, !nd.tensor<i32, []>, !w, !s) -> (!w, !w)
  // CHECK: return %[[P]], %[[W]], %[[V]]
  return %a, %u#0, %u#1 : !x, !w, !w
}

// Primitive ops stay as they are, with their names and classes.
// CHECK-LABEL: func.func @primitive
// CHECK-NEXT: nd.reduce_max %arg0 {dims = ["model"], nd.name = "largest"}
// CHECK-NEXT: nd.sub %arg0, %0 {nd.class = "gradient"}
// CHECK-NEXT: nd.einsum %1, %arg0 {reduced = ["model"]}
// CHECK-NEXT: return %2
func.func @primitive(%x: !w) -> !s {
  %0 = nd.reduce_max %x {dims = ["model"], nd.name = "largest"} : (!w) -> !s
  %1 = nd.sub %x, %0 {nd.class = "gradient"} : (!w, !s) -> !w
  %2 = nd.einsum %1, %x {reduced = ["model"]} : (!w, !w) -> !s
  return %2 : !s
}

// Without a name and a class, the new ops have none.
// CHECK-LABEL: func.func @nameless
// CHECK-NOT: nd.name
// CHECK-NOT: nd.class
// CHECK-NOT: nd.softmax
// CHECK: return
func.func @nameless(%x: !w) -> !w {
  %0 = nd.softmax %x {dim = "model"} : (!w) -> !w
  return %0 : !w
}

// In the body of a loop, too, and nowhere else.
// CHECK-LABEL: func.func @loop
// CHECK-NEXT: nd.scan
// CHECK: nd.reduce_max
// CHECK: nd.{{.*}}{{{.*}}nd.name = "weights"
// CHECK: nd.yield
func.func @loop(%x: !x) -> !x {
  %y = nd.scan "layers" 3 carried(%x : !x) -> !x {
  ^bb0(%c: !x):
    %a = nd.softmax %c {dim = "model", nd.name = "weights"} : (!x) -> !x
    nd.yield %a : !x
  }
  return %y : !x
}

// Ranks may share the dim: each block is summed, then what is before each block.
// CHECK-LABEL: func.func @blocks
// CHECK-NEXT: %[[S:.*]] = nd.split_dim %arg0 {dim = "model", into = ["model", "model.entry"], sizes = array<i64: 2, 2>}
// CHECK-NEXT: %[[W:.*]] = nd.prefix_sum %[[S]] {dim = "model.entry"}
// CHECK-NEXT: %[[T:.*]] = nd.reduce_sum %[[S]] {dims = ["model.entry"]}
// CHECK-NEXT: %[[B:.*]] = nd.prefix_sum %[[T]] {dim = "model", exclusive}
// CHECK-NEXT: %[[A:.*]] = nd.add %[[W]], %[[B]]
// CHECK-NEXT: nd.merge_dims %[[A]] {dims = ["model", "model.entry"], into = "model", nd.name = "sums"}
// No rule cuts the dim.
// CHECK-LABEL: func.func @whole
// CHECK-NEXT: nd.prefix_sum %arg0 {dim = "heads", nd.name = "sums"}
module attributes {nd.mesh = #nd.mesh<data = 2, tensor = 2>} {
  nd.rule "model" -> ["data"]
  nd.rule "other" -> ["tensor"]
  func.func @blocks(%x: !nd.tensor<f32, [model = 4]>) -> !nd.tensor<f32, [model = 4]> {
    %0 = nd.cumsum %x {dim = "model", nd.name = "sums"} : (!nd.tensor<f32, [model = 4]>) -> !nd.tensor<f32, [model = 4]>
    return %0 : !nd.tensor<f32, [model = 4]>
  }
  func.func @whole(%x: !nd.tensor<f32, [heads = 4]>) -> !nd.tensor<f32, [heads = 4]> {
    %0 = nd.cumsum %x {dim = "heads", nd.name = "sums"} : (!nd.tensor<f32, [heads = 4]>) -> !nd.tensor<f32, [heads = 4]>
    return %0 : !nd.tensor<f32, [heads = 4]>
  }
}

// Each block's largest entries, then the largest of these.
// CHECK-LABEL: func.func @choose
// CHECK-NEXT: %[[S:.*]] = nd.split_dim %arg0 {dim = "model", into = ["model", "model.entry"], sizes = array<i64: 2, 6>}
// CHECK-NEXT: %[[I:.*]] = nd.argsort %[[S]] {count = 3 : i64, descending, dim = "model.entry", into = "model.chosen"}
// CHECK-NEXT: %[[V:.*]] = nd.gather %[[S]], %[[I]] {dim = "model.entry"}
// CHECK-NEXT: %[[B:.*]] = nd.iota
// CHECK-NEXT: %[[C:.*]] = nd.constant 6 : i32
// CHECK-NEXT: %[[F:.*]] = nd.mul %[[B]], %[[C]]
// CHECK-NEXT: %[[G:.*]] = nd.add %[[I]], %[[F]]
// CHECK-NEXT: %[[M:.*]] = nd.merge_dims %[[V]] {dims = ["model", "model.chosen"], into = "model"}
// CHECK-NEXT: %[[P:.*]] = nd.argsort %[[M]] {count = 3 : i64, descending, dim = "model", into = "best"}
// CHECK-NEXT: %[[N:.*]] = nd.merge_dims %[[G]] {dims = ["model", "model.chosen"], into = "model"}
// CHECK-NEXT: nd.gather %[[N]], %[[P]] {dim = "model", nd.name = "which"}
// Blocks that are not longer than what is chosen save nothing.
// CHECK-LABEL: func.func @chooseMany
// CHECK-NEXT: nd.argsort %arg0 {count = 7 : i64, descending, dim = "model", into = "best"
// No rule cuts the dim.
// CHECK-LABEL: func.func @chooseWhole
// CHECK-NEXT: nd.argsort %arg0 {count = 3 : i64, descending, dim = "heads", into = "best"
module attributes {nd.mesh = #nd.mesh<data = 2, tensor = 3>} {
  nd.rule "model" -> ["data"]
  func.func @choose(%x: !nd.tensor<f32, [model = 12]>) -> !nd.tensor<i32, [best = 3]> {
    %0 = nd.top_k %x {dim = "model", into = "best", count = 3 : i64, nd.name = "which"} : (!nd.tensor<f32, [model = 12]>) -> !nd.tensor<i32, [best = 3]>
    return %0 : !nd.tensor<i32, [best = 3]>
  }
  func.func @chooseMany(%x: !nd.tensor<f32, [model = 12]>) -> !nd.tensor<i32, [best = 7]> {
    %0 = nd.top_k %x {dim = "model", into = "best", count = 7 : i64} : (!nd.tensor<f32, [model = 12]>) -> !nd.tensor<i32, [best = 7]>
    return %0 : !nd.tensor<i32, [best = 7]>
  }
  func.func @chooseWhole(%x: !nd.tensor<f32, [heads = 12]>) -> !nd.tensor<i32, [best = 3]> {
    %0 = nd.top_k %x {dim = "heads", into = "best", count = 3 : i64} : (!nd.tensor<f32, [heads = 12]>) -> !nd.tensor<i32, [best = 3]>
    return %0 : !nd.tensor<i32, [best = 3]>
  }
}
