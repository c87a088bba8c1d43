// RUN: mesh-opt %s --meshc-verify-kernels --split-input-file --verify-diagnostics

func.func @not_fused(%x: !nd.tensor<f32, [a = 4]>) -> !nd.tensor<f32, [a = 4]> {
  // expected-error @below {{remains after the kernels phase, which leaves fusions, library ops, collectives and loops only}}
  %0 = nd.neg %x {exec.orders = [["a"]]} : (!nd.tensor<f32, [a = 4]>) -> !nd.tensor<f32, [a = 4]>
  return %0 : !nd.tensor<f32, [a = 4]>
}

// -----

func.func @no_order(%x: !nd.tensor<f32, [a = 4, b = 2]>, %y: !nd.tensor<f32, [b = 2, c = 2]>) -> !nd.tensor<f32, [a = 4, c = 2]> {
  // expected-error @below {{result 0 has no memory order}}
  %0 = exec.product(%x, %y) : (!nd.tensor<f32, [a = 4, b = 2]>, !nd.tensor<f32, [b = 2, c = 2]>) -> !nd.tensor<f32, [a = 4, c = 2]> {
  ^bb0(%a: !nd.tensor<f32, [a = 4, b = 2]>, %b: !nd.tensor<f32, [b = 2, c = 2]>):
    %e = nd.einsum %a, %b {reduced = ["b"]} : (!nd.tensor<f32, [a = 4, b = 2]>, !nd.tensor<f32, [b = 2, c = 2]>) -> !nd.tensor<f32, [a = 4, c = 2]>
    exec.yield %e : !nd.tensor<f32, [a = 4, c = 2]>
  }
  return %0 : !nd.tensor<f32, [a = 4, c = 2]>
}

// -----

func.func @apart(%x: !nd.tensor<f32, [a = 4, b = 2, c = 2]> {nd.order = ["a", "b", "c"]}, %y: !nd.tensor<f32, [b = 2, d = 2]> {nd.order = ["b", "d"]}) -> !nd.tensor<f32, [a = 4, c = 2, d = 2]> {
  // expected-error @below {{is not one matrix product in the memory orders of its tensors}}
  %0 = exec.product(%x, %y) : (!nd.tensor<f32, [a = 4, b = 2, c = 2]>, !nd.tensor<f32, [b = 2, d = 2]>) -> !nd.tensor<f32, [a = 4, c = 2, d = 2]> attributes {exec.orders = [["c", "d", "a"]]} {
  ^bb0(%a: !nd.tensor<f32, [a = 4, b = 2, c = 2]>, %b: !nd.tensor<f32, [b = 2, d = 2]>):
    %e = nd.einsum %a, %b {reduced = ["b"], exec.orders = [["c", "d", "a"]]} : (!nd.tensor<f32, [a = 4, b = 2, c = 2]>, !nd.tensor<f32, [b = 2, d = 2]>) -> !nd.tensor<f32, [a = 4, c = 2, d = 2]>
    exec.yield %e : !nd.tensor<f32, [a = 4, c = 2, d = 2]>
  }
  return %0 : !nd.tensor<f32, [a = 4, c = 2, d = 2]>
}

// -----

func.func @other_dims(%x: !nd.tensor<f32, [a = 4, b = 2]>) -> !nd.tensor<f32, [b = 2]> {
  // expected-error @below {{holds 'nd.reduce_sum' over other dims than its plan}}
  %0 = exec.fusion <parallel = ["a"], reduce = ["b"], lanes = "", sizes = [4, 2]>(%x) : (!nd.tensor<f32, [a = 4, b = 2]>) -> !nd.tensor<f32, [b = 2]> attributes {exec.orders = [["b"]]} {
  ^bb0(%in: !nd.tensor<f32, [a = 4, b = 2]>):
    %1 = nd.reduce_sum %in {dims = ["a"]} : (!nd.tensor<f32, [a = 4, b = 2]>) -> !nd.tensor<f32, [b = 2]>
    exec.yield %1 : !nd.tensor<f32, [b = 2]>
  }
  return %0 : !nd.tensor<f32, [b = 2]>
}

