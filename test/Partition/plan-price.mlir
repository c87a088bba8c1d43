// RUN: mesh-opt %s -split-input-file -meshc-assign-shardings "-meshc-choose-plan=machine=%S/Inputs/counter.json" | FileCheck %s
// RUN: not mesh-opt %s -split-input-file -meshc-assign-shardings "-meshc-choose-plan=machine=%S/Inputs/none.json" 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: error: {{.*}}none.json

// On a machine where a byte that is accessed or sent takes a second, and so does
// a FLOP of a product.

// A rank reads 4 x 4 bytes, and writes a part of 4 bytes; the sum of two parts
// sends 4. The argument's block, the part and the sum are alive at the end; each
// takes a cache line of 64 bytes.
!s = !nd.tensor<f32, []>
!x = !nd.tensor<f32, [batch = 8]>
module attributes {nd.mesh = #nd.mesh<data = 2>} {
  nd.rule "batch" -> ["data"]
  // CHECK-LABEL: func.func @train_step
  // CHECK: spmd.price = {arena = 1.92{{0*}}e+02 : f64, bytes.data = 4.0{{0*}}e+00 : f64, seconds = 2.4{{0*}}e+01 : f64}
  func.func @train_step(%x: !x) -> !s {
    %y = nd.reduce_sum %x {dims = ["batch"]} : (!x) -> !s
    return %y : !s
  }
}

// -----

// Ops that follow one another are one kernel, whose own values take no memory: a
// rank reads and writes 16 bytes.
!x = !nd.tensor<f32, [batch = 8]>
module attributes {nd.mesh = #nd.mesh<data = 2>} {
  nd.rule "batch" -> ["data"]
  // CHECK-LABEL: func.func @train_step
  // CHECK: spmd.price = {arena = 1.28{{0*}}e+02 : f64, seconds = 3.2{{0*}}e+01 : f64}
  func.func @train_step(%x: !x) -> !x {
    %a = nd.exp %x : (!x) -> !x
    %b = nd.mul %a, %x : (!x, !x) -> !x
    %c = nd.exp %b : (!x) -> !x
    return %c : !x
  }
}

// -----

// A loop: each of its 4 iterations reads an entry of 8 x 4 bytes of a stack, and
// reads and writes what is carried. The stack is an argument, and what is
// carried is written in place of its last value.
!x = !nd.tensor<f32, [batch = 8]>
!w = !nd.tensor<f32, [batch = 8, layers = 4]>
module attributes {nd.mesh = #nd.mesh<data = 1>} {
  // CHECK-LABEL: func.func @train_step
  // CHECK: spmd.price = {arena = 2.56{{0*}}e+02 : f64, seconds = 3.84{{0*}}e+02 : f64}
  func.func @train_step(%x: !x, %w: !w) -> !x {
    %y = nd.scan "layers" 4 carried(%x : !x) stacked(%w : !w) -> !x {
    ^bb0(%c: !x, %e: !x):
      %a = nd.add %c, %e : (!x, !x) -> !x
      nd.yield %a : !x
    }
    return %y : !x
  }
}
