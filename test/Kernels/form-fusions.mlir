// RUN: mesh-opt %s --meshc-form-fusions --split-input-file --verify-diagnostics | FileCheck %s

!x = !nd.tensor<f32, [batch = 64, model = 32]>
!rows = !nd.tensor<f32, [batch = 64]>

// Softmax: both reductions and the result in one kernel.
// CHECK-LABEL: @softmax
// CHECK: exec.fusion <parallel = ["batch"], reduce = ["model"], lanes = "", sizes = [64, 32]>(%arg0)
// CHECK: nd.reduce_max
// CHECK: nd.reduce_sum
// CHECK: exec.yield
// CHECK-NOT: exec.fusion
func.func @softmax(%x: !x) -> !x {
  %max = nd.reduce_max %x {dims = ["model"]} : (!x) -> !rows
  %shifted = nd.sub %x, %max : (!x, !rows) -> !x
  %exp = nd.exp %shifted : (!x) -> !x
  %sum = nd.reduce_sum %exp {dims = ["model"]} : (!x) -> !rows
  %y = nd.div %exp, %sum : (!x, !rows) -> !x
  return %y : !x
}

// -----

!x = !nd.tensor<f32, [batch = 64, model = 32]>
!w = !nd.tensor<f32, [model = 32, out = 16]>
!y = !nd.tensor<f32, [batch = 64, out = 16]>
!b = !nd.tensor<f32, [out = 16]>

// Bias and relu in one kernel behind the product; the bias' gradient, a sum over
// the other dim, in another.
// CHECK-LABEL: @dense
// CHECK: %[[P:.*]] = exec.product
// CHECK: %[[H:.*]] = exec.fusion <parallel = ["batch", "out"], reduce = [], lanes = "", sizes = [64, 16]>(%{{.*}}) {{.*}}
// CHECK: nd.add
// CHECK: nd.relu
// CHECK: exec.fusion <parallel = ["out"], reduce = ["batch"], lanes = "", sizes = [16, 64]>(%[[H]])
// CHECK: nd.reduce_sum
func.func @dense(%x: !x, %w: !w, %b: !b) -> (!y, !b) {
  %0 = nd.einsum %x, %w {reduced = ["model"]} : (!x, !w) -> !y
  %1 = nd.add %0, %b : (!y, !b) -> !y
  %2 = nd.relu %1 : (!y) -> !y
  %3 = nd.reduce_sum %2 {dims = ["batch"]} : (!y) -> !b
  return %2, %3 : !y, !b
}

// -----

!p = !nd.tensor<f32, [i = 64, j = 64]>

// Two results over the same loops: one kernel, which reads each input once.
// CHECK-LABEL: @momentum
// CHECK: %[[R:.*]]:2 = exec.fusion
// CHECK-NOT: exec.fusion
// CHECK: return %[[R]]#{{[01]}}, %[[R]]#{{[01]}}
func.func @momentum(%p: !p, %g: !p, %v: !p) -> (!p, !p) {
  %m = nd.constant 0.9 : f32 -> !nd.tensor<f32, []>
  %0 = nd.mul %v, %m : (!p, !nd.tensor<f32, []>) -> !p
  %1 = nd.add %0, %g : (!p, !p) -> !p
  %2 = nd.sub %p, %1 : (!p, !p) -> !p
  return %2, %1 : !p, !p
}

// -----

!p = !nd.tensor<f32, [i = 64, j = 64]>
!s = !nd.tensor<f32, []>

// What is expensive and the same for all elements is computed once before.
// CHECK-LABEL: @scalar_once
// CHECK: %[[S:.*]] = exec.fusion <parallel = [], reduce = []
// CHECK: nd.exp
// CHECK: exec.fusion <parallel = ["i", "j"]{{.*}}(%[[S]], %arg0)
// CHECK-NOT: nd.exp
func.func @scalar_once(%p: !p, %s: !s) -> !p {
  %0 = nd.exp %s : (!s) -> !s
  %1 = nd.mul %p, %0 : (!p, !s) -> !p
  return %1 : !p
}

// -----

!p = !nd.tensor<f32, [i = 64, j = 64]>

