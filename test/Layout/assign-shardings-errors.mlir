// RUN: mesh-opt %s -split-input-file -verify-diagnostics -meshc-assign-shardings

// Reported once, though two tensors have both dims.
!s = !nd.tensor<f32, [batch = 8, heads = 4, memory = 16]>
module attributes {nd.mesh = #nd.mesh<data = 2, tensor = 2>} {
  // expected-note @+1 {{'heads -> tensor' from this rule}}
  nd.rule "heads" -> ["tensor"]
  // expected-note @+1 {{'memory -> tensor' from this rule; one of them must stay whole or take another axis}}
  nd.rule "memory" -> ["tensor"]
  func.func @step(%q: !nd.tensor<f32, [batch = 8, heads = 4]>, %k: !nd.tensor<f32, [batch = 8, memory = 16]>) {
    // expected-error @+1 {{dims 'heads' and 'memory' of tensor 'scores' both map to mesh axis 'tensor'}}
    %s = nd.mul %q, %k {nd.name = "scores"} : (!nd.tensor<f32, [batch = 8, heads = 4]>, !nd.tensor<f32, [batch = 8, memory = 16]>) -> !s
    %e = nd.exp %s : (!s) -> !s
    return
  }
}

// -----

module attributes {nd.mesh = #nd.mesh<data = 4>} {
  // expected-note @+1 {{'batch -> data' from this rule}}
  nd.rule "batch" -> ["data"]
  // expected-error @+1 {{dim 'batch' of size 10 of tensor 'h' is not divisible by 4, the size of mesh axis 'data'; choose 8 or 12}}
  func.func @step(%x: !nd.tensor<f32, [batch = 10]> {nd.name = "h"}) {
    return
  }
}

// -----

module attributes {nd.mesh = #nd.mesh<pod = 2, data = 4>} {
  // expected-note @+1 {{'batch -> (pod, data)' from this rule}}
  nd.rule "batch" -> ["pod", "data"]
  // expected-error @+1 {{dim 'batch' of size 4 of the value of this expression is not divisible by 8, the product of the sizes of mesh axes 'pod', 'data'; choose 8}}
  func.func @step(%x: !nd.tensor<f32, [batch = 4]>) {
    return
  }
}

// -----

module attributes {nd.mesh = #nd.mesh<data = 2>} {
  // expected-error @+1 {{function 'step' must have one block, got 2}}
  func.func @step() {
    return
  ^next:
    // expected-note @+1 {{the last block begins here}}
    return
  }
}
