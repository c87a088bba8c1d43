// RUN: mesh-opt %s -split-input-file -verify-diagnostics -meshc-build-steps

// expected-error @below {{expected one function, the model, got 2}}
module {
  func.func @a() { return }
  func.func @b() { return }
}

// -----

!s = !nd.tensor<f32, []>
module {
  func.func @m(%x: !s {nd.name = "x", nd.order = []}) -> (!s {nd.name = "loss"}) { return %x : !s }
  // expected-note @below {{the first is here}}
  nd.train @m "loss" "sgd" { nd.setting "lr" = 0.1 }
  // expected-error @below {{the model is trained in two ways}}
  nd.train @m "loss" "sgd" { nd.setting "lr" = 0.2 }
}

// -----

!s = !nd.tensor<f32, []>
module {
  func.func @m(%x: !s {nd.name = "x", nd.order = []}) -> (!s {nd.name = "loss"}) { return %x : !s }
  // expected-error @below {{there is no model 'other'}}
  nd.train @other "loss" "sgd" { nd.setting "lr" = 0.1 }
}

// -----

!x = !nd.tensor<f32, [batch = 4]>
!s = !nd.tensor<f32, []>
module {
  func.func @m(%x: !x {nd.name = "x", nd.order = ["batch"]}) -> (!s {nd.name = "sum"}) {
    %0 = nd.reduce_sum %x {dims = ["batch"]} : (!x) -> !s
    return %0 : !s
  }
  // expected-error @below {{model 'm' has no result 'loss'}}
  nd.train @m "loss" "sgd" { nd.setting "lr" = 0.1 }
}

// -----

!x = !nd.tensor<f32, [batch = 4]>
!s = !nd.tensor<f32, []>
module {
  func.func @m(%x: !x {nd.name = "x", nd.order = ["batch"]}) -> (!s {nd.name = "loss"}) {
    %0 = nd.reduce_sum %x {dims = ["batch"]} : (!x) -> !s
    return %0 : !s
  }
  // expected-error @below {{there is no optimizer 'newton'}}
  nd.train @m "loss" "newton" { nd.setting "lr" = 0.1 }
}

// -----

!x = !nd.tensor<f32, [batch = 4]>
!s = !nd.tensor<f32, []>
module {
  func.func @m(%x: !x {nd.name = "x", nd.order = ["batch"]}) -> (!s {nd.name = "loss"}) {
    %0 = nd.reduce_sum %x {dims = ["batch"]} : (!x) -> !s
    return %0 : !s
  }
  nd.train @m "loss" "momentum" {
    nd.setting "lr" = 0.1
    // expected-error @below {{optimizer 'momentum' has no setting 'beta'; it has lr, momentum}}
    nd.setting "beta" = 0.5
  }
}

// -----

// The path from the loss to the parameter has no gradient.
!x = !nd.tensor<f32, [batch = 4]>
!s = !nd.tensor<f32, []>
module {
  func.func @m(%x: !x {nd.name = "x", nd.order = ["batch"]}) -> (!s {nd.name = "loss"}) {
    %w = nd.parameter "w" [] : !s {
      %0 = nd.constant 1.0 : f32 -> !s
      nd.yield %0 : !s
    }
    %y = nd.mul %x, %w : (!x, !s) -> !x
    %z = nd.floor %y : (!x) -> !x
    // expected-error @below {{no gradient of loss 'loss' reaches a parameter; there is nothing to train}}
    %loss = nd.reduce_sum %z {dims = ["batch"]} : (!x) -> !s
    return %loss : !s
  }
  nd.train @m "loss" "sgd" { nd.setting "lr" = 0.1 }
}

// -----

// One of two parameters is unused: it stays as it is, with a warning.
!x = !nd.tensor<f32, [batch = 4]>
!s = !nd.tensor<f32, []>
module {
  func.func @m(%x: !x {nd.name = "x", nd.order = ["batch"]}) -> (!s {nd.name = "loss"}) {
    %w = nd.parameter "w" [] : !s {
      %0 = nd.constant 1.0 : f32 -> !s
      nd.yield %0 : !s
    }
    // expected-warning @below {{loss 'loss' does not depend on parameter 'v', which stays as it is}}
    %v = nd.parameter "v" [] : !s {
      %0 = nd.constant 1.0 : f32 -> !s
      nd.yield %0 : !s
    }
    %y = nd.mul %x, %w : (!x, !s) -> !x
    %loss = nd.reduce_sum %y {dims = ["batch"]} : (!x) -> !s
    return %loss : !s
  }
  nd.train @m "loss" "sgd" { nd.setting "lr" = 0.1 }
}