// Cheap: computed where it is used, twice. Here the users are apart because a
// product lies between them.
// CHECK-LABEL: @cheap_twice
// CHECK: exec.fusion {{.*}}(%arg0)
// CHECK: nd.neg
// CHECK: exec.product
// CHECK: exec.fusion
// CHECK-DAG: nd.neg
// CHECK-DAG: nd.add
func.func @cheap_twice(%p: !p, %w: !nd.tensor<f32, [j = 64, k = 64]>) -> !nd.tensor<f32, [i = 64, j = 64, k = 64]> {
  %0 = nd.neg %p : (!p) -> !p
  %1 = nd.square %0 : (!p) -> !p
  %2 = nd.einsum %1, %w {reduced = ["j"]} : (!p, !nd.tensor<f32, [j = 64, k = 64]>) -> !nd.tensor<f32, [i = 64, k = 64]>
  %3 = nd.add %0, %2 : (!p, !nd.tensor<f32, [i = 64, k = 64]>) -> !nd.tensor<f32, [i = 64, j = 64, k = 64]>
  return %3 : !nd.tensor<f32, [i = 64, j = 64, k = 64]>
}

// -----

!x = !nd.tensor<f32, [a = 64, b = 64]>
!a = !nd.tensor<f32, [a = 64]>

// A reduction that is read under another name is a kernel of its own: within
// one, it would be asked for at points other than its own.
// CHECK-LABEL: @renamed
// CHECK: %[[S:.*]] = exec.fusion <parallel = ["a"], reduce = ["b"]
// CHECK: exec.fusion <parallel = ["a", "b"], reduce = []{{.*}}(%[[S]], %arg0)
// CHECK: nd.rename
func.func @renamed(%x: !x) -> !x {
  %0 = nd.reduce_sum %x {dims = ["b"]} : (!x) -> !a
  %1 = nd.rename %0 {from = ["a"], to = ["b"]} : (!a) -> !nd.tensor<f32, [b = 64]>
  %2 = nd.add %x, %1 : (!x, !nd.tensor<f32, [b = 64]>) -> !x
  return %2 : !x
}

// -----

!x = !nd.tensor<f32, [batch = 64, model = 32]>
!rows = !nd.tensor<f32, [batch = 64]>
!cols = !nd.tensor<f32, [model = 32]>

// Layer normalization's gain gradient sums over the other dim what the rows'
// statistics give: these are stored (64 entries each), the product is not.
// CHECK-LABEL: @statistics
// CHECK: %[[M:.*]] = exec.fusion <parallel = ["batch"], reduce = ["model"]{{.*}}(%arg0) : {{.*}} -> !nd.tensor<f32, [batch = 64]>
// CHECK: exec.fusion <parallel = ["model"], reduce = ["batch"]{{.*}} -> !nd.tensor<f32, [model = 32]>
func.func @statistics(%x: !x, %g: !x) -> !cols {
  %0 = nd.reduce_sum %x {dims = ["model"]} : (!x) -> !rows
  %1 = nd.sub %x, %0 : (!x, !rows) -> !x
  %2 = nd.mul %1, %g : (!x, !x) -> !x
  %3 = nd.reduce_sum %2 {dims = ["batch"]} : (!x) -> !cols
  return %3 : !cols
}

// -----

// A scatter has loops of its own; cheap operands are computed in them.
// CHECK-LABEL: @scatter
// CHECK: exec.fusion <parallel = ["model", "vocab"], reduce = ["batch"]
// CHECK: nd.neg
// CHECK: nd.scatter_add
func.func @scatter(%u: !nd.tensor<f32, [batch = 64, model = 32]>, %i: !nd.tensor<i32, [batch = 64]>) -> !nd.tensor<f32, [model = 32, vocab = 100]> {
  %0 = nd.neg %u : (!nd.tensor<f32, [batch = 64, model = 32]>) -> !nd.tensor<f32, [batch = 64, model = 32]>
  %1 = nd.scatter_add %0, %i {dim = "vocab"} : (!nd.tensor<f32, [batch = 64, model = 32]>, !nd.tensor<i32, [batch = 64]>) -> !nd.tensor<f32, [model = 32, vocab = 100]>
  return %1 : !nd.tensor<f32, [model = 32, vocab = 100]>
}

