// RUN: mesh-opt %s -split-input-file -verify-diagnostics -meshc-verify-collectives

!sum = !nd.tensor<f32, [i = 8], sum {a}>
!x = !nd.tensor<f32, [i = 8]>
!block = !nd.tensor<f32, [i = 8 on {a}]>
// What it accepts: collectives and slices.
module attributes {nd.mesh = #nd.mesh<a = 2>} {
  func.func @collectives(%x: !sum) -> !block {
    %0 = spmd.all_reduce sum ["a"] %x : (!sum) -> !x
    %1 = spmd.slice "i" ["a"] %0 : !x -> !block
    return %1 : !block
  }
}

// -----

!sum = !nd.tensor<f32, [i = 8], sum {a}>
!x = !nd.tensor<f32, [i = 8]>
!block = !nd.tensor<f32, [i = 8 on {a}]>
// Each reshard is reported.
module attributes {nd.mesh = #nd.mesh<a = 2>} {
  func.func @reshards(%x: !sum) -> !block {
    // expected-error @below {{a reshard remains after the collectives phase}}
    %0 = spmd.reshard %x : !sum -> !x
    // expected-error @below {{a reshard remains after the collectives phase}}
    %1 = spmd.reshard %0 : !x -> !block
    return %1 : !block
  }
}
