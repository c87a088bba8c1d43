// RUN: mesh-opt %s -split-input-file -verify-diagnostics

module attributes {nd.mesh = #nd.mesh<a = 2, b = 2>} {
  func.func @f(%x: !nd.tensor<f32, [i = 8]>) {
    // expected-error @+1 {{makes a whole value partial over 'a', which only a sum can be}}
    %y = spmd.reshard %x : <f32, [i = 8]> -> <f32, [i = 8], max {a}>
    return
  }
}

// -----

module attributes {nd.mesh = #nd.mesh<a = 2, b = 2>} {
  func.func @f(%x: !nd.tensor<f32, [i = 8], sum {a, b}>) {
    // expected-error @+1 {{gives the axes of a partial value another order}}
    %y = spmd.reshard %x : <f32, [i = 8], sum {a, b}> -> <f32, [i = 8], sum {b, a}>
    return
  }
}

// -----

module attributes {nd.mesh = #nd.mesh<a = 2, b = 2>} {
  func.func @f(%x: !nd.tensor<f32, [i = 8]>) {
    // expected-error @+1 {{changes the tensor}}
    %y = spmd.reshard %x : <f32, [i = 8]> -> <f32, [i = 4]>
    return
  }
}

// -----

module attributes {nd.mesh = #nd.mesh<a = 2, b = 2>} {
  func.func @f(%x: !nd.tensor<f32, [i = 8]>) {
    // expected-error @+1 {{changes the element type, which only a sum of f32 that ends may do, to 16 bits}}
    %y = spmd.reshard %x : <f32, [i = 8]> -> <bf16, [i = 8 on {a}]>
    return
  }
}

// -----

module attributes {nd.mesh = #nd.mesh<a = 2, b = 2>} {
  func.func @f(%x: !nd.tensor<f32, [i = 8], sum {a, b}>) {
    // expected-error @+1 {{changes the element type, which only a sum of f32 that ends may do, to 16 bits}}
    %y = spmd.reshard %x : <f32, [i = 8], sum {a, b}> -> <bf16, [i = 8], sum {a}>
    return
  }
}

// -----

module attributes {nd.mesh = #nd.mesh<a = 2, b = 2>} {
  func.func @f(%x: !nd.tensor<f32, [i = 8], max {a}>) {
    // expected-error @+1 {{changes the element type, which only a sum of f32 that ends may do, to 16 bits}}
    %y = spmd.reshard %x : <f32, [i = 8], max {a}> -> <bf16, [i = 8]>
    return
  }
}

// -----

module attributes {nd.mesh = #nd.mesh<a = 2, b = 2>} {
  func.func @f(%x: !nd.tensor<bf16, [i = 8]>) {
    // expected-error @+2 {{'nd.einsum' op inferred type(s) '!nd.tensor<bf16, []>' are incompatible}}
    // expected-error @+1 {{'nd.einsum' op failed to infer returned types}}
    %y = nd.einsum %x {reduced = ["i"]} : (!nd.tensor<bf16, [i = 8]>) -> !nd.tensor<f32, []>
    return
  }
}

// -----

module attributes {nd.mesh = #nd.mesh<a = 2, b = 2>} {
  func.func @f(%x: !nd.tensor<f32, [i = 8], max {a}>) {
    // expected-error @+1 {{combines by sum, but operand 0 has type}}
    %y = spmd.all_reduce sum ["a"] %x : (!nd.tensor<f32, [i = 8], max {a}>) -> !nd.tensor<f32, [i = 8]>
    return
  }
}

// -----

module attributes {nd.mesh = #nd.mesh<a = 2, b = 2>} {
  func.func @f(%x: !nd.tensor<f32, [i = 8 on {a, b}]>) {
    // expected-error @+1 {{cannot be done on operand 0}}
    %y = spmd.all_gather ["a"] from ["i"] %x : (!nd.tensor<f32, [i = 8 on {a, b}]>) -> !nd.tensor<f32, [i = 8 on {b}]>
    return
  }
}

// -----