// -----

!x = !nd.tensor<f32, [batch = 4]>
module {
  // expected-error @below {{argument 0 of the model needs nd.name and nd.order}}
  func.func @m(%x: !x) { return }
}

// -----

!x = !nd.tensor<f32, [batch = 4]>
module {
  // expected-error @below {{argument 'x' of the model is a tensor whose nd.order names each dim once}}
  func.func @m(%x: !x {nd.name = "x", nd.order = ["batch", "batch"]}) { return }
}

// -----

!x = !nd.tensor<f32, [batch = 4]>
module {
  // expected-error @below {{result 0 of the model needs nd.name}}
  func.func @m(%x: !x {nd.name = "x", nd.order = ["batch"]}) -> !x { return %x : !x }
}

// -----

!x = !nd.tensor<f32, [batch = 4]>
module {
  // expected-error @below {{result 'loss' of the model must be a scalar f32}}
  func.func @m(%x: !x {nd.name = "x", nd.order = ["batch"]}) -> (!x {nd.name = "loss"}) { return %x : !x }
}

// -----

!x = !nd.tensor<f32, [batch = 4]>
!s = !nd.tensor<f32, []>
module {
  func.func @m(%x: !x {nd.name = "x", nd.order = ["batch"]}) -> (!s {nd.name = "sum"}, !s {nd.name = "sum"}) {
    // expected-error @below {{two results of the model are called 'sum'}}
    %0 = nd.reduce_sum %x {dims = ["batch"]} : (!x) -> !s
    return %0, %0 : !s, !s
  }
}

// -----

module {
  // expected-error @below {{model 'm' has no inputs}}
  func.func @m() { return }
}

// -----

!s = !nd.tensor<f32, []>
module {
  // expected-error @below {{input 'x' is a scalar; the first dim of an input counts examples}}
  func.func @m(%x: !s {nd.name = "x", nd.order = []}) { return }
}

// -----

!x = !nd.tensor<f32, [batch = 4]>
!y = !nd.tensor<f32, [rows = 8]>
module {
  // expected-error @below {{the first dim of an input counts examples: 'rows' of input 'y' is of size 8, and that of input 'x' of size 4}}
  // expected-note @below {{input 'x' is here}}
  func.func @m(%x: !x {nd.name = "x", nd.order = ["batch"]}, %y: !y {nd.name = "y", nd.order = ["rows"]}) { return }
}

// -----

!s = !nd.tensor<f32, []>
!x = !nd.tensor<f32, [b = 8]>
func.func @m(%x: !x {nd.name = "x", nd.order = ["b"]}) -> (!s {nd.name = "loss"}) {
  %y = nd.scan "n" 2 carried(%x : !x) -> !x {
  ^bb0(%h: !x):
    // expected-error @below {{parameter 'w' is declared in a loop; declare it before the loop, with the loop's dim, and pass it as a stacked operand}}
    %w = nd.parameter "w" [] : !s {
      %0 = nd.random normal "w" : !s
      nd.yield %0 : !s
    }
    %0 = nd.mul %h, %w : (!x, !s) -> !x
    nd.yield %0 : !x
  }
  %loss = nd.reduce_sum %y {dims = ["b"]} : (!x) -> !s
  return %loss : !s
}
nd.train @m "loss" "sgd" { nd.setting "lr" = 0.1 }

// -----

// An op without a gradient in a loop, where the gradient arrives in the second iteration only.
!s = !nd.tensor<f32, []>
!i = !nd.tensor<i32, []>
func.func @m(%x: !nd.tensor<f32, [b = 8]> {nd.name = "x", nd.order = ["b"]}) -> (!s {nd.name = "loss"}) {
  %w = nd.parameter "w" [] : !s {
    %0 = nd.random normal "w" : !s
    nd.yield %0 : !s
  }
  %one = nd.constant 1 : i32 -> !i
  %loss, %b = nd.scan "n" 2 carried(%w, %w : !s, !s) whole(%one : !i) -> !s, !s {
  ^bb0(%h: !s, %k: !s, %t: !i):
    // expected-error @below {{'nd.sgd_update' op cannot be differentiated: the update of a parameter is the end of a step}}
    %0 = nd.sgd_update %h, %h, %t, %h {computed = ["lr"]} : (!s, !s, !i, !s) -> !s
    nd.yield %k, %0 : !s, !s
  }
  return %loss : !s
}
nd.train @m "loss" "sgd" { nd.setting "lr" = 0.1 }