// -----

func.func @other_points(%x: !nd.tensor<f32, [a = 4, b = 4]>) -> !nd.tensor<f32, [a = 4, b = 4]> {
  // expected-error @below {{reads the result of 'nd.reduce_sum' at points other than its own}}
  %0 = exec.fusion <parallel = ["a"], reduce = ["b"], lanes = "b", sizes = [4, 4]>(%x) : (!nd.tensor<f32, [a = 4, b = 4]>) -> !nd.tensor<f32, [a = 4, b = 4]> attributes {exec.orders = [["a", "b"]]} {
  ^bb0(%in: !nd.tensor<f32, [a = 4, b = 4]>):
    %1 = nd.reduce_sum %in {dims = ["b"]} : (!nd.tensor<f32, [a = 4, b = 4]>) -> !nd.tensor<f32, [a = 4]>
    %2 = nd.rename %1 {from = ["a"], to = ["b"]} : (!nd.tensor<f32, [a = 4]>) -> !nd.tensor<f32, [b = 4]>
    %3 = nd.add %in, %2 : (!nd.tensor<f32, [a = 4, b = 4]>, !nd.tensor<f32, [b = 4]>) -> !nd.tensor<f32, [a = 4, b = 4]>
    exec.yield %3 : !nd.tensor<f32, [a = 4, b = 4]>
  }
  return %0 : !nd.tensor<f32, [a = 4, b = 4]>
}

// -----

func.func @lanes(%x: !nd.tensor<f32, [a = 4, b = 4]>) -> !nd.tensor<f32, [a = 4, b = 4]> {
  // expected-error @below {{has lanes along 'a', which is not the innermost dim}}
  %0 = exec.fusion <parallel = ["a", "b"], reduce = [], lanes = "a", sizes = [4, 4]>(%x) : (!nd.tensor<f32, [a = 4, b = 4]>) -> !nd.tensor<f32, [a = 4, b = 4]> attributes {exec.orders = [["a", "b"]]} {
  ^bb0(%in: !nd.tensor<f32, [a = 4, b = 4]>):
    exec.yield %in : !nd.tensor<f32, [a = 4, b = 4]>
  }
  return %0 : !nd.tensor<f32, [a = 4, b = 4]>
}

// -----

// expected-error @+2 {{result 0 must have its declared memory order}}
func.func @declared(%x: !nd.tensor<f32, [a = 4, b = 8]> {nd.order = ["a", "b"]}) -> (!nd.tensor<f32, [a = 4, b = 8]> {nd.order = ["b", "a"]}) {
  return %x : !nd.tensor<f32, [a = 4, b = 8]>
}

// -----

func.func @sizes(%x: !nd.tensor<f32, [a = 4, b = 8]>) -> !nd.tensor<f32, [a = 4]> {
  // expected-error @below {{runs 2 times along 'b', and computes a value of type '!nd.tensor<f32, [a = 4, b = 8]>' there}}
  %0 = exec.fusion <parallel = ["a"], reduce = ["b"], lanes = "b", sizes = [4, 2]>(%x) : (!nd.tensor<f32, [a = 4, b = 8]>) -> !nd.tensor<f32, [a = 4]> attributes {exec.orders = [["a"]]} {
  ^bb0(%in: !nd.tensor<f32, [a = 4, b = 8]>):
    %1 = nd.reduce_sum %in {dims = ["b"]} : (!nd.tensor<f32, [a = 4, b = 8]>) -> !nd.tensor<f32, [a = 4]>
    exec.yield %1 : !nd.tensor<f32, [a = 4]>
  }
  return %0 : !nd.tensor<f32, [a = 4]>
}

// -----

!x = !nd.tensor<f32, [b = 4, i = 8]>
!w = !nd.tensor<f32, [i = 8, j = 16]>
!y = !nd.tensor<f32, [b = 4, j = 16]>
!v = !nd.tensor<f32, [j = 16]>