module attributes {nd.mesh = #nd.mesh<a = 2, b = 2>} {
  func.func @f(%x: !nd.tensor<f32, [i = 8 on {b, a}]>) {
    // expected-error @+1 {{in another order than the mesh's}}
    %y = spmd.all_gather ["b", "a"] from ["i"] %x : (!nd.tensor<f32, [i = 8 on {b, a}]>) -> !nd.tensor<f32, [i = 8]>
    return
  }
}

// -----

module attributes {nd.mesh = #nd.mesh<a = 2, b = 2>} {
  func.func @f(%x: !nd.tensor<f32, [i = 8 on {b}]>) {
    // expected-error @+1 {{runs over 'c', which is not an axis of the mesh}}
    %y = spmd.all_gather ["c"] from ["i"] %x : (!nd.tensor<f32, [i = 8 on {b}]>) -> !nd.tensor<f32, [i = 8]>
    return
  }
}

// -----

module attributes {nd.mesh = #nd.mesh<a = 2, b = 2>} {
  func.func @f(%x: !nd.tensor<f32, [i = 8 on {b}, j = 8]>) {
    // expected-error @+1 {{gives result 0 type}}
    %y = spmd.all_to_all ["b"] from ["i"] to ["j"] %x : (!nd.tensor<f32, [i = 8 on {b}, j = 8]>) -> !nd.tensor<f32, [i = 8, j = 8]>
    return
  }
}

// -----

module attributes {nd.mesh = #nd.mesh<a = 2, b = 2>} {
  func.func @f(%x: !nd.tensor<f32, [i = 8]>) {
    // expected-error @+1 {{needs one dim per operand, got 2 for 1 operands}}
    %y = spmd.all_gather ["a"] from ["i", "i"] %x : (!nd.tensor<f32, [i = 8]>) -> !nd.tensor<f32, [i = 8]>
    return
  }
}

// -----

module attributes {nd.mesh = #nd.mesh<a = 2, b = 2>} {
  func.func @f(%x: !nd.tensor<f32, [i = 8], sum {a, b}>) {
    // expected-error @+1 {{changes the kind of partial result}}
    %y = spmd.reshard %x : <f32, [i = 8], sum {a, b}> -> <f32, [i = 8], max {a}>
    return
  }
}

// -----

module attributes {nd.mesh = #nd.mesh<a = 2>} {
  func.func @f(%x: !nd.tensor<f32, [i = 8], sum {a}>) {
    // expected-error @+1 {{needs at least one mesh axis}}
    %y = spmd.all_reduce sum [] %x : (!nd.tensor<f32, [i = 8], sum {a}>) -> !nd.tensor<f32, [i = 8], sum {a}>
    return
  }
}

// -----

module attributes {nd.mesh = #nd.mesh<a = 2>} {
  func.func @f(%x: !nd.tensor<f32, [i = 8], sum {a}>) {
    // expected-error @+1 {{needs one result per operand, got 2 operands and 1 results}}
    %y = spmd.all_reduce sum ["a"] %x, %x : (!nd.tensor<f32, [i = 8], sum {a}>, !nd.tensor<f32, [i = 8], sum {a}>) -> !nd.tensor<f32, [i = 8]>
    return
  }
}

// -----

module attributes {nd.mesh = #nd.mesh<a = 2>} {
  func.func @f(%x: !nd.tensor<f32, [i = 8 on {a}]>) {
    // expected-error @+1 {{moves the axes of dim 'i' to the same dim}}
    %y = spmd.all_to_all ["a"] from ["i"] to ["i"] %x : (!nd.tensor<f32, [i = 8 on {a}]>) -> !nd.tensor<f32, [i = 8 on {a}]>
    return
  }
}

// -----

module attributes {nd.mesh = #nd.mesh<a = 2>} {
  func.func @f(%x: !nd.tensor<f32, [i = 5 on {a}, j = 4]>) {
    // expected-error @+1 {{gives its result type '!nd.tensor<f32, [k = 24 on {a}]>', got '!nd.tensor<f32, [k = 20 on {a}]>'}}
    %y = spmd.flatten ["i", "j"] "k" %x : <f32, [i = 5 on {a}, j = 4]> -> <f32, [k = 20 on {a}]>
    return
  }
}

// -----

