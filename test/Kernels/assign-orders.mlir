// RUN: mesh-opt %s --meshc-form-fusions --meshc-assign-orders --split-input-file | FileCheck %s

!q = !nd.tensor<f32, [batch = 2, heads = 4, seq = 8, key = 16]>
!k = !nd.tensor<f32, [batch = 2, heads = 4, memory = 8, key = 16]>
!s = !nd.tensor<f32, [batch = 2, heads = 4, seq = 8, memory = 8]>

// Batch dims that lie apart in declared tensors: copies bring them together.
// CHECK-LABEL: @batched
// CHECK: %[[Q:.*]] = exec.fusion {{.*}}(%arg0) {{.*}} {exec.orders = {{\[\[}}"batch", "heads", "seq", "key"]]}
// CHECK: %[[K:.*]] = exec.fusion {{.*}}(%arg1) {{.*}} {exec.orders = {{\[\[}}"batch", "heads", "memory", "key"]]}
// CHECK: exec.product(%[[Q]], %[[K]]) {{.*}} {exec.orders = {{\[\[}}"batch", "heads", "seq", "memory"]]
func.func @batched(%q: !q {nd.order = ["batch", "seq", "heads", "key"]}, %k: !k {nd.order = ["batch", "memory", "heads", "key"]}) -> !s {
  %0 = nd.einsum %q, %k {reduced = ["key"]} : (!q, !k) -> !s
  return %0 : !s
}

// -----

// Any order of two dims is a transposition of the product: no copies.
// CHECK-LABEL: @transposed
// CHECK-NOT: exec.fusion
// CHECK: exec.product(%arg0, %arg1) {{.*}} {exec.orders = {{\[\[}}"c", "a"]]
// CHECK-NOT: exec.fusion
// CHECK: return
func.func @transposed(%a: !nd.tensor<f32, [a = 4, b = 8]> {nd.order = ["b", "a"]}, %b: !nd.tensor<f32, [b = 8, c = 16]> {nd.order = ["c", "b"]})
    -> (!nd.tensor<f32, [a = 4, c = 16]> {nd.order = ["c", "a"]}) {
  %0 = nd.einsum %a, %b {reduced = ["b"]} : (!nd.tensor<f32, [a = 4, b = 8]>, !nd.tensor<f32, [b = 8, c = 16]>) -> !nd.tensor<f32, [a = 4, c = 16]>
  return %0 : !nd.tensor<f32, [a = 4, c = 16]>
}

// -----

!x = !nd.tensor<f32, [a = 4, b = 8, c = 2]>

// The product wants a and b side by side: the kernel before writes them so.
// CHECK-LABEL: @producer_follows
// CHECK: exec.fusion {{.*}}(%arg0) {{.*}} {exec.orders = {{\[\[}}"a", "b", "c"]]}
// CHECK: nd.neg
// CHECK: exec.product{{.*}}exec.orders = {{\[\[}}"a", "b", "d"]]
func.func @producer_follows(%x: !x {nd.order = ["a", "c", "b"]}, %w: !nd.tensor<f32, [c = 2, d = 4]> {nd.order = ["c", "d"]}) -> !nd.tensor<f32, [a = 4, b = 8, d = 4]> {
  %0 = nd.neg %x : (!x) -> !x
  %1 = nd.einsum %0, %w {reduced = ["c"]} : (!x, !nd.tensor<f32, [c = 2, d = 4]>) -> !nd.tensor<f32, [a = 4, b = 8, d = 4]>
  return %1 : !nd.tensor<f32, [a = 4, b = 8, d = 4]>
}

// -----

// An argument returned in another order is copied.
// CHECK-LABEL: @reordered
// CHECK: exec.fusion {{.*}}(%arg0) {{.*}} {exec.orders = {{\[\[}}"b", "a"]]}
func.func @reordered(%x: !nd.tensor<f32, [a = 4, b = 8]> {nd.order = ["a", "b"]}) -> (!nd.tensor<f32, [a = 4, b = 8]> {nd.order = ["b", "a"]}) {
  return %x : !nd.tensor<f32, [a = 4, b = 8]>
}

