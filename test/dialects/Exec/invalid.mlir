// RUN: mesh-opt %s -split-input-file -verify-diagnostics

// expected-error @below {{the memory order must name each dim of '!nd.tensor<f32, [a = 4, b = 4]>' once}}
func.func private @f(!exec.buffer<!nd.tensor<f32, [a = 4, b = 4]>, ["a", "a"]>)

// -----

// expected-error @below {{scratch memory must have at least 1 byte, got 0}}
func.func private @f(!exec.scratch<0>)

// -----

!v = !nd.tensor<f32, [i = 8]>
func.func @f(%x: !v) {
  // expected-error @below {{a plan must have a size for each of its 1 dims, got 2}}
  %0 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8, 8]>(%x) : (!v) -> !v {
  ^bb0(%in: !v):
    exec.yield %in : !v
  }
  return
}

// -----

!v = !nd.tensor<f32, [i = 8]>
func.func @f(%x: !v) {
  // expected-error @below {{must end with exec.yield}}
  %0 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>(%x) : (!v) -> !v {
  ^bb0(%in: !v):
    nd.yield %in : !v
  }
  return
}

// -----

!v = !nd.tensor<f32, [i = 8]>
!w = !nd.tensor<f32, [i = 4]>
func.func @f(%x: !v) {
  // expected-error @below {{takes '!nd.tensor<f32, [i = 8]>' but its block has arguments '!nd.tensor<f32, [i = 4]>'}}
  %0 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>(%x) : (!v) -> !w {
  ^bb0(%in: !w):
    exec.yield %in : !w
  }
  return
}

// -----

!v = !nd.tensor<f32, [i = 8]>
!w = !nd.tensor<f32, [i = 4]>
func.func @f(%x: !v) {
  // expected-error @below {{gives '!nd.tensor<f32, [i = 4]>' but its block yields '!nd.tensor<f32, [i = 8]>'}}
  %0 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>(%x) : (!v) -> !w {
  ^bb0(%in: !v):
    exec.yield %in : !v
  }
  return
}

// -----

!v = !nd.tensor<f32, [i = 8]>
func.func @f(%x: !v) {
  // expected-error @below {{cannot hold 'nd.parameter'}}
  %0 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>(%x) : (!v) -> !v {
  ^bb0(%in: !v):
    %w = nd.parameter "w" [] : !nd.tensor<f32, []> {
      %one = nd.constant 1.0 : f32 -> !nd.tensor<f32, []>
      nd.yield %one : !nd.tensor<f32, []>
    }
    exec.yield %in : !v
  }
  return
}

// -----

// expected-error @below {{must end with exec.yield}}
exec.kernel @k <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]> in [["i"]] out [["i"]] {
^bb0(%in: !nd.tensor<f32, [i = 8]>):
  nd.yield %in : !nd.tensor<f32, [i = 8]>
}

// -----

// expected-error @below {{has 1 inputs but memory orders for 0}}
exec.kernel @k <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]> in [] out [["i"]] {
^bb0(%in: !nd.tensor<f32, [i = 8]>):
  exec.yield %in : !nd.tensor<f32, [i = 8]>
}

// -----

// expected-error @below {{memory order of output 0 must name each dim of '!nd.tensor<f32, [i = 8]>' once}}
exec.kernel @k <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]> in [["i"]] out [["j"]] {
^bb0(%in: !nd.tensor<f32, [i = 8]>):
  exec.yield %in : !nd.tensor<f32, [i = 8]>
}

// -----

!t = !exec.buffer<!nd.tensor<f32, [i = 8]>, ["i"]>
exec.func @f {
  %0 = exec.buffer at 0 : !t
  // expected-error @below {{there is no kernel 'exp'}}
  exec.launch @exp(%0) -> (%0) : (!t) -> !t
}

// -----

!t = !exec.buffer<!nd.tensor<f32, [i = 8]>, ["i"]>
exec.kernel @k <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]> in [["i"]] out [["i"]] {
^bb0(%in: !nd.tensor<f32, [i = 8]>):
  exec.yield %in : !nd.tensor<f32, [i = 8]>
}
exec.func @f {
  %0 = exec.buffer at 0 : !t
  // expected-error @below {{buffers do not match inputs and outputs of kernel 'k'}}
  exec.launch @k(%0, %0) -> (%0) : (!t, !t) -> !t
}

// -----

