// RUN: mesh-opt %s -split-input-file -meshc-choose-plan -meshc-partition-program -meshc-verify-partition | FileCheck %s

// The gradient of a hidden value meets the hidden value, which is cut along another dim. Both operands of the product that computes it are
// cut along the batch or whole, and so is the result that is wanted in the end. Yet the product is cut along the experts, as the hidden
// value is: the operand that moves to them has a quarter of the numbers.
!g = !nd.tensor<f32, [batch = 8, expert = 8, model = 16]>
!w = !nd.tensor<f32, [expert = 8, ffn = 64, model = 16]>
!h = !nd.tensor<f32, [batch = 8, expert = 8, ffn = 64]>
!gd = !nd.tensor<f32, [batch = 8 on {d}, expert = 8, model = 16]>
!hd = !nd.tensor<f32, [batch = 8, expert = 8 on {d}, ffn = 64]>
module attributes {nd.mesh = #nd.mesh<d = 4>} {
  // CHECK-LABEL: func.func @meets
  // CHECK: spmd.reshard %arg0 : <f32, [batch = 8 on {d}, expert = 8, model = 16]> -> <f32, [batch = 8, expert = 8 on {d}, model = 16]>
  // CHECK: nd.einsum {{.*}} -> !nd.tensor<f32, [batch = 8, expert = 8 on {d}, ffn = 64]>
  // CHECK-NEXT: nd.mul
  // CHECK: nd.einsum {{.*}} -> !nd.tensor<f32, [batch = 8, expert = 8 on {d}, model = 16]>
  // CHECK-NEXT: spmd.reshard {{.*}} -> <f32, [batch = 8 on {d}, expert = 8, model = 16]>
  // CHECK-NEXT: return
  func.func @meets(%g: !g {nd.sharding = !gd}, %w: !w {nd.sharding = !w}, %h: !h {nd.sharding = !hd}) -> (!g {nd.sharding = !gd}) {
    %a = nd.einsum %g, %w {reduced = ["model"], nd.sharding = [!h], nd.open_dims = [["batch", "expert", "ffn"]]} : (!g, !w) -> !h
    %b = nd.mul %a, %h {nd.sharding = [!h], nd.open_dims = [["batch", "expert", "ffn"]]} : (!h, !h) -> !h
    %c = nd.einsum %b, %w {reduced = ["ffn"], nd.sharding = [!gd]} : (!h, !w) -> !g
    return %c : !g
  }
}
