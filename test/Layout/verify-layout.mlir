// RUN: mesh-opt %s -split-input-file -verify-diagnostics -meshc-verify-layout

// What it accepts: a sharding for every argument and result, the same for a parameter in all functions.
!w = !nd.tensor<f32, [a = 4]>
!cut = !nd.tensor<f32, [a = 4 on {data}]>
module attributes {nd.mesh = #nd.mesh<data = 2>} {
  func.func @initialize() -> (!w {nd.name = "w", nd.role = "parameter", nd.sharding = !cut}) {
    %0 = nd.constant 1.0 : f32 {nd.sharding = [!cut]} -> !w
    return %0 : !w
  }
  func.func @eval_step(%w: !w {nd.name = "w", nd.role = "parameter", nd.sharding = !cut}) { return }
}

// -----

!x = !nd.tensor<f32, [a = 4]>
module attributes {nd.mesh = #nd.mesh<data = 2>} {
  func.func @composite(%x: !x {nd.sharding = !x}) {
    // expected-error @below {{'nd.softmax' op remains after the layout phase, which leaves primitive ops only}}
    %0 = nd.softmax %x {dim = "a", nd.sharding = [!x]} : (!x) -> !x
    return
  }
}

// -----

!x = !nd.tensor<f32, [a = 4]>
module attributes {nd.mesh = #nd.mesh<data = 2>} {
  // expected-error @below {{argument 1 has no nd.sharding}}
  // expected-error @below {{result 0 has no nd.sharding}}
  func.func @tensor(%x: !x {nd.sharding = !x}, %y: !x) -> !x {
    // expected-error @below {{needs one sharding for each result in nd.sharding}}
    %0 = nd.exp %x : (!x) -> !x
    return %0 : !x
  }
}

// -----

!x = !nd.tensor<f32, [a = 4]>
module attributes {nd.mesh = #nd.mesh<data = 2, tensor = 3>} {
  // expected-error @below {{argument 0 is '!nd.tensor<f32, [a = 4]>', but its sharding is of another tensor: !nd.tensor<f32, [b = 4]>}}
  func.func @other(%x: !x {nd.sharding = !nd.tensor<f32, [b = 4]>}) {
    // expected-error @below {{result 0 has a partial result as its sharding}}
    %0 = nd.exp %x {nd.sharding = [!nd.tensor<f32, [a = 4], sum {data}>]} : (!x) -> !x
    // Blocks of 2, 2 and 0 entries.
    %1 = nd.exp %x {nd.sharding = [!nd.tensor<f32, [a = 4 on {tensor}]>]} : (!x) -> !x
    // expected-error @below {{result 0 is sharded over mesh axis 'pipe', which the mesh does not have}}
    %2 = nd.exp %x {nd.sharding = [!nd.tensor<f32, [a = 4 on {pipe}]>]} : (!x) -> !x
    return
  }
}

// -----

!w = !nd.tensor<f32, [a = 4]>
!cut = !nd.tensor<f32, [a = 4 on {data}]>
module attributes {nd.mesh = #nd.mesh<data = 2>} {
  // expected-note @below {{here it is !nd.tensor<f32, [a = 4 on {data}]>}}
  func.func @initialize() -> (!w {nd.name = "w", nd.role = "parameter", nd.sharding = !cut}) {
    %0 = nd.constant 1.0 : f32 {nd.sharding = [!cut]} -> !w
    return %0 : !w
  }
  // expected-error @below {{has another sharding of parameter "w" than an earlier function: !nd.tensor<f32, [a = 4]>}}
  func.func @eval_step(%w: !w {nd.name = "w", nd.role = "parameter", nd.sharding = !w}) { return }
}

// -----

// Ops in the bodies of loops; what a loop takes apart or puts together is not
// cut along its dim.
!w = !nd.tensor<f32, [a = 4]>
!cut = !nd.tensor<f32, [a = 4 on {data}]>
!s = !nd.tensor<f32, []>
module attributes {nd.mesh = #nd.mesh<data = 2>} {
  func.func @loop(%w: !w {nd.sharding = !cut}) {
    // expected-error @below {{runs over dim 'a', but stacked operand 0 is cut along it: '!nd.tensor<f32, [a = 4 on {data}]>'}}
    // expected-error @below {{runs over dim 'a', but stacked result 0 is cut along it: '!nd.tensor<f32, [a = 4 on {data}]>'}}
    %y = nd.scan "a" 4 stacked(%w : !w) -> !w attributes {nd.sharding = [!cut]} {
    ^bb0(%v: !s):
      // expected-error @below {{needs one sharding for each result in nd.sharding}}
      %e = nd.exp %v : (!s) -> !s
      nd.yield %e : !s
    }
    return
  }
}