func.func @other_epilogue(%x: !x {nd.order = ["b", "i"]}, %w: !w {nd.order = ["i", "j"]}, %v: !v {nd.order = ["j"]}) -> !y {
  // expected-error @below {{does something else than epilogue 'relu_bias'}}
  %0 = exec.product then relu_bias(%x, %w, %v) : (!x, !w, !v) -> !y attributes {exec.orders = [["b", "j"]]} {
  ^bb0(%a: !x, %b: !w, %bias: !v):
    %1 = nd.einsum %a, %b {reduced = ["i"], exec.orders = [["b", "j"]]} : (!x, !w) -> !y
    %2 = exec.fusion <parallel = ["b", "j"], reduce = [], lanes = "j", sizes = [4, 16]>(%1, %bias) : (!y, !v) -> !y attributes {exec.orders = [["b", "j"]]} {
    ^bb0(%c: !y, %d: !v):
      %3 = nd.sub %c, %d : (!y, !v) -> !y
      %4 = nd.relu %3 : (!y) -> !y
      exec.yield %4 : !y
    }
    exec.yield %2 : !y
  }
  return %0 : !y
}

// -----

!x = !nd.tensor<f32, [b = 4, i = 8]>
!w = !nd.tensor<f32, [i = 8, j = 16]>
!y = !nd.tensor<f32, [b = 4, j = 16]>

func.func @short_mask(%x: !x {nd.order = ["b", "i"]}, %w: !w {nd.order = ["i", "j"]}) -> !y {
  // expected-error @below {{needs a mask of 64 bytes, got '!nd.tensor<i1, [mask = 8]>'}}
  %0:2 = exec.product then relu mask(%x, %w) : (!x, !w) -> (!y, !nd.tensor<i1, [mask = 8]>) attributes {exec.orders = [["b", "j"], ["mask"]]} {
  ^bb0(%a: !x, %b: !w):
    %1 = nd.einsum %a, %b {reduced = ["i"], exec.orders = [["b", "j"]]} : (!x, !w) -> !y
    %2 = exec.fusion <parallel = ["b", "j"], reduce = [], lanes = "j", sizes = [4, 16]>(%1) : (!y) -> !y attributes {exec.orders = [["b", "j"]]} {
    ^bb0(%c: !y):
      %3 = nd.relu %c : (!y) -> !y
      exec.yield %3 : !y
    }
    exec.yield %2 : !y
  }
  return %0#0 : !y
}

// -----

!x = !nd.tensor<f32, [b = 4, i = 8]>
!w = !nd.tensor<f32, [i = 8, j = 16]>
!y = !nd.tensor<f32, [b = 4, j = 16]>
!v = !nd.tensor<f32, [j = 16]>

// The sum of the other factor.
func.func @other_factor(%x: !x {nd.order = ["b", "i"]}, %y: !y {nd.order = ["b", "j"]}) -> (!w, !v) {
  // expected-error @below {{does something else than epilogue 'bias_gradient_a'}}
  %0:2 = exec.product then bias_gradient_a(%x, %y) : (!x, !y) -> (!w, !v) attributes {exec.orders = [["i", "j"], ["j"]]} {
  ^bb0(%a: !x, %b: !y):
    %1 = nd.einsum %a, %b {reduced = ["b"], exec.orders = [["i", "j"]]} : (!x, !y) -> !w
    %2 = exec.fusion <parallel = ["j"], reduce = ["b"], lanes = "j", sizes = [16, 4]>(%b) : (!y) -> !v attributes {exec.orders = [["j"]]} {
    ^bb0(%c: !y):
      %3 = nd.reduce_sum %c {dims = ["b"]} : (!y) -> !v
      exec.yield %3 : !v
    }
    exec.yield %1, %2 : !w, !v
  }
  return %0#0, %0#1 : !w, !v
}

