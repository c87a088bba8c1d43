// RUN: mesh-opt %s --meshc-verify-schedule --split-input-file --verify-diagnostics

!m = !nd.tensor<f32, [a = 4, b = 4]>
!ms = !nd.tensor<f32, [a = 4, b = 4, d = 4]>
!t = !exec.buffer<!m, ["a", "b"]>
!ts = !exec.buffer<!ms, ["d", "a", "b"]>

// A carried value in place, entries read and written, and all of them read
// after the loop.
module attributes {exec.arena_bytes = 1024 : i64} {
  exec.tensor "x" input ["a", "b"] at 0 : !t
  exec.tensor "xs" input ["d", "a", "b"] at 64 : !ts
  exec.tensor "ys" metric ["d", "a", "b"] at 384 : !ts
  exec.kernel @add <parallel = ["a", "b"], reduce = [], lanes = "b", sizes = [4, 4]> in [["a", "b"], ["a", "b"]] out [["a", "b"]] {
  ^bb0(%x: !m, %y: !m):
    %0 = nd.add %x, %y : (!m, !m) -> !m
    exec.yield %0 : !m
  }
  exec.kernel @all <parallel = ["d", "a", "b"], reduce = [], lanes = "b", sizes = [4, 4, 4]> in [["d", "a", "b"]] out [["d", "a", "b"]] {
  ^bb0(%x: !ms):
    %0 = nd.neg %x : (!ms) -> !ms
    exec.yield %0 : !ms
  }
  exec.func @train_step {
    %0 = exec.buffer at 0 : !t
    %1 = exec.buffer at 320 : !t
    exec.launch @add(%0, %0) -> (%1) : (!t, !t) -> !t
    exec.loop "d" 4 backwards {
      %2 = exec.buffer at 320 : !t
      %3 = exec.buffer at 64 strides [64] : !t
      %4 = exec.buffer at 640 strides [64] : !t
      exec.launch @add(%2, %3) -> (%4) : (!t, !t) -> !t
      exec.launch @add(%2, %4) -> (%2) : (!t, !t) -> !t
    }
    %5 = exec.buffer at 640 : !ts
    %6 = exec.buffer at 384 : !ts
    exec.launch @all(%5) -> (%6) : (!ts) -> !ts
  }
}

// -----

!m = !nd.tensor<f32, [a = 4, b = 4]>
!t = !exec.buffer<!m, ["a", "b"]>

// The next iteration does not find what this one overwrote at its end.
module attributes {exec.arena_bytes = 512 : i64} {
  exec.tensor "x" input ["a", "b"] at 0 : !t
  exec.kernel @neg <parallel = ["a", "b"], reduce = [], lanes = "b", sizes = [4, 4]> in [["a", "b"]] out [["a", "b"]] {
  ^bb0(%x: !m):
    %0 = nd.neg %x : (!m) -> !m
    exec.yield %0 : !m
  }
  exec.func @eval_step {
    exec.loop "d" 4 {
      %0 = exec.buffer at 0 : !t
      %1 = exec.buffer at 64 : !t
      %2 = exec.buffer at 0 : !exec.buffer<!m, ["b", "a"]>
      // expected-error @below {{reads bytes 0 to 64, where no op wrote a}}
      exec.launch @neg(%0) -> (%1) : (!t) -> !t
      exec.gemm %1, %1 transposed -> %2 [4, 4, 4, 4, 4, 4, 1, 0, 0, 0] : !t, !t -> !exec.buffer<!m, ["b", "a"]>
    }
  }
}

// -----

!m = !nd.tensor<f32, [a = 4, b = 4]>
!t = !exec.buffer<!m, ["a", "b"]>

// A value of the previous iteration, which the first one lacks.
module attributes {exec.arena_bytes = 512 : i64} {
  exec.tensor "x" input ["a", "b"] at 0 : !t
  exec.kernel @neg <parallel = ["a", "b"], reduce = [], lanes = "b", sizes = [4, 4]> in [["a", "b"]] out [["a", "b"]] {
  ^bb0(%x: !m):
    %0 = nd.neg %x : (!m) -> !m
    exec.yield %0 : !m
  }
  exec.func @eval_step {
    exec.loop "d" 4 {
      %0 = exec.buffer at 0 : !t
      %1 = exec.buffer at 64 : !t
      %2 = exec.buffer at 128 : !t
      // expected-error @below {{reads bytes 64 to 128, where no op wrote a}}
      exec.launch @neg(%1) -> (%2) : (!t) -> !t
      exec.launch @neg(%0) -> (%1) : (!t) -> !t
    }
  }
}