// -----

func.func @composite(%x: !nd.tensor<f32, [a = 4]>) -> !nd.tensor<f32, [a = 4]> {
  // expected-error @below {{'nd.softmax' must be decomposed before kernels are formed}}
  %0 = nd.softmax %x {dim = "a"} : (!nd.tensor<f32, [a = 4]>) -> !nd.tensor<f32, [a = 4]>
  return %0 : !nd.tensor<f32, [a = 4]>
}

// -----

!w = !nd.tensor<f32, [d = 8]>
!part = !nd.tensor<f32, [d = 2]>
!scalar = !nd.tensor<f32, []>

// Sums along dims of one name and different sizes run over different loops.
// CHECK-LABEL: @part_and_whole
// CHECK-DAG: exec.fusion <parallel = [], reduce = ["d"], lanes = "", sizes = [8]>
// CHECK-DAG: exec.fusion <parallel = [], reduce = ["d"], lanes = "", sizes = [2]>
func.func @part_and_whole(%w: !w) -> (!scalar, !scalar) {
  %whole = nd.reduce_sum %w {dims = ["d"]} : (!w) -> !scalar
  %slice = nd.slice %w {dim = "d", start = 0, size = 2} : (!w) -> !part
  %exp = nd.exp %slice : (!part) -> !part
  %part = nd.reduce_sum %exp {dims = ["d"]} : (!part) -> !scalar
  return %whole, %part : !scalar, !scalar
}

// -----

!w = !nd.tensor<f32, [d = 8]>
!g = !nd.tensor<f32, [d = 8 on {x}]>
!scalar = !nd.tensor<f32, []>

// So do those of the whole tensor and of a rank's block of another.
// CHECK-LABEL: @block_and_whole
// CHECK-DAG: exec.fusion <parallel = [], reduce = ["d"], lanes = "", sizes = [8]>
// CHECK-DAG: exec.fusion <parallel = ["d"], reduce = [], lanes = "", sizes = [2]>
module attributes {nd.mesh = #nd.mesh<x = 4>} {
func.func @block_and_whole(%w: !w, %g: !g) -> (!scalar, !g) {
  %whole = nd.reduce_sum %w {dims = ["d"]} : (!w) -> !scalar
  %new = nd.mul %g, %whole : (!g, !scalar) -> !g
  return %whole, %new : !scalar, !g
}
}

// -----

!q = !nd.tensor<f32, [batch = 2, heads = 4, seq = 8, key = 16]>
!k = !nd.tensor<f32, [batch = 2, heads = 4, memory = 8, key = 16]>
!s = !nd.tensor<f32, [batch = 2, heads = 4, seq = 8, memory = 8]>
!r = !nd.tensor<f32, [batch = 2, heads = 4, seq = 8]>

// What is declared has heads last, but the product puts its batch dims first:
// memory is contiguous, and a softmax one kernel.
// CHECK-LABEL: @attention
// CHECK: exec.product
// CHECK: exec.fusion <parallel = ["batch", "heads", "seq"], reduce = ["memory"]
// CHECK: nd.reduce_max
// CHECK: nd.reduce_sum
// CHECK-NOT: exec.fusion
// CHECK: return
func.func @attention(%q: !q {nd.order = ["batch", "seq", "heads", "key"]}, %k: !k {nd.order = ["batch", "memory", "heads", "key"]}) -> !s {
  %0 = nd.einsum %q, %k {reduced = ["key"]} : (!q, !k) -> !s
  %1 = nd.reduce_max %0 {dims = ["memory"]} : (!s) -> !r
  %2 = nd.sub %0, %1 : (!s, !r) -> !s
  %3 = nd.exp %2 : (!s) -> !s
  %4 = nd.reduce_sum %3 {dims = ["memory"]} : (!s) -> !r
  %5 = nd.div %3, %4 : (!s, !r) -> !s
  return %5 : !s
}

// -----