// -----

!x = !nd.tensor<f32, [batch = 8, model = 4]>
!w = !nd.tensor<f32, [layers = 3, model = 4, out = 4]>
!wi = !nd.tensor<f32, [model = 4, out = 4]>
!y = !nd.tensor<f32, [batch = 8, out = 4]>
!ys = !nd.tensor<f32, [batch = 8, layers = 3, out = 4]>

// A stack of layers: parameters have the loop's dim first as declared. Nothing is
// copied. Stacked results have it first, too.
// CHECK-LABEL: @layers
// CHECK-NOT: exec.fusion
// CHECK: nd.scan {{.*}} attributes {exec.orders = {{\[\[}}"batch", "model"], ["layers", "batch", "out"]]}
// CHECK: exec.product{{.*}}exec.orders = {{\[\[}}"batch", "out"]]
// CHECK: exec.fusion {{.*}}exec.orders = {{\[\[}}"batch", "model"]]
// CHECK-NOT: exec.fusion
// CHECK: return
func.func @layers(%x: !x {nd.order = ["batch", "model"]}, %w: !w {nd.order = ["layers", "model", "out"]}) -> !ys {
  %0:2 = nd.scan "layers" 3 carried(%x : !x) stacked(%w : !w) -> !x, !ys {
  ^bb0(%h: !x, %wi: !wi):
    %y = nd.einsum %h, %wi {reduced = ["model"]} : (!x, !wi) -> !y
    %r = nd.rename %y {from = ["out"], to = ["model"]} : (!y) -> !x
    nd.yield %r, %y : !x, !y
  }
  return %0#1 : !ys
}

// -----

!x = !nd.tensor<f32, [batch = 8, seq = 3, model = 4]>
!xt = !nd.tensor<f32, [batch = 8, model = 4]>
!ys = !nd.tensor<f32, [batch = 8, seq = 3, model = 4]>

// A recurrence over a dim that is not outermost: copies before and after the loop.
// CHECK-LABEL: @recurrence
// CHECK: %[[X:.*]] = exec.fusion {{.*}}(%arg0) {{.*}} {exec.orders = {{\[\[}}"seq", "batch", "model"]]}
// CHECK: %[[Y:.*]]:2 = nd.scan "seq" 3 carried(%arg1 {{.*}} stacked(%[[X]] {{.*}} {exec.orders = {{\[\[}}"batch", "model"], ["seq", "batch", "model"]]}
// CHECK: exec.fusion {{.*}}(%[[Y]]#1) {{.*}} {exec.orders = {{\[\[}}"batch", "seq", "model"]]}
func.func @recurrence(%x: !x {nd.order = ["batch", "seq", "model"]}, %h: !xt {nd.order = ["batch", "model"]}) -> (!ys {nd.order = ["batch", "seq", "model"]}) {
  %0:2 = nd.scan "seq" 3 carried(%h : !xt) stacked(%x : !x) -> !xt, !ys {
  ^bb0(%c: !xt, %e: !xt):
    %y = nd.add %c, %e : (!xt, !xt) -> !xt
    nd.yield %y, %y : !xt, !xt
  }
  return %0#1 : !ys
}

// A kernel before the loop writes the order that the loop reads.
// CHECK-LABEL: @kernel_before
// CHECK: %[[X:.*]] = exec.fusion {{.*}}(%arg0) {{.*}} {exec.orders = {{\[\[}}"seq", "batch", "model"]]}
// CHECK: nd.exp
// CHECK-NOT: exec.fusion
// CHECK: nd.scan "seq" 3 carried(%arg1 {{.*}} stacked(%[[X]]
func.func @kernel_before(%x: !x {nd.order = ["batch", "seq", "model"]}, %h: !xt {nd.order = ["batch", "model"]}) -> !xt {
  %s = nd.exp %x : (!x) -> !x
  %0 = nd.scan "seq" 3 carried(%h : !xt) stacked(%s : !x) -> !xt {
  ^bb0(%c: !xt, %e: !xt):
    %y = nd.add %c, %e : (!xt, !xt) -> !xt
    nd.yield %y : !xt
  }
  return %0 : !xt
}