// -----

!m = !nd.tensor<f32, [a = 4, b = 4]>
!t = !exec.buffer<!m, ["a", "b"]>

// Three entries exist, the loop reads four.
module attributes {exec.arena_bytes = 512 : i64} {
  exec.tensor "xs" input ["d", "a", "b"] at 0 : !exec.buffer<!nd.tensor<f32, [a = 4, b = 4, d = 3]>, ["d", "a", "b"]>
  exec.kernel @neg <parallel = ["a", "b"], reduce = [], lanes = "b", sizes = [4, 4]> in [["a", "b"]] out [["a", "b"]] {
  ^bb0(%x: !m):
    %0 = nd.neg %x : (!m) -> !m
    exec.yield %0 : !m
  }
  exec.func @eval_step {
    exec.loop "d" 4 {
      %0 = exec.buffer at 0 strides [64] : !t
      %1 = exec.buffer at 256 : !t
      // expected-error @below {{reads bytes 64 to 256, where no op wrote a}}
      exec.launch @neg(%0) -> (%1) : (!t) -> !t
    }
  }
}

// -----

!m = !nd.tensor<f32, [a = 4, b = 4]>
!t = !exec.buffer<!m, ["a", "b"]>

// A temporary lies over an entry of the fourth iteration.
module attributes {exec.arena_bytes = 512 : i64} {
  exec.tensor "xs" input ["d", "a", "b"] at 0 : !exec.buffer<!nd.tensor<f32, [a = 4, b = 4, d = 4]>, ["d", "a", "b"]>
  exec.kernel @neg <parallel = ["a", "b"], reduce = [], lanes = "b", sizes = [4, 4]> in [["a", "b"]] out [["a", "b"]] {
  ^bb0(%x: !m):
    %0 = nd.neg %x : (!m) -> !m
    exec.yield %0 : !m
  }
  exec.func @eval_step {
    exec.loop "d" 4 {
      %0 = exec.buffer at 0 strides [64] : !t
      %1 = exec.buffer at 192 : !t
      // expected-note @below {{bytes 0 to 64, which move by 64}}
      // expected-error @below {{accesses bytes 192 to 256, which move by 0 per iteration of 'd', and meets other iterations' bytes}}
      exec.launch @neg(%0) -> (%1) : (!t) -> !t
    }
  }
}

// -----

!m = !nd.tensor<f32, [a = 4, b = 4]>
!t = !exec.buffer<!m, ["a", "b"]>

// Results of an iteration lie over those of the one after the next.
module attributes {exec.arena_bytes = 1024 : i64} {
  exec.tensor "x" input ["a", "b"] at 0 : !t
  exec.kernel @neg <parallel = ["a", "b"], reduce = [], lanes = "b", sizes = [4, 4]> in [["a", "b"]] out [["a", "b"]] {
  ^bb0(%x: !m):
    %0 = nd.neg %x : (!m) -> !m
    exec.yield %0 : !m
  }
  exec.func @eval_step {
    exec.loop "d" 4 {
      %0 = exec.buffer at 0 : !t
      %1 = exec.buffer at 64 strides [64] : !t
      %2 = exec.buffer at 192 strides [64] : !t
      // expected-note @below {{bytes 64 to 128, which move by 64}}
      exec.launch @neg(%0) -> (%1) : (!t) -> !t
      // expected-error @below {{accesses bytes 192 to 256, which move by 64 per iteration of 'd', and meets other iterations' bytes}}
      exec.launch @neg(%0) -> (%2) : (!t) -> !t
    }
  }
}

// -----

!m = !nd.tensor<f32, [a = 4, b = 4]>
!t = !exec.buffer<!m, ["a", "b"]>

// Only every second entry is written.
module attributes {exec.arena_bytes = 1024 : i64} {
  exec.tensor "x" input ["a", "b"] at 0 : !t
  exec.tensor "ys" metric ["d", "a", "b"] at 64 : !exec.buffer<!nd.tensor<f32, [a = 4, b = 4, d = 8]>, ["d", "a", "b"]>
  exec.kernel @neg <parallel = ["a", "b"], reduce = [], lanes = "b", sizes = [4, 4]> in [["a", "b"]] out [["a", "b"]] {
  ^bb0(%x: !m):
    %0 = nd.neg %x : (!m) -> !m
    exec.yield %0 : !m
  }
  // expected-error @below {{leaves no metric 'ys'}}
  exec.func @train_step {
    exec.loop "d" 4 {
      %0 = exec.buffer at 0 : !t
      %1 = exec.buffer at 64 strides [128] : !t
      exec.launch @neg(%0) -> (%1) : (!t) -> !t
    }
  }
}

