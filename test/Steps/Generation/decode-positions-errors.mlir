// RUN: mesh-opt %s -split-input-file -verify-diagnostics -meshc-decode-positions

// A mean over positions.
!l = !nd.tensor<f32, [batch = 2, seq = 4, vocab = 8]>
func.func @generate_step(
    %w: !nd.tensor<f32, [from = 8, vocab = 8]> {nd.class = "parameter", nd.name = "w", nd.order = ["from", "vocab"], nd.role = "parameter"},
    %x: !nd.tensor<i32, [batch = 2, seq = 4]> {nd.name = "x", nd.order = ["batch", "seq"], nd.role = "input"},
    %other: !nd.tensor<f32, [batch = 2, seq = 4, vocab = 8]> {nd.name = "other", nd.order = ["batch", "seq", "vocab"], nd.role = "input"})
    -> (!l {nd.name = "logits", nd.order = [], nd.role = "logits"}) {
  %y = nd.gather %w, %x {dim = "from"} : (!nd.tensor<f32, [from = 8, vocab = 8]>, !nd.tensor<i32, [batch = 2, seq = 4]>) -> !l
  // expected-error @below {{generation computes the positions of 'seq' one after the other, and this operation combines all entries of 'seq'; write it as dot_attention with the mask iota(memory) <= iota(seq), or as a loop over 'seq'; in_generation says what generation computes instead}}
  %a = nd.reduce_mean %y {dims = ["seq"]} : (!l) -> !nd.tensor<f32, [batch = 2, vocab = 8]>
  %b = nd.sub %y, %a : (!l, !nd.tensor<f32, [batch = 2, vocab = 8]>) -> !l
  return %b : !l
}
nd.generate @m "x" -> "logits" over "vocab" along "seq"

// -----

// The next position.
!l = !nd.tensor<f32, [batch = 2, seq = 4, vocab = 8]>
func.func @generate_step(
    %w: !nd.tensor<f32, [from = 8, vocab = 8]> {nd.class = "parameter", nd.name = "w", nd.order = ["from", "vocab"], nd.role = "parameter"},
    %x: !nd.tensor<i32, [batch = 2, seq = 4]> {nd.name = "x", nd.order = ["batch", "seq"], nd.role = "input"},
    %other: !nd.tensor<f32, [batch = 2, seq = 4, vocab = 8]> {nd.name = "other", nd.order = ["batch", "seq", "vocab"], nd.role = "input"})
    -> (!l {nd.name = "logits", nd.order = [], nd.role = "logits"}) {
  %y = nd.gather %w, %x {dim = "from"} : (!nd.tensor<f32, [from = 8, vocab = 8]>, !nd.tensor<i32, [batch = 2, seq = 4]>) -> !l
  %a = nd.pad %y {dim = "seq", low = 0 : i64, high = 1 : i64, value = 0.0 : f64} : (!l) -> !nd.tensor<f32, [batch = 2, seq = 5, vocab = 8]>
  // expected-error @below {{generation computes the positions of 'seq' one after the other, and this operation needs others than its own}}
  %b = nd.slice %a {dim = "seq", start = 1 : i64, size = 4 : i64} : (!nd.tensor<f32, [batch = 2, seq = 5, vocab = 8]>) -> !l
  return %b : !l
}
nd.generate @m "x" -> "logits" over "vocab" along "seq"

// -----