// -----

// The gradient reads a value for each iteration that has the loop's dim itself.
!s = !nd.tensor<f32, []>
!x = !nd.tensor<f32, [b = 8]>
!n = !nd.tensor<f32, [n = 2]>
!xn = !nd.tensor<f32, [b = 8, n = 2]>
func.func @m(%x: !x {nd.name = "x", nd.order = ["b"]}) -> (!s {nd.name = "loss"}) {
  %w = nd.parameter "w" [] : !s {
    %0 = nd.random normal "w" : !s
    nd.yield %0 : !s
  }
  // expected-note @below {{the loop is here}}
  %y = nd.scan "n" 2 carried(%x : !x) whole(%w : !s) -> !x {
  ^bb0(%h: !x, %wi: !s):
    %i = nd.iota : () -> !n
    %0 = nd.mul %h, %wi : (!x, !s) -> !x
    %1 = nd.mul %0, %i : (!x, !n) -> !xn
    // expected-error @below {{the gradient of the loop over 'n' reads this value, which cannot be stored once for each iteration, as it has dim 'n' itself; rename the dim}}
    %2 = nd.exp %1 : (!xn) -> !xn
    %3 = nd.reduce_sum %2 {dims = ["n"]} : (!xn) -> !x
    nd.yield %3 : !x
  }
  %loss = nd.reduce_sum %y {dims = ["b"]} : (!x) -> !s
  return %loss : !s
}
nd.train @m "loss" "sgd" { nd.setting "lr" = 0.1 }

// -----

!s = !nd.tensor<f32, []>
func.func @m(%x: !nd.tensor<f32, [b = 8]> {nd.name = "x", nd.order = ["b"]}) -> (!s {nd.name = "loss"}) {
  %w = nd.parameter "w" [] : !s {
    %0 = nd.random normal "w" : !s
    nd.yield %0 : !s
  }
  return %w : !s
}
nd.train @m "loss" "sgd" {
  nd.setting "lr" = 0.1
  nd.setting "lr" = 0.2 of ["v*"] optional
  // expected-error @below {{no parameter's name matches 'v*'; write ->? if there may be none; the parameters are 'w'}}
  nd.setting "lr" = 0.2 of ["w", "v*"]
}

// -----

!s = !nd.tensor<f32, []>
func.func @m(%x: !nd.tensor<f32, [b = 8]> {nd.name = "x", nd.order = ["b"]}) -> (!s {nd.name = "loss"}) {
  %w = nd.parameter "w" [] : !s {
    %0 = nd.random normal "w" : !s
    nd.yield %0 : !s
  }
  %v = nd.parameter "v" [] : !s {
    %0 = nd.random normal "v" : !s
    nd.yield %0 : !s
  }
  %0 = nd.mul %w, %v : (!s, !s) -> !s
  return %0 : !s
}
// expected-error @below {{optimizer 'sgd' needs setting 'lr', which parameter 'v' does not have}}
nd.train @m "loss" "sgd" { nd.setting "lr" = 0.1 of ["w"] }

// -----

!s = !nd.tensor<f32, []>
func.func @m(%x: !nd.tensor<f32, [b = 8]> {nd.name = "x", nd.order = ["b"]}) -> (!s {nd.name = "loss"}) {
  %w = nd.parameter "w" [] : !s {
    %0 = nd.random normal "w" : !s
    nd.yield %0 : !s
  }
  return %w : !s
}
nd.train @m "loss" "momentum" {
  %n = nd.constant 1.0 : f32 -> !s
  nd.setting "lr"(%n : !s)
  // expected-error @below {{setting 'nesterov' of optimizer 'momentum' must be a constant: it decides what an update consists of}}
  nd.setting "nesterov"(%n : !s)
}

// -----

!s = !nd.tensor<f32, []>
func.func @m(%x: !nd.tensor<f32, [b = 8]> {nd.name = "x", nd.order = ["b"]}) -> (!s {nd.name = "loss"}) {
  %w = nd.parameter "w" [] : !s {
    %0 = nd.random normal "w" : !s
    nd.yield %0 : !s
  }
  return %w : !s
}
nd.train @m "loss" "sgd" {
  nd.setting "lr" = 0.1
  // expected-error @below {{a result of the model is called 'loss', too; choose another name for one of them}}
  nd.clip = 1.0 as "loss"
}

// -----