// -----

!a = !nd.tensor<f32, [i = 2, j = 3, k = 4]>
!ws = !nd.tensor<f32, [k = 4, l = 4, n = 5]>
!w = !nd.tensor<f32, [k = 4, l = 4]>
!c = !nd.tensor<f32, [i = 2, j = 3, l = 4]>

// The product in the body wants i and j side by side. Both copies are outside the
// loop: of the initial value of a carried tensor and of a whole tensor.
// CHECK-LABEL: @body_decides
// CHECK-DAG: %[[A:.*]] = exec.fusion {{.*}}(%arg0) {{.*}} {exec.orders = {{\[\[}}"i", "j", "k"]]}
// CHECK-DAG: %[[B:.*]] = exec.fusion {{.*}}(%arg1) {{.*}} {exec.orders = {{\[\[}}"i", "j", "k"]]}
// CHECK: nd.scan "n" 5 carried(%[[A]] {{.*}} stacked(%arg2 {{.*}} whole(%[[B]]
// CHECK-SAME: exec.orders = {{\[\[}}"i", "j", "k"], ["n", "i", "j", "l"]]
// CHECK-NEXT: ^bb0
// CHECK-NEXT: exec.product
// CHECK-NOT: exec.fusion
// CHECK: exec.product
// CHECK: exec.fusion
func.func @body_decides(%a: !a {nd.order = ["i", "k", "j"]}, %b: !a {nd.order = ["i", "k", "j"]}, %w: !ws {nd.order = ["n", "k", "l"]}) -> !nd.tensor<f32, [i = 2, j = 3, l = 4, n = 5]> {
  %0:2 = nd.scan "n" 5 carried(%a : !a) stacked(%w : !ws) whole(%b : !a) -> !a, !nd.tensor<f32, [i = 2, j = 3, l = 4, n = 5]> {
  ^bb0(%h: !a, %wi: !w, %bi: !a):
    %1 = nd.einsum %h, %wi {reduced = ["k"]} : (!a, !w) -> !c
    %2 = nd.einsum %bi, %wi {reduced = ["k"]} : (!a, !w) -> !c
    %3 = nd.rename %1 {from = ["l"], to = ["k"]} : (!c) -> !a
    nd.yield %3, %2 : !a, !c
  }
  return %0#1 : !nd.tensor<f32, [i = 2, j = 3, l = 4, n = 5]>
}

// -----

!x = !nd.tensor<f32, [batch = 8, model = 4]>
!g = !nd.tensor<f32, [batch = 8, out = 6]>
!gs = !nd.tensor<f32, [batch = 8, layers = 3, out = 6]>
!w = !nd.tensor<f32, [model = 4, out = 6]>
!ws = !nd.tensor<f32, [layers = 3, model = 4, out = 6]>