// What takes less time than its launch shares one with its like.
// CHECK-LABEL: @small
// CHECK: exec.fusion <parallel = [], reduce = ["a"]
// CHECK: nd.reduce_sum
// CHECK: nd.reduce_max
// CHECK-NOT: exec.fusion
// CHECK: return
func.func @small(%x: !nd.tensor<f32, [a = 512]>, %y: !nd.tensor<f32, [a = 512]>) -> (!nd.tensor<f32, []>, !nd.tensor<f32, []>) {
  %0 = nd.reduce_sum %x {dims = ["a"]} : (!nd.tensor<f32, [a = 512]>) -> !nd.tensor<f32, []>
  %1 = nd.reduce_max %y {dims = ["a"]} : (!nd.tensor<f32, [a = 512]>) -> !nd.tensor<f32, []>
  return %0, %1 : !nd.tensor<f32, []>, !nd.tensor<f32, []>
}

// -----

// CHECK-LABEL: @large
// CHECK: exec.fusion
// CHECK: exec.fusion
func.func @large(%x: !nd.tensor<f32, [a = 65536]>, %y: !nd.tensor<f32, [a = 65536]>) -> (!nd.tensor<f32, []>, !nd.tensor<f32, []>) {
  %0 = nd.reduce_sum %x {dims = ["a"]} : (!nd.tensor<f32, [a = 65536]>) -> !nd.tensor<f32, []>
  %1 = nd.reduce_max %y {dims = ["a"]} : (!nd.tensor<f32, [a = 65536]>) -> !nd.tensor<f32, []>
  return %0, %1 : !nd.tensor<f32, []>, !nd.tensor<f32, []>
}

// -----

!x = !nd.tensor<f32, [batch = 64, model = 32]>
!rows = !nd.tensor<f32, [batch = 64]>

// A chain of four dependent reductions is one kernel. The fifth reduction begins
// another one. %3 is stored between them, not its square: the second kernel uses
// %3 twice.
// CHECK-LABEL: @stages
// CHECK: %[[F:.*]] = exec.fusion <parallel = ["batch"], reduce = ["model"], lanes = "", sizes = [64, 32]>(%arg0)
// CHECK-COUNT-4: nd.reduce_max
// CHECK: exec.yield
// CHECK: %[[S:.*]] = exec.fusion <parallel = ["batch"], reduce = ["model"], lanes = "", sizes = [64, 32]>(%[[F]])
// CHECK-COUNT-1: nd.reduce_max
// CHECK: exec.yield
// CHECK: return %[[S]]
func.func @stages(%x: !x) -> !x {
  %m0 = nd.reduce_max %x {dims = ["model"]} : (!x) -> !rows
  %0 = nd.sub %x, %m0 : (!x, !rows) -> !x
  %m1 = nd.reduce_max %0 {dims = ["model"]} : (!x) -> !rows
  %1 = nd.sub %0, %m1 : (!x, !rows) -> !x
  %m2 = nd.reduce_max %1 {dims = ["model"]} : (!x) -> !rows
  %2 = nd.sub %1, %m2 : (!x, !rows) -> !x
  %m3 = nd.reduce_max %2 {dims = ["model"]} : (!x) -> !rows
  %3 = nd.sub %2, %m3 : (!x, !rows) -> !x
  %sq = nd.square %3 : (!x) -> !x
  %m4 = nd.reduce_max %sq {dims = ["model"]} : (!x) -> !rows
  %4 = nd.sub %3, %m4 : (!x, !rows) -> !x
  return %4 : !x
}

// -----

!x = !nd.tensor<f32, [batch = 64, model = 32]>
!w = !nd.tensor<f32, [model = 32]>
!ws = !nd.tensor<f32, [layers = 3, model = 32]>
!ys = !nd.tensor<f32, [batch = 64, layers = 3, model = 32]>
!n = !nd.tensor<i32, [layers = 3]>
!i = !nd.tensor<i32, []>