// Attention to later positions.
!l = !nd.tensor<f32, [batch = 2, seq = 4, vocab = 8]>
!m = !nd.tensor<f32, [batch = 2, memory = 4, vocab = 8]>
func.func @generate_step(
    %w: !nd.tensor<f32, [from = 8, vocab = 8]> {nd.class = "parameter", nd.name = "w", nd.order = ["from", "vocab"], nd.role = "parameter"},
    %x: !nd.tensor<i32, [batch = 2, seq = 4]> {nd.name = "x", nd.order = ["batch", "seq"], nd.role = "input"},
    %other: !nd.tensor<f32, [batch = 2, seq = 4, vocab = 8]> {nd.name = "other", nd.order = ["batch", "seq", "vocab"], nd.role = "input"})
    -> (!l {nd.name = "logits", nd.order = [], nd.role = "logits"}) {
  %y = nd.gather %w, %x {dim = "from"} : (!nd.tensor<f32, [from = 8, vocab = 8]>, !nd.tensor<i32, [batch = 2, seq = 4]>) -> !l
  %k = nd.rename %y {from = ["seq"], to = ["memory"]} : (!l) -> !m
  // expected-error @below {{this attention may see later entries of 'memory'; give dot_attention the mask iota(memory) <= iota(seq), alone or joined to others by 'and'}}
  %a, %s = nd.attention %y, %k, %k {key = "vocab", memory = "memory", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>}
      : (!l, !m, !m) -> (!l, !nd.tensor<f32, [batch = 2, seq = 4]>)
  return %a : !l
}
nd.generate @m "x" -> "logits" over "vocab" along "seq"

// -----

// The last band that is not causal.
!l = !nd.tensor<f32, [batch = 2, seq = 4, vocab = 8]>
!m = !nd.tensor<f32, [batch = 2, memory = 4, vocab = 8]>
func.func @generate_step(
    %w: !nd.tensor<f32, [from = 8, vocab = 8]> {nd.class = "parameter", nd.name = "w", nd.order = ["from", "vocab"], nd.role = "parameter"},
    %x: !nd.tensor<i32, [batch = 2, seq = 4]> {nd.name = "x", nd.order = ["batch", "seq"], nd.role = "input"},
    %other: !nd.tensor<f32, [batch = 2, seq = 4, vocab = 8]> {nd.name = "other", nd.order = ["batch", "seq", "vocab"], nd.role = "input"})
    -> (!l {nd.name = "logits", nd.order = [], nd.role = "logits"}) {
  %y = nd.gather %w, %x {dim = "from"} : (!nd.tensor<f32, [from = 8, vocab = 8]>, !nd.tensor<i32, [batch = 2, seq = 4]>) -> !l
  %k = nd.rename %y {from = ["seq"], to = ["memory"]} : (!l) -> !m
  // expected-error @below {{this attention may see later entries of 'memory'}}
  %a, %s = nd.attention %y, %k, %k {key = "vocab", memory = "memory", position = "seq", highest = 1 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>}
      : (!l, !m, !m) -> (!l, !nd.tensor<f32, [batch = 2, seq = 4]>)
  return %a : !l
}
nd.generate @m "x" -> "logits" over "vocab" along "seq"

// -----

// Attention from products.
!l = !nd.tensor<f32, [batch = 2, seq = 4, vocab = 8]>
!m = !nd.tensor<f32, [batch = 2, memory = 4, vocab = 8]>
func.func @generate_step(
    %w: !nd.tensor<f32, [from = 8, vocab = 8]> {nd.class = "parameter", nd.name = "w", nd.order = ["from", "vocab"], nd.role = "parameter"},
    %x: !nd.tensor<i32, [batch = 2, seq = 4]> {nd.name = "x", nd.order = ["batch", "seq"], nd.role = "input"},
    %other: !nd.tensor<f32, [batch = 2, seq = 4, vocab = 8]> {nd.name = "other", nd.order = ["batch", "seq", "vocab"], nd.role = "input"})
    -> (!l {nd.name = "logits", nd.order = [], nd.role = "logits"}) {
  %y = nd.gather %w, %x {dim = "from"} : (!nd.tensor<f32, [from = 8, vocab = 8]>, !nd.tensor<i32, [batch = 2, seq = 4]>) -> !l
  %k = nd.rename %y {from = ["seq"], to = ["memory"]} : (!l) -> !m
  // expected-error @below {{this operation combines all entries of 'memory'; write it as dot_attention with the mask iota(memory) <= iota(seq)}}
  %a = nd.einsum %y, %k {reduced = ["memory"]} : (!l, !m) -> !l
  return %a : !l
}
nd.generate @m "x" -> "logits" over "vocab" along "seq"

// -----