// Gradients have the orders of their parameters, inside the loop: the accumulator of
// a whole parameter and the entries of a stacked one.
// CHECK-LABEL: @gradients
// CHECK: exec.fusion {{.*}} {exec.orders = {{\[\[}}"out", "model"]]}
// CHECK: nd.constant
// CHECK: nd.scan {{.*}} {exec.orders = {{\[\[}}"out", "model"], ["layers", "out", "model"]]}
// CHECK: exec.product{{.*}} {exec.orders = {{\[\[}}"out", "model"]]
// CHECK: exec.fusion {{.*}} {exec.orders = {{\[\[}}"out", "model"]]}
// CHECK: nd.add
// CHECK: exec.fusion {{.*}} {exec.orders = {{\[\[}}"out", "model"]]}
// CHECK: nd.sub
// CHECK: exec.fusion {{.*}} {exec.orders = {{\[\[}}"layers", "out", "model"]]}
// CHECK: nd.sub
func.func @gradients(%x: !x {nd.order = ["batch", "model"]}, %g: !gs {nd.order = ["layers", "batch", "out"]}, %w: !w {nd.order = ["out", "model"]}, %ws: !ws {nd.order = ["layers", "out", "model"]})
    -> (!w {nd.order = ["out", "model"]}, !ws {nd.order = ["layers", "out", "model"]}) {
  %zero = nd.constant 0.0 : f32 -> !w
  %0:2 = nd.scan "layers" 3 backwards carried(%zero : !w) stacked(%g : !gs) whole(%x : !x) -> !w, !ws {
  ^bb0(%acc: !w, %gi: !g, %h: !x):
    %d = nd.einsum %h, %gi {reduced = ["batch"]} : (!x, !g) -> !w
    %sum = nd.add %acc, %d : (!w, !w) -> !w
    nd.yield %sum, %d : !w, !w
  }
  %1 = nd.sub %w, %0#0 : (!w, !w) -> !w
  %2 = nd.sub %ws, %0#1 : (!ws, !ws) -> !ws
  return %1, %2 : !w, !ws
}

// -----

!x = !nd.tensor<f32, [a = 4, b = 8]>
!w = !nd.tensor<f32, [a = 4, b = 8, c = 2]>
!v = !nd.tensor<f32, [a = 4, c = 2]>

// Carried values that are exchanged need one order: the second is copied before
// the loop, none inside.
// CHECK-LABEL: @exchanged
// CHECK: %[[Y:.*]] = exec.fusion {{.*}}(%arg1) {{.*}} {exec.orders = {{\[\[}}"a", "b"]]}
// CHECK: nd.scan "n" 3 carried(%arg0, %[[Y]] : {{.*}} {exec.orders = {{\[\[}}"a", "b"], ["a", "b"]]}
// CHECK-NEXT: ^bb0(%[[A:.*]]: {{.*}}, %[[B:.*]]: {{.*}}):
// CHECK-NEXT: nd.yield %[[B]], %[[A]]
func.func @exchanged(%x: !x {nd.order = ["a", "b"]}, %y: !x {nd.order = ["b", "a"]}) -> (!x, !x) {
  %0:2 = nd.scan "n" 3 carried(%x, %y : !x, !x) -> !x, !x {
  ^bb0(%a: !x, %b: !x):
    nd.yield %b, %a : !x, !x
  }
  return %0#0, %0#1 : !x, !x
}

// -----

!w = !nd.tensor<f32, [k = 4, l = 4]>
!ws = !nd.tensor<f32, [k = 4, l = 4, n = 5]>
!wss = !nd.tensor<f32, [k = 4, l = 4, n = 5, o = 2]>
!x = !nd.tensor<f32, [i = 3, k = 4]>
!y = !nd.tensor<f32, [i = 3, l = 4]>

// Loops in loops: entries of entries. The copy of the stack is outside both.
// CHECK-LABEL: @nested
// CHECK: %[[W:.*]] = exec.fusion {{.*}}(%arg1) {{.*}} {exec.orders = {{\[\[}}"o", "n", "k", "l"]]}
// CHECK: nd.scan "o" 2 carried(%arg0 {{.*}} stacked(%[[W]]
// CHECK-NEXT: ^bb0(%[[H:.*]]: {{.*}}, %[[V:.*]]: {{.*}}):
// CHECK-NEXT: nd.scan "n" 5 carried(%[[H]] {{.*}} stacked(%[[V]] {{.*}} {exec.orders = {{\[\[}}"i", "k"]]}
func.func @nested(%x: !x {nd.order = ["i", "k"]}, %w: !wss {nd.order = ["n", "o", "k", "l"]}) -> !x {
  %0 = nd.scan "o" 2 carried(%x : !x) stacked(%w : !wss) -> !x {
  ^bb0(%h: !x, %v: !ws):
    %1 = nd.scan "n" 5 carried(%h : !x) stacked(%v : !ws) -> !x {
    ^bb0(%g: !x, %u: !w):
      %y = nd.einsum %g, %u {reduced = ["k"]} : (!x, !w) -> !y
      %r = nd.rename %y {from = ["l"], to = ["k"]} : (!y) -> !x
      nd.yield %r : !x
    }
    nd.yield %1 : !x
  }
  return %0 : !x
}

