// RUN: mesh-opt %s -split-input-file -verify-diagnostics -meshc-verify-partition

module attributes {nd.mesh = #nd.mesh<data = 2>} {
  func.func @f(%a: !nd.tensor<f32, [x = 8 on {data}]>, %b: !nd.tensor<f32, [x = 8]>) {
    // expected-error @+1 {{is not local: dim 'x' is cut differently on two of its values}}
    %c = nd.add %a, %b : (!nd.tensor<f32, [x = 8 on {data}]>, !nd.tensor<f32, [x = 8]>) -> !nd.tensor<f32, [x = 8 on {data}]>
    return
  }
}

// -----

module attributes {nd.mesh = #nd.mesh<data = 2>} {
  func.func @f(%a: !nd.tensor<f32, [x = 8 on {data}]>) {
    // expected-error @+1 {{makes another partial result than its type says}}
    %c = nd.reduce_sum %a {dims = ["x"]} : (!nd.tensor<f32, [x = 8 on {data}]>) -> !nd.tensor<f32, []>
    return
  }
}

// -----

module attributes {nd.mesh = #nd.mesh<data = 2>} {
  func.func @f(%a: !nd.tensor<f32, [x = 8 on {data}]>) {
    // expected-error @+1 {{makes another partial result than its type says}}
    %c = nd.reduce_max %a {dims = ["x"]} : (!nd.tensor<f32, [x = 8 on {data}]>) -> !nd.tensor<f32, [], sum {data}>
    return
  }
}

// -----

module attributes {nd.mesh = #nd.mesh<data = 2>} {
  func.func @f(%a: !nd.tensor<f32, [x = 8 on {data}]>) {
    %c = nd.reduce_sum %a {dims = ["x"]} : (!nd.tensor<f32, [x = 8 on {data}]>) -> !nd.tensor<f32, [], sum {data}>
    // expected-error @+1 {{takes a partial sum, but is not linear in it}}
    %d = nd.exp %c : (!nd.tensor<f32, [], sum {data}>) -> !nd.tensor<f32, [], sum {data}>
    return
  }
}

// -----

module attributes {nd.mesh = #nd.mesh<data = 2>} {
  func.func @f(%a: !nd.tensor<f32, [x = 8 on {data}]>) {
    // expected-error @+1 {{is not local: it needs all of a dim that is cut over 'data'}}
    %c = nd.slice %a {dim = "x", start = 0 : i64, size = 4 : i64} : (!nd.tensor<f32, [x = 8 on {data}]>) -> !nd.tensor<f32, [x = 4 on {data}]>
    return
  }
}

// -----

module attributes {nd.mesh = #nd.mesh<data = 2>} {
  func.func @f(%a: !nd.tensor<f32, [x = 8 on {data}]>, %b: !nd.tensor<f32, [y = 8 on {data}]>) {
    // expected-error @+1 {{is not local: mesh axis 'data' cuts two directions of it}}
    %c = nd.einsum %a, %b {reduced = ["x", "y"]} : (!nd.tensor<f32, [x = 8 on {data}]>, !nd.tensor<f32, [y = 8 on {data}]>) -> !nd.tensor<f32, [], sum {data}>
    return
  }
}

// -----

module attributes {nd.mesh = #nd.mesh<data = 2>} {
  // expected-error @+1 {{takes or gives a partial value}}
  func.func @f(%a: !nd.tensor<f32, [x = 8], sum {data}>) {
    return
  }
}