module attributes {nd.mesh = #nd.mesh<a = 2>} {
  func.func @f(%x: !nd.tensor<f32, [i = 5 on {a}, j = 4]>) {
    // expected-error @+1 {{needs distinct dims of '!nd.tensor<f32, [i = 5 on {a}, j = 4]>', got ["i", "k"]}}
    %y = spmd.flatten ["i", "k"] "k" %x : <f32, [i = 5 on {a}, j = 4]> -> <f32, [k = 24 on {a}]>
    return
  }
}

// -----

module attributes {nd.mesh = #nd.mesh<a = 2>} {
  func.func @f(%x: !nd.tensor<f32, [i = 5 on {a}, j = 4]>) {
    // expected-error @+1 {{needs at least one dim}}
    %y = spmd.flatten [] "k" %x : <f32, [i = 5 on {a}, j = 4]> -> <f32, [k = 1, i = 5 on {a}, j = 4]>
    return
  }
}

// -----

module attributes {nd.mesh = #nd.mesh<a = 2>} {
  func.func @f(%x: !nd.tensor<f32, [i = 5 on {a}, j = 4]>) {
    // expected-error @+1 {{makes a dim 'j', which the operand has}}
    %y = spmd.flatten ["i"] "j" %x : <f32, [i = 5 on {a}, j = 4]> -> <f32, [j = 6 on {a}]>
    return
  }
}

// -----

module attributes {nd.mesh = #nd.mesh<a = 2, b = 4>} {
  func.func @f(%x: !nd.tensor<f32, [i = 64 on {a, b}]>) {
    // expected-error @+1 {{needs each axis once in both orders, got ["a", "b"] and ["b", "b"]}}
    %y = spmd.permute ["a", "b"] to ["b", "b"] %x : (!nd.tensor<f32, [i = 64 on {a, b}]>) -> !nd.tensor<f32, [i = 64 on {b, a}]>
    return
  }
}

// -----

module attributes {nd.mesh = #nd.mesh<a = 2, b = 4>} {
  func.func @f(%x: !nd.tensor<f32, [i = 64 on {a, b}]>) {
    // expected-error @+1 {{needs each axis once in both orders, got ["a", "a"] and ["a", "a"]}}
    %y = spmd.permute ["a", "a"] to ["a", "a"] %x : (!nd.tensor<f32, [i = 64 on {a, b}]>) -> !nd.tensor<f32, [i = 64 on {b, a}]>
    return
  }
}

// -----

module attributes {nd.mesh = #nd.mesh<a = 2, b = 4>} {
  func.func @f(%x: !nd.tensor<f32, [i = 64 on {a, b}]>) {
    // expected-error @+1 {{gives result 0 type '!nd.tensor<f32, [i = 64 on {b, a}]>', got '!nd.tensor<f32, [i = 64 on {a, b}]>'}}
    %y = spmd.permute ["a", "b"] to ["b", "a"] %x : (!nd.tensor<f32, [i = 64 on {a, b}]>) -> !nd.tensor<f32, [i = 64 on {a, b}]>
    return
  }
}

// -----

// Two blocks on {a} are no four on {b}.
module attributes {nd.mesh = #nd.mesh<a = 2, b = 4>} {
  func.func @f(%x: !nd.tensor<f32, [i = 64 on {a}]>) {
    // expected-error @+1 {{cannot be done on operand 0 of type '!nd.tensor<f32, [i = 64 on {a}]>'}}
    %y = spmd.permute ["a", "b"] to ["b", "a"] %x : (!nd.tensor<f32, [i = 64 on {a}]>) -> !nd.tensor<f32, [i = 64 on {b}]>
    return
  }
}

// -----

// Blocks of 7 entries are not the same in both orders: 4 and 3, 3 and 3 and 1.
module attributes {nd.mesh = #nd.mesh<a = 2, b = 3>} {
  func.func @f(%x: !nd.tensor<f32, [i = 7 on {a, b}]>) {
    // expected-error @+1 {{cannot be done on operand 0 of type '!nd.tensor<f32, [i = 7 on {a, b}]>'}}
    %y = spmd.permute ["a", "b"] to ["b", "a"] %x : (!nd.tensor<f32, [i = 7 on {a, b}]>) -> !nd.tensor<f32, [i = 7 on {b, a}]>
    return
  }
}

