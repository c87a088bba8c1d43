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

// Each rank gives the entries that it has.
module attributes {nd.mesh = #nd.mesh<data = 2>} {
  func.func @f(%a: !nd.tensor<f32, [x = 8 on {data}]>) {
    %c = nd.slice %a {dim = "x", start = 0 : i64, size = 4 : i64} : (!nd.tensor<f32, [x = 8 on {data}]>) -> !nd.tensor<f32, [x = 4], sum {data}>
    return
  }
}

// -----

module attributes {nd.mesh = #nd.mesh<data = 2>} {
  func.func @f(%a: !nd.tensor<f32, [x = 8 on {data}]>) {
    // expected-error @+1 {{is not local: dim 'x' is cut differently on two of its values}}
    %c = nd.slice %a {dim = "x", start = 0 : i64, size = 4 : i64} : (!nd.tensor<f32, [x = 8 on {data}]>) -> !nd.tensor<f32, [x = 4]>
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

// -----

// A partial maximum: no op is linear in it.
module attributes {nd.mesh = #nd.mesh<data = 2>} {
  func.func @f(%a: !nd.tensor<f32, [x = 8 on {data}]>) {
    %c = nd.reduce_max %a {dims = ["x"]} : (!nd.tensor<f32, [x = 8 on {data}]>) -> !nd.tensor<f32, [], max {data}>
    // expected-error @+1 {{takes a partial value that is not a sum}}
    %d = nd.neg %c : (!nd.tensor<f32, [], max {data}>) -> !nd.tensor<f32, [], max {data}>
    return
  }
}

// -----

module attributes {nd.mesh = #nd.mesh<data = 2, tensor = 2>} {
  func.func @f(%a: !nd.tensor<f32, [x = 8 on {data}]>, %b: !nd.tensor<f32, [x = 8 on {tensor}]>) {
    %c = nd.reduce_sum %a {dims = ["x"]} : (!nd.tensor<f32, [x = 8 on {data}]>) -> !nd.tensor<f32, [], sum {data}>
    %d = nd.reduce_sum %b {dims = ["x"]} : (!nd.tensor<f32, [x = 8 on {tensor}]>) -> !nd.tensor<f32, [], sum {tensor}>
    // expected-error @+1 {{takes partial sums over different axes}}
    %e = nd.add %c, %d : (!nd.tensor<f32, [], sum {data}>, !nd.tensor<f32, [], sum {tensor}>) -> !nd.tensor<f32, [], sum {data}>
    return
  }
}

// -----

// One of the two terms is partial: the other would be added on every rank.
module attributes {nd.mesh = #nd.mesh<data = 2>} {
  func.func @f(%a: !nd.tensor<f32, [x = 8 on {data}]>, %b: !nd.tensor<f32, []>) {
    %c = nd.reduce_sum %a {dims = ["x"]} : (!nd.tensor<f32, [x = 8 on {data}]>) -> !nd.tensor<f32, [], sum {data}>
    // expected-error @+1 {{takes a partial sum, but is not linear in it}}
    %d = nd.add %c, %b : (!nd.tensor<f32, [], sum {data}>, !nd.tensor<f32, []>) -> !nd.tensor<f32, [], sum {data}>
    return
  }
}

// -----

module attributes {nd.mesh = #nd.mesh<data = 2>} {
  func.func @f(%a: !nd.tensor<f32, [x = 8 on {data}]>, %b: !nd.tensor<f32, [y = 8 on {data}]>) {
    %c = nd.reduce_sum %a {dims = ["x"]} : (!nd.tensor<f32, [x = 8 on {data}]>) -> !nd.tensor<f32, [], sum {data}>
    // expected-error @+1 {{takes a partial sum over 'data', which cuts it too}}
    %d = nd.einsum %c, %b {reduced = ["y"]} : (!nd.tensor<f32, [], sum {data}>, !nd.tensor<f32, [y = 8 on {data}]>) -> !nd.tensor<f32, [], sum {data}>
    return
  }
}

// -----

// The largest of partial sums is not a partial value.
module attributes {nd.mesh = #nd.mesh<data = 2, tensor = 2>} {
  func.func @f(%a: !nd.tensor<f32, [x = 8 on {data}, y = 8 on {tensor}]>) {
    %c = nd.reduce_sum %a {dims = ["x"]} : (!nd.tensor<f32, [x = 8 on {data}, y = 8 on {tensor}]>) -> !nd.tensor<f32, [y = 8 on {tensor}], sum {data}>
    // expected-error @+1 {{takes a partial sum, but is not linear in it}}
    %d = nd.reduce_max %c {dims = ["y"]} : (!nd.tensor<f32, [y = 8 on {tensor}], sum {data}>) -> !nd.tensor<f32, [], max {tensor}>
    return
  }
}

// -----

// Zeros are a partial sum, which a loop may collect; ops in its body are
// checked.
!s = !nd.tensor<f32, [], sum {data}>
module attributes {nd.mesh = #nd.mesh<data = 2>} {
  func.func @f(%a: !nd.tensor<f32, [n = 3, x = 8 on {data}]>) {
    %z = nd.constant 0.0 : f32 -> !s
    %y = nd.scan "n" 3 carried(%z : !s) stacked(%a : !nd.tensor<f32, [n = 3, x = 8 on {data}]>) -> !s {
    ^bb0(%t: !s, %b: !nd.tensor<f32, [x = 8 on {data}]>):
      %c = nd.reduce_sum %b {dims = ["x"]} : (!nd.tensor<f32, [x = 8 on {data}]>) -> !s
      %d = nd.add %t, %c : (!s, !s) -> !s
      // expected-error @+1 {{takes a partial sum, but is not linear in it}}
      %e = nd.exp %d : (!s) -> !s
      nd.yield %e : !s
    }
    return
  }
}

// -----

// Blocks of 2 and 1 entries of 'a' are 8 and 4 entries of 'm', whose blocks have 6.
module attributes {nd.mesh = #nd.mesh<data = 2>} {
  func.func @f(%x: !nd.tensor<f32, [a = 3 on {data}, b = 4]>) {
    // expected-error @+1 {{is not local: its values have other entries in their blocks of a dim that is cut over 'data'}}
    %y = nd.merge_dims %x {dims = ["a", "b"], into = "m"} : (!nd.tensor<f32, [a = 3 on {data}, b = 4]>) -> !nd.tensor<f32, [m = 12 on {data}]>
    return
  }
}

// -----

// Any other dim may have blocks of different sizes.
module attributes {nd.mesh = #nd.mesh<data = 2>} {
  func.func @f(%x: !nd.tensor<f32, [a = 3, b = 4, c = 5 on {data}]>) {
    %y = nd.merge_dims %x {dims = ["a", "b"], into = "m"} : (!nd.tensor<f32, [a = 3, b = 4, c = 5 on {data}]>) -> !nd.tensor<f32, [c = 5 on {data}, m = 12]>
    return
  }
}

// -----

// On overlapping blocks, a rank's indices are those of its own widened block: what
// is cut over one axis along the table and the indices is no partial sum.
!e = !nd.tensor<f32, [row = 20 on {data}]>
!i = !nd.tensor<i32, [line = 16 on {data}]>
!y = !nd.tensor<f32, [line = 16 on {data}]>
module attributes {nd.mesh = #nd.mesh<data = 2>} {
  func.func @f(%e: !e, %i: !i) {
    %j = spmd.reindex "line" stride 1 low -1 size 16 block 10 %i : <i32, [line = 16 on {data}]>
    %y = nd.gather %e, %j {along = "line", dim = "row"} : (!e, !i) -> !y
    %z = nd.scatter_add %y, %j {along = "line", dim = "row"} : (!y, !i) -> !e
    // expected-error @+1 {{is not local: mesh axis 'data' cuts two directions of it}}
    %u = nd.gather %e, %i {dim = "row"} : (!e, !i) -> !y
    return
  }
}

// -----

!e = !nd.tensor<f32, [row = 20 on {data}]>
!i = !nd.tensor<i32, [line = 16 on {data}]>
module attributes {nd.mesh = #nd.mesh<data = 2>} {
  func.func @f(%e: !e, %i: !i) {
    %j = spmd.reindex "line" stride 1 low -1 size 16 block 10 %i : <i32, [line = 16 on {data}]>
    // expected-error @+1 {{is not local: dim 'line' is cut differently on two of its values}}
    %y = nd.gather %e, %j {along = "line", dim = "row"} : (!e, !i) -> !nd.tensor<f32, [line = 16]>
    return
  }
}

// -----

!e = !nd.tensor<f32, [row = 20 on {data}]>
!i = !nd.tensor<i32, [line = 16 on {data}]>
module attributes {nd.mesh = #nd.mesh<data = 2>} {
  func.func @f(%e: !e, %i: !i) {
    // expected-error @+1 {{is not local: its indices may be those of other ranks' entries; reindex them along 'line'}}
    %y = nd.gather %e, %i {along = "line", dim = "row"} : (!e, !i) -> !nd.tensor<f32, [line = 16 on {data}]>
    return
  }
}
