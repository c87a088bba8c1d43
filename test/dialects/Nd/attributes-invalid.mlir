// RUN: mesh-opt %s -split-input-file -verify-diagnostics

// What the nd dialect's attributes may hold, and where they belong.
!x = !nd.tensor<f32, [a = 4]>
func.func @f(%x: !x) {
  // expected-error @below {{'nd.name' must be a string that is not empty, got 3 : i64}}
  %0 = nd.exp %x {nd.name = 3} : (!x) -> !x
  return
}

// -----

// expected-error @below {{argument 0 of 'f': 'nd.name' must be a string that is not empty, got ""}}
func.func @f(%x: !nd.tensor<f32, [a = 4]> {nd.name = ""}) { return }

// -----

// expected-error @below {{argument 1 of 'f': 'nd.role' must be one of "parameter", "optimizer", "input", "metric", "cache", "token", "position", "logits", "training_metric", "skipped", "average", "statistic", "batches", "rest", got "paramter"}}
func.func @f(%x: !nd.tensor<f32, [a = 4]> {nd.role = "input"}, %y: !nd.tensor<f32, [a = 4]> {nd.role = "paramter"}) { return }

// -----

!x = !nd.tensor<f32, [a = 4]>
// expected-error @below {{result 0 of 'f': 'nd.role' must be one of "parameter", "optimizer", "input", "metric", "cache", "token", "position", "logits", "training_metric", "skipped", "average", "statistic", "batches", "rest", got unit}}
func.func @f(%x: !x) -> (!x {nd.role}) { return %x : !x }

// -----

!x = !nd.tensor<f32, [a = 4]>
func.func @f(%x: !x) {
  // expected-error @below {{'nd.role' belongs on the arguments and results of functions, not on ops}}
  %0 = nd.exp %x {nd.role = "input"} : (!x) -> !x
  return
}

// -----

!x = !nd.tensor<f32, [a = 4]>
func.func @f(%x: !x) {
  // expected-error @below {{'nd.class' must be one of "parameter", "gradient", "optimizer", got "activation"}}
  %0 = nd.exp %x {nd.class = "activation"} : (!x) -> !x
  return
}

// -----

!x = !nd.tensor<f32, [a = 4]>
func.func @f(%x: !x) {
  // expected-error @below {{'nd.of' names the parameter of a gradient or of an optimizer's value, so 'nd.class' must be "gradient" or "optimizer"}}
  %0 = nd.exp %x {nd.of = "w"} : (!x) -> !x
  return
}

// -----

// expected-error @below {{argument 0 of 'f': 'nd.of' names the parameter of a gradient or of an optimizer's value}}
func.func @f(%x: !nd.tensor<f32, [a = 4]> {nd.class = "parameter", nd.of = "w"}) { return }

// -----

// expected-error @below {{argument 0 of 'f': 'nd.of' must be a string that is not empty, got 1 : i64}}
func.func @f(%x: !nd.tensor<f32, [a = 4]> {nd.class = "gradient", nd.of = 1}) { return }

// -----

// expected-error @below {{argument 0 of 'f': 'nd.order' must be an array of dim names, got "a"}}
func.func @f(%x: !nd.tensor<f32, [a = 4]> {nd.order = "a"}) { return }

// -----

!x = !nd.tensor<i32, [a = 4]>
func.func @f() {
  // expected-error @below {{'nd.eval_value' must be a float, on an op whose result is a tensor of floats; got 1.000000e+00}}
  %0 = nd.iota {nd.eval_value = 1.0} : () -> !x
  return
}

// -----

!x = !nd.tensor<f32, [a = 4]>
func.func @f(%x: !x) {
  // expected-error @below {{'nd.rounded_parts' must have no value, on an op with a result of bf16 or f16; got unit}}
  %0 = nd.exp %x {nd.rounded_parts} : (!x) -> !x
  return
}

// -----

!x = !nd.tensor<f32, [a = 4]>
func.func @f(%x: !x) {
  // expected-error @below {{'nd.recompute' must be the number of a block, an i64 of at least 0, got -1 : i64}}
  %0 = nd.exp %x {nd.recompute = -1} : (!x) -> !x
  return
}

// -----

// expected-error @below {{'nd.mesh' must be a #nd.mesh<…>, got "data"}}
module attributes {nd.mesh = "data"} {}

// -----

// expected-error @below {{'nd.model' must be a string that is not empty, got 7 : i64}}
module attributes {nd.model = 7} {}

// -----

!x = !nd.tensor<f32, [a = 4]>
func.func @f(%x: !x) {
  // expected-error @below {{'nd.nmae' is no attribute of the nd dialect}}
  %0 = nd.exp %x {nd.nmae = "h"} : (!x) -> !x
  return
}

// -----

// expected-error @below {{argument 0 of 'f': 'nd.mesh' is no attribute of the nd dialect for tensors}}
func.func @f(%x: !nd.tensor<f32, [a = 4]> {nd.mesh = #nd.mesh<d = 2>}) { return }

// -----

// What is right passes.
!x = !nd.tensor<f32, [a = 4]>
module attributes {nd.mesh = #nd.mesh<d = 2>, nd.model = "m"} {
  func.func @f(%v: !x {nd.name = "w.v", nd.role = "optimizer", nd.of = "w", nd.order = ["a"]})
      -> (!x {nd.name = "gradient of w", nd.class = "gradient", nd.of = "w"}) {
    %0 = nd.exp %v {nd.name = "gradient of w", nd.class = "gradient", nd.of = "w", nd.eval_value = 1.0, nd.recompute = 2} : (!x) -> !x
    return %0 : !x
  }
}

// -----

!x = !nd.tensor<f32, [a = 4]>
// expected-error @below {{argument 0 of 'f': 'nd.sharding' must be the type of a tensor, got "a"}}
func.func @f(%x: !x {nd.sharding = "a"}) { return }

// -----

!x = !nd.tensor<f32, [a = 4]>
func.func @f(%x: !x) {
  // expected-error @below {{'nd.sharding' must be an array of 1 type, one for each result; got [!nd.tensor<f32, [a = 4]>, !nd.tensor<f32, [a = 4]>]}}
  %0 = nd.exp %x {nd.sharding = [!x, !x]} : (!x) -> !x
  return
}

// -----

!x = !nd.tensor<f32, [a = 4]>
func.func @f(%x: !x) {
  // expected-error @below {{'nd.sharding' must be an array of 1 type, one for each result; got [4]}}
  %0 = nd.exp %x {nd.sharding = [4]} : (!x) -> !x
  return
}

// -----

!x = !nd.tensor<f32, [a = 4]>
func.func @f(%x: !x) {
  // expected-error @below {{'nd.open_dims' must be on an op: for each result an array of names of its dims; got [["b"]]}}
  %0 = nd.exp %x {nd.open_dims = [["b"]]} : (!x) -> !x
  return
}

// -----

!x = !nd.tensor<f32, [a = 4]>
func.func @f(%x: !x) {
  // expected-error @below {{'nd.open_dims' must be on an op: for each result an array of names of its dims; got ["a"]}}
  %0 = nd.exp %x {nd.open_dims = ["a"]} : (!x) -> !x
  return
}