// A loop reads and writes memory, as a product does: its operands are stored,
// even constants. So are the values that its body yields. Nothing is fused across its
// border.
// CHECK-LABEL: @loop
// CHECK: %[[ZERO:.*]] = exec.fusion
// CHECK: nd.constant 0
// CHECK: %[[N:.*]] = exec.fusion
// CHECK: nd.iota
// CHECK: %[[S:.*]] = exec.fusion {{.*}}(%arg1)
// CHECK: nd.exp
// CHECK: %[[Y:.*]]:2 = nd.scan "layers" 3 carried(%[[ZERO]] : {{.*}}) stacked(%[[S]], %[[N]] : {{.*}}) whole(%arg0 : {{.*}})
// CHECK: ^bb0(%[[H:.*]]: {{.*}}, %[[W:.*]]: {{.*}}, %[[I:.*]]: {{.*}}, %[[B:.*]]: {{.*}}):
// CHECK: %[[F:.*]] = exec.fusion <parallel = ["batch", "model"], reduce = [], lanes = "", sizes = [64, 32]>
// CHECK: nd.random uniform "r"(%{{.*}} : !nd.tensor<i32, []>)
// CHECK: exec.yield
// CHECK-NOT: exec.fusion
// CHECK: nd.yield %[[F]], %[[F]]
// CHECK: exec.fusion <parallel = ["batch"], reduce = ["model"], lanes = "", sizes = [64, 32]>(%[[Y]]#0)
func.func @loop(%x: !x, %w: !ws) -> (!nd.tensor<f32, [batch = 64]>, !ys) {
  %zero = nd.constant 0.0 : f32 -> !x
  %n = nd.iota : () -> !n
  %s = nd.exp %w : (!ws) -> !ws
  %y:2 = nd.scan "layers" 3 carried(%zero : !x) stacked(%s, %n : !ws, !n) whole(%x : !x) -> !x, !ys {
  ^bb0(%h: !x, %wi: !w, %i: !i, %b: !x):
    %r = nd.random uniform "r" (%i : !i) : !x
    %0 = nd.mul %b, %wi : (!x, !w) -> !x
    %1 = nd.add %0, %r : (!x, !x) -> !x
    %2 = nd.add %1, %h : (!x, !x) -> !x
    nd.yield %2, %2 : !x, !x
  }
  %sum = nd.reduce_sum %y#0 {dims = ["model"]} : (!x) -> !nd.tensor<f32, [batch = 64]>
  return %sum, %y#1 : !nd.tensor<f32, [batch = 64]>, !ys
}

// -----

!x = !nd.tensor<f32, [batch = 64, model = 32]>

// Bodies of loops in loops are blocks of their own.
// CHECK-LABEL: @nested
// CHECK: nd.scan "n" 2
// CHECK-NEXT: ^bb0
// CHECK-NEXT: %[[Z:.*]] = nd.scan "k" 2
// CHECK-NEXT: ^bb0(%[[D:.*]]: {{.*}}):
// CHECK-NEXT: exec.fusion {{.*}}(%[[D]])
// CHECK: nd.exp
// CHECK: exec.fusion {{.*}}(%[[Z]])
// CHECK: nd.neg
func.func @nested(%x: !x) -> !x {
  %y = nd.scan "n" 2 carried(%x : !x) -> !x {
  ^bb0(%c: !x):
    %z = nd.scan "k" 2 carried(%c : !x) -> !x {
    ^bb0(%d: !x):
      %e = nd.exp %d : (!x) -> !x
      nd.yield %e : !x
    }
    %m = nd.neg %z : (!x) -> !x
    nd.yield %m : !x
  }
  return %y : !x
}

// -----

!x = !nd.tensor<f32, [batch = 64, model = 32]>

func.func @composite_in_loop(%x: !x) -> !x {
  %y = nd.scan "n" 2 carried(%x : !x) -> !x {
  ^bb0(%c: !x):
    // expected-error @below {{'nd.softmax' must be decomposed before kernels are formed}}
    %e = nd.softmax %c {dim = "model"} : (!x) -> !x
    nd.yield %e : !x
  }
  return %y : !x
}

// -----

!s = !nd.tensor<f32, []>
!w = !nd.tensor<f32, [i = 64, j = 512]>