// -----

module attributes {nd.mesh = #nd.mesh<a = 2, b = 2>} {
  func.func @f(%x: !nd.tensor<f32, [i = 8 on {a}], sum {b}>) {
    // expected-error @+1 {{cannot be done on operand 0 of type '!nd.tensor<f32, [i = 8 on {a}], sum {b}>'}}
    %y = spmd.permute ["a", "b"] to ["b", "a"] %x : (!nd.tensor<f32, [i = 8 on {a}], sum {b}>) -> !nd.tensor<f32, [i = 8 on {b}], sum {a}>
    return
  }
}

// -----

module attributes {nd.mesh = #nd.mesh<a = 2, b = 2>} {
  func.func @f(%x: !nd.tensor<f32, [i = 8 on {a}]>) {
    // expected-error @+1 {{cannot be done on operand 0 of type '!nd.tensor<f32, [i = 8 on {a}]>'}}
    %y = spmd.to_partial ["a"] %x : !nd.tensor<f32, [i = 8 on {a}]> -> !nd.tensor<f32, [i = 8 on {a}], sum {b}>
    return
  }
}

// -----

module attributes {nd.mesh = #nd.mesh<a = 2, b = 4>} {
  func.func @f(%x: !nd.tensor<f32, [i = 64 on {a, b}]>) {
    // expected-error @+1 {{has a shift of 8; it must be at least 0 and less than the 8 ranks of the group}}
    %y = spmd.permute ["a", "b"] to ["a", "b"] shift 8 %x : (!nd.tensor<f32, [i = 64 on {a, b}]>) -> !nd.tensor<f32, [i = 64 on {a, b}]>
    return
  }
}

// -----

module attributes {nd.mesh = #nd.mesh<a = 2, b = 2>} {
  func.func @f(%x: !nd.tensor<f32, [i = 8]>) {
    // expected-error @+1 {{gives result 0 type '!nd.tensor<f32, [i = 8], sum {a}>', got '!nd.tensor<f32, [i = 8], sum {b}>'}}
    %y = spmd.to_partial ["a"] %x : !nd.tensor<f32, [i = 8]> -> !nd.tensor<f32, [i = 8], sum {b}>
    return
  }
}

// -----

// The last block has one entry: it cannot be the first one.
module attributes {nd.mesh = #nd.mesh<a = 2>} {
  func.func @f(%x: !nd.tensor<f32, [i = 3 on {a}]>) {
    // expected-error @+1 {{cannot be done on operand 0 of type '!nd.tensor<f32, [i = 3 on {a}]>'}}
    %y = spmd.permute ["a"] to ["a"] shift 1 %x : (!nd.tensor<f32, [i = 3 on {a}]>) -> !nd.tensor<f32, [i = 3 on {a}]>
    return
  }
}

// -----

module attributes {nd.mesh = #nd.mesh<a = 2>} {
  func.func @f(%x: !nd.tensor<f32, [i = 8]>) {
    // expected-error @+1 {{needs a dim 'i' that is cut, got '!nd.tensor<f32, [i = 7]>'}}
    %y = spmd.window "i" [0, 0, 1, 7] fill 0.0 %x : (!nd.tensor<f32, [i = 8]>) -> !nd.tensor<f32, [i = 7]>
    return
  }
}

// -----

module attributes {nd.mesh = #nd.mesh<a = 2, b = 2>} {
  func.func @f(%x: !nd.tensor<f32, [i = 8 on {b}]>) {
    // expected-error @+1 {{changes more than the size of dim 'i': '!nd.tensor<f32, [i = 8 on {b}]>' and '!nd.tensor<f32, [i = 7 on {a}]>'}}
    %y = spmd.window "i" [0, 0, 1, 7] fill 0.0 %x : (!nd.tensor<f32, [i = 8 on {b}]>) -> !nd.tensor<f32, [i = 7 on {a}]>
    return
  }
}

// -----

