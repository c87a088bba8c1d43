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
  nd.train @m "loss" "sgd" 0.1 {}
  // expected-error @below {{the model is trained in two ways}}
  nd.train @m "loss" "sgd" 0.2 {}
}

// -----

!s = !nd.tensor<f32, []>
module {
  func.func @m(%x: !s {nd.name = "x", nd.order = []}) -> (!s {nd.name = "loss"}) { return %x : !s }
  // expected-error @below {{there is no model 'other'}}
  nd.train @other "loss" "sgd" 0.1 {}
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
  nd.train @m "loss" "sgd" 0.1 {}
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
  nd.train @m "loss" "newton" 0.1 {}
}

// -----

!x = !nd.tensor<f32, [batch = 4]>
!s = !nd.tensor<f32, []>
module {
  func.func @m(%x: !x {nd.name = "x", nd.order = ["batch"]}) -> (!s {nd.name = "loss"}) {
    %0 = nd.reduce_sum %x {dims = ["batch"]} : (!x) -> !s
    return %0 : !s
  }
  // expected-error @below {{optimizer 'momentum' has no hyper-parameter 'beta'; it has lr, momentum}}
  nd.train @m "loss" "momentum" 0.1 {beta = 0.5}
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
  nd.train @m "loss" "sgd" 0.1 {}
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
  nd.train @m "loss" "sgd" 0.1 {}
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