// -----

!m = !nd.tensor<f32, [a = 4, b = 4]>
!t = !exec.buffer<!m, ["a", "b"]>

// Entries in another order than that of the tensor.
module attributes {exec.arena_bytes = 1024 : i64} {
  exec.tensor "xs" input ["a", "d", "b"] at 0 : !exec.buffer<!nd.tensor<f32, [a = 4, b = 4, d = 4]>, ["a", "d", "b"]>
  exec.kernel @neg <parallel = ["a", "b"], reduce = [], lanes = "b", sizes = [4, 4]> in [["a", "b"]] out [["a", "b"]] {
  ^bb0(%x: !m):
    %0 = nd.neg %x : (!m) -> !m
    exec.yield %0 : !m
  }
  exec.func @eval_step {
    exec.loop "d" 4 {
      %0 = exec.buffer at 0 strides [64] : !t
      %1 = exec.buffer at 256 : !t
      // expected-error @below {{reads bytes 0 to 64, where no op wrote a}}
      exec.launch @neg(%0) -> (%1) : (!t) -> !t
    }
  }
}

// -----

!m = !nd.tensor<f32, [a = 4, b = 4]>
!t = !exec.buffer<!m, ["a", "b"]>

// The last iteration would write behind the arena.
module attributes {exec.arena_bytes = 256 : i64} {
  exec.tensor "x" input ["a", "b"] at 0 : !t
  exec.kernel @neg <parallel = ["a", "b"], reduce = [], lanes = "b", sizes = [4, 4]> in [["a", "b"]] out [["a", "b"]] {
  ^bb0(%x: !m):
    %0 = nd.neg %x : (!m) -> !m
    exec.yield %0 : !m
  }
  exec.func @eval_step {
    // expected-error @below {{writes bytes 64 to 320}}
    exec.loop "d" 4 {
      %0 = exec.buffer at 0 : !t
      %1 = exec.buffer at 64 strides [64] : !t
      exec.launch @neg(%0) -> (%1) : (!t) -> !t
    }
  }
}

// -----

!m = !nd.tensor<f32, [a = 4, b = 4]>
!t = !exec.buffer<!m, ["a", "b"]>

// Collectives across iterations: the gather of the next one and the sum of the
// previous one. What they received is there after the loop.
module attributes {nd.mesh = #nd.mesh<data = 2>, exec.arena_bytes = 1024 : i64} {
  exec.tensor "xs" input ["d", "a", "b"] at 0 : !exec.buffer<!nd.tensor<f32, [a = 4 on {data}, b = 4, d = 4]>, ["d", "a", "b"]>
  exec.tensor "ys" metric ["d", "a", "b"] at 128 : !exec.buffer<!nd.tensor<f32, [a = 4, b = 4, d = 4]>, ["d", "a", "b"]>
  exec.kernel @neg <parallel = ["a", "b"], reduce = [], lanes = "b", sizes = [4, 4]> in [["a", "b"]] out [["a", "b"]] {
  ^bb0(%x: !m):
    %0 = nd.neg %x : (!m) -> !m
    exec.yield %0 : !m
  }
  exec.func @train_step {
    exec.loop "d" 4 {
      %0 = exec.buffer at 0 strides [32] : !exec.buffer<!nd.tensor<f32, [a = 4 on {data}, b = 4]>, ["a", "b"]>
      %1 = exec.buffer at 384 alternates [64] : !t
      %2 = exec.buffer at 512 : !t
      %3 = exec.buffer at 128 strides [64] : !t
      exec.wait %t
      %t = exec.collective all_gather ahead sum over ["data"] [1, 16, 1, 1, 16, 1] "all_gather over data" (%0) -> (%1)
        : (!exec.buffer<!nd.tensor<f32, [a = 4 on {data}, b = 4]>, ["a", "b"]>) -> !t
      exec.wait %u
      exec.launch @neg(%1) -> (%2) : (!t) -> !t
      %u = exec.collective all_reduce sum over ["data"] [1, 16, 1, 1, 16, 1] "all_reduce over data" (%2) -> (%3) : (!t) -> !t
    }
  }
}