// -----

!q = !nd.tensor<f32, [batch = 2, heads = 4, seq = 8, key = 16]>
!k = !nd.tensor<f32, [batch = 2, heads = 4, memory = 8, key = 16]>
!s = !nd.tensor<f32, [batch = 2, heads = 4, seq = 8, memory = 8]>
!n = !nd.tensor<f32, [batch = 2, seq = 8, model = 32]>
!w = !nd.tensor<f32, [heads = 4, key = 16, model = 32]>

// Two products that want a computed tensor in the same other order share the copy.
// CHECK-LABEL: @shared_copy
// CHECK: %[[Q:.*]] = exec.product(%arg0, %arg1)
// CHECK: %[[C:.*]] = exec.fusion {{.*}}(%[[Q]]) {{.*}} {exec.orders = {{\[\[}}"batch", "heads", "seq", "key"]]}
// CHECK: exec.product(%[[C]], %arg2)
// CHECK-NOT: exec.fusion
// CHECK: exec.product(%[[C]], %arg3)
func.func @shared_copy(%n: !n {nd.order = ["batch", "seq", "model"]}, %w: !w {nd.order = ["model", "heads", "key"]}, %k: !k {nd.order = ["batch", "heads", "memory", "key"]}, %s: !s {nd.order = ["batch", "heads", "seq", "memory"]}) -> (!s, !k) {
  %q = nd.einsum %n, %w {reduced = ["model"]} : (!n, !w) -> !q
  %0 = nd.einsum %q, %k {reduced = ["key"]} : (!q, !k) -> !s
  %1 = nd.einsum %q, %s {reduced = ["seq"]} : (!q, !s) -> !k
  return %0, %1 : !s, !k
}

// -----

!q = !nd.tensor<f32, [batch = 2, heads = 4, seq = 8, key = 16]>
!qs = !nd.tensor<f32, [batch = 2, heads = 4, layers = 3, seq = 8, key = 16]>
!k = !nd.tensor<f32, [batch = 2, heads = 4, memory = 8, key = 16]>
!s = !nd.tensor<f32, [batch = 2, heads = 4, seq = 8, memory = 8]>
!n = !nd.tensor<f32, [batch = 2, seq = 8, model = 32]>
!w = !nd.tensor<f32, [heads = 4, key = 16, model = 32]>

// What the loop of the gradient reads is stacked as the product in the body reads
// it. No copy remains in the loop of the gradient.
// CHECK-LABEL: @residual
// CHECK: %[[F:.*]]:2 = nd.scan "layers" 3 {{.*}} {exec.orders = {{.*}}["layers", "batch", "heads", "seq", "key"]]}
// CHECK: %[[Q:.*]] = exec.product
// CHECK: %[[C:.*]] = exec.fusion {{.*}}(%[[Q]])
// CHECK: nd.yield %{{.*}}, %[[C]]
// CHECK: nd.scan "layers" 3 backwards
// CHECK-NOT: exec.fusion
// CHECK: exec.product
func.func @residual(%n: !n {nd.order = ["batch", "seq", "model"]}, %w: !w {nd.order = ["model", "heads", "key"]}, %k: !k {nd.order = ["batch", "heads", "memory", "key"]}, %s: !s {nd.order = ["batch", "heads", "seq", "memory"]}) -> (!s, !k) {
  %0:2 = nd.scan "layers" 3 carried(%s : !s) whole(%n, %w, %k : !n, !w, !k) -> !s, !qs {
  ^bb0(%h: !s, %x: !n, %v: !w, %m: !k):
    %q = nd.einsum %x, %v {reduced = ["model"]} : (!n, !w) -> !q
    %y = nd.einsum %q, %m {reduced = ["key"]} : (!q, !k) -> !s
    nd.yield %y, %q : !s, !q
  }
  %1 = nd.scan "layers" 3 backwards carried(%k : !k) stacked(%0#1 : !qs) whole(%s : !s) -> !k {
  ^bb0(%g: !k, %q: !q, %t: !s):
    %d = nd.einsum %q, %t {reduced = ["seq"]} : (!q, !s) -> !k
    nd.yield %d : !k
  }
  return %0#0, %1 : !s, !k
}

