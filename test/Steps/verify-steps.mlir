// RUN: mesh-opt %s -split-input-file -verify-diagnostics -meshc-verify-steps

// What it accepts: training takes and returns the state, evaluation takes the parameters.
!w = !nd.tensor<f32, [i = 4]>
!s = !nd.tensor<f32, []>
module {
  func.func @initialize() -> (!w {nd.name = "w", nd.role = "parameter", nd.order = ["i"]},
                              !w {nd.name = "w.m", nd.role = "optimizer", nd.order = ["i"]}) {
    %0 = nd.constant 1.0 : f32 -> !w
    %1 = nd.constant 0.0 : f32 -> !w
    return %0, %1 : !w, !w
  }
  func.func @train_step(%w: !w {nd.name = "w", nd.role = "parameter", nd.order = ["i"]},
                        %m: !w {nd.name = "w.m", nd.role = "optimizer", nd.order = ["i"]},
                        %x: !w {nd.name = "x", nd.role = "input", nd.order = ["i"]})
      -> (!w {nd.name = "w", nd.role = "parameter", nd.order = ["i"]},
          !w {nd.name = "w.m", nd.role = "optimizer", nd.order = ["i"]}) {
    return %w, %m : !w, !w
  }
  func.func @eval_step(%w: !w {nd.name = "w", nd.role = "parameter", nd.order = ["i"]},
                       %x: !w {nd.name = "x", nd.role = "input", nd.order = ["i"]}) {
    return
  }
}

// -----

// Without an optimizer there is no step of training.
module {
  func.func @initialize() { return }
  func.func @eval_step(%x: !nd.tensor<f32, []> {nd.name = "x"}) { return }
}

// -----

// expected-error @below {{phase 'steps' made no 'initialize' or no 'eval_step'}}
module {
  func.func @initialize() { return }
}

// -----

module {
  func.func @initialize() { return }
  func.func @eval_step() {
    // expected-error @below {{'nd.parameter' remains after phase 'steps'}}
    %w = nd.parameter "w" [] : !nd.tensor<f32, []> {
      %0 = nd.constant 1.0 : f32 -> !nd.tensor<f32, []>
      nd.yield %0 : !nd.tensor<f32, []>
    }
    return
  }
}

// -----

module {
  func.func @initialize() { return }
  func.func @eval_step() { return }
  // expected-error @below {{'nd.train' remains after phase 'steps'}}
  nd.train @line "loss" "sgd" { nd.setting "lr" = 0.1 }
}

// -----

!w = !nd.tensor<f32, [i = 4]>
module {
  // expected-note @below {{'initialize' is here}}
  func.func @initialize() -> (!w {nd.name = "w", nd.role = "parameter", nd.order = ["i"]}) {
    %0 = nd.constant 1.0 : f32 -> !w
    return %0 : !w
  }
  // Nothing comes back.
  // expected-error @below {{result 0 of 'train_step' must be result 0 of 'initialize', with its type, name, role and order}}
  func.func @train_step(%w: !w {nd.name = "w", nd.role = "parameter", nd.order = ["i"]}) { return }
  func.func @eval_step(%w: !w {nd.name = "w", nd.role = "parameter", nd.order = ["i"]}) { return }
}

// -----

!w = !nd.tensor<f32, [i = 4]>
module {
  // expected-note @below {{'initialize' is here}}
  func.func @initialize() -> (!w {nd.name = "w", nd.role = "parameter", nd.order = ["i"]}) {
    %0 = nd.constant 1.0 : f32 -> !w
    return %0 : !w
  }
  // The role differs.
  // expected-error @below {{argument 0 of 'train_step' must be result 0 of 'initialize'}}
  func.func @train_step(%w: !w {nd.name = "w", nd.role = "optimizer", nd.order = ["i"]})
      -> (!w {nd.name = "w", nd.role = "parameter", nd.order = ["i"]}) { return %w : !w }
  func.func @eval_step(%w: !w {nd.name = "w", nd.role = "parameter", nd.order = ["i"]}) { return }
}

// -----

!u = !nd.tensor<f32, [i = 4]>
!v = !nd.tensor<f32, [i = 8]>
module {
  // expected-note @below {{'initialize' is here}}
  func.func @initialize() -> (!u {nd.name = "u", nd.role = "parameter"}, !v {nd.name = "v", nd.role = "parameter"}) {
    %0 = nd.constant 1.0 : f32 -> !u
    %1 = nd.constant 1.0 : f32 -> !v
    return %0, %1 : !u, !v
  }
  // The parameters change places.
  // expected-error @below {{argument 0 of 'eval_step' must be result 0 of 'initialize'}}
  func.func @eval_step(%v: !v {nd.name = "v", nd.role = "parameter"}, %u: !u {nd.name = "u", nd.role = "parameter"}) { return }
}

// -----

// An evaluation of averages takes all of them.
!w = !nd.tensor<f32, [i = 4]>
module {
  func.func @initialize() -> (!w {nd.name = "w", nd.role = "parameter", nd.order = ["i"]},
                              !w {nd.name = "w.average", nd.role = "average", nd.order = ["i"]}) {
    %0 = nd.constant 1.0 : f32 -> !w
    return %0, %0 : !w, !w
  }
  func.func @eval_step(%w: !w {nd.name = "w", nd.role = "parameter", nd.order = ["i"]}) { return }
  // expected-error @below {{'eval_average_step' must take average 'w.average', as 'initialize' makes it}}
  func.func @eval_average_step(%w: !w {nd.name = "w", nd.role = "parameter", nd.order = ["i"]}) { return }
}

// -----

// Evaluations have no results of training.
!s = !nd.tensor<f32, []>
module {
  func.func @initialize() { return }
  // expected-error @below {{result 1 of 'eval_step' is a training_metric, which 'train_step' alone has}}
  func.func @eval_step(%x: !s {nd.name = "x", nd.role = "input", nd.order = []})
      -> (!s {nd.name = "loss", nd.role = "metric", nd.order = []},
          !s {nd.name = "norm", nd.role = "training_metric", nd.order = []}) {
    return %x, %x : !s, !s
  }
}