// -----

!m = !nd.tensor<f32, [a = 4, b = 4]>
!t = !exec.buffer<!m, ["a", "b"]>

// What is begun ahead may be received in a stacked tensor. The last iteration
// begins nothing, so the next tensor is left alone.
module attributes {nd.mesh = #nd.mesh<data = 2>, exec.arena_bytes = 1024 : i64} {
  exec.tensor "xs" input ["d", "a", "b"] at 0 : !exec.buffer<!nd.tensor<f32, [a = 4, b = 4, d = 4]>, ["d", "a", "b"]>
  exec.kernel @neg <parallel = ["a", "b"], reduce = [], lanes = "b", sizes = [4, 4]> in [["a", "b"]] out [["a", "b"]] {
  ^bb0(%x: !m):
    %0 = nd.neg %x : (!m) -> !m
    exec.yield %0 : !m
  }
  exec.func @eval_step {
    exec.loop "d" 4 {
      %0 = exec.buffer at 0 strides [64] : !t
      %1 = exec.buffer at 256 strides [64] : !t
      %2 = exec.buffer at 512 strides [64] : !t
      exec.wait %t
      %t = exec.collective all_reduce ahead sum over ["data"] [1, 16, 1, 1, 16, 1] "all_reduce over data" (%0) -> (%1) : (!t) -> !t
      exec.launch @neg(%1) -> (%2) : (!t) -> !t
    }
  }
}

// -----

!m = !nd.tensor<f32, [a = 4, b = 4]>
!t = !exec.buffer<!m, ["a", "b"]>

// The second iteration overwrites what the first one's sum still sends.
module attributes {nd.mesh = #nd.mesh<data = 2>, exec.arena_bytes = 1024 : i64} {
  exec.tensor "x" input ["a", "b"] at 0 : !t
  exec.kernel @neg <parallel = ["a", "b"], reduce = [], lanes = "b", sizes = [4, 4]> in [["a", "b"]] out [["a", "b"]] {
  ^bb0(%x: !m):
    %0 = nd.neg %x : (!m) -> !m
    exec.yield %0 : !m
  }
  exec.func @eval_step {
    exec.loop "d" 4 {
      %0 = exec.buffer at 0 : !t
      %1 = exec.buffer at 64 : !t
      %2 = exec.buffer at 128 strides [64] : !t
      // expected-error @below {{touches buffers of a collective that runs}}
      exec.launch @neg(%0) -> (%1) : (!t) -> !t
      exec.wait %t
      // expected-note @below {{begun here}}
      %t = exec.collective all_reduce sum over ["data"] [1, 16, 1, 1, 16, 1] "all_reduce over data" (%1) -> (%2) : (!t) -> !t
    }
  }
}

// -----

!m = !nd.tensor<f32, [a = 4, b = 4]>
!t = !exec.buffer<!m, ["a", "b"]>

// The next iteration's values arrive in the only place while this one reads it.
module attributes {nd.mesh = #nd.mesh<data = 2>, exec.arena_bytes = 1024 : i64} {
  exec.tensor "xs" input ["d", "a", "b"] at 0 : !exec.buffer<!nd.tensor<f32, [a = 4, b = 4, d = 4]>, ["d", "a", "b"]>
  exec.kernel @neg <parallel = ["a", "b"], reduce = [], lanes = "b", sizes = [4, 4]> in [["a", "b"]] out [["a", "b"]] {
  ^bb0(%x: !m):
    %0 = nd.neg %x : (!m) -> !m
    exec.yield %0 : !m
  }
  exec.func @eval_step {
    exec.loop "d" 4 {
      %0 = exec.buffer at 0 strides [64] : !t
      %1 = exec.buffer at 384 : !t
      %2 = exec.buffer at 512 : !t
      exec.wait %t
      // expected-note @below {{begun here}}
      %t = exec.collective all_reduce ahead sum over ["data"] [1, 16, 1, 1, 16, 1] "all_reduce over data" (%0) -> (%1) : (!t) -> !t
      // expected-error @below {{touches buffers of a collective that runs}}
      exec.launch @neg(%1) -> (%2) : (!t) -> !t
    }
  }
}

// -----

!m = !nd.tensor<f32, [a = 4, b = 4]>
!t = !exec.buffer<!m, ["a", "b"]>