!p = !nd.tensor<f32, [i = 8]>
// expected-error @below {{has parts and must have an empty plan itself}}
exec.kernel @k <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]> in [["i"]] out [["i"]]
  attributes {parts = [#exec.part<1, <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>>]} {
^bb0(%x: !p):
  exec.yield %x : !p
}

// -----

!p = !nd.tensor<f32, [i = 8]>
// expected-error @below {{has 1 results, but its parts 2}}
exec.kernel @k <parallel = [], reduce = [], lanes = "", sizes = []> in [["i"]] out [["i"]]
  attributes {parts = [#exec.part<2, <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>>]} {
^bb0(%x: !p):
  exec.yield %x : !p
}

// -----

!p = !nd.tensor<f32, [i = 8]>
// expected-error @below {{a part must have results and no reduce dims}}
exec.kernel @k <parallel = [], reduce = [], lanes = "", sizes = []> in [["i"]] out [["i"]]
  attributes {parts = [#exec.part<1, <parallel = [], reduce = ["i"], lanes = "i", sizes = [8]>>]} {
^bb0(%x: !p):
  exec.yield %x : !p
}

// -----

!p = !nd.tensor<f32, [i = 8]>
// expected-error @below {{has two parts with the same 'nd.exp'}}
exec.kernel @k <parallel = [], reduce = [], lanes = "", sizes = []> in [["i"]] out [["i"], ["i"]]
  attributes {parts = [#exec.part<1, <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>>,
                       #exec.part<1, <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>>]} {
^bb0(%x: !p):
  %y = nd.exp %x : (!p) -> !p
  exec.yield %y, %y : !p, !p
}

// -----

!p = !nd.tensor<f32, [i = 8]>
!s = !nd.tensor<f32, []>
// expected-error @below {{has a part with 'nd.reduce_sum', which has loops of its own}}
exec.kernel @k <parallel = [], reduce = [], lanes = "", sizes = []> in [["i"]] out [[]]
  attributes {parts = [#exec.part<1, <parallel = [], reduce = [], lanes = "", sizes = []>>]} {
^bb0(%x: !p):
  %y = nd.reduce_sum %x {dims = ["i"]} : (!p) -> !s
  exec.yield %y : !s
}

// -----

// A kernel that is wrong itself, behind the function that launches it.
!t = !exec.buffer<!nd.tensor<f32, [i = 8]>, ["i"]>
exec.func @f {
  %0 = exec.buffer at 0 : !t
  exec.launch @k(%0) -> (%0) : (!t) -> !t
}
// expected-error @below {{must end with exec.yield}}
exec.kernel @k <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]> in [["i"]] out [["i"]] {
^bb0(%in: !nd.tensor<f32, [i = 8]>):
  nd.yield %in : !nd.tensor<f32, [i = 8]>
}

// -----

!m = !nd.tensor<f32, [a = 4, b = 4]>
!t = !exec.buffer<!m, ["a", "b"]>
exec.kernel @relu <parallel = ["a", "b"], reduce = [], lanes = "b", sizes = [4, 4]> in [["a", "b"]] out [["a", "b"]] {
^bb0(%x: !m):
  %0 = nd.relu %x : (!m) -> !m
  exec.yield %0 : !m
}
exec.func @f {
  %0 = exec.buffer at 0 : !t
  %1 = exec.buffer at 64 : !t
  %2 = exec.buffer at 128 : !t
  // expected-error @below {{takes 10 sizes, got 3}}
  exec.gemm %0, %1 -> %2 [4, 4, 4] : !t, !t -> !t
}

// -----

!t = !exec.buffer<!nd.tensor<f32, [a = 4, b = 4]>, ["a", "b"]>
exec.func @f {
  %0 = exec.buffer at 0 : !t
  %1 = exec.buffer at 64 : !t
  %2 = exec.buffer at 128 : !t
  // expected-error @below {{sizes and leading dimensions must be positive}}
  exec.gemm %0, %1 -> %2 [4, 4, 0, 4, 4, 4, 1, 0, 0, 0] : !t, !t -> !t
}

// -----

!m = !nd.tensor<f32, [a = 4, b = 4]>
!t = !exec.buffer<!m, ["a", "b"]>
exec.kernel @relu <parallel = ["a", "b"], reduce = [], lanes = "b", sizes = [4, 4]> in [["a", "b"]] out [["a", "b"]] {
^bb0(%x: !m):
  %0 = nd.relu %x : (!m) -> !m
  exec.yield %0 : !m
}
exec.func @f {
  %0 = exec.buffer at 0 : !t
  %1 = exec.buffer at 64 : !t
  %2 = exec.buffer at 128 : !t
  // expected-error @below {{with an epilogue must be of one batch, got 2}}
  exec.gemm %0, %1 -> %2 [4, 4, 4, 4, 4, 4, 2, 0, 0, 0] then relu @relu(%2) -> (%2) : (!t) -> !t : !t, !t -> !t
}

// -----

!m = !nd.tensor<f32, [a = 4, b = 4]>
!t = !exec.buffer<!m, ["a", "b"]>
exec.kernel @relu <parallel = ["a", "b"], reduce = [], lanes = "b", sizes = [4, 4]> in [["a", "b"]] out [["a", "b"]] {
^bb0(%x: !m):
  %0 = nd.relu %x : (!m) -> !m
  exec.yield %0 : !m
}
exec.func @f {
  %0 = exec.buffer at 0 : !t
  %1 = exec.buffer at 64 : !t
  %2 = exec.buffer at 128 : !t
  // expected-error @below {{leaves c to its epilogue: c must be the first input and a result of 'relu'}}
  exec.gemm %0, %1 -> %2 [4, 4, 4, 4, 4, 4, 1, 0, 0, 0] then relu @relu(%0) -> (%2) : (!t) -> !t : !t, !t -> !t
}

// -----

!t = !exec.buffer<!nd.tensor<f32, [i = 8]>, ["i"]>
module attributes {nd.mesh = #nd.mesh<data = 2>} {
  exec.func @f {
    %0 = exec.buffer at 0 : !t
    // expected-error @below {{needs one receive buffer and six item sizes for each send buffer}}
    %1 = exec.collective all_reduce sum over ["data"] [1, 8] "all_reduce over data" (%0) -> (%0) : (!t) -> !t
  }
}

// -----

!t = !exec.buffer<!nd.tensor<f32, [i = 8]>, ["i"]>
module attributes {nd.mesh = #nd.mesh<data = 2>} {
  exec.func @f {
    %0 = exec.buffer at 0 : !t
    // expected-error @below {{the mesh has no axis 'tensor'}}
    %1 = exec.collective all_reduce sum over ["tensor"] [1, 8, 1, 1, 8, 1] "all_reduce over tensor" (%0) -> (%0) : (!t) -> !t
  }
}

// -----

!x = !nd.tensor<f32, [b = 4, i = 8]>
!w = !nd.tensor<f32, [i = 8, j = 16]>
!y = !nd.tensor<f32, [b = 4, j = 16]>
func.func @f(%x: !x, %w: !w) {
  // expected-error @below {{without an epilogue must hold an 'nd.einsum' and an 'exec.yield'}}
  %0 = exec.product(%x, %w) : (!x, !w) -> !y {
  ^bb0(%a: !x, %b: !w):
    %1 = nd.einsum %a, %b {reduced = ["i"]} : (!x, !w) -> !y
    %2 = exec.fusion <parallel = ["b", "j"], reduce = [], lanes = "j", sizes = [4, 16]>(%1) : (!y) -> !y {
    ^bb0(%c: !y):
      %3 = nd.relu %c : (!y) -> !y
      exec.yield %3 : !y
    }
    exec.yield %2 : !y
  }
  return
}

// -----

!x = !nd.tensor<f32, [b = 4, i = 8]>
!w = !nd.tensor<f32, [i = 8, j = 16]>
!y = !nd.tensor<f32, [b = 4, j = 16]>
func.func @f(%x: !x, %w: !w) {
  // expected-error @below {{has a mask without an epilogue}}
  %0 = "exec.product"(%x, %w) <{mask}> ({
  ^bb0(%a: !x, %b: !w):
    %1 = nd.einsum %a, %b {reduced = ["i"]} : (!x, !w) -> !y
    exec.yield %1 : !y
  }) : (!x, !w) -> !y
  return
}

// -----

!x = !nd.tensor<f32, [b = 4, i = 8]>
!w = !nd.tensor<f32, [i = 8, j = 16]>
!y = !nd.tensor<f32, [b = 4, j = 16]>
func.func @f(%x: !x, %w: !w) {
  // expected-error @below {{must hold an 'nd.einsum', an 'exec.fusion' and an 'exec.yield'}}
  %0 = exec.product then relu(%x, %w) : (!x, !w) -> !y {
  ^bb0(%a: !x, %b: !w):
    %1 = nd.einsum %a, %b {reduced = ["i"]} : (!x, !w) -> !y
    %2 = nd.relu %1 : (!y) -> !y
    exec.yield %2 : !y
  }
  return
}

// -----

!x = !nd.tensor<f32, [b = 4, i = 8]>
!w = !nd.tensor<f32, [i = 8, j = 16]>
!y = !nd.tensor<f32, [b = 4, j = 16]>
func.func @f(%x: !x, %w: !w) {
  // expected-error @below {{but its block has arguments '!nd.tensor<f32, [i = 8, j = 16]>', '!nd.tensor<f32, [b = 4, i = 8]>'}}
  %0 = exec.product then relu(%x, %w) : (!x, !w) -> !y {
  ^bb0(%b: !w, %a: !x):
    %1 = nd.einsum %a, %b {reduced = ["i"]} : (!x, !w) -> !y
    %2 = exec.fusion <parallel = ["b", "j"], reduce = [], lanes = "j", sizes = [4, 16]>(%1) : (!y) -> !y {
    ^bb0(%c: !y):
      %3 = nd.relu %c : (!y) -> !y
      exec.yield %3 : !y
    }
    exec.yield %2 : !y
  }
  return
}

// -----

!x = !nd.tensor<f32, [b = 4, i = 8]>
!w = !nd.tensor<f32, [i = 8, j = 16]>
!y = !nd.tensor<f32, [b = 4, j = 16]>
func.func @f(%x: !x, %w: !w) {
  // expected-error @below {{must multiply two of its inputs}}
  %0 = exec.product then relu(%x, %w) : (!x, !w) -> !y {
  ^bb0(%a: !x, %b: !w):
    %1 = nd.einsum %a {reduced = ["i"]} : (!x) -> !nd.tensor<f32, [b = 4]>
    %2 = exec.fusion <parallel = ["b", "j"], reduce = [], lanes = "j", sizes = [4, 16]>(%1) : (!nd.tensor<f32, [b = 4]>) -> !y {
    ^bb0(%c: !nd.tensor<f32, [b = 4]>):
      %3 = nd.broadcast %c : (!nd.tensor<f32, [b = 4]>) -> !y
      exec.yield %3 : !y
    }
    exec.yield %2 : !y
  }
  return
}

// -----

!x = !nd.tensor<f32, [b = 4, i = 8]>
!w = !nd.tensor<f32, [i = 8, j = 16]>
!y = !nd.tensor<f32, [b = 4, j = 16]>
func.func @f(%x: !x, %w: !w) {
  // expected-error @below {{with epilogue 'bias' needs a fusion of 2 inputs and 1 result, got 1 and 1}}
  %0 = exec.product then bias(%x, %w) : (!x, !w) -> !y {
  ^bb0(%a: !x, %b: !w):
    %1 = nd.einsum %a, %b {reduced = ["i"]} : (!x, !w) -> !y
    %2 = exec.fusion <parallel = ["b", "j"], reduce = [], lanes = "j", sizes = [4, 16]>(%1) : (!y) -> !y {
    ^bb0(%c: !y):
      %3 = nd.relu %c : (!y) -> !y
      exec.yield %3 : !y
    }
    exec.yield %2 : !y
  }
  return
}

// -----

!x = !nd.tensor<f32, [b = 4, i = 8]>
!w = !nd.tensor<f32, [i = 8, j = 16]>
!y = !nd.tensor<f32, [b = 4, j = 16]>
func.func @f(%x: !x, %w: !w) {
  // expected-error @below {{has a mask, which relu and its gradient alone have}}
  %0:2 = exec.product then gelu mask(%x, %w) : (!x, !w) -> (!y, !nd.tensor<i1, [mask = 64]>) {
  ^bb0(%a: !x, %b: !w):
    %1 = nd.einsum %a, %b {reduced = ["i"]} : (!x, !w) -> !y
    %2 = exec.fusion <parallel = ["b", "j"], reduce = [], lanes = "j", sizes = [4, 16]>(%1) : (!y) -> !y {
    ^bb0(%c: !y):
      %3 = nd.gelu %c : (!y) -> !y
      exec.yield %3 : !y
    }
    exec.yield %2 : !y
  }
  return
}

// -----

!x = !nd.tensor<f32, [b = 4, i = 8]>
!w = !nd.tensor<f32, [i = 8, j = 16]>
!y = !nd.tensor<f32, [b = 4, j = 16]>
func.func @f(%x: !x, %w: !w) {
  // expected-error @below {{gives '!nd.tensor<f32, [b = 4, j = 16]>', '!nd.tensor<f32, [b = 4, j = 16]>' but its block yields '!nd.tensor<f32, [b = 4, j = 16]>'}}
  %0:2 = exec.product then relu(%x, %w) : (!x, !w) -> (!y, !y) {
  ^bb0(%a: !x, %b: !w):
    %1 = nd.einsum %a, %b {reduced = ["i"]} : (!x, !w) -> !y
    %2 = exec.fusion <parallel = ["b", "j"], reduce = [], lanes = "j", sizes = [4, 16]>(%1) : (!y) -> !y {
    ^bb0(%c: !y):
      %3 = nd.relu %c : (!y) -> !y
      exec.yield %3 : !y
    }
    exec.yield %2 : !y
  }
  return
}

// -----

!t = !exec.buffer<!nd.tensor<f32, [i = 8]>, ["i"]>
module attributes {nd.mesh = #nd.mesh<data = 2>} {
  exec.func @f {
    %0 = exec.buffer at 0 : !t
    // expected-error @below {{to be one of: all_reduce, reduce_scatter, all_gather, all_to_all, permute}}
    // expected-error @below {{failed to parse}}
    %1 = exec.collective shuffle sum over ["data"] [1, 8, 1, 1, 8, 1] "shuffle over data" (%0) -> (%0) : (!t) -> !t
  }
}

// -----

// A step function holds ops that say what they access, how they are called and
// what they compute; no other op is ignored.
// expected-note @below {{in this function}}
exec.func @train_step {
  // expected-error @below {{'nd.step' op has no meaning in a step function: it has neither StepOpInterface nor PieceOpInterface}}
  %0 = nd.step : () -> !nd.tensor<i32, []>
}

// -----

// expected-note @below {{in this function}}
exec.func @train_step {
  // expected-error @below {{'exec.tensor' op has no meaning in a step function}}
  exec.tensor "p" parameter ["a"] at 0 : !exec.buffer<!nd.tensor<f32, [a = 4]>, ["a"]>
}

// -----

!t = !exec.buffer<!nd.tensor<f32, [a = 4, b = 4]>, ["a", "b"]>
exec.func @f {
  %0 = exec.buffer at 0 : !t
  %1 = exec.buffer at 64 : !t
  %2 = exec.buffer at 128 : !t
  // expected-error @below {{takes more of a (20 elements) than its buffer has (16)}}
  exec.gemm %0, %1 -> %2 [5, 4, 4, 4, 4, 4, 1, 0, 0, 0] : !t, !t -> !t
}

// -----

!t = !exec.buffer<!nd.tensor<f32, [a = 4, b = 4]>, ["a", "b"]>
exec.func @f {
  %0 = exec.buffer at 0 : !t
  %1 = exec.buffer at 64 : !t
  %2 = exec.buffer at 128 : !t
  // expected-error @below {{takes more of b (20 elements) than its buffer has (16)}}
  exec.gemm %0, %1 -> %2 [2, 4, 5, 5, 4, 4, 1, 0, 0, 0] : !t, !t -> !t
}

// -----

!t = !exec.buffer<!nd.tensor<f32, [a = 4, b = 4]>, ["a", "b"]>
exec.func @f {
  %0 = exec.buffer at 0 : !t
  %1 = exec.buffer at 64 : !t
  %2 = exec.buffer at 128 : !t
  // expected-error @below {{takes more of c (20 elements) than its buffer has (16)}}
  exec.gemm %0, %1 -> %2 [4, 4, 1, 1, 4, 4, 2, 0, 0, 4] : !t, !t -> !t
}

// -----

!t = !exec.buffer<!nd.tensor<f32, [a = 4, b = 4]>, ["a", "b"]>
exec.func @f {
  %0 = exec.buffer at 0 : !t
  %1 = exec.buffer at 64 : !t
  %2 = exec.buffer at 128 : !t
  // expected-error @below {{takes more of a than its buffer has (16)}}
  exec.gemm %0, %1 -> %2 [4, 4, 4, 9223372036854775807, 4, 4, 1, 0, 0, 0] : !t, !t -> !t
}

// -----

!t = !exec.buffer<!nd.tensor<f32, [a = 4, b = 4]>, ["a", "b"]>
exec.func @f {
  %0 = exec.buffer at 0 : !t
  %1 = exec.buffer at 64 : !t
  %2 = exec.buffer at 128 : !t
  // expected-error @below {{the leading dimension of a must be at least 4, the elements of a stored row, got 2}}
  exec.gemm %0 transposed, %1 -> %2 [4, 4, 2, 2, 4, 4, 1, 0, 0, 0] : !t, !t -> !t
}

// -----

!t = !exec.buffer<!nd.tensor<f32, [a = 4, b = 4]>, ["a", "b"]>
exec.func @f {
  %0 = exec.buffer at 0 : !t
  %1 = exec.buffer at 64 : !t
  %2 = exec.buffer at 128 : !t
  // expected-error @below {{strides must not be negative, got -8 for b}}
  exec.gemm %0, %1 -> %2 [2, 4, 4, 4, 4, 4, 1, 0, -8, 0] : !t, !t -> !t
}

// -----

!a = !exec.buffer<!nd.tensor<f32, [b = 5 on {d}, i = 4]>, ["b", "i"]>
!c = !exec.buffer<!nd.tensor<f32, [i = 4, j = 4], sum {d}>, ["i", "j"]>
!b = !exec.buffer<!nd.tensor<f32, [b = 5 on {d}, j = 4]>, ["b", "j"]>
module attributes {nd.mesh = #nd.mesh<d = 2>} {
exec.func @f {
  %0 = exec.buffer at 0 : !a
  %1 = exec.buffer at 64 : !b
  %2 = exec.buffer at 128 : !c
  // expected-error @below {{must name the dim of k whose blocks may have padding: got '', expected 'b'}}
  exec.gemm %0 transposed, %1 -> %2 [4, 4, 3, 4, 4, 4, 1, 0, 0, 0] : !a, !b -> !c
}
}

// -----

!a = !exec.buffer<!nd.tensor<f32, [b = 5 on {d}, i = 4]>, ["b", "i"]>
!c = !exec.buffer<!nd.tensor<f32, [i = 4, j = 4], sum {d}>, ["i", "j"]>
!b = !exec.buffer<!nd.tensor<f32, [b = 5 on {d}, j = 4]>, ["b", "j"]>
module attributes {nd.mesh = #nd.mesh<d = 2>} {
exec.func @f {
  %0 = exec.buffer at 0 : !a
  %1 = exec.buffer at 64 : !b
  %2 = exec.buffer at 128 : !c
  // expected-error @below {{cannot divide k (2) into the 3 entries of 'b'}}
  exec.gemm %0 transposed, %1 -> %2 [4, 4, 2, 4, 4, 4, 1, 0, 0, 0] cut "b" : !a, !b -> !c
}
}

// -----

!a = !exec.buffer<!nd.tensor<f32, [b = 5 on {d}, i = 4, s = 2]>, ["s", "b", "i"]>
!c = !exec.buffer<!nd.tensor<f32, [i = 4, j = 4], sum {d}>, ["i", "j"]>
!b = !exec.buffer<!nd.tensor<f32, [b = 5 on {d}, j = 4, s = 2]>, ["s", "b", "j"]>
module attributes {nd.mesh = #nd.mesh<d = 2>} {
exec.func @f {
  %0 = exec.buffer at 0 : !a
  %1 = exec.buffer at 128 : !b
  %2 = exec.buffer at 256 : !c
  // expected-error @below {{needs 'b' as the outermost dim of k: in a its entries are 4 elements apart, expected 8}}
  exec.gemm %0 transposed, %1 -> %2 [4, 4, 6, 4, 4, 4, 1, 0, 0, 0] cut "b" : !a, !b -> !c
}
}

// -----

!a = !exec.buffer<!nd.tensor<f32, [b = 5 on {d}, i = 4, s = 3 on {t}]>, ["b", "s", "i"]>
!c = !exec.buffer<!nd.tensor<f32, [i = 4, j = 4], sum {d, t}>, ["i", "j"]>
!b = !exec.buffer<!nd.tensor<f32, [b = 5 on {d}, j = 4, s = 3 on {t}]>, ["b", "s", "j"]>
module attributes {nd.mesh = #nd.mesh<d = 2, t = 2>} {
exec.func @f {
  %0 = exec.buffer at 0 : !a
  %1 = exec.buffer at 128 : !b
  %2 = exec.buffer at 256 : !c
  // expected-error @below {{sums over 'b' and 's', which both have padding; one may have it}}
  exec.gemm %0 transposed, %1 -> %2 [4, 4, 6, 4, 4, 4, 1, 0, 0, 0] cut "b" : !a, !b -> !c
}
}

// -----

!a = !exec.buffer<!nd.tensor<f32, [b = 6 on {d}, i = 4]>, ["b", "i"]>
!c = !exec.buffer<!nd.tensor<f32, [i = 4, j = 4], sum {d}>, ["i", "j"]>
!b = !exec.buffer<!nd.tensor<f32, [b = 6 on {d}, j = 4]>, ["b", "j"]>
module attributes {nd.mesh = #nd.mesh<d = 2>} {
exec.func @f {
  %0 = exec.buffer at 0 : !a
  %1 = exec.buffer at 64 : !b
  %2 = exec.buffer at 128 : !c
  // expected-error @below {{must name the dim of k whose blocks may have padding: got 'b', expected ''}}
  exec.gemm %0 transposed, %1 -> %2 [4, 4, 3, 4, 4, 4, 1, 0, 0, 0] cut "b" : !a, !b -> !c
}
}

// -----

!t = !exec.buffer<!nd.tensor<f32, [i = 8]>, ["i"]>
!h = !exec.buffer<!nd.tensor<f32, [i = 8 on {data}]>, ["i"]>
!w = !exec.buffer<!nd.tensor<bf16, [i = 8]>, ["i"]>
module attributes {nd.mesh = #nd.mesh<data = 2>} {
  exec.func @f {
    %0 = exec.buffer at 0 : !t
    %1 = exec.buffer at 64 : !h
    %2 = exec.buffer at 128 : !w
    // expected-error @below {{needs at least one tensor}}
    %3 = exec.collective all_reduce sum over ["data"] [] "x" () -> () : () -> ()
  }
}

// -----

!t = !exec.buffer<!nd.tensor<f32, [i = 8]>, ["i"]>
!h = !exec.buffer<!nd.tensor<f32, [i = 8 on {data}]>, ["i"]>
!w = !exec.buffer<!nd.tensor<bf16, [i = 8]>, ["i"]>
module attributes {nd.mesh = #nd.mesh<data = 2>} {
  exec.func @f {
    %0 = exec.buffer at 0 : !t
    %1 = exec.buffer at 64 : !h
    %2 = exec.buffer at 128 : !w
    // expected-error @below {{names axis 'data' twice}}
    %3 = exec.collective all_reduce sum over ["data", "data"] [1, 8, 1, 1, 8, 1] "x" (%0) -> (%0) : (!t) -> !t
  }
}

// -----

!t = !exec.buffer<!nd.tensor<f32, [i = 8]>, ["i"]>
!h = !exec.buffer<!nd.tensor<f32, [i = 8 on {data}]>, ["i"]>
!w = !exec.buffer<!nd.tensor<bf16, [i = 8]>, ["i"]>
module attributes {nd.mesh = #nd.mesh<data = 2>} {
  exec.func @f {
    %0 = exec.buffer at 0 : !t
    %1 = exec.buffer at 64 : !h
    %2 = exec.buffer at 128 : !w
    // expected-error @below {{all tensors must have elements of type 'f32', got '!nd.tensor<bf16, [i = 8]>' to send}}
    %3 = exec.collective all_reduce sum over ["data"] [1, 8, 1, 1, 8, 1, 1, 8, 1, 1, 8, 1] "x" (%0, %2) -> (%0, %2) : (!t, !w) -> (!t, !w)
  }
}

// -----

!t = !exec.buffer<!nd.tensor<f32, [i = 8]>, ["i"]>
!h = !exec.buffer<!nd.tensor<f32, [i = 8 on {data}]>, ["i"]>
!w = !exec.buffer<!nd.tensor<bf16, [i = 8]>, ["i"]>
module attributes {nd.mesh = #nd.mesh<data = 2>} {
  exec.func @f {
    %0 = exec.buffer at 0 : !t
    %1 = exec.buffer at 64 : !h
    %2 = exec.buffer at 128 : !w
    // expected-error @below {{items [1, 100000, 1, 1, 8, 1] of tensor 0 do not match '!nd.tensor<f32, [i = 8]>' to send and '!nd.tensor<f32, [i = 8]>' to receive, on 2 ranks}}
    %3 = exec.collective all_reduce sum over ["data"] [1, 100000, 1, 1, 8, 1] "x" (%0) -> (%0) : (!t) -> !t
  }
}

// -----

!t = !exec.buffer<!nd.tensor<f32, [i = 8]>, ["i"]>
!h = !exec.buffer<!nd.tensor<f32, [i = 8 on {data}]>, ["i"]>
!w = !exec.buffer<!nd.tensor<bf16, [i = 8]>, ["i"]>
module attributes {nd.mesh = #nd.mesh<data = 2>} {
  exec.func @f {
    %0 = exec.buffer at 0 : !t
    %1 = exec.buffer at 64 : !h
    %2 = exec.buffer at 128 : !w
    // expected-error @below {{items [-1, -8, 1, 1, 8, 1] of tensor 0 do not match}}
    %3 = exec.collective all_reduce sum over ["data"] [-1, -8, 1, 1, 8, 1] "x" (%0) -> (%0) : (!t) -> !t
  }
}

// -----

!t = !exec.buffer<!nd.tensor<f32, [i = 8]>, ["i"]>
!h = !exec.buffer<!nd.tensor<f32, [i = 8 on {data}]>, ["i"]>
!w = !exec.buffer<!nd.tensor<bf16, [i = 8]>, ["i"]>
module attributes {nd.mesh = #nd.mesh<data = 2>} {
  exec.func @f {
    %0 = exec.buffer at 0 : !t
    %1 = exec.buffer at 64 : !h
    %2 = exec.buffer at 128 : !w
    // expected-error @below {{items [1, 16, 1, 1, 8, 1] of tensor 0 do not match '!nd.tensor<f32, [i = 8]>' to send and '!nd.tensor<f32, [i = 8 on {data}]>' to receive, on 2 ranks}}
    %3 = exec.collective reduce_scatter sum over ["data"] [1, 16, 1, 1, 8, 1] "x" (%0) -> (%1) : (!t) -> !h
  }
}

// -----

!t = !exec.buffer<!nd.tensor<f32, [i = 8]>, ["i"]>
!h = !exec.buffer<!nd.tensor<f32, [i = 8 on {data}]>, ["i"]>
!w = !exec.buffer<!nd.tensor<bf16, [i = 8]>, ["i"]>
module attributes {nd.mesh = #nd.mesh<data = 2>} {
  exec.func @f {
    %0 = exec.buffer at 0 : !t
    %1 = exec.buffer at 64 : !h
    %2 = exec.buffer at 128 : !w
    // expected-error @below {{items [1, 8, 1, 1, 16, 1] of tensor 0 do not match}}
    %3 = exec.collective all_gather sum over ["data"] [1, 8, 1, 1, 16, 1] "x" (%1) -> (%0) : (!h) -> !t
  }
}

// -----

!t = !exec.buffer<!nd.tensor<f32, [i = 8]>, ["i"]>
!h = !exec.buffer<!nd.tensor<f32, [i = 8 on {data}]>, ["i"]>
!w = !exec.buffer<!nd.tensor<bf16, [i = 8]>, ["i"]>
module attributes {nd.mesh = #nd.mesh<data = 2>} {
  exec.func @f {
    %0 = exec.buffer at 0 : !t
    %1 = exec.buffer at 64 : !h
    %2 = exec.buffer at 128 : !w
    // expected-error @below {{items [1, 16, 1, 1, 16, 1] of tensor 0 do not match}}
    %3 = exec.collective all_to_all sum over ["data"] [1, 16, 1, 1, 16, 1] "x" (%0) -> (%0) : (!t) -> !t
  }
}

// -----

// Sizes that fit the buffers, for each kind.
!t = !exec.buffer<!nd.tensor<f32, [i = 8]>, ["i"]>
!h = !exec.buffer<!nd.tensor<f32, [i = 8 on {data}]>, ["i"]>
!ab = !exec.buffer<!nd.tensor<f32, [a = 4 on {data}, b = 4]>, ["a", "b"]>
!ba = !exec.buffer<!nd.tensor<f32, [a = 4, b = 4 on {data}]>, ["a", "b"]>
module attributes {nd.mesh = #nd.mesh<data = 2>} {
  exec.func @f {
    %0 = exec.buffer at 0 : !t
    %1 = exec.buffer at 64 : !h
    %2 = exec.buffer at 128 : !ab
    %3 = exec.buffer at 192 : !ba
    %4 = exec.collective reduce_scatter sum over ["data"] [1, 8, 1, 1, 8, 1] "x" (%0) -> (%1) : (!t) -> !h
    %5 = exec.collective all_gather sum over ["data"] [1, 8, 1, 1, 8, 1] "x" (%1) -> (%0) : (!h) -> !t
    %6 = exec.collective all_to_all sum over ["data"] [2, 4, 1, 1, 4, 2] "x" (%2) -> (%3) : (!ab) -> !ba
    exec.gemm %2 transposed, %1 -> %0 [2, 2, 2, 4, 2, 2, 2, 2, 0, 4] : !ab, !h -> !t
  }
}

// -----

// Sizes of dims that the ranks do not divide.
!t = !exec.buffer<!nd.tensor<f32, [i = 7]>, ["i"]>
!h = !exec.buffer<!nd.tensor<f32, [i = 7 on {data}]>, ["i"]>
!ab = !exec.buffer<!nd.tensor<f32, [a = 3 on {data}, b = 5]>, ["a", "b"]>
!ba = !exec.buffer<!nd.tensor<f32, [a = 3, b = 5 on {data}]>, ["a", "b"]>
module attributes {nd.mesh = #nd.mesh<data = 2>} {
  exec.func @f {
    %0 = exec.buffer at 0 : !t
    %1 = exec.buffer at 64 : !h
    %2 = exec.buffer at 128 : !ab
    %3 = exec.buffer at 192 : !ba
    %4 = exec.collective reduce_scatter sum over ["data"] [1, 7, 1, 1, 7, 1] "x" (%0) -> (%1) : (!t) -> !h
    %5 = exec.collective all_gather sum over ["data"] [1, 7, 1, 1, 7, 1] "x" (%1) -> (%0) : (!h) -> !t
    %6 = exec.collective all_to_all sum over ["data"] [2, 5, 1, 1, 3, 3] "x" (%2) -> (%3) : (!ab) -> !ba
  }
}

// -----

// Send and receive do not agree on what is gathered.
!t = !exec.buffer<!nd.tensor<f32, [i = 8]>, ["i"]>
!h = !exec.buffer<!nd.tensor<f32, [i = 8 on {data}]>, ["i"]>
module attributes {nd.mesh = #nd.mesh<data = 2>} {
  exec.func @f {
    %0 = exec.buffer at 0 : !t
    %1 = exec.buffer at 64 : !h
    // expected-error @below {{items [1, 4, 2, 1, 8, 1] of tensor 0 do not match}}
    %3 = exec.collective all_gather sum over ["data"] [1, 4, 2, 1, 8, 1] "x" (%1) -> (%0) : (!h) -> !t
  }
}

// -----

// One side has rows of 3 elements, the other rows of 2 with padding. Neither fits
// into the other.
!ab = !exec.buffer<!nd.tensor<f32, [a = 3 on {data}, b = 6]>, ["a", "b"]>
!ba = !exec.buffer<!nd.tensor<f32, [a = 3, b = 6 on {data}]>, ["a", "b"]>
module attributes {nd.mesh = #nd.mesh<data = 2>} {
  exec.func @f {
    %2 = exec.buffer at 128 : !ab
    %3 = exec.buffer at 192 : !ba
    // expected-error @below {{items [2, 6, 1, 3, 3, 1] of tensor 0 do not match}}
    %6 = exec.collective all_to_all sum over ["data"] [2, 6, 1, 3, 3, 1] "x" (%2) -> (%3) : (!ab) -> !ba
  }
}

// -----

!t = !exec.buffer<!nd.tensor<f32, [i = 8]>, ["i"]>
module attributes {nd.mesh = #nd.mesh<data = 2>} {
  // expected-error @below {{'exec.func' op must have no arguments, got '!exec.buffer<<f32, [i = 8]>, ["i"]>'}}
  exec.func @f {
  ^bb0(%0: !t):
    %1 = exec.collective all_reduce sum over ["data"] [1, 8, 1, 1, 8, 1] "x" (%0) -> (%0) : (!t) -> !t
  }
}

// -----

exec.func @f {
  // expected-error @below {{attribute 'size' failed to satisfy constraint}}
  exec.loop "d" 0 {
  }
}

// -----

exec.func @f {
  // expected-note @below {{in this loop}}
  exec.loop "d" 2 {
    // expected-error @below {{has no meaning in a step function}}
    %0 = nd.constant 1.0 : f32 -> !nd.tensor<f32, []>
  }
}

// -----

exec.func @f {
  // expected-error @below {{must have no arguments, got 'f32'}}
  exec.loop "d" 2 {
  ^bb0(%x: f32):
  }
}

// -----

!t = !exec.buffer<!nd.tensor<f32, [i = 8]>, ["i"]>
exec.func @f {
  exec.loop "d" 2 {
    // expected-error @below {{must have one stride for each of 1 loops around it, got 2}}
    %0 = exec.buffer at 0 strides [32, 32] : !t
  }
}

// -----

!t = !exec.buffer<!nd.tensor<f32, [i = 8]>, ["i"]>
exec.func @f {
  // expected-error @below {{must have one stride for each of 0 loops around it, got 1}}
  %0 = exec.buffer at 0 strides [32] : !t
}

// -----

!t = !exec.buffer<!nd.tensor<f32, [i = 8]>, ["i"]>
exec.func @f {
  exec.loop "d" 2 {
    // expected-error @below {{strides must not be negative, got -32}}
    %0 = exec.buffer at 64 strides [-32] : !t
  }
}

// -----

!t = !exec.buffer<!nd.tensor<f32, [i = 8]>, ["i"]>
exec.func @f {
  exec.loop "d" 2 {
    // expected-error @below {{must have one alternate for each of 1 loops around it, got 2}}
    %0 = exec.buffer at 0 alternates [64, 64] : !t
  }
}

// -----

!t = !exec.buffer<!nd.tensor<f32, [i = 8]>, ["i"]>
exec.func @f {
  exec.loop "d" 2 {
    // expected-error @below {{alternates must be multiples of 64 that are not negative, got 32}}
    %0 = exec.buffer at 0 alternates [32] : !t
  }
}

// -----

!t = !exec.buffer<!nd.tensor<f32, [i = 8]>, ["i"]>
module attributes {nd.mesh = #nd.mesh<data = 2>} {
  exec.func @f {
    %0 = exec.buffer at 0 : !t
    %1 = exec.buffer at 64 : !t
    // expected-error @below {{is begun ahead but stands in no loop: there is no next iteration}}
    %2 = exec.collective all_reduce ahead sum over ["data"] [1, 8, 1, 1, 8, 1] "all_reduce" (%0) -> (%1) : (!t) -> !t
  }
}

// -----

!t = !exec.buffer<!nd.tensor<i1, []>, []>
exec.func @f {
  %0 = exec.buffer at 0 : !t
  // expected-error @below {{must be the last op in the body of a loop}}
  exec.while %0 : !t
}

// -----

!t = !exec.buffer<!nd.tensor<i1, []>, []>
exec.func @f {
  exec.loop "d" 2 {
    %0 = exec.buffer at 0 : !t
    // expected-error @below {{must be the last op in the body of a loop}}
    exec.while %0 : !t
    %1 = exec.buffer at 64 : !t
  }
}

// -----

!t = !exec.buffer<!nd.tensor<f32, []>, []>
exec.func @f {
  exec.loop "d" 2 {
    %0 = exec.buffer at 0 : !t
    // expected-error @below {{needs a scalar i1 as its condition, got '!nd.tensor<f32, []>'}}
    exec.while %0 : !t
  }
}

// -----

!b = !exec.buffer<!nd.tensor<i1, []>, []>
!t = !exec.buffer<!nd.tensor<f32, [i = 8]>, ["i"]>
module attributes {nd.mesh = #nd.mesh<data = 2>} {
  exec.func @f {
    exec.loop "d" 2 {
      %0 = exec.buffer at 0 : !t
      %1 = exec.buffer at 64 alternates [64] : !t
      // expected-error @below {{is begun ahead in a loop that may end before the next iteration}}
      %2 = exec.collective all_reduce ahead sum over ["data"] [1, 8, 1, 1, 8, 1] "all_reduce" (%0) -> (%1) : (!t) -> !t
      exec.wait %2
      %3 = exec.buffer at 192 : !b
      exec.while %3 : !b
    }
  }
}

// -----

!v = !nd.tensor<f32, [i = 9]>
!t = !exec.buffer<!v, ["i"]>
exec.kernel @k <parallel = ["i"], reduce = [], lanes = "i", sizes = [9]> in [["i"]] out [["i"]] {
^bb0(%in: !v):
  exec.yield %in : !v
}
exec.func @f {
  exec.loop "d" 2 {
    %0 = exec.buffer at 0 strides [36] : !t
    %1 = exec.buffer at 128 : !t
    // expected-error @below {{buffer 0 lies at multiples of 4 bytes; kernel 'k' relies on multiples of 16}}
    exec.launch @k(%0) -> (%1) : (!t) -> !t
  }
}

// -----

!v = !nd.tensor<f32, [i = 9]>
// expected-error @below {{has 2 buffers but alignments for 1}}
exec.kernel @k <parallel = ["i"], reduce = [], lanes = "i", sizes = [9]> in [["i"]] out [["i"]] attributes {alignments = array<i64: 4>} {
^bb0(%in: !v):
  exec.yield %in : !v
}

// -----

!v = !nd.tensor<f32, [i = 9]>
// expected-error @below {{alignments must be powers of two up to 16, got 12}}
exec.kernel @k <parallel = ["i"], reduce = [], lanes = "i", sizes = [9]> in [["i"]] out [["i"]] attributes {alignments = array<i64: 12, 4>} {
^bb0(%in: !v):
  exec.yield %in : !v
}

// -----

!x = !nd.tensor<f32, [a = 4]>
func.func @f(%x: !x) {
  // expected-error @below {{must end the block of a kernel, a fusion or a library op}}
  exec.yield %x : !x
}

// -----

!h = !exec.buffer<!nd.tensor<f32, [i = 8 on {a}]>, ["i"]>
!g = !exec.buffer<!nd.tensor<f32, [i = 8 on {b}]>, ["i"]>
module attributes {nd.mesh = #nd.mesh<a = 2, b = 2>} {
  exec.func @f {
    %0 = exec.buffer at 0 : !h
    %1 = exec.buffer at 64 : !g
    %2 = exec.collective permute sum over ["a", "b"] from ["a", "b"] to ["b", "a"] [1, 4, 1, 1, 4, 1] "x" (%0) -> (%1) : (!h) -> !g
    // expected-error @below {{needs orders of senders and receivers if it is a permute, and none otherwise}}
    %3 = exec.collective permute sum over ["a", "b"] [1, 4, 1, 1, 4, 1] "x" (%0) -> (%1) : (!h) -> !g
  }
}

// -----

!h = !exec.buffer<!nd.tensor<f32, [i = 8 on {a}]>, ["i"]>
module attributes {nd.mesh = #nd.mesh<a = 2, b = 2>} {
  exec.func @f {
    %0 = exec.buffer at 0 : !h
    // expected-error @below {{needs orders of senders and receivers if it is a permute, and none otherwise}}
    %3 = exec.collective all_reduce sum over ["a", "b"] from ["a", "b"] to ["b", "a"] [1, 4, 1, 1, 4, 1] "x" (%0) -> (%0) : (!h) -> !h
  }
}

// -----

!h = !exec.buffer<!nd.tensor<f32, [i = 8 on {a}]>, ["i"]>
!g = !exec.buffer<!nd.tensor<f32, [i = 8 on {b}]>, ["i"]>
module attributes {nd.mesh = #nd.mesh<a = 2, b = 2>} {
  exec.func @f {
    %0 = exec.buffer at 0 : !h
    %1 = exec.buffer at 64 : !g
    // expected-error @below {{has axes ["a", "b"], but numbers ranks by ["b", "b"]}}
    %3 = exec.collective permute sum over ["a", "b"] from ["a", "b"] to ["b", "b"] [1, 4, 1, 1, 4, 1] "x" (%0) -> (%1) : (!h) -> !g
  }
}

// -----

!h = !exec.buffer<!nd.tensor<f32, [i = 8 on {a}]>, ["i"]>
!g = !exec.buffer<!nd.tensor<f32, [i = 8 on {b}]>, ["i"]>
module attributes {nd.mesh = #nd.mesh<a = 2, b = 2>} {
  exec.func @f {
    %0 = exec.buffer at 0 : !h
    %1 = exec.buffer at 64 : !g
    // expected-error @below {{has a round, which needs a permute without a shift}}
    %2 = exec.collective permute sum over ["a", "b"] from ["a", "b"] to ["a", "b"] shift 1 round <from = 4, to = 2, offset = 0, number = 0> [1, 4, 1, 1, 4, 1] "x" (%0) -> (%1) : (!h) -> !g
  }
}

// -----

!h = !exec.buffer<!nd.tensor<f32, [i = 8 on {a}]>, ["i"]>
!g = !exec.buffer<!nd.tensor<f32, [i = 8 on {b}]>, ["i"]>
module attributes {nd.mesh = #nd.mesh<a = 2, b = 2>} {
  exec.func @f {
    %0 = exec.buffer at 0 : !h
    %1 = exec.buffer at 64 : !g
    // expected-error @below {{has a shift of 4; it must be at least 0 and less than 4}}
    %3 = exec.collective permute sum over ["a", "b"] from ["a", "b"] to ["b", "a"] shift 4 [1, 4, 1, 1, 4, 1] "x" (%0) -> (%1) : (!h) -> !g
  }
}

// -----

!h = !exec.buffer<!nd.tensor<f32, [i = 8 on {a}]>, ["i"]>
!g = !exec.buffer<!nd.tensor<f32, [i = 8 on {b}]>, ["i"]>
module attributes {nd.mesh = #nd.mesh<a = 2, b = 2>} {
  exec.func @f {
    %0 = exec.buffer at 0 : !h
    %1 = exec.buffer at 64 : !g
    // expected-error @below {{items [1, 8, 1, 1, 8, 1] of tensor 0 do not match}}
    %3 = exec.collective permute sum over ["a", "b"] from ["a", "b"] to ["b", "a"] [1, 8, 1, 1, 8, 1] "x" (%0) -> (%1) : (!h) -> !g
  }
}