// -----

!x = !nd.tensor<f32, [b = 10 on {d}, i = 8, s = 4]>
!y = !nd.tensor<f32, [b = 10 on {d}, j = 16, s = 4]>
!dw = !nd.tensor<f32, [i = 8, j = 16], sum {d}>
!ws = !nd.tensor<f32, [b = 3 on {d}, i = 8, s = 4]>
!vs = !nd.tensor<f32, [b = 3 on {d}, j = 16, s = 4]>

module attributes {nd.mesh = #nd.mesh<d = 4>} {
// The ranks have 3, 3, 3 and 1 entries of b. It becomes the outermost dim of both
// factors, so that a shorter k leaves out the padding.
// CHECK-LABEL: @padding_outermost
// CHECK: %[[X:.*]] = exec.fusion {{.*}}(%arg0) {{.*}} {exec.orders = {{\[\[}}"b", "s", "i"]]}
// CHECK: %[[Y:.*]] = exec.fusion {{.*}}(%arg1) {{.*}} {exec.orders = {{\[\[}}"b", "s", "j"]]}
// CHECK: exec.product(%[[X]], %[[Y]])
func.func @padding_outermost(%x: !x {nd.order = ["s", "b", "i"]}, %y: !y {nd.order = ["s", "b", "j"]}) -> !dw {
  %0 = nd.einsum %x, %y {reduced = ["b", "s"]} : (!x, !y) -> !dw
  return %0 : !dw
}

// With one factor as it must be, the other alone is copied.
// CHECK-LABEL: @one_factor_outermost
// CHECK-NOT: exec.fusion {{.*}}(%arg1)
// CHECK: %[[X:.*]] = exec.fusion {{.*}}(%arg0) {{.*}} {exec.orders = {{\[\[}}"b", "s", "i"]]}
// CHECK: exec.product(%[[X]], %arg1)
func.func @one_factor_outermost(%x: !x {nd.order = ["s", "b", "i"]}, %y: !y {nd.order = ["b", "s", "j"]}) -> !dw {
  %0 = nd.einsum %x, %y {reduced = ["b", "s"]} : (!x, !y) -> !dw
  return %0 : !dw
}

// Blocks of one entry lie everywhere: all of k exists, or nothing.
// CHECK-LABEL: @blocks_of_one
// CHECK-NOT: exec.fusion
// CHECK: exec.product(%arg0, %arg1)
func.func @blocks_of_one(%x: !ws {nd.order = ["s", "b", "i"]}, %y: !vs {nd.order = ["s", "b", "j"]}) -> !dw {
  %0 = nd.einsum %x, %y {reduced = ["b", "s"]} : (!ws, !vs) -> !dw
  return %0 : !dw
}
}

// -----

!x = !nd.tensor<f32, [b = 12 on {d}, i = 8, s = 4]>
!y = !nd.tensor<f32, [b = 12 on {d}, j = 16, s = 4]>
!dw = !nd.tensor<f32, [i = 8, j = 16], sum {d}>

