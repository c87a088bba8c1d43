// RUN: mesh-opt %s -split-input-file -verify-diagnostics -meshc-partition-program

// A plan that does not fit its function: what the step is, and what is wrong.

!x = !nd.tensor<f32, [batch = 8]>
module attributes {nd.mesh = #nd.mesh<data = 2>} {
  // expected-error @below {{lacks a plan ('spmd.plan'); run meshc-choose-plan first}}
  func.func @none(%x: !x) -> !x {
    return %x : !x
  }
}

// -----

!x = !nd.tensor<f32, [batch = 8]>
module attributes {nd.mesh = #nd.mesh<data = 2>} {
  // expected-error @below {{the plan does not fit: step 0, 'make op 3', names an op that the block does not have}}
  func.func @no_op(%x: !x) -> !x attributes {spmd.plan = #spmd.plan<([batch {data}]) {
    make op 3 nd.neg [{data}] ([batch {data}]) -> ([batch {data}])
  } ([batch {data}])>} {
    %y = nd.neg %x : (!x) -> !x
    return %y : !x
  }
}

// -----

!x = !nd.tensor<f32, [batch = 8]>
module attributes {nd.mesh = #nd.mesh<data = 2>} {
  // expected-error @below {{the plan does not fit: step 0, 'make op 0', is for 'nd.exp', and that op is 'nd.neg'}}
  func.func @other_op(%x: !x) -> !x attributes {spmd.plan = #spmd.plan<([batch {data}]) {
    make op 0 nd.exp [{data}] ([batch {data}]) -> ([batch {data}])
  } ([batch {data}])>} {
    %y = nd.neg %x : (!x) -> !x
    return %y : !x
  }
}

// -----

!x = !nd.tensor<f32, [batch = 8]>
module attributes {nd.mesh = #nd.mesh<data = 2>} {
  // expected-error @below {{step 0, 'make op 0', needs a value as '!nd.tensor<f32, [batch = 8]>', which no step before it makes}}
  func.func @no_form(%x: !x) -> !x attributes {spmd.plan = #spmd.plan<([batch {data}]) {
    make op 0 nd.neg [{}] ([]) -> ([])
  } ([])>} {
    %y = nd.neg %x : (!x) -> !x
    return %y : !x
  }
}

// -----

!x = !nd.tensor<f32, [batch = 8]>
module attributes {nd.mesh = #nd.mesh<data = 2>} {
  // expected-error @below {{must have axes for 1 factors and forms for 1 results of 'nd.neg'}}
  func.func @factors(%x: !x) -> !x attributes {spmd.plan = #spmd.plan<([batch {data}]) {
    make op 0 nd.neg [{data}, {}] ([batch {data}]) -> ([batch {data}])
  } ([batch {data}])>} {
    %y = nd.neg %x : (!x) -> !x
    return %y : !x
  }
}

// -----

!x = !nd.tensor<f32, [batch = 8]>
module attributes {nd.mesh = #nd.mesh<data = 2>} {
  // expected-error @below {{its end names the axis 'tensor', which the mesh does not have}}
  func.func @no_axis(%x: !x) -> !x attributes {spmd.plan = #spmd.plan<([batch {tensor}]) {
  } ([])>} {
    return %x : !x
  }
}

// -----

!x = !nd.tensor<f32, [batch = 8]>
module attributes {nd.mesh = #nd.mesh<data = 2>} {
  // expected-error @below {{gives a value of type '!nd.tensor<f32, [batch = 8]>' the form}}
  func.func @no_dim(%x: !x) -> !x attributes {spmd.plan = #spmd.plan<([model {data}]) {
  } ([])>} {
    return %x : !x
  }
}

// -----

!x = !nd.tensor<f32, [batch = 8]>
module attributes {nd.mesh = #nd.mesh<data = 2>} {
  // expected-error @below {{has forms for 2 of 1 arguments}}
  func.func @arguments(%x: !x) -> !x attributes {spmd.plan = #spmd.plan<([], []) {
  } ([])>} {
    return %x : !x
  }
}

// -----

!x = !nd.tensor<f32, [batch = 8]>
module attributes {nd.mesh = #nd.mesh<data = 2>} {
  // expected-error @below {{'nd.neg', which is no loop}}
  func.func @no_loop(%x: !x) -> !x attributes {spmd.plan = #spmd.plan<([]) {
    loop op 0 nd.neg () {
    } ()
  } ([])>} {
    %y = nd.neg %x : (!x) -> !x
    return %y : !x
  }
}

// -----

!x = !nd.tensor<f32, [batch = 8]>
!w = !nd.tensor<f32, [batch = 8, layers = 4]>
module attributes {nd.mesh = #nd.mesh<data = 2>} {
  func.func @take(%x: !x, %w: !w) -> !x attributes {spmd.plan = #spmd.plan<([], []) {
    loop op 0 nd.scan ([], []) {
      take op 0 [] from op 0 op 0
    } ([])
  } ([])>} {
    // expected-error @below {{step 0, 'take op 0', takes what op 0 does not keep}}
    %y = nd.scan "layers" 4 carried(%x : !x) stacked(%w : !w) -> !x {
    ^bb0(%c: !x, %e: !x):
      %r = nd.add %c, %e : (!x, !x) -> !x
      nd.yield %r : !x
    }
    return %y : !x
  }
}

// -----

// expected-error @+1 {{expected a step such as 'make' or 'move', got 'build'}}
#p = #spmd.plan<() { build op 0 [] } ()>

// -----

// expected-error @+1 {{expected 'op' or 'argument' and its number}}
#p = #spmd.plan<() { make 0 } ()>

// -----

// expected-error @+1 {{step 0 ('enter') must name an argument}}
#p = #spmd.plan<() { enter op 0 [] } ()>
