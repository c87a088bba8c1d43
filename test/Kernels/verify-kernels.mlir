// RUN: mesh-opt %s --meshc-verify-kernels --split-input-file --verify-diagnostics

func.func @not_fused(%x: !nd.tensor<f32, [a = 4]>) -> !nd.tensor<f32, [a = 4]> {
  // expected-error @below {{remains after the kernels phase, which leaves fusions, products and collectives only}}
  %0 = nd.neg %x {exec.orders = [["a"]]} : (!nd.tensor<f32, [a = 4]>) -> !nd.tensor<f32, [a = 4]>
  return %0 : !nd.tensor<f32, [a = 4]>
}

// -----

func.func @no_order(%x: !nd.tensor<f32, [a = 4, b = 2]>, %y: !nd.tensor<f32, [b = 2, c = 2]>) -> !nd.tensor<f32, [a = 4, c = 2]> {
  // expected-error @below {{result 0 has no memory order}}
  %0 = nd.einsum %x, %y {reduced = ["b"]} : (!nd.tensor<f32, [a = 4, b = 2]>, !nd.tensor<f32, [b = 2, c = 2]>) -> !nd.tensor<f32, [a = 4, c = 2]>
  return %0 : !nd.tensor<f32, [a = 4, c = 2]>
}

// -----

func.func @apart(%x: !nd.tensor<f32, [a = 4, b = 2, c = 2]> {nd.order = ["a", "b", "c"]}, %y: !nd.tensor<f32, [b = 2, d = 2]> {nd.order = ["b", "d"]}) -> !nd.tensor<f32, [a = 4, c = 2, d = 2]> {
  // expected-error @below {{is not one matrix product in the memory orders of its tensors}}
  %0 = nd.einsum %x, %y {reduced = ["b"], exec.orders = [["a", "c", "d"]]} : (!nd.tensor<f32, [a = 4, b = 2, c = 2]>, !nd.tensor<f32, [b = 2, d = 2]>) -> !nd.tensor<f32, [a = 4, c = 2, d = 2]>
  return %0 : !nd.tensor<f32, [a = 4, c = 2, d = 2]>
}

// -----

func.func @other_dims(%x: !nd.tensor<f32, [a = 4, b = 2]>) -> !nd.tensor<f32, [b = 2]> {
  // expected-error @below {{holds 'nd.reduce_sum' over other dims than its plan}}
  %0 = exec.fusion <parallel = ["a"], reduce = ["b"], lanes = "", sizes = [4, 2]>(%x) : (!nd.tensor<f32, [a = 4, b = 2]>) -> !nd.tensor<f32, [b = 2]> attributes {exec.orders = [["b"]]} {
  ^bb0(%in: !nd.tensor<f32, [a = 4, b = 2]>):
    %1 = nd.reduce_sum %in {dims = ["a"]} : (!nd.tensor<f32, [a = 4, b = 2]>) -> !nd.tensor<f32, [b = 2]>
    exec.yield %1 : !nd.tensor<f32, [b = 2]>
  }
  return %0 : !nd.tensor<f32, [b = 2]>
}

// -----

func.func @other_points(%x: !nd.tensor<f32, [a = 4, b = 4]>) -> !nd.tensor<f32, [a = 4, b = 4]> {
  // expected-error @below {{reads the result of 'nd.reduce_sum' at points other than its own}}
  %0 = exec.fusion <parallel = ["a"], reduce = ["b"], lanes = "b", sizes = [4, 4]>(%x) : (!nd.tensor<f32, [a = 4, b = 4]>) -> !nd.tensor<f32, [a = 4, b = 4]> attributes {exec.orders = [["a", "b"]]} {
  ^bb0(%in: !nd.tensor<f32, [a = 4, b = 4]>):
    %1 = nd.reduce_sum %in {dims = ["b"]} : (!nd.tensor<f32, [a = 4, b = 4]>) -> !nd.tensor<f32, [a = 4]>
    %2 = nd.rename %1 {from = ["a"], to = ["b"]} : (!nd.tensor<f32, [a = 4]>) -> !nd.tensor<f32, [b = 4]>
    %3 = nd.add %in, %2 : (!nd.tensor<f32, [a = 4, b = 4]>, !nd.tensor<f32, [b = 4]>) -> !nd.tensor<f32, [a = 4, b = 4]>
    exec.yield %3 : !nd.tensor<f32, [a = 4, b = 4]>
  }
  return %0 : !nd.tensor<f32, [a = 4, b = 4]>
}

// -----

func.func @lanes(%x: !nd.tensor<f32, [a = 4, b = 4]>) -> !nd.tensor<f32, [a = 4, b = 4]> {
  // expected-error @below {{has lanes along 'a', which is not the innermost dim}}
  %0 = exec.fusion <parallel = ["a", "b"], reduce = [], lanes = "a", sizes = [4, 4]>(%x) : (!nd.tensor<f32, [a = 4, b = 4]>) -> !nd.tensor<f32, [a = 4, b = 4]> attributes {exec.orders = [["a", "b"]]} {
  ^bb0(%in: !nd.tensor<f32, [a = 4, b = 4]>):
    exec.yield %in : !nd.tensor<f32, [a = 4, b = 4]>
  }
  return %0 : !nd.tensor<f32, [a = 4, b = 4]>
}

// -----

// expected-error @+2 {{result 0 must have its declared memory order}}
func.func @declared(%x: !nd.tensor<f32, [a = 4, b = 8]> {nd.order = ["a", "b"]}) -> (!nd.tensor<f32, [a = 4, b = 8]> {nd.order = ["b", "a"]}) {
  return %x : !nd.tensor<f32, [a = 4, b = 8]>
}

// -----

func.func @sizes(%x: !nd.tensor<f32, [a = 4, b = 8]>) -> !nd.tensor<f32, [a = 4]> {
  // expected-error @below {{runs 2 times along 'b', and computes a value of type '!nd.tensor<f32, [a = 4, b = 8]>' there}}
  %0 = exec.fusion <parallel = ["a"], reduce = ["b"], lanes = "b", sizes = [4, 2]>(%x) : (!nd.tensor<f32, [a = 4, b = 8]>) -> !nd.tensor<f32, [a = 4]> attributes {exec.orders = [["a"]]} {
  ^bb0(%in: !nd.tensor<f32, [a = 4, b = 8]>):
    %1 = nd.reduce_sum %in {dims = ["b"]} : (!nd.tensor<f32, [a = 4, b = 8]>) -> !nd.tensor<f32, [a = 4]>
    exec.yield %1 : !nd.tensor<f32, [a = 4]>
  }
  return %0 : !nd.tensor<f32, [a = 4]>
}
