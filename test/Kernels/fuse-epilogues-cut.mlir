// RUN: mesh-opt %s --pass-pipeline='builtin.module(func.func(meshc-form-fusions,meshc-assign-orders,meshc-fuse-epilogues,meshc-plan-loops,meshc-verify-kernels))' | FileCheck %s

!x = !nd.tensor<f32, [b = 12 on {d}, i = 96]>
!y = !nd.tensor<f32, [b = 12 on {d}, j = 96 on {t}]>
!w = !nd.tensor<f32, [i = 96, j = 96 on {t}]>
!f = !nd.tensor<f32, []>

module attributes {exec.gpu, nd.mesh = #nd.mesh<d = 2, t = 2>} {

// The gradient of gelu on one rank's block.
// CHECK-LABEL: @gelu_gradient
// CHECK: exec.product then gelu_gradient(
func.func @gelu_gradient(%h: !x {nd.order = ["b", "i"]}, %wi: !w {nd.order = ["i", "j"]}, %zi: !y {nd.order = ["b", "j"]}) -> (!y {nd.order = ["b", "j"]}) {
  %c0 = nd.einsum %h, %wi {reduced = ["i"]} : (!x, !w) -> !y
  %a = nd.constant 0.214064449 : f32 -> !f
  %b = nd.constant 1.59576917 : f32 -> !f
  %c = nd.constant 0.0713548139 : f32 -> !f
  %one = nd.constant 1.0 : f32 -> !f
  %most = nd.constant 256.0 : f32 -> !f
  %4 = nd.square %zi : (!y) -> !y
  %5 = nd.minimum %4, %most : (!y, !f) -> !y
  %6 = nd.mul %4, %c : (!y, !f) -> !y
  %7 = nd.add %6, %b : (!y, !f) -> !y
  %8 = nd.mul %zi, %7 : (!y, !y) -> !y
  %9 = nd.sigmoid %8 : (!y) -> !y
  %10 = nd.mul %5, %a : (!y, !f) -> !y
  %11 = nd.add %10, %b : (!y, !f) -> !y
  %12 = nd.sub %one, %9 : (!f, !y) -> !y
  %13 = nd.mul %9, %12 : (!y, !y) -> !y
  %14 = nd.mul %13, %zi : (!y, !y) -> !y
  %15 = nd.mul %14, %11 : (!y, !y) -> !y
  %16 = nd.add %9, %15 : (!y, !y) -> !y
  %17 = nd.mul %c0, %16 : (!y, !y) -> !y
  return %17 : !y
}
}