// An input that is no token.
!l = !nd.tensor<f32, [batch = 2, seq = 4, vocab = 8]>
func.func @generate_step(
    %w: !nd.tensor<f32, [from = 8, vocab = 8]> {nd.class = "parameter", nd.name = "w", nd.order = ["from", "vocab"], nd.role = "parameter"},
    %x: !nd.tensor<i32, [batch = 2, seq = 4]> {nd.name = "x", nd.order = ["batch", "seq"], nd.role = "input"},
    
    // expected-error @below {{the logits depend on input 'other', and generation has no inputs but the tokens; in_generation says what stands for it}}
    %other: !nd.tensor<f32, [batch = 2, seq = 4, vocab = 8]> {nd.name = "other", nd.order = ["batch", "seq", "vocab"], nd.role = "input"})
    -> (!l {nd.name = "logits", nd.order = [], nd.role = "logits"}) {
  %y = nd.gather %w, %x {dim = "from"} : (!nd.tensor<f32, [from = 8, vocab = 8]>, !nd.tensor<i32, [batch = 2, seq = 4]>) -> !l
  %a = nd.add %y, %other : (!l, !l) -> !l
  return %a : !l
}
nd.generate @m "x" -> "logits" over "vocab" along "seq"

// -----

// A loop that begins with the last position.
!l = !nd.tensor<f32, [batch = 2, seq = 4, vocab = 8]>
!e = !nd.tensor<f32, [batch = 2, vocab = 8]>
func.func @generate_step(
    %w: !nd.tensor<f32, [from = 8, vocab = 8]> {nd.class = "parameter", nd.name = "w", nd.order = ["from", "vocab"], nd.role = "parameter"},
    %x: !nd.tensor<i32, [batch = 2, seq = 4]> {nd.name = "x", nd.order = ["batch", "seq"], nd.role = "input"},
    %other: !nd.tensor<f32, [batch = 2, seq = 4, vocab = 8]> {nd.name = "other", nd.order = ["batch", "seq", "vocab"], nd.role = "input"})
    -> (!l {nd.name = "logits", nd.order = [], nd.role = "logits"}) {
  %y = nd.gather %w, %x {dim = "from"} : (!nd.tensor<f32, [from = 8, vocab = 8]>, !nd.tensor<i32, [batch = 2, seq = 4]>) -> !l
  %h = nd.constant 0.0 : f32 -> !e
  // expected-error @below {{generation computes the positions of 'seq' from the first on, and this loop begins with the last}}
  %last, %all = nd.scan "seq" 4 backwards carried(%h : !e) stacked(%y : !l) -> !e, !l {
  ^bb0(%a: !e, %b: !e):
    %c = nd.add %a, %b : (!e, !e) -> !e
    nd.yield %c, %c : !e, !e
  }
  return %all : !l
}
nd.generate @m "x" -> "logits" over "vocab" along "seq"

// -----

// What remains after the last position.
!l = !nd.tensor<f32, [batch = 2, seq = 4, vocab = 8]>
!e = !nd.tensor<f32, [batch = 2, vocab = 8]>
func.func @generate_step(
    %w: !nd.tensor<f32, [from = 8, vocab = 8]> {nd.class = "parameter", nd.name = "w", nd.order = ["from", "vocab"], nd.role = "parameter"},
    %x: !nd.tensor<i32, [batch = 2, seq = 4]> {nd.name = "x", nd.order = ["batch", "seq"], nd.role = "input"},
    %other: !nd.tensor<f32, [batch = 2, seq = 4, vocab = 8]> {nd.name = "other", nd.order = ["batch", "seq", "vocab"], nd.role = "input"})
    -> (!l {nd.name = "logits", nd.order = [], nd.role = "logits"}) {
  %y = nd.gather %w, %x {dim = "from"} : (!nd.tensor<f32, [from = 8, vocab = 8]>, !nd.tensor<i32, [batch = 2, seq = 4]>) -> !l
  %h = nd.constant 0.0 : f32 -> !e
  // expected-error @below {{the logits of each position depend on a value after the last position of this loop over 'seq'}}
  %last, %all = nd.scan "seq" 4 carried(%h : !e) stacked(%y : !l) -> !e, !l {
  ^bb0(%a: !e, %b: !e):
    %c = nd.add %a, %b : (!e, !e) -> !e
    nd.yield %c, %c : !e, !e
  }
  %b = nd.add %y, %last : (!l, !e) -> !l
  return %b : !l
}
nd.generate @m "x" -> "logits" over "vocab" along "seq"

