// RUN: mesh-opt %s --pass-pipeline='builtin.module(exec.func(meshc-place-waits))' --split-input-file --verify-diagnostics

!m = !nd.tensor<f32, [a = 4, b = 4]>
!t = !exec.buffer<!m, ["a", "b"]>

// The next iteration's values would arrive where this one still reads its own.
module attributes {nd.mesh = #nd.mesh<data = 2>, exec.arena_bytes = 1024 : i64} {
  exec.kernel @neg <parallel = ["a", "b"], reduce = [], lanes = "b", sizes = [4, 4]> in [["a", "b"]] out [["a", "b"]] {
  ^bb0(%x: !m):
    %0 = nd.neg %x : (!m) -> !m
    exec.yield %0 : !m
  }
  exec.func @one_place {
    exec.loop "d" 4 {
      %0 = exec.buffer at 0 strides [64] : !t
      %1 = exec.buffer at 256 : !t
      %2 = exec.buffer at 384 : !t
      // expected-error @below {{is begun ahead, but the iteration before uses its buffers later}}
      %t = exec.collective all_reduce ahead sum over ["data"] [1, 16, 1, 1, 16, 1] "all_reduce over data" (%0) -> (%1) : (!t) -> !t
      // expected-note @below {{in this op}}
      exec.launch @neg(%1) -> (%2) : (!t) -> !t
    }
  }
}

// -----

!m = !nd.tensor<f32, [a = 4, b = 4]>
!t = !exec.buffer<!m, ["a", "b"]>

module attributes {nd.mesh = #nd.mesh<data = 2>, exec.arena_bytes = 1024 : i64} {
  exec.func @placed {
    exec.loop "d" 4 {
      %0 = exec.buffer at 0 : !t
      %1 = exec.buffer at 256 : !t
      %t = exec.collective all_reduce sum over ["data"] [1, 16, 1, 1, 16, 1] "all_reduce over data" (%0) -> (%1) : (!t) -> !t
      // expected-error @below {{is there before waits are placed}}
      exec.wait %t
    }
  }
}
