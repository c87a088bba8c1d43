// RUN: mesh-opt %s --meshc-verify-schedule --split-input-file --verify-diagnostics

!m = !nd.tensor<f32, [a = 4, b = 4]>
!t = !exec.buffer<!m, ["a", "b"]>

module attributes {exec.arena_bytes = 256 : i64} {
  exec.tensor "p" parameter ["a", "b"] at 0 : !t
  exec.kernel @neg <parallel = ["a", "b"], reduce = [], lanes = "b", sizes = [4, 4]> in [["a", "b"]] out [["a", "b"]] {
  ^bb0(%x: !m):
    %0 = nd.neg %x : (!m) -> !m
    exec.yield %0 : !m
  }
  exec.func @train_step {
    %0 = exec.buffer at 0 : !t
    %1 = exec.buffer at 128 : !t
    // expected-error @below {{reads bytes 128 to 192, where no op wrote a}}
    exec.launch @neg(%1) -> (%0) : (!t) -> !t
  }
}

// -----

!v = !nd.tensor<f32, [i = 16]>
!b = !exec.buffer<!v, ["i"]>
module attributes {exec.arena_bytes = 256 : i64} {
exec.tensor "x" "input" ["i"] at 0 : !b
// The second part overwrites what the first one reads.
exec.kernel @k <parallel = [], reduce = [], lanes = "", sizes = []> in [["i"]] out [["i"], ["i"]]
  attributes {parts = [#exec.part<1, <parallel = ["i"], reduce = [], lanes = "i", sizes = [16]>>,
                       #exec.part<1, <parallel = ["i"], reduce = [], lanes = "i", sizes = [16]>>]} {
^bb0(%x: !v):
  %y = nd.exp %x : (!v) -> !v
  %z = nd.neg %x : (!v) -> !v
  exec.yield %y, %z : !v, !v
}
exec.func @eval_step {
  %0 = exec.buffer at 0 : !b
  %1 = exec.buffer at 64 : !b
  // expected-error @below {{over operand 0, which it reads at other points (bytes 0 to 64)}}
  exec.launch @k(%0) -> (%1, %0) : (!b) -> (!b, !b)
}
}

// -----

!m = !nd.tensor<f32, [a = 4, b = 4]>
!t = !exec.buffer<!m, ["a", "b"]>

module attributes {exec.arena_bytes = 256 : i64} {
  exec.tensor "p" parameter ["a", "b"] at 0 : !t
  exec.kernel @swap <parallel = ["a", "b"], reduce = [], lanes = "b", sizes = [4, 4]> in [["a", "b"]] out [["a", "b"]] {
  ^bb0(%x: !m):
    %0 = nd.rename %x {from = ["a", "b"], to = ["b", "a"]} : (!m) -> !m
    exec.yield %0 : !m
  }
  exec.func @train_step {
    %0 = exec.buffer at 0 : !t
    // expected-error @below {{writes bytes 0 to 64 over operand 0, which it reads at other points (bytes 0 to 64)}}
    exec.launch @swap(%0) -> (%0) : (!t) -> !t
  }
}

// -----

!m = !nd.tensor<f32, [a = 4, b = 4]>
!t = !exec.buffer<!m, ["a", "b"]>

module attributes {exec.arena_bytes = 256 : i64} {
  exec.tensor "p" parameter ["a", "b"] at 0 : !t
  exec.kernel @neg <parallel = ["a", "b"], reduce = [], lanes = "b", sizes = [4, 4]> in [["a", "b"]] out [["a", "b"]] {
  ^bb0(%x: !m):
    %0 = nd.neg %x : (!m) -> !m
    exec.yield %0 : !m
  }
  exec.func @train_step {
    %0 = exec.buffer at 0 : !t
    %1 = exec.buffer at 32 : !t
    // expected-error @below {{writes bytes 32 to 96; offsets must be multiples of 64 within the arena's 256 bytes}}
    exec.launch @neg(%0) -> (%1) : (!t) -> !t
  }
}

// -----

!m = !nd.tensor<f32, [a = 4, b = 4]>
!t = !exec.buffer<!m, ["a", "b"]>

module attributes {exec.arena_bytes = 64 : i64} {
  exec.tensor "p" parameter ["a", "b"] at 0 : !t
  // expected-error @below {{leaves no parameter 'p'}}
  exec.func @initialize {
  }
}

// -----

!m = !nd.tensor<f32, [a = 4, b = 4]>
!t = !exec.buffer<!m, ["a", "b"]>

// In place where each element is read only where it is written.
module attributes {exec.arena_bytes = 64 : i64} {
  exec.tensor "p" parameter ["a", "b"] at 0 : !t
  exec.kernel @neg <parallel = ["a", "b"], reduce = [], lanes = "b", sizes = [4, 4]> in [["a", "b"]] out [["a", "b"]] {
  ^bb0(%x: !m):
    %0 = nd.neg %x : (!m) -> !m
    exec.yield %0 : !m
  }
  exec.func @train_step {
    %0 = exec.buffer at 0 : !t
    exec.launch @neg(%0) -> (%0) : (!t) -> !t
  }
}

// -----

!m = !nd.tensor<f32, [a = 4, b = 4]>
!t = !exec.buffer<!m, ["a", "b"]>

module attributes {exec.arena_bytes = 192 : i64} {
  exec.tensor "p" parameter ["a", "b"] at 0 : !t
  exec.tensor "q" parameter ["a", "b"] at 64 : !t
  exec.func @train_step {
    %0 = exec.buffer at 0 : !t
    %1 = exec.buffer at 64 : !t
    // expected-error @below {{writes bytes 64 to 128 over operand 1, which it reads at other points}}
    exec.gemm %0, %1 -> %1 [4, 4, 4, 4, 4, 4, 1, 0, 0, 0] : !t, !t -> !t
  }
}

// -----

module attributes {exec.arena_bytes = 192 : i64} {
  // expected-error @below {{remains after the schedule phase}}
  func.func @train_step() {
    return
  }
}

// -----

!m = !nd.tensor<f32, [a = 4, b = 4]>
!t = !exec.buffer<!m, ["a", "b"]>

module attributes {nd.mesh = #nd.mesh<data = 2>, exec.arena_bytes = 192 : i64} {
  exec.tensor "p" parameter ["a", "b"] at 0 : !t
  exec.func @train_step {
    %0 = exec.buffer at 0 : !t
    // expected-error @below {{is not waited for}}
    %t = exec.collective all_reduce sum over ["data"] [1, 16, 1, 1, 16, 1] "all_reduce over data" (%0) -> (%0) : (!t) -> !t
  }
}

// -----

!m = !nd.tensor<f32, [a = 4, b = 4]>
!t = !exec.buffer<!m, ["a", "b"]>

module attributes {nd.mesh = #nd.mesh<data = 2>, exec.arena_bytes = 192 : i64} {
  exec.tensor "p" parameter ["a", "b"] at 0 : !t
  exec.tensor "q" parameter ["a", "b"] at 64 : !t
  exec.func @train_step {
    %0 = exec.buffer at 0 : !t
    %1 = exec.buffer at 64 : !t
    // expected-note @below {{begun here}}
    %t = exec.collective all_reduce sum over ["data"] [1, 16, 1, 1, 16, 1] "all_reduce over data" (%0) -> (%1) : (!t) -> !t
    // expected-error @below {{touches buffers of a collective that runs}}
    exec.gemm %1, %1 -> %0 [4, 4, 4, 4, 4, 4, 1, 0, 0, 0] : !t, !t -> !t
    exec.wait %t
  }
}

// -----

!m = !nd.tensor<f32, [a = 4, b = 4]>
!t = !exec.buffer<!m, ["a", "b"]>

module attributes {nd.mesh = #nd.mesh<data = 2>, exec.arena_bytes = 192 : i64} {
  exec.tensor "p" parameter ["a", "b"] at 0 : !t
  exec.func @train_step {
    %0 = exec.buffer at 0 : !t
    %t = exec.collective all_reduce sum over ["data"] [1, 16, 1, 1, 16, 1] "all_reduce over data" (%0) -> (%0) : (!t) -> !t
    exec.wait %t
    // expected-error @below {{waits for a collective a second time}}
    exec.wait %t
  }
}

// -----

!m = !nd.tensor<f32, [a = 4, b = 4]>
!t = !exec.buffer<!m, ["a", "b"]>

// Scratch memory is lost where it lies, and nowhere else.
module attributes {exec.arena_bytes = 512 : i64} {
  exec.tensor "p" parameter ["a", "b"] at 0 : !t
  exec.tensor "q" parameter ["a", "b"] at 64 : !t
  exec.func @train_step {
    %0 = exec.buffer at 0 : !t
    %1 = exec.buffer at 64 : !t
    %2 = exec.buffer at 128 : !t
    %s = exec.scratch at 192 : !exec.scratch<320>
    exec.gemm %0, %1 -> %2 [4, 4, 4, 4, 4, 4, 1, 0, 0, 0] scratch %s : !exec.scratch<320> : !t, !t -> !t
    exec.gemm %1, %2 -> %0 [4, 4, 4, 4, 4, 4, 1, 0, 0, 0] scratch %s : !exec.scratch<320> : !t, !t -> !t
  }
}

// -----

!m = !nd.tensor<f32, [a = 4, b = 4]>
!t = !exec.buffer<!m, ["a", "b"]>

module attributes {exec.arena_bytes = 512 : i64} {
  exec.tensor "p" parameter ["a", "b"] at 0 : !t
  exec.tensor "q" parameter ["a", "b"] at 64 : !t
  exec.func @train_step {
    %0 = exec.buffer at 0 : !t
    %1 = exec.buffer at 64 : !t
    %2 = exec.buffer at 128 : !t
    %s = exec.scratch at 64 : !exec.scratch<64>
    // expected-error @below {{has scratch memory at bytes 64 to 128, where it reads or writes a '!exec.buffer}}
    exec.gemm %0, %1 -> %2 [4, 4, 4, 4, 4, 4, 1, 0, 0, 0] scratch %s : !exec.scratch<64> : !t, !t -> !t
  }
}

// -----

!m = !nd.tensor<f32, [a = 4, b = 4]>
!t = !exec.buffer<!m, ["a", "b"]>

module attributes {exec.arena_bytes = 512 : i64} {
  exec.tensor "p" parameter ["a", "b"] at 0 : !t
  exec.tensor "q" parameter ["a", "b"] at 64 : !t
  exec.func @train_step {
    %0 = exec.buffer at 0 : !t
    %1 = exec.buffer at 64 : !t
    %2 = exec.buffer at 128 : !t
    %3 = exec.buffer at 192 : !t
    %s = exec.scratch at 128 : !exec.scratch<64>
    exec.gemm %0, %1 -> %2 [4, 4, 4, 4, 4, 4, 1, 0, 0, 0] : !t, !t -> !t
    exec.gemm %0, %1 -> %3 [4, 4, 4, 4, 4, 4, 1, 0, 0, 0] scratch %s : !exec.scratch<64> : !t, !t -> !t
    // expected-error @below {{reads bytes 128 to 192, where no op wrote a}}
    exec.gemm %2, %3 -> %0 [4, 4, 4, 4, 4, 4, 1, 0, 0, 0] : !t, !t -> !t
  }
}

// -----

!m = !nd.tensor<f32, [a = 4, b = 4]>
!t = !exec.buffer<!m, ["a", "b"]>

module attributes {exec.arena_bytes = 512 : i64} {
  exec.tensor "p" parameter ["a", "b"] at 0 : !t
  exec.tensor "q" parameter ["a", "b"] at 64 : !t
  exec.func @train_step {
    %0 = exec.buffer at 0 : !t
    %1 = exec.buffer at 64 : !t
    %2 = exec.buffer at 128 : !t
    %s = exec.scratch at 256 : !exec.scratch<320>
    // expected-error @below {{has scratch memory at bytes 256 to 576; offsets must be multiples of 64 within the arena's 512 bytes}}
    exec.gemm %0, %1 -> %2 [4, 4, 4, 4, 4, 4, 1, 0, 0, 0] scratch %s : !exec.scratch<320> : !t, !t -> !t
  }
}

// -----

!m = !nd.tensor<f32, [a = 4, b = 4]>
!t = !exec.buffer<!m, ["a", "b"]>

module attributes {nd.mesh = #nd.mesh<data = 2>, exec.arena_bytes = 512 : i64} {
  exec.tensor "p" parameter ["a", "b"] at 0 : !t
  exec.tensor "q" parameter ["a", "b"] at 64 : !t
  exec.func @train_step {
    %0 = exec.buffer at 0 : !t
    %1 = exec.buffer at 64 : !t
    %2 = exec.buffer at 128 : !t
    %3 = exec.buffer at 192 : !t
    %s = exec.scratch at 192 : !exec.scratch<64>
    // expected-note @below {{begun here}}
    %t = exec.collective all_reduce sum over ["data"] [1, 16, 1, 1, 16, 1] "all_reduce over data" (%0) -> (%3) : (!t) -> !t
    // expected-error @below {{touches buffers of a collective that runs}}
    exec.gemm %0, %1 -> %2 [4, 4, 4, 4, 4, 4, 1, 0, 0, 0] scratch %s : !exec.scratch<64> : !t, !t -> !t
    exec.wait %t
  }
}

// -----

// expected-error @below {{has no exec.arena_bytes}}
module {
}

// -----

!m = !nd.tensor<f32, [a = 4, b = 4]>
!t = !exec.buffer<!m, ["a", "b"]>

module attributes {exec.arena_bytes = 192 : i64} {
  exec.tensor "p" parameter ["a", "b"] at 0 : !t
  exec.kernel @both <parallel = ["a", "b"], reduce = [], lanes = "b", sizes = [4, 4]> in [["a", "b"]] out [["a", "b"], ["a", "b"]] {
  ^bb0(%x: !m):
    %0 = nd.neg %x : (!m) -> !m
    exec.yield %0, %x : !m, !m
  }
  exec.func @train_step {
    %0 = exec.buffer at 0 : !t
    %1 = exec.buffer at 128 : !t
    // expected-error @below {{writes results 0 and 1 to the same bytes}}
    exec.launch @both(%0) -> (%1, %1) : (!t) -> (!t, !t)
  }
}