// -----

// A loop that may end before the last position.
!l = !nd.tensor<f32, [batch = 2, seq = 4, vocab = 8]>
!e = !nd.tensor<f32, [batch = 2, vocab = 8]>
!b = !nd.tensor<i1, []>
func.func @generate_step(
    %w: !nd.tensor<f32, [from = 8, vocab = 8]> {nd.class = "parameter", nd.name = "w", nd.order = ["from", "vocab"], nd.role = "parameter"},
    %x: !nd.tensor<i32, [batch = 2, seq = 4]> {nd.name = "x", nd.order = ["batch", "seq"], nd.role = "input"})
    -> (!l {nd.name = "logits", nd.order = [], nd.role = "logits"}) {
  %y = nd.gather %w, %x {dim = "from"} : (!nd.tensor<f32, [from = 8, vocab = 8]>, !nd.tensor<i32, [batch = 2, seq = 4]>) -> !l
  %h = nd.constant 0.0 : f32 -> !e
  %true = nd.constant true -> !b
  // expected-error @below {{generation computes all positions of 'seq', and this loop over them may end before the last; leave out its 'while'}}
  %go, %last, %all = nd.scan "seq" 4 while carried(%true, %h : !b, !e) stacked(%y : !l) -> !b, !e, !l {
  ^bb0(%g: !b, %a: !e, %b: !e):
    %c = nd.add %a, %b : (!e, !e) -> !e
    nd.yield %g, %c, %c : !b, !e, !e
  }
  return %all : !l
}
nd.generate @m "x" -> "logits" over "vocab" along "seq"

// -----

// A carried value that has the positions.
!l = !nd.tensor<f32, [batch = 2, seq = 4, vocab = 8]>
!e = !nd.tensor<f32, [batch = 2, vocab = 8]>
!m = !nd.tensor<f32, [batch = 2, memory = 4, vocab = 8]>
func.func @generate_step(
    %w: !nd.tensor<f32, [from = 8, vocab = 8]> {nd.class = "parameter", nd.name = "w", nd.order = ["from", "vocab"], nd.role = "parameter"},
    %x: !nd.tensor<i32, [batch = 2, seq = 4]> {nd.name = "x", nd.order = ["batch", "seq"], nd.role = "input"},
    %other: !nd.tensor<f32, [batch = 2, seq = 4, vocab = 8]> {nd.name = "other", nd.order = ["batch", "seq", "vocab"], nd.role = "input"})
    -> (!l {nd.name = "logits", nd.order = [], nd.role = "logits"}) {
  %y = nd.gather %w, %x {dim = "from"} : (!nd.tensor<f32, [from = 8, vocab = 8]>, !nd.tensor<i32, [batch = 2, seq = 4]>) -> !l
  %h = nd.rename %y {from = ["seq"], to = ["memory"]} : (!l) -> !m
  // expected-error @below {{this loop over 'seq' carries a value with dim 'memory', which has the positions of the text, too}}
  %last, %all = nd.scan "seq" 4 carried(%h : !m) stacked(%y : !l) -> !m, !l {
  ^bb0(%a: !m, %b: !e):
    %c = nd.add %a, %b : (!m, !e) -> !m
    nd.yield %c, %b : !m, !e
  }
  return %all : !l
}
nd.generate @m "x" -> "logits" over "vocab" along "seq"

// -----

// expected-error @below {{there is no function 'generate_step'}}
nd.generate @m "x" -> "logits" over "vocab" along "seq"

// -----

!l = !nd.tensor<f32, [batch = 2, seq = 4, vocab = 8]>
func.func @generate_step(%x: !l {nd.name = "x", nd.order = ["batch", "seq", "vocab"], nd.role = "input"}) -> (!l {nd.name = "logits", nd.order = [], nd.role = "logits"}) {
  return %x : !l
}
// expected-error @below {{'generate_step' must compute the logits from 'tokens', which has dim 'seq'}}
nd.generate @m "tokens" -> "logits" over "vocab" along "seq"
