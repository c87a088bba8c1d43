// RUN: mesh-opt %s -split-input-file -verify-diagnostics -meshc-build-schedule

!v = !nd.tensor<f32, [i = 8]>
// expected-error @below {{has an argument without an offset; plan the arena before}}
func.func @eval_step(%x: !v) { return }

// -----

!v = !nd.tensor<f32, [i = 8]>
func.func @eval_step(%x: !v {exec.offset = 0 : i64}) {
  // expected-error @below {{cannot be scheduled: it must be a fusion, a library op, a loop or a collective with memory orders and offsets}}
  %0 = nd.exp %x {exec.orders = [["i"]], exec.offsets = array<i64: 64>} : (!v) -> !v
  return
}

// -----

!v = !nd.tensor<f32, [i = 8]>
func.func @eval_step(%x: !v {exec.offset = 0 : i64}) {
  // expected-error @below {{cannot be scheduled: it must be a fusion, a library op, a loop or a collective with memory orders and offsets}}
  %0 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>(%x) : (!v) -> !v attributes {exec.orders = [["i"]]} {
  ^bb0(%in: !v):
    exec.yield %in : !v
  }
  return
}

// -----

!v = !nd.tensor<f32, [i = 8]>
func.func @eval_step(%x: !v {exec.offset = 0 : i64}) {
  // expected-error @below {{cannot be scheduled: it must be a fusion, a library op, a loop or a collective with memory orders and offsets}}
  %0 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>(%x) : (!v) -> !v attributes {exec.offsets = array<i64: 64>} {
  ^bb0(%in: !v):
    exec.yield %in : !v
  }
  return
}

// -----

func.func @eval_step(%x: !nd.tensor<f32, [a = 4, b = 2, c = 2]> {exec.offset = 0 : i64, nd.order = ["a", "b", "c"]},
                     %y: !nd.tensor<f32, [b = 2, d = 2]> {exec.offset = 64 : i64, nd.order = ["b", "d"]}) {
  // expected-error @below {{is not one matrix product in the memory orders of its tensors}}
  %0 = exec.product(%x, %y) : (!nd.tensor<f32, [a = 4, b = 2, c = 2]>, !nd.tensor<f32, [b = 2, d = 2]>) -> !nd.tensor<f32, [a = 4, c = 2, d = 2]> attributes {exec.orders = [["c", "d", "a"]], exec.offsets = array<i64: 128>} {
  ^bb0(%a: !nd.tensor<f32, [a = 4, b = 2, c = 2]>, %b: !nd.tensor<f32, [b = 2, d = 2]>):
    %e = nd.einsum %a, %b {reduced = ["b"], exec.orders = [["c", "d", "a"]]} : (!nd.tensor<f32, [a = 4, b = 2, c = 2]>, !nd.tensor<f32, [b = 2, d = 2]>) -> !nd.tensor<f32, [a = 4, c = 2, d = 2]>
    exec.yield %e : !nd.tensor<f32, [a = 4, c = 2, d = 2]>
  }
  return
}

// -----

// expected-error @below {{'eval_step' has no body to be scheduled}}
func.func private @eval_step(!nd.tensor<f32, [i = 8]>)