// -----

// What it accepts: a product, a fusion and a collective.
module attributes {nd.mesh = #nd.mesh<data = 2>} {
func.func @accepted(%x: !nd.tensor<f32, [a = 4, b = 2]> {nd.order = ["a", "b"]}, %y: !nd.tensor<f32, [b = 2, c = 8]> {nd.order = ["b", "c"]})
    -> (!nd.tensor<f32, [a = 4, c = 8]> {nd.order = ["a", "c"]}) {
  %0 = exec.product(%x, %y) : (!nd.tensor<f32, [a = 4, b = 2]>, !nd.tensor<f32, [b = 2, c = 8]>) -> !nd.tensor<f32, [a = 4, c = 8]> attributes {exec.orders = [["a", "c"]]} {
  ^bb0(%a: !nd.tensor<f32, [a = 4, b = 2]>, %b: !nd.tensor<f32, [b = 2, c = 8]>):
    %e = nd.einsum %a, %b {reduced = ["b"], exec.orders = [["a", "c"]]} : (!nd.tensor<f32, [a = 4, b = 2]>, !nd.tensor<f32, [b = 2, c = 8]>) -> !nd.tensor<f32, [a = 4, c = 8]>
    exec.yield %e : !nd.tensor<f32, [a = 4, c = 8]>
  }
  %1 = exec.fusion <parallel = ["a", "c"], reduce = [], lanes = "c", sizes = [4, 8]>(%0) : (!nd.tensor<f32, [a = 4, c = 8]>) -> !nd.tensor<f32, [a = 4, c = 8], sum {data}> attributes {exec.orders = [["a", "c"]]} {
  ^bb0(%in: !nd.tensor<f32, [a = 4, c = 8]>):
    %3 = nd.exp %in : (!nd.tensor<f32, [a = 4, c = 8]>) -> !nd.tensor<f32, [a = 4, c = 8], sum {data}>
    exec.yield %3 : !nd.tensor<f32, [a = 4, c = 8], sum {data}>
  }
  %2 = spmd.all_reduce sum ["data"] %1 {exec.orders = [["a", "c"]]} : (!nd.tensor<f32, [a = 4, c = 8], sum {data}>) -> !nd.tensor<f32, [a = 4, c = 8]>
  return %2 : !nd.tensor<f32, [a = 4, c = 8]>
}
}

// -----

func.func @order_of_other_dims(%x: !nd.tensor<f32, [a = 4, b = 2]>, %y: !nd.tensor<f32, [b = 2, c = 2]>) -> !nd.tensor<f32, [a = 4, c = 2]> {
  // expected-error @below {{memory order of result 0 must name each dim of '!nd.tensor<f32, [a = 4, c = 2]>' once}}
  %0 = exec.product(%x, %y) : (!nd.tensor<f32, [a = 4, b = 2]>, !nd.tensor<f32, [b = 2, c = 2]>) -> !nd.tensor<f32, [a = 4, c = 2]> attributes {exec.orders = [["a", "b"]]} {
  ^bb0(%a: !nd.tensor<f32, [a = 4, b = 2]>, %b: !nd.tensor<f32, [b = 2, c = 2]>):
    %e = nd.einsum %a, %b {reduced = ["b"], exec.orders = [["a", "b"]]} : (!nd.tensor<f32, [a = 4, b = 2]>, !nd.tensor<f32, [b = 2, c = 2]>) -> !nd.tensor<f32, [a = 4, c = 2]>
    exec.yield %e : !nd.tensor<f32, [a = 4, c = 2]>
  }
  return %0 : !nd.tensor<f32, [a = 4, c = 2]>
}

// -----

!m = !nd.tensor<f32, [a = 4, b = 4]>
func.func @three(%x: !m, %y: !m, %z: !m) -> !nd.tensor<f32, [a = 4]> {
  // expected-error @below {{remains after the kernels phase, which leaves fusions, library ops, collectives and loops only}}
  %0 = nd.einsum %x, %y, %z {reduced = ["b"], exec.orders = [["a"]]} : (!m, !m, !m) -> !nd.tensor<f32, [a = 4]>
  return %0 : !nd.tensor<f32, [a = 4]>
}

