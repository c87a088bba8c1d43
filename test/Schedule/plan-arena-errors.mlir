// RUN: mesh-opt %s -split-input-file -verify-diagnostics -meshc-plan-arena

!v = !nd.tensor<f32, [i = 8]>
// expected-error @below {{arguments and results of 'eval_step' need nd.name, nd.role and nd.order}}
func.func @eval_step(%x: !v {nd.name = "x", nd.role = "input"}) { return }

// -----

!v = !nd.tensor<f32, [i = 8]>
// The argument has no role.
// expected-error @below {{arguments and results of 'eval_step' need nd.name, nd.role and nd.order}}
func.func @eval_step(%x: !v {nd.name = "x", nd.order = ["i"]}) { return }

// -----

!v = !nd.tensor<f32, [i = 8]>
// The result has no name.
// expected-error @below {{arguments and results of 'eval_step' need nd.name, nd.role and nd.order}}
func.func @eval_step(%x: !v {nd.name = "x", nd.role = "input", nd.order = ["i"]}) -> !v { return %x : !v }

// -----

!v = !nd.tensor<f32, [i = 8]>
!w = !nd.tensor<f32, [i = 4]>
func.func @train_step(%p: !v {nd.name = "p", nd.role = "parameter", nd.order = ["i"]}) { return }
// expected-error @below {{parameter 'p' is '!nd.tensor<f32, [i = 4]>' in 'eval_step' but '!nd.tensor<f32, [i = 8]>' elsewhere}}
func.func @eval_step(%p: !w {nd.name = "p", nd.role = "parameter", nd.order = ["i"]}) { return }

// -----

// expected-error @below {{'eval_step' has no body to be scheduled}}
func.func private @eval_step(!nd.tensor<f32, [i = 8]>)