// Blocks of 2, 1, 2 and 0 entries.
module attributes {nd.mesh = #nd.mesh<a = 2, b = 2>} {
  func.func @f(%x: !nd.tensor<f32, [i = 8 on {a, b}]>) {
    // expected-error @+1 {{needs blocks at equal distances along dim 'i', got '!nd.tensor<f32, [i = 5 on {a, b}]>'}}
    %y = spmd.window "i" [0, 0, 1, 5] fill 0.0 %x : (!nd.tensor<f32, [i = 8 on {a, b}]>) -> !nd.tensor<f32, [i = 5 on {a, b}]>
    return
  }
}

// -----

module attributes {nd.mesh = #nd.mesh<a = 2>} {
  func.func @f(%x: !nd.tensor<f32, [i = 8 on {a}]>) {
    // expected-error @+1 {{has a segment [0, 3, 1, 4] that overlaps the one before it or does not lie within operand and result}}
    %y = spmd.window "i" [0, 0, 0, 4, 0, 3, 1, 4] fill 0.0 %x : (!nd.tensor<f32, [i = 8 on {a}]>) -> !nd.tensor<f32, [i = 8 on {a}]>
    return
  }
}

// -----

module attributes {nd.mesh = #nd.mesh<a = 2>} {
  func.func @f(%x: !nd.tensor<f32, [i = 8 on {a}]>) {
    // expected-error @+1 {{has a segment [0, 0, 2, 7] that overlaps the one before it or does not lie within operand and result}}
    %y = spmd.window "i" [0, 0, 2, 7] fill 0.0 %x : (!nd.tensor<f32, [i = 8 on {a}]>) -> !nd.tensor<f32, [i = 8 on {a}]>
    return
  }
}

// -----

module attributes {nd.mesh = #nd.mesh<a = 2, b = 2>} {
  func.func @f(%x: !nd.tensor<f32, [i = 8 on {a}], sum {b}>) {
    // expected-error @+1 {{fills a partial sum with a value that would be counted once per rank}}
    %y = spmd.window "i" [0, 1, 0, 8] fill 2.0 %x : (!nd.tensor<f32, [i = 8 on {a}], sum {b}>) -> !nd.tensor<f32, [i = 9 on {a}], sum {b}>
    return
  }
}

// -----

module attributes {nd.mesh = #nd.mesh<a = 2>} {
  func.func @f(%x: !nd.tensor<f32, [i = 8 on {a}]>) {
    // expected-error @+1 {{takes 2 entries from 3 of blocks of 4}}
    %y = spmd.piece "i" 3 size 2 %x : !nd.tensor<f32, [i = 8 on {a}]> -> !nd.tensor<f32, [i = 4 on {a}]>
    return
  }
}

// -----

module attributes {nd.mesh = #nd.mesh<a = 2>} {
  func.func @f(%x: !nd.tensor<f32, [i = 8 on {a}]>) {
    // expected-error @+1 {{gives its result type '!nd.tensor<f32, [i = 2 on {a}]>', got '!nd.tensor<f32, [i = 1 on {a}]>'}}
    %y = spmd.piece "i" 3 size 1 %x : !nd.tensor<f32, [i = 8 on {a}]> -> !nd.tensor<f32, [i = 1 on {a}]>
    return
  }
}

// -----

module attributes {nd.mesh = #nd.mesh<a = 2>} {
  func.func @f(%x: !nd.tensor<f32, [i = 8]>) {
    // expected-error @+1 {{needs steps of at least one entry, or 0 for an operand that is whole; operand 0 has 4}}
    %y = spmd.join "i" [0, 4, 0, 8] %x : (!nd.tensor<f32, [i = 8]>) -> !nd.tensor<f32, [i = 8 on {a}]>
    return
  }
}

// -----

module attributes {nd.mesh = #nd.mesh<a = 2>} {
  func.func @f(%x: !nd.tensor<f32, [i = 8]>) {
    // expected-error @+1 {{changes more than the size of dim 'i': '!nd.tensor<f32, [i = 8]>' and '!nd.tensor<f32, [i = 12 on {a}]>'}}
    %y = spmd.window "i" [0, 0, 0, 6] repeat [6, 4] fill 0.0 %x : (!nd.tensor<f32, [i = 8]>) -> !nd.tensor<f32, [i = 12 on {a}]>
    return
  }
}

// -----