!s = !nd.tensor<f32, []>
func.func @m(%x: !nd.tensor<f32, [b = 8]> {nd.name = "x", nd.order = ["b"]}) -> (!s {nd.name = "loss"}) {
  %w = nd.parameter "w" [] : !s {
    %0 = nd.random normal "w" : !s
    nd.yield %0 : !s
  }
  return %w : !s
}
nd.train @m "loss" "sgd" {
  nd.setting "lr" = 0.1
  nd.clip = 1.0
  // expected-error @below {{the norm of the gradients is bounded twice}}
  nd.clip = 2.0
}

// -----

!s = !nd.tensor<f32, []>
module {
  func.func @m(%x: !nd.tensor<f32, [batch = 2]> {nd.name = "x", nd.order = ["batch"]}) -> (!s {nd.name = "loss"}) {
    %y = nd.reduce_sum %x {dims = ["batch"]} : (!nd.tensor<f32, [batch = 2]>) -> !s
    return %y : !s
  }
  // expected-error @below {{the tokens must be i32 with two dims, 'seq' and one that counts texts, got '!nd.tensor<f32, [batch = 2]>'}}
  nd.generate @m "x" -> "logits" over "vocab" along "seq"
}

// -----

!s = !nd.tensor<f32, []>
!t = !nd.tensor<i32, [batch = 2, seq = 4]>
module {
  func.func @m(%x: !t {nd.name = "x", nd.order = ["batch", "seq"]}) -> (!s {nd.name = "loss"}, !t {nd.name = "logits", nd.role = "logits"}) {
    %y = nd.constant 1.0 : f32 -> !s
    return %y, %x : !s, !t
  }
  // expected-error @below {{the logits must be floats with the dims of the tokens and 'vocab', got '!nd.tensor<i32, [batch = 2, seq = 4]>'}}
  nd.generate @m "x" -> "logits" over "vocab" along "seq"
}

// -----

!s = !nd.tensor<f32, []>
!t = !nd.tensor<i32, [batch = 2, seq = 4]>
module {
  func.func @m(%x: !t {nd.name = "x", nd.order = ["batch", "seq"]}) -> (!s {nd.name = "loss"}) {
    %y = nd.constant 1.0 : f32 -> !s
    return %y : !s
  }
  // expected-error @below {{model 'm' has no result 'logits' with the role "logits"}}
  nd.generate @m "x" -> "logits" over "vocab" along "seq"
}

// -----

!s = !nd.tensor<f32, []>
module {
  func.func @m(%x: !s {nd.name = "x", nd.order = []}) -> (!s {nd.name = "loss"}) { return %x : !s }
  // expected-error @below {{model 'm' has no input 'tokens'}}
  nd.generate @m "tokens" -> "logits" over "vocab" along "seq"
}

// -----

module {
  func.func @m() { return }
  // expected-note @below {{the first is here}}
  nd.generate @m "x" -> "logits" over "vocab" along "seq"
  // expected-error @below {{text is generated from the model in two ways}}
  nd.generate @m "x" -> "logits" over "vocab" along "seq"
}

// -----

module {
  func.func @m() { return }
  // expected-error @below {{there is no model 'other'}}
  nd.generate @other "x" -> "logits" over "vocab" along "seq"
}

// -----

// How many iterations there are is known only when the loop runs.
!s = !nd.tensor<f32, []>
!b = !nd.tensor<i1, []>
module {
  func.func @m(%x: !nd.tensor<f32, [b = 8]> {nd.name = "x", nd.order = ["b"], nd.role = "input"}) -> (!s {nd.name = "loss"}) {
    %w = nd.parameter "w" [] : !s {
      %1 = nd.constant 1.0 : f32 -> !s
      nd.yield %1 : !s
    }
    %true = nd.constant true -> !b
    // expected-error @below {{a loop with 'while' has no gradient, and the loss needs that of 'h'; write h = stop_gradient(h) after the loop, or give a function around it a gradient of its own: fn f(…) { … } gradient(g) { … }}}
    %y:2 = nd.scan "n" 3 while carried(%true, %w : !b, !s) -> !b, !s attributes {res_attrs = [{}, {nd.name = "h"}]} {
    ^bb0(%go: !b, %c: !s):
      %h = nd.mul %c, %c : (!s, !s) -> !s
      nd.yield %go, %h : !b, !s
    }
    return %y#1 : !s
  }
  nd.train @m "loss" "sgd" { nd.setting "lr" = 0.1 }
}