// -----

func.func @some_dims(%x: !nd.tensor<f32, [a = 4]>, %y: !nd.tensor<f32, [a = 4, b = 4]>) -> !nd.tensor<f32, [a = 4]> {
  // expected-error @below {{output of type '!nd.tensor<f32, [a = 4]>' must have all parallel dims, and all reduce dims or none}}
  %0:2 = exec.fusion <parallel = ["a", "b"], reduce = [], lanes = "b", sizes = [4, 4]>(%x, %y) : (!nd.tensor<f32, [a = 4]>, !nd.tensor<f32, [a = 4, b = 4]>) -> (!nd.tensor<f32, [a = 4]>, !nd.tensor<f32, [a = 4, b = 4]>) attributes {exec.orders = [["a"], ["a", "b"]]} {
  ^bb0(%in: !nd.tensor<f32, [a = 4]>, %other: !nd.tensor<f32, [a = 4, b = 4]>):
    exec.yield %in, %other : !nd.tensor<f32, [a = 4]>, !nd.tensor<f32, [a = 4, b = 4]>
  }
  return %0#0 : !nd.tensor<f32, [a = 4]>
}

// -----

module attributes {nd.mesh = #nd.mesh<data = 2>} {
func.func @reordered(%x: !nd.tensor<f32, [a = 4, b = 2], sum {data}> {nd.order = ["a", "b"]}) {
  // expected-error @below {{must keep the memory order of its operands}}
  %0 = spmd.all_reduce sum ["data"] %x {exec.orders = [["b", "a"]]} : (!nd.tensor<f32, [a = 4, b = 2], sum {data}>) -> !nd.tensor<f32, [a = 4, b = 2]>
  return
}
}

// -----

!x = !nd.tensor<f32, [a = 4, b = 8]>

func.func @initial(%x: !x {nd.order = ["a", "b"], nd.name = "x"}) -> !x {
  // expected-error @+2 {{'nd.scan' op carried value 0 ('h'): the initial value has memory order ["a", "b"], the result ["b", "a"]; expected one order, by a copy of the initial value}}
  // expected-note @-2 {{this is the initial value}}
  %0 = nd.scan "n" 2 carried(%x : !x) -> !x attributes {exec.orders = [["b", "a"]], res_attrs = [{nd.name = "h"}]} {
  ^bb0(%h: !x):
    nd.yield %h : !x
  }
  return %0 : !x
}

// -----

!x = !nd.tensor<f32, [a = 4, b = 8]>

func.func @yielded(%x: !x {nd.order = ["a", "b"]}, %y: !x {nd.order = ["b", "a"]}) -> !x {
  // expected-error @below {{'nd.scan' op carried value 0: the yielded value has memory order ["b", "a"], the argument ["a", "b"]; expected one order, by a copy of the yielded value}}
  %0 = nd.scan "n" 2 carried(%x : !x) whole(%y : !x) -> !x attributes {exec.orders = [["a", "b"]]} {
  // expected-note @below {{this is the yielded value}}
  ^bb0(%h: !x, %w: !x):
    nd.yield %w : !x
  }
  return %0 : !x
}

// -----

!x = !nd.tensor<f32, [a = 4, b = 8]>
!y = !nd.tensor<f32, [a = 4]>

func.func @stacked(%x: !x {nd.order = ["a", "b"], nd.name = "x"}, %y: !y {nd.order = ["a"]}) -> !y {
  // expected-error @+2 {{'nd.scan' op stacked operand 1 ('x') has memory order ["a", "b"]; expected 'b' first, by a copy}}
  // expected-note @-2 {{this is the tensor}}
  %0 = nd.scan "b" 8 carried(%y : !y) stacked(%x : !x) -> !y attributes {exec.orders = [["a"]]} {
  ^bb0(%h: !y, %e: !y):
    nd.yield %e : !y
  }
  return %0 : !y
}