module attributes {nd.mesh = #nd.mesh<d = 4>} {
// Without padding, the factors stay as they are.
// CHECK-LABEL: @without_padding
// CHECK-NOT: exec.fusion
// CHECK: exec.product(%arg0, %arg1)
func.func @without_padding(%x: !x {nd.order = ["s", "b", "i"]}, %y: !y {nd.order = ["s", "b", "j"]}) -> !dw {
  %0 = nd.einsum %x, %y {reduced = ["b", "s"]} : (!x, !y) -> !dw
  return %0 : !dw
}
}

// -----

!x = !nd.tensor<f32, [batch = 4, model = 256]>
!w = !nd.tensor<f32, [experts = 3, model = 256, ffn = 128]>
!y = !nd.tensor<f32, [batch = 4, experts = 3, ffn = 128]>

// All experts' weights for a few rows: the product is repeated for each expert, since a copy of the weights would take longer.
// CHECK-LABEL: @repeated
// CHECK-NOT: exec.fusion
// CHECK: exec.product(%arg0, %arg1) {{.*}} {exec.orders = {{\[\[}}"batch", "experts", "ffn"]]
// CHECK-NOT: exec.fusion
// CHECK: return
func.func @repeated(%x: !x {nd.order = ["batch", "model"]}, %w: !w {nd.order = ["experts", "model", "ffn"]}) -> (!y {nd.order = ["batch", "experts", "ffn"]}) {
  %0 = nd.einsum %x, %w {reduced = ["model"]} : (!x, !w) -> !y
  return %0 : !y
}

// -----

!x = !nd.tensor<f32, [batch = 4, model = 256]>
!w = !nd.tensor<f32, [experts = 3, model = 256, ffn = 128]>
!y = !nd.tensor<f32, [batch = 4, experts = 3, ffn = 128]>

// In the other place of the product, too.
// CHECK-LABEL: @repeated_first
// CHECK-NOT: exec.fusion
// CHECK: exec.product(%arg1, %arg0)
// CHECK-NOT: exec.fusion
// CHECK: return
func.func @repeated_first(%x: !x {nd.order = ["batch", "model"]}, %w: !w {nd.order = ["experts", "model", "ffn"]}) -> (!y {nd.order = ["batch", "experts", "ffn"]}) {
  %0 = nd.einsum %w, %x {reduced = ["model"]} : (!w, !x) -> !y
  return %0 : !y
}

// -----

!x = !nd.tensor<f32, [batch = 129, model = 256]>
!w = !nd.tensor<f32, [experts = 3, model = 256, ffn = 128]>
!y = !nd.tensor<f32, [batch = 129, experts = 3, ffn = 128]>

// For many rows, a copy makes one larger product.
// CHECK-LABEL: @copied
// CHECK: %[[W:.*]] = exec.fusion {{.*}}(%arg1)
// CHECK: exec.product(%arg0, %[[W]])
func.func @copied(%x: !x {nd.order = ["batch", "model"]}, %w: !w {nd.order = ["experts", "model", "ffn"]}) -> (!y {nd.order = ["batch", "experts", "ffn"]}) {
  %0 = nd.einsum %x, %w {reduced = ["model"]} : (!x, !w) -> !y
  return %0 : !y
}

// -----

!x = !nd.tensor<f32, [groups = 2, model = 256, batch = 64]>
!w = !nd.tensor<f32, [experts = 2, model = 256, ffn = 64]>
!y = !nd.tensor<f32, [batch = 64, experts = 2, ffn = 64, groups = 2]>

// A product is repeated along dims of one factor. The other one is copied.
// CHECK-LABEL: @both
// CHECK: %[[W:.*]] = exec.fusion {{.*}}(%arg1)
// CHECK: exec.product(%arg0, %[[W]])
func.func @both(%x: !x {nd.order = ["groups", "model", "batch"]}, %w: !w {nd.order = ["experts", "model", "ffn"]}) -> !y {
  %0 = nd.einsum %x, %w {reduced = ["model"]} : (!x, !w) -> !y
  return %0 : !y
}