module attributes {nd.mesh = #nd.mesh<a = 2>} {
  func.func @f(%x: !nd.tensor<f32, [i = 8 on {a}]>) {
    // expected-error @+1 {{needs four numbers for each operand, got 3 for 1 operands}}
    %y = spmd.join "i" [0, 4, 0] %x : (!nd.tensor<f32, [i = 8 on {a}]>) -> !nd.tensor<f32, [i = 8 on {a}]>
    return
  }
}

// -----

module attributes {nd.mesh = #nd.mesh<a = 2>} {
  func.func @f(%x: !nd.tensor<f32, [i = 8 on {a}]>) {
    // expected-error @+1 {{needs four numbers for each segment, and at least one segment}}
    %y = spmd.window "i" [] fill 2.0 %x : (!nd.tensor<f32, [i = 8 on {a}]>) -> !nd.tensor<f32, [i = 9 on {a}]>
    return
  }
}

// -----

module attributes {nd.mesh = #nd.mesh<a = 2>} {
  func.func @f(%x: !nd.tensor<f32, [i = 8 on {a}]>) {
    // expected-error @+1 {{needs one operand, one segment and two numbers to repeat it}}
    %y = spmd.window "i" [0, 0, -1, 6] repeat [6] fill 0.0 %x : (!nd.tensor<f32, [i = 8 on {a}]>) -> !nd.tensor<f32, [i = 12 on {a}]>
    return
  }
}

// -----

module attributes {nd.mesh = #nd.mesh<a = 2>} {
  func.func @f(%x: !nd.tensor<f32, [i = 8 on {a}]>) {
    // expected-error @+1 {{has a segment [0, 0, -1, 6] that overlaps itself when it repeats after 5 entries}}
    %y = spmd.window "i" [0, 0, -1, 6] repeat [5, 4] fill 0.0 %x : (!nd.tensor<f32, [i = 8 on {a}]>) -> !nd.tensor<f32, [i = 12 on {a}]>
    return
  }
}

// -----

module attributes {nd.mesh = #nd.mesh<a = 2>} {
  func.func @f(%x: !nd.tensor<f32, [i = 8 on {a}]>) {
    // expected-error @+1 {{has a number that exceeds 32 bits: 4294967296}}
    %y = spmd.window "i" [0, 0, 4294967296, 6] repeat [6, 4] fill 0.0 %x : (!nd.tensor<f32, [i = 8 on {a}]>) -> !nd.tensor<f32, [i = 12 on {a}]>
    return
  }
}

// -----

module attributes {nd.mesh = #nd.mesh<a = 2, b = 2>} {
  func.func @f(%x: !nd.tensor<f32, [i = 8 on {a}], sum {b}>) {
    // expected-error @+1 {{fills a partial sum with a value that would be counted once per rank}}
    %y = spmd.window "i" [0, 0, -1, 6] repeat [6, 4] fill 1.0 %x : (!nd.tensor<f32, [i = 8 on {a}], sum {b}>) -> !nd.tensor<f32, [i = 12 on {a}], sum {b}>
    return
  }
}

// -----

module attributes {nd.mesh = #nd.mesh<a = 2>} {
  func.func @f(%x: !nd.tensor<f32, [i = 8 on {a}]>) {
    // expected-error @+1 {{needs indices that are i32, got '!nd.tensor<f32, [i = 8 on {a}]>'}}
    %y = spmd.reindex "i" stride 1 low 0 size 8 block 4 %x : <f32, [i = 8 on {a}]>
    return
  }
}

// -----

module attributes {nd.mesh = #nd.mesh<a = 2>} {
  func.func @f(%x: !nd.tensor<i32, [i = 8 on {a}]>) {
    // expected-error @+1 {{needs a dim 'j' with blocks at equal distances, got '!nd.tensor<i32, [i = 8 on {a}]>'}}
    %y = spmd.reindex "j" stride 1 low 0 size 8 block 4 %x : <i32, [i = 8 on {a}]>
    return
  }
}

// -----

module attributes {nd.mesh = #nd.mesh<a = 2>} {
  func.func @f(%x: !nd.tensor<i32, [i = 8 on {a}]>) {
    // expected-error @+1 {{cannot number a table of 8 entries in blocks of 2147483647 with 32 bits, from entry 0 in steps of 1}}
    %y = spmd.reindex "i" stride 1 low 0 size 8 block 2147483647 %x : <i32, [i = 8 on {a}]>
    return
  }
}

