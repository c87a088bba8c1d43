// RUN: mesh-opt %s -split-input-file -verify-diagnostics -meshc-choose-plan -meshc-partition-program

!x = !nd.tensor<f32, [a = 4]>
module attributes {nd.mesh = #nd.mesh<data = 2>} {
  // expected-error @below {{argument 0 lacks a required sharding; run the layout phase first}}
  func.func @argument(%x: !x) { return }
}

// -----

!x = !nd.tensor<f32, [a = 4]>
module attributes {nd.mesh = #nd.mesh<data = 2>} {
  // expected-error @below {{result 0 lacks a required sharding; run the layout phase first}}
  func.func @result(%x: !x {nd.sharding = !x}) -> !x { return %x : !x }
}

// -----

!x = !nd.tensor<f32, [a = 4]>
module attributes {nd.mesh = #nd.mesh<data = 2>} {
  func.func @op(%x: !x {nd.sharding = !x}) {
    // expected-error @below {{lacks a required sharding for each result; run the layout phase first}}
    %0 = nd.exp %x : (!x) -> !x
    return
  }
}

// -----

// A sharding of another tensor.
!x = !nd.tensor<f32, [a = 4]>
module attributes {nd.mesh = #nd.mesh<data = 2>} {
  func.func @other(%x: !x {nd.sharding = !x}) {
    // expected-error @below {{lacks a required sharding for each result; run the layout phase first}}
    %0 = nd.exp %x {nd.sharding = [!nd.tensor<f32, [a = 8 on {data}]>]} : (!x) -> !x
    return
  }
}

// -----

!x = !nd.tensor<f32, [a = 4]>
module attributes {nd.mesh = #nd.mesh<data = 2>} {
  func.func @foreign(%x: !x {nd.sharding = !x}) -> (!x {nd.sharding = !x}) {
    // expected-error @below {{'func.call' has no partition rule and cannot be cut over the mesh}}
    %0 = func.call @foreign(%x) : (!x) -> !x
    return %0 : !x
  }
}

// -----

!x = !nd.tensor<f32, [a = 4]>
module attributes {nd.mesh = #nd.mesh<data = 2>} {
  func.func @region(%x: !x {nd.sharding = !x}) {
    // expected-error @below {{'nd.parameter' has no partition rule and cannot be cut over the mesh}}
    %w = nd.parameter "w" ["a"] : !x {
      %0 = nd.constant 1.0 : f32 -> !x
      nd.yield %0 : !x
    }
    return
  }
}

// -----

module attributes {nd.mesh = #nd.mesh<data = 2>} {
  // expected-error @below {{a function must have one block}}
  func.func private @declared(!nd.tensor<f32, [a = 4]>)
}
