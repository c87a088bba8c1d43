// RUN: mesh-opt %s -split-input-file -verify-diagnostics -meshc-verify-rules

// Every kind of scope is used; an optional rule may name what is not there.
module attributes {nd.mesh = #nd.mesh<data = 2, tensor = 2>} {
  nd.rule "batch" -> ["data"]
  nd.rule "model" -> ["tensor"] in "w"
  nd.rule "model" -> ["data"] in "parameter"
  nd.rule "stage" -> ["pipe"] optional
  nd.rule "batch" -> ["data"]
  func.func @step(%x: !nd.tensor<f32, [batch = 8]> {nd.name = "x", nd.role = "input"},
                  %w: !nd.tensor<f32, [model = 8]> {nd.name = "w", nd.role = "parameter"}) {
    return
  }
}

// -----

// expected-note @+1 {{the mesh is declared here}}
module attributes {nd.mesh = #nd.mesh<data = 2, tensor = 2>} {
  // expected-error @+1 {{layout rule 'batch -> dta' names mesh axis 'dta', which is not there; did you mean 'data'? (a rule with '->?' may name absent axes)}}
  nd.rule "batch" -> ["dta"]
  func.func @step(%x: !nd.tensor<f32, [batch = 8]>) { return }
}

// -----

module attributes {nd.mesh = #nd.mesh<data = 2>} {
  // expected-error @+1 {{layout rule 'btch -> data' names dim 'btch', which the model does not have; did you mean 'batch'? (a rule with '->?' may name absent dims)}}
  nd.rule "btch" -> ["data"]
  // expected-note @+1 {{'batch' is here}}
  func.func @step(%x: !nd.tensor<f32, [batch = 8]>) { return }
}

// -----

// A dim that the compiler added, which no text can name, is not among the proposals.
module attributes {nd.mesh = #nd.mesh<data = 2>} {
  // expected-error @+1 {{layout rule 'other -> data' names dim 'other', which the model does not have; the model has 'batch', 'seq' (a rule with '->?' may name absent dims)}}
  nd.rule "other" -> ["data"]
  func.func @step(%x: !nd.tensor<f32, [batch = 8, seq = 4]>, %y: !nd.tensor<f32, [batch = 8, seq.block = 4]>) { return }
}

// -----

module attributes {nd.mesh = #nd.mesh<data = 2>} {
  // expected-error @+1 {{layout rule 'seq.blok -> data' names dim 'seq.blok', which the model does not have; the model has 'batch' (a rule with '->?' may name absent dims)}}
  nd.rule "seq.blok" -> ["data"]
  func.func @step(%y: !nd.tensor<f32, [batch = 8, seq.block = 4]>) { return }
}

// -----

module attributes {nd.mesh = #nd.mesh<data = 2>} {
  // expected-error @+1 {{layout rule 'optimizer.batch -> data' names dim 'batch', which class 'optimizer' does not have; class 'optimizer' has none}}
  nd.rule "batch" -> ["data"] in "optimizer"
  func.func @step(%x: !nd.tensor<f32, [batch = 8]>) { return }
}

// -----

module attributes {nd.mesh = #nd.mesh<data = 2>} {
  // expected-error @+1 {{layout rule 'wq.batch -> data' is for 'wq', which is neither a tensor of the model nor a class (parameter, gradient, optimizer, activation); did you mean 'wk'?}}
  nd.rule "batch" -> ["data"] in "wq"
  // expected-note @+1 {{'wk' is here}}
  func.func @step(%x: !nd.tensor<f32, [batch = 8]> {nd.name = "wk"}) { return }
}

// -----

// The last part of two full names.
module attributes {nd.mesh = #nd.mesh<data = 2>} {
  // expected-error @+1 {{layout rule 'table.vocab -> data' is for 'table', which is neither a tensor of the model nor a class (parameter, gradient, optimizer, activation); did you mean 'embedding.table' or 'positions.table'?}}
  nd.rule "vocab" -> ["data"] in "table"
  func.func @step(%x: !nd.tensor<f32, [vocab = 8]> {nd.name = "embedding.table"}, %y: !nd.tensor<f32, [vocab = 8]> {nd.name = "positions.table"}, %z: !nd.tensor<f32, [vocab = 8]> {nd.name = "timetable"}) { return }
}

// -----

module attributes {nd.mesh = #nd.mesh<data = 2>} {
  // expected-error @+1 {{names mesh axis 'data' twice; each axis can cut a dim once}}
  nd.rule "batch" -> ["data", "data"]
  func.func @step(%x: !nd.tensor<f32, [batch = 8]>) { return }
}

// -----

module attributes {nd.mesh = #nd.mesh<data = 2, tensor = 2>} {
  // expected-note @+1 {{'batch -> data' from this rule}}
  nd.rule "batch" -> ["data"]
  // expected-error @+1 {{layout rules 'batch -> data' and 'batch -> (data, tensor)' disagree on dim 'batch'}}
  nd.rule "batch" -> ["data", "tensor"]
  func.func @step(%x: !nd.tensor<f32, [batch = 8]>) { return }
}

// -----

module attributes {nd.mesh = #nd.mesh<data = 2>} {
  // expected-error @+1 {{layout rule 'w.batch -> data' names dim 'batch', which tensor 'w' does not have; tensor 'w' has 'model'}}
  nd.rule "batch" -> ["data"] in "w"
  // expected-note @+1 {{tensor 'w' is here}}
  func.func @step(%w: !nd.tensor<f32, [model = 8]> {nd.name = "w"}) { return }
}

// -----

// Names inside loops are scopes, too; their dims are those of an entry.
!x = !nd.tensor<f32, [batch = 8]>
!xs = !nd.tensor<f32, [batch = 8, layers = 2]>
module attributes {nd.mesh = #nd.mesh<data = 2>} {
  nd.rule "batch" -> ["data"] in "h"
  nd.rule "batch" -> ["data"] in "y"
  // expected-error @+1 {{layout rule 'h.layers -> data' names dim 'layers', which tensor 'h' does not have}}
  nd.rule "layers" -> ["data"] in "h"
  func.func @step(%w: !xs {nd.name = "w"}) -> !x {
    %z = nd.constant 0.0 : f32 -> !x
    %y = nd.scan "layers" 2 carried(%z : !x) stacked(%w : !xs) -> !x attributes {res_attrs = [{nd.name = "y"}]} {
    ^bb0(%c: !x, %v: !x):
      // expected-note @+1 {{tensor 'h' is here}}
      %h = nd.add %c, %v {nd.name = "h"} : (!x, !x) -> !x
      nd.yield %h : !x
    }
    return %y : !x
  }
}