// -----

module attributes {nd.mesh = #nd.mesh<a = 2>} {
  func.func @f(%x: !nd.tensor<i32, [i = 8 on {a}]>) {
    // expected-error @+1 {{cannot number a table of 8 entries in blocks of 4 with 32 bits, from entry 4294967296 in steps of 1}}
    %y = spmd.reindex "i" stride 1 low 4294967296 size 8 block 4 %x : <i32, [i = 8 on {a}]>
    return
  }
}

// -----

module attributes {nd.mesh = #nd.mesh<a = 2>} {
  func.func @f(%x: !nd.tensor<f32, [i = 8 on {a}]>) {
    // expected-error @+1 {{repeats the segment [0, 1, -1, 5] by [6, 4]: that neither widens the blocks of the operand to those of the result, nor takes a part of each block of the operand}}
    %y = spmd.window "i" [0, 1, -1, 5] repeat [6, 4] fill 0.0 %x : (!nd.tensor<f32, [i = 8 on {a}]>) -> !nd.tensor<f32, [i = 12 on {a}]>
    return
  }
}

// -----

module attributes {nd.mesh = #nd.mesh<a = 2>} {
  func.func @f(%x: !nd.tensor<f32, [i = 8 on {a}]>) {
    // expected-error @+1 {{has a round, which allows no shift and needs the same order of senders and receivers}}
    %y = spmd.permute ["a"] to ["a"] shift 1 round <from = 4, to = 2, offset = 0, number = 0> %x : (!nd.tensor<f32, [i = 8 on {a}]>) -> !nd.tensor<f32, [i = 8 on {a}]>
    return
  }
}

// -----

module attributes {nd.mesh = #nd.mesh<a = 2>} {
  func.func @f(%x: !nd.tensor<f32, [i = 8 on {a}]>) {
    // expected-error @+1 {{a round needs blocks of 1 to 2^31 entries, an offset of -2^31 to 2^31 and a number of 0 to 2^31, got 0, 2, 0, 0}}
    %y = spmd.permute ["a"] to ["a"] round <from = 0, to = 2, offset = 0, number = 0> %x : (!nd.tensor<f32, [i = 8 on {a}]>) -> !nd.tensor<f32, [i = 8 on {a}]>
    return
  }
}

// -----

module attributes {nd.mesh = #nd.mesh<a = 2>} {
  func.func @f(%x: !nd.tensor<f32, [i = 8 on {a}]>) {
    // expected-error @+1 {{needs 0 and blocks of 4 entries in a round, got 0 and #spmd.round<from = 3, to = 2, offset = 0, number = 0>}}
    %y = spmd.piece "i" 0 round <from = 3, to = 2, offset = 0, number = 0> size 2 %x : !nd.tensor<f32, [i = 8 on {a}]> -> !nd.tensor<f32, [i = 4 on {a}]>
    return
  }
}

// -----

module attributes {nd.mesh = #nd.mesh<a = 2>} {
  func.func @f(%x: !nd.tensor<f32, [i = 8 on {a}]>) {
    // expected-error @+1 {{needs a round or unit for each operand, or no rounds}}
    %y = spmd.join "i" [0, 4, 0, 8] rounds [] %x : (!nd.tensor<f32, [i = 8 on {a}]>) -> !nd.tensor<f32, [i = 8 on {a}]>
    return
  }
}

// -----

module attributes {nd.mesh = #nd.mesh<a = 2>} {
  func.func @f(%x: !nd.tensor<f32, [i = 4 on {a}]>) {
    // expected-error @+1 {{has a round for operand 0, which needs 0, 0 and blocks that fit: it has 0, 0 and pieces of 2 entries for blocks of 4}}
    %y = spmd.join "i" [0, 0, 0, 8] rounds [#spmd.round<from = 8, to = 2, offset = 0, number = 0>] fill 0.0 %x : (!nd.tensor<f32, [i = 4 on {a}]>) -> !nd.tensor<f32, [i = 8 on {a}]>
    return
  }
}