// -----

!x = !nd.tensor<f32, [a = 4, b = 8]>
!xs = !nd.tensor<f32, [a = 4, b = 8, n = 2]>

func.func @stacked_result(%x: !x {nd.order = ["a", "b"]}) -> !xs {
  // expected-error @below {{'nd.scan' op stacked result 0 has memory order ["n", "b", "a"], its entries ["a", "b"]; expected 'n', then the order of the entries}}
  %0 = nd.scan "n" 2 whole(%x : !x) -> !xs attributes {exec.orders = [["n", "b", "a"]]} {
  // expected-note @below {{this is an entry}}
  ^bb0(%h: !x):
    nd.yield %h : !x
  }
  return %0 : !xs
}

// -----

!x = !nd.tensor<f32, [a = 4, b = 8]>
!xs = !nd.tensor<f32, [a = 4, b = 8, n = 2]>

func.func @stacked_result_outermost(%x: !x {nd.order = ["a", "b"]}) -> !xs {
  // expected-error @+2 {{'nd.scan' op stacked result 0 ('y') has memory order ["a", "b", "n"]; expected 'n' first, by a copy}}
  // expected-note @+1 {{this is the tensor}}
  %0 = nd.scan "n" 2 whole(%x : !x) -> !xs attributes {exec.orders = [["a", "b", "n"]], res_attrs = [{nd.name = "y"}]} {
  ^bb0(%h: !x):
    nd.yield %h : !x
  }
  return %0 : !xs
}

// -----

!x = !nd.tensor<f32, [a = 4]>

func.func @not_fused_in_loop(%x: !x {nd.order = ["a"]}) -> !x {
  %0 = nd.scan "n" 2 carried(%x : !x) -> !x attributes {exec.orders = [["a"]]} {
  ^bb0(%h: !x):
    // expected-error @below {{remains after the kernels phase, which leaves fusions, library ops, collectives and loops only}}
    %1 = nd.neg %h {exec.orders = [["a"]]} : (!x) -> !x
    nd.yield %1 : !x
  }
  return %0 : !x
}

// -----

// The walk along k has the dim with padding inside: no shorter k leaves it out.
module attributes {nd.mesh = #nd.mesh<d = 4>} {
func.func @padding_inside(%x: !nd.tensor<f32, [a = 8, b = 10 on {d}, s = 4]> {nd.order = ["s", "b", "a"]}, %y: !nd.tensor<f32, [b = 10 on {d}, c = 2, s = 4]> {nd.order = ["s", "b", "c"]}) -> !nd.tensor<f32, [a = 8, c = 2], sum {d}> {
  // expected-error @below {{is not one matrix product in the memory orders of its tensors}}
  %0 = exec.product(%x, %y) : (!nd.tensor<f32, [a = 8, b = 10 on {d}, s = 4]>, !nd.tensor<f32, [b = 10 on {d}, c = 2, s = 4]>) -> !nd.tensor<f32, [a = 8, c = 2], sum {d}> attributes {exec.orders = [["a", "c"]]} {
  ^bb0(%a: !nd.tensor<f32, [a = 8, b = 10 on {d}, s = 4]>, %b: !nd.tensor<f32, [b = 10 on {d}, c = 2, s = 4]>):
    %e = nd.einsum %a, %b {reduced = ["b", "s"], exec.orders = [["a", "c"]]} : (!nd.tensor<f32, [a = 8, b = 10 on {d}, s = 4]>, !nd.tensor<f32, [b = 10 on {d}, c = 2, s = 4]>) -> !nd.tensor<f32, [a = 8, c = 2], sum {d}>
    exec.yield %e : !nd.tensor<f32, [a = 8, c = 2], sum {d}>
  }
  return %0 : !nd.tensor<f32, [a = 8, c = 2], sum {d}>
}
}
