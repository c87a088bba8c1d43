// RUN: mesh-opt %s -split-input-file -verify-diagnostics

// What the exec dialect's attributes may hold, and where they belong.
!x = !nd.tensor<f32, [a = 4]>
func.func @f(%x: !x) {
  // expected-error @below {{'exec.offsets' must be an array<i64>, got [64]}}
  %0 = nd.exp %x {exec.offsets = [64]} : (!x) -> !x
  return
}

// -----

!x = !nd.tensor<f32, [a = 4]>
func.func @f(%x: !x) {
  // expected-error @below {{'exec.offsets' must have one offset for each of 1 values, got 2}}
  %0 = nd.exp %x {exec.offsets = array<i64: 0, 64>} : (!x) -> !x
  return
}

// -----

!x = !nd.tensor<f32, [a = 4]>
func.func @f(%x: !x) {
  // expected-error @below {{'exec.offsets' must be multiples of 64, got 32}}
  %0 = nd.exp %x {exec.offsets = array<i64: 32>} : (!x) -> !x
  return
}

// -----

// expected-error @below {{argument 0: 'exec.offset' must be an i64 that is a multiple of 64, got 100 : i64}}
func.func @f(%x: !nd.tensor<f32, [a = 4]> {exec.offset = 100 : i64}) { return }

// -----

// expected-error @below {{argument 0: 'exec.offset' must be an i64 that is a multiple of 64, got 64 : i32}}
func.func @f(%x: !nd.tensor<f32, [a = 4]> {exec.offset = 64 : i32}) { return }

// -----

// expected-error @below {{argument 0: 'exec.offsets' is no attribute of the exec dialect for arguments}}
func.func @f(%x: !nd.tensor<f32, [a = 4]> {exec.offsets = array<i64: 64>}) { return }

// -----

!x = !nd.tensor<f32, [a = 4]>
func.func @f(%x: !x) {
  // expected-error @below {{'exec.scratch' must be array<i64: offset, bytes> with an offset that is a multiple of 64 and at least one byte, got array<i64: 64, 0>}}
  %0 = nd.exp %x {exec.scratch = array<i64: 64, 0>} : (!x) -> !x
  return
}

// -----

!x = !nd.tensor<f32, [a = 4]>
func.func @f(%x: !x) {
  // expected-error @below {{'exec.orders' must be an array with the dim names of each result, got ["a"]}}
  %0 = nd.exp %x {exec.orders = ["a"]} : (!x) -> !x
  return
}

// -----

!x = !nd.tensor<f32, [a = 4]>
func.func @f(%x: !x) {
  // expected-error @below {{'exec.orders' must have one order for each of 1 results, got 0}}
  %0 = nd.exp %x {exec.orders = []} : (!x) -> !x
  return
}

// -----

// expected-error @below {{'exec.arena_bytes' must be an i64 that is not negative, got "all"}}
module attributes {exec.arena_bytes = "all"} {}

// -----

// expected-error @below {{'exec.gpu' must be without a value, got true}}
module attributes {exec.gpu = true} {}

// -----

// expected-error @below {{'exec.gpu' belongs on the module}}
func.func @f() attributes {exec.gpu} { return }

// -----

// expected-error @below {{'exec.epilogue' is no attribute of the exec dialect for ops}}
module attributes {exec.epilogue} {}

// -----

// What is right passes.
!x = !nd.tensor<f32, [a = 4]>
module attributes {exec.arena_bytes = 128 : i64, exec.gpu, exec.library_workspace} {
  func.func @f(%x: !x {exec.offset = 0 : i64}) {
    %0 = nd.exp %x {exec.offsets = array<i64: 64>, exec.orders = [["a"]], exec.scratch = array<i64: 128, 4>} : (!x) -> !x
    return
  }
}

// -----

func.func @f() {
  // expected-error @below {{'exec.strides' must be an array with an array<i64> that is not negative for each of 1 values}}
  %0 = nd.constant 1.0 : f32 {exec.strides = [array<i64: -4>]} -> !nd.tensor<f32, []>
  return
}