// The values of the first iteration are read before they have arrived.
module attributes {nd.mesh = #nd.mesh<data = 2>, exec.arena_bytes = 1024 : i64} {
  exec.tensor "xs" input ["d", "a", "b"] at 0 : !exec.buffer<!nd.tensor<f32, [a = 4, b = 4, d = 4]>, ["d", "a", "b"]>
  exec.kernel @neg <parallel = ["a", "b"], reduce = [], lanes = "b", sizes = [4, 4]> in [["a", "b"]] out [["a", "b"]] {
  ^bb0(%x: !m):
    %0 = nd.neg %x : (!m) -> !m
    exec.yield %0 : !m
  }
  exec.func @eval_step {
    exec.loop "d" 4 {
      %0 = exec.buffer at 0 strides [64] : !t
      %1 = exec.buffer at 384 alternates [64] : !t
      %2 = exec.buffer at 512 : !t
      // expected-error @below {{touches buffers of a collective that runs}}
      exec.launch @neg(%1) -> (%2) : (!t) -> !t
      exec.wait %t
      // expected-note @below {{begun here}}
      %t = exec.collective all_reduce ahead sum over ["data"] [1, 16, 1, 1, 16, 1] "all_reduce over data" (%0) -> (%1) : (!t) -> !t
    }
  }
}

// -----

!m = !nd.tensor<f32, [a = 4, b = 4]>
!t = !exec.buffer<!m, ["a", "b"]>

// Both places of a buffer that alternates lie in the arena.
module attributes {nd.mesh = #nd.mesh<data = 2>, exec.arena_bytes = 448 : i64} {
  exec.tensor "x" input ["a", "b"] at 0 : !t
  exec.kernel @neg <parallel = ["a", "b"], reduce = [], lanes = "b", sizes = [4, 4]> in [["a", "b"]] out [["a", "b"]] {
  ^bb0(%x: !m):
    %0 = nd.neg %x : (!m) -> !m
    exec.yield %0 : !m
  }
  exec.func @eval_step {
    exec.loop "d" 4 {
      %0 = exec.buffer at 0 : !t
      %1 = exec.buffer at 384 alternates [64] : !t
      // expected-error @below {{writes bytes 448 to 512}}
      exec.launch @neg(%0) -> (%1) : (!t) -> !t
    }
  }
}

// -----

!m = !nd.tensor<f32, [a = 4, b = 4]>
!t = !exec.buffer<!m, ["a", "b"]>

// A collective without a wait; and one that runs when a loop begins that touches
// what it receives.
module attributes {nd.mesh = #nd.mesh<data = 2>, exec.arena_bytes = 1024 : i64} {
  exec.tensor "x" input ["a", "b"] at 0 : !t
  exec.func @eval_step {
    exec.loop "d" 4 {
      %0 = exec.buffer at 0 : !t
      %1 = exec.buffer at 64 : !t
      // expected-error @below {{is not waited for}}
      %t = exec.collective all_reduce sum over ["data"] [1, 16, 1, 1, 16, 1] "all_reduce over data" (%0) -> (%1) : (!t) -> !t
    }
  }
}

// -----

!m = !nd.tensor<f32, [a = 4, b = 4]>
!t = !exec.buffer<!m, ["a", "b"]>

module attributes {nd.mesh = #nd.mesh<data = 2>, exec.arena_bytes = 1024 : i64} {
  exec.tensor "x" input ["a", "b"] at 0 : !t
  exec.kernel @neg <parallel = ["a", "b"], reduce = [], lanes = "b", sizes = [4, 4]> in [["a", "b"]] out [["a", "b"]] {
  ^bb0(%x: !m):
    %0 = nd.neg %x : (!m) -> !m
    exec.yield %0 : !m
  }
  exec.func @eval_step {
    %0 = exec.buffer at 0 : !t
    %1 = exec.buffer at 256 : !t
    // expected-note @below {{begun here}}
    %t = exec.collective all_reduce sum over ["data"] [1, 16, 1, 1, 16, 1] "all_reduce over data" (%0) -> (%1) : (!t) -> !t
    // expected-error @below {{touches buffers of a collective that runs}}
    exec.loop "d" 4 {
      %2 = exec.buffer at 0 : !t
      %3 = exec.buffer at 64 strides [64] : !t
      exec.launch @neg(%2) -> (%3) : (!t) -> !t
    }
    exec.wait %t
  }
}