// Two updates with one expensive scalar are two kernels: each could wait for its
// own gradient.
// CHECK-LABEL: @scalar_is_shared
// CHECK: %[[S:.*]] = exec.fusion <parallel = [], reduce = [], lanes = "", sizes = []>
// CHECK: %[[P:.*]] = exec.fusion {{.*}}(%[[S]], %arg0)
// CHECK: %[[Q:.*]] = exec.fusion {{.*}}(%[[S]], %arg1)
// CHECK: return %[[P]], %[[Q]]
func.func @scalar_is_shared(%p: !w, %q: !w, %t: !s) -> (!w, !w) {
  %0 = nd.exp %t : (!s) -> !s
  %1 = nd.exp %0 : (!s) -> !s
  %2 = nd.mul %p, %1 : (!w, !s) -> !w
  %3 = nd.mul %q, %1 : (!w, !s) -> !w
  return %2, %3 : !w, !w
}

// -----

!w = !nd.tensor<f32, [i = 64, j = 512]>

// Of three kernels that read %x, the first two are one. The third would read %r
// and write its result with a stride.
// CHECK-LABEL: @one_memory_order
// CHECK: %[[A:.*]]:2 = exec.fusion {{.*}} : ({{.*}}) -> (!nd.tensor<f32, [i = 64, j = 512]>, !nd.tensor<f32, [i = 64, j = 512]>)
// CHECK: %[[B:.*]] = exec.fusion
// CHECK: return %[[A]]#{{[01]}}, %[[A]]#{{[01]}}, %[[B]]
func.func @one_memory_order(%x: !w, %p: !w {nd.order = ["i", "j"]}, %q: !w {nd.order = ["i", "j"]}, %r: !w {nd.order = ["j", "i"]})
    -> (!w {nd.order = ["i", "j"]}, !w {nd.order = ["i", "j"]}, !w {nd.order = ["j", "i"]}) {
  %0 = nd.add %p, %x : (!w, !w) -> !w
  %1 = nd.add %q, %x : (!w, !w) -> !w
  %2 = nd.add %r, %x : (!w, !w) -> !w
  return %0, %1, %2 : !w, !w, !w
}

// -----

// A sort reads entries many times: what it sorts is computed once, before it.
// CHECK-LABEL: @sort
// CHECK: %[[E:.*]] = exec.fusion <parallel = ["batch", "model"], {{.*}}>(%arg0)
// CHECK: nd.neg
// CHECK: exec.fusion <parallel = ["batch"], {{.*}}>(%[[E]])
// CHECK-NEXT: ^bb0
// CHECK-NEXT: nd.argsort
func.func @sort(%x: !nd.tensor<f32, [batch = 64, model = 32]>) -> !nd.tensor<i32, [batch = 64, model = 32]> {
  %0 = nd.neg %x : (!nd.tensor<f32, [batch = 64, model = 32]>) -> !nd.tensor<f32, [batch = 64, model = 32]>
  %1 = nd.argsort %0 {dim = "model", into = "model", count = 32 : i64} : (!nd.tensor<f32, [batch = 64, model = 32]>) -> !nd.tensor<i32, [batch = 64, model = 32]>
  return %1 : !nd.tensor<i32, [batch = 64, model = 32]>
}

// -----

// What only looks at other dims is not copied for it.
// CHECK-LABEL: @sortSplit
// CHECK: exec.fusion <parallel = ["batch", "outer"], {{.*}}>(%arg0)
// CHECK: nd.split_dim
// CHECK-NEXT: nd.argsort
func.func @sortSplit(%x: !nd.tensor<f32, [batch = 64, model = 32]>) -> !nd.tensor<i32, [batch = 64, inner = 8, outer = 4]> {
  %0 = nd.split_dim %x {dim = "model", into = ["outer", "inner"], sizes = array<i64: 4, 8>} : (!nd.tensor<f32, [batch = 64, model = 32]>) -> !nd.tensor<f32, [batch = 64, inner = 8, outer = 4]>
  %1 = nd.argsort %0 {dim = "inner", into = "inner", count = 8 : i64} : (!nd.tensor<f32, [batch = 64, inner = 8, outer = 4]>) -> !nd.tensor<i32, [batch = 64, inner = 8, outer = 4]>
  return %1 : !nd.tensor<i32, [batch = 64, inner = 8, outer = 4]>
}
