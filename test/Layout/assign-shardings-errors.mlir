// RUN: mesh-opt %s -split-input-file -verify-diagnostics -meshc-assign-shardings

// Reported once, though two tensors have both dims.
!s = !nd.tensor<f32, [batch = 8, heads = 4, memory = 16]>
module attributes {nd.mesh = #nd.mesh<data = 2, tensor = 2>} {
  // expected-note @+1 {{'heads -> tensor' from this rule}}
  nd.rule "heads" -> ["tensor"]
  // expected-note @+1 {{'memory -> tensor' from this rule; one of them must stay whole, take another axis, or yield where the axis is taken ('~>')}}
  nd.rule "memory" -> ["tensor"]
  func.func @step(%q: !nd.tensor<f32, [batch = 8, heads = 4]>, %k: !nd.tensor<f32, [batch = 8, memory = 16]>) {
    // expected-error @+1 {{dims 'heads' and 'memory' of tensor 'scores' both map to mesh axis 'tensor'}}
    %s = nd.mul %q, %k {nd.name = "scores"} : (!nd.tensor<f32, [batch = 8, heads = 4]>, !nd.tensor<f32, [batch = 8, memory = 16]>) -> !s
    %e = nd.exp %s : (!s) -> !s
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

// -----

// Reported once, at the tensor nearest to the text: not at the iota.
!w = !nd.tensor<f32, [layers = 4, model = 4]>
module attributes {nd.mesh = #nd.mesh<data = 2, stage = 2>} {
  // expected-note @+1 {{'layers -> (data, stage)' from this rule; remove it, or limit it to a tensor that no loop runs over ('NAME.layers -> (data, stage)')}}
  nd.rule "layers" -> ["data", "stage"]
  // expected-error @+1 {{dim 'layers' of tensor 'w' is cut over mesh axes 'data', 'stage', but a loop runs over it; loops over a cut dim (pipelines) do not exist yet}}
  func.func @step(%w: !w {nd.name = "w", nd.role = "parameter"}) -> (!w {nd.name = "w", nd.role = "parameter"}) {
    %i = nd.iota : () -> !nd.tensor<i32, [layers = 4]>
    // expected-note @+1 {{the loop over 'layers' is here}}
    %y = nd.scan "layers" 4 stacked(%i, %w : !nd.tensor<i32, [layers = 4]>, !w) -> !w {
    ^bb0(%n: !nd.tensor<i32, []>, %v: !nd.tensor<f32, [model = 4]>):
      nd.yield %v : !nd.tensor<f32, [model = 4]>
    }
    return %y : !w
  }
}

// -----

// An entry of a nested loop, and a stacked result.
!w = !nd.tensor<f32, [a = 4, b = 4]>
!v = !nd.tensor<f32, [b = 4]>
module attributes {nd.mesh = #nd.mesh<data = 2>} {
  // expected-note @+1 {{'w.b -> data' from this rule; remove it}}
  nd.rule "b" -> ["data"] in "w"
  // expected-note @+1 {{'h.a -> data' from this rule}}
  nd.rule "a" -> ["data"] in "h"
  func.func @step(%w: !w {nd.name = "w"}) -> !w {
    // expected-error @+2 {{dim 'a' of tensor 'h' is cut over mesh axis 'data', but a loop runs over it}}
    // expected-note @+1 {{the loop over 'a' is here}}
    %y = nd.scan "a" 4 stacked(%w : !w) -> !w attributes {res_attrs = [{nd.name = "h"}]} {
    // expected-error @+1 {{dim 'b' of tensor 'w' is cut over mesh axis 'data', but a loop runs over it}}
    ^bb0(%u: !v):
      // expected-note @+1 {{the loop over 'b' is here}}
      %z = nd.scan "b" 4 stacked(%u : !v) -> !v {
      ^bb1(%n: !nd.tensor<f32, []>):
        nd.yield %n : !nd.tensor<f32, []>
      }
      nd.yield %z : !v
    }
    return %y : !w
  }
}
