// RUN: mesh-opt %s -split-input-file -verify-diagnostics

!x = !nd.tensor<f32, [i = 8]>
func.func @never(%x: !x) {
  // expected-error @below {{'nd.scan' op must run at least once, got size 0}}
  %y = nd.scan "n" 0 carried(%x : !x) -> !x {
  ^bb0(%c: !x):
    nd.yield %c : !x
  }
  return
}

// -----

!x = !nd.tensor<f32, [i = 8]>
func.func @lacks_the_dim(%x: !x) {
  // expected-error @below {{'nd.scan' op runs over 4 entries of dim 'n', which stacked operand 0 must have; got '!nd.tensor<f32, [i = 8]>'}}
  nd.scan "n" 4 stacked(%x : !x) {
  ^bb0(%c: !x):
    nd.yield
  }
  return
}

// -----

!xs = !nd.tensor<f32, [i = 8, n = 3]>
func.func @other_size(%x: !xs) {
  // expected-error @below {{runs over 4 entries of dim 'n', which stacked operand 0 must have}}
  nd.scan "n" 4 stacked(%x : !xs) {
  ^bb0(%c: !nd.tensor<f32, [i = 8]>):
    nd.yield
  }
  return
}

// -----

module attributes {nd.mesh = #nd.mesh<a = 2>} {
  func.func @cut(%x: !nd.tensor<f32, [i = 8, n = 4 on {a}]>) {
    // expected-error @below {{runs over dim 'n', which must be whole on every rank; stacked operand 0 is}}
    nd.scan "n" 4 stacked(%x : !nd.tensor<f32, [i = 8, n = 4 on {a}]>) {
    ^bb0(%c: !nd.tensor<f32, [i = 8]>):
      nd.yield
    }
    return
  }
}

// -----

!x = !nd.tensor<f32, [i = 8]>
func.func @no_argument(%x: !x) {
  // expected-error @below {{has 1 operands, but its block has 0 arguments}}
  %y = nd.scan "n" 4 carried(%x : !x) -> !x {
    %c = nd.constant 0.0 : f32 -> !x
    nd.yield %c : !x
  }
  return
}

// -----

!x = !nd.tensor<f32, [i = 8]>
!xs = !nd.tensor<f32, [i = 8, n = 4]>
func.func @not_an_entry(%x: !xs) {
  // expected-error @below {{argument 0 of the block has type '!nd.tensor<f32, [i = 8, n = 4]>', expected '!nd.tensor<f32, [i = 8]>'}}
  nd.scan "n" 4 stacked(%x : !xs) {
  ^bb0(%c: !xs):
    nd.yield
  }
  return
}

// -----

!xs = !nd.tensor<f32, [i = 8, n = 4]>
func.func @carries_the_dim(%x: !xs) {
  // expected-error @below {{a carried value cannot have the loop's dim 'n'; got '!nd.tensor<f32, [i = 8, n = 4]>'}}
  %y = nd.scan "n" 4 carried(%x : !xs) -> !xs {
  ^bb0(%c: !xs):
    nd.yield %c : !xs
  }
  return
}

// -----

!x = !nd.tensor<f32, [i = 8]>
func.func @other_type(%x: !x) {
  // expected-error @below {{yielded value 0 has type '!nd.tensor<f32, []>', expected '!nd.tensor<f32, [i = 8]>'}}
  %y = nd.scan "n" 4 carried(%x : !x) -> !x {
  ^bb0(%c: !x):
    %z = nd.constant 0.0 : f32 -> !nd.tensor<f32, []>
    nd.yield %z : !nd.tensor<f32, []>
  }
  return
}

// -----

!x = !nd.tensor<f32, [i = 8]>
func.func @no_result(%x: !x) {
  // expected-error @below {{carries 1 values and yields 1, but has 0 results; expected a result for each yielded value, the carried ones first}}
  nd.scan "n" 4 carried(%x : !x) {
  ^bb0(%c: !x):
    nd.yield %c : !x
  }
  return
}

// -----

!x = !nd.tensor<f32, [i = 8]>
func.func @wrong_attributes(%x: !x) {
  // expected-error @below {{result 0: 'nd.class' must be one of}}
  %y = nd.scan "n" 4 carried(%x : !x) -> !x attributes {res_attrs = [{nd.class = "layer"}]} {
  ^bb0(%c: !x):
    nd.yield %c : !x
  }
  return
}

// -----

!x = !nd.tensor<f32, [i = 8]>
func.func @few_attributes(%x: !x) {
  // expected-error @below {{'res_attrs' must have one dictionary for each of 1 results, got 2}}
  %y = nd.scan "n" 4 carried(%x : !x) -> !x attributes {res_attrs = [{}, {}]} {
  ^bb0(%c: !x):
    nd.yield %c : !x
  }
  return
}

// -----

func.func @not_a_number(%x: !nd.tensor<f32, []>) {
  // expected-error @below {{the number of an iteration must be '!nd.tensor<i32, []>', got '!nd.tensor<f32, []>'}}
  %y = nd.random normal "s" (%x : !nd.tensor<f32, []>) : !nd.tensor<f32, [i = 2]>
  return
}

// -----

!x = !nd.tensor<f32, [i = 8]>
func.func @no_condition(%x: !x) {
  // expected-error @below {{'nd.scan' op with 'while' must carry its condition, a scalar i1, as the first value}}
  nd.scan "n" 4 while whole(%x : !x) {
  ^bb0(%c: !x):
    nd.yield
  }
  return
}

// -----

!x = !nd.tensor<f32, [i = 8]>
func.func @no_truth(%x: !x) {
  // expected-error @below {{'nd.scan' op with 'while' must carry its condition as the first value, a scalar i1 that is not partial; got '!nd.tensor<f32, [i = 8]>'}}
  %y = nd.scan "n" 4 while carried(%x : !x) -> !x {
  ^bb0(%c: !x):
    nd.yield %c : !x
  }
  return
}

// -----

!b = !nd.tensor<i1, []>
!p = !nd.tensor<i1, [], max {a}>
module attributes {nd.mesh = #nd.mesh<a = 2>} {
  func.func @partial(%x: !p) {
    // expected-error @below {{a scalar i1 that is not partial; got}}
    %y = nd.scan "n" 4 while carried(%x : !p) -> !p {
    ^bb0(%c: !p):
      nd.yield %c : !p
    }
    return
  }
}
