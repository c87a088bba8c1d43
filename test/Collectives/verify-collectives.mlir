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

// -----

!x = !nd.tensor<f32, [i = 8]>
!block = !nd.tensor<f32, [i = 8 on {a}]>
// A collective that every iteration repeats.
module attributes {nd.mesh = #nd.mesh<a = 2>} {
  func.func @repeated(%x: !x, %w: !block) -> !x {
    // expected-note @below {{the loop is here}}
    %r = nd.scan "n" 4 carried(%x : !x) whole(%w : !block) -> !x {
    ^bb0(%c: !x, %v: !block):
      %e = nd.exp %v : (!block) -> !block
      // expected-error @below {{moves the same data in every iteration of the loop over 'n' after the collectives phase}}
      %g = spmd.all_gather ["a"] from ["i"] %e : (!block) -> !x
      %n = nd.mul %c, %g : (!x, !x) -> !x
      nd.yield %n : !x
    }
    return %r : !x
  }
}

// -----

!block = !nd.tensor<f32, [i = 8 on {a}]>
// Slices of cut dims are lowered, too.
module attributes {nd.mesh = #nd.mesh<a = 2>} {
  func.func @windows(%x: !block) -> !block {
    // expected-error @below {{a window of a cut dim remains after the collectives phase}}
    %0 = spmd.window "i" [0, 1, 0, 7] fill 0.0 %x : (!block) -> !block
    return %0 : !block
  }
}
