// RUN: mesh-opt %s --meshc-expand-fallbacks --meshc-form-fusions | FileCheck %s

// Which attention is one kernel on GPUs.
module attributes {exec.gpu} {

  // CHECK-LABEL: @tiles
  // CHECK: exec.attention(
  // CHECK: exec.attention_gradient(
  func.func @tiles(%q: !nd.tensor<bf16, [d = 64, g = 2, s = 16]>, %k: !nd.tensor<bf16, [d = 64, m = 8]>)
      -> (!nd.tensor<bf16, [d = 64, g = 2, s = 16]>, !nd.tensor<bf16, [d = 64, m = 8]>) {
    %y, %a = nd.attention %q, %k, %k {key = "d", memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>}
      : (!nd.tensor<bf16, [d = 64, g = 2, s = 16]>, !nd.tensor<bf16, [d = 64, m = 8]>, !nd.tensor<bf16, [d = 64, m = 8]>)
      -> (!nd.tensor<bf16, [d = 64, g = 2, s = 16]>, !nd.tensor<f32, [g = 2, s = 16]>)
    %dq, %dk, %dv = nd.attention_gradient %q, %k, %k, %y, %a, %q {key = "d", memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 1, 1, 1>}
      : (!nd.tensor<bf16, [d = 64, g = 2, s = 16]>, !nd.tensor<bf16, [d = 64, m = 8]>, !nd.tensor<bf16, [d = 64, m = 8]>,
         !nd.tensor<bf16, [d = 64, g = 2, s = 16]>, !nd.tensor<f32, [g = 2, s = 16]>, !nd.tensor<bf16, [d = 64, g = 2, s = 16]>)
      -> (!nd.tensor<bf16, [d = 64, g = 2, s = 16]>, !nd.tensor<bf16, [d = 64, m = 8]>, !nd.tensor<bf16, [d = 64, m = 8]>)
    return %dq, %dk : !nd.tensor<bf16, [d = 64, g = 2, s = 16]>, !nd.tensor<bf16, [d = 64, m = 8]>
  }

  // Scores of few rows are small.
  // CHECK-LABEL: @few_rows
  // CHECK-NOT: exec.attention
  // CHECK: return
  func.func @few_rows(%q: !nd.tensor<f32, [d = 64, s = 15]>, %k: !nd.tensor<f32, [d = 64, m = 8]>) -> !nd.tensor<f32, [d = 64, s = 15]> {
    %y, %a = nd.attention %q, %k, %k {key = "d", memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>}
      : (!nd.tensor<f32, [d = 64, s = 15]>, !nd.tensor<f32, [d = 64, m = 8]>, !nd.tensor<f32, [d = 64, m = 8]>)
      -> (!nd.tensor<f32, [d = 64, s = 15]>, !nd.tensor<f32, [s = 15]>)
    return %y : !nd.tensor<f32, [d = 64, s = 15]>
  }

  // But few rows that share a mask need not read all of the memory.
  // CHECK-LABEL: @shared_mask
  // CHECK: exec.attention(
  // CHECK-LABEL: @own_masks
  // CHECK-NOT: exec.attention
  // CHECK: return
  func.func @shared_mask(%q: !nd.tensor<f32, [d = 64, g = 2, h = 3]>, %k: !nd.tensor<f32, [d = 64, g = 2, m = 8]>, %w: !nd.tensor<i1, [m = 8]>)
      -> !nd.tensor<f32, [d = 64, g = 2, h = 3]> {
    %y, %a = nd.attention %q, %k, %k, %w {key = "d", memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0>}
      : (!nd.tensor<f32, [d = 64, g = 2, h = 3]>, !nd.tensor<f32, [d = 64, g = 2, m = 8]>, !nd.tensor<f32, [d = 64, g = 2, m = 8]>, !nd.tensor<i1, [m = 8]>)
      -> (!nd.tensor<f32, [d = 64, g = 2, h = 3]>, !nd.tensor<f32, [g = 2, h = 3]>)
    return %y : !nd.tensor<f32, [d = 64, g = 2, h = 3]>
  }
  func.func @own_masks(%q: !nd.tensor<f32, [d = 64, g = 2, h = 3]>, %k: !nd.tensor<f32, [d = 64, g = 2, m = 8]>, %w: !nd.tensor<i1, [h = 3, m = 8]>)
      -> !nd.tensor<f32, [d = 64, g = 2, h = 3]> {
    %y, %a = nd.attention %q, %k, %k, %w {key = "d", memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0>}
      : (!nd.tensor<f32, [d = 64, g = 2, h = 3]>, !nd.tensor<f32, [d = 64, g = 2, m = 8]>, !nd.tensor<f32, [d = 64, g = 2, m = 8]>, !nd.tensor<i1, [h = 3, m = 8]>)
      -> (!nd.tensor<f32, [d = 64, g = 2, h = 3]>, !nd.tensor<f32, [g = 2, h = 3]>)
    return %y : !nd.tensor<f32, [d = 64, g = 2, h = 3]>
  }

  // No tile of so many elements fits into the memory of a block.
  // CHECK-LABEL: @wide
  // CHECK-NOT: exec.attention
  // CHECK: return
  func.func @wide(%q: !nd.tensor<f32, [d = 1024, s = 16]>, %k: !nd.tensor<f32, [d = 1024, m = 8]>) -> !nd.tensor<f32, [d = 1024, s = 16]> {
    %y, %a = nd.attention %q, %k, %k {key = "d", memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>}
      : (!nd.tensor<f32, [d = 1024, s = 16]>, !nd.tensor<f32, [d = 1024, m = 8]>, !nd.tensor<f32, [d = 1024, m = 8]>)
      -> (!nd.tensor<f32, [d = 1024, s = 16]>, !nd.tensor<f32, [s = 16]>)
    return %y : !nd.tensor<f32, [d = 1024, s = 16]>
  }

  // The rows' dim h is one of the keys alone.
  // CHECK-LABEL: @one_sided
  // CHECK-NOT: exec.attention
  // CHECK: return
  func.func @one_sided(%q: !nd.tensor<f32, [d = 4, h = 2, s = 16]>, %k: !nd.tensor<f32, [d = 4, h = 2, m = 8]>, %v: !nd.tensor<f32, [e = 4, m = 8]>)
      -> !nd.tensor<f32, [e = 4, h = 2, s = 16]> {
    %y, %a = nd.attention %q, %k, %v {key = "d", memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>}
      : (!nd.tensor<f32, [d = 4, h = 2, s = 16]>, !nd.tensor<f32, [d = 4, h = 2, m = 8]>, !nd.tensor<f32, [e = 4, m = 8]>)
      -> (!nd.tensor<f32, [e = 4, h = 2, s = 16]>, !nd.tensor<f32, [h = 2, s = 16]>)
    return %y : !nd.tensor<f32, [e = 4, h = 2, s = 16]>
  }
}
