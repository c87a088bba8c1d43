// RUN: mesh-opt %s --pass-pipeline='builtin.module(func.func(meshc-form-fusions,meshc-assign-orders,meshc-plan-loops,meshc-verify-kernels,meshc-place-results,meshc-schedule-ops),meshc-plan-arena,meshc-build-schedule,exec.func(meshc-place-waits),meshc-verify-schedule)' --split-input-file | FileCheck %s

!p = !nd.tensor<f32, [i = 8, j = 16]>
!x = !nd.tensor<f32, [i = 8, k = 2048]>
!h = !nd.tensor<f32, [j = 16, k = 2048]>

// Two equal fusions share a kernel; products say how their operands lie.
// CHECK: exec.kernel @kernel_0
// CHECK-NOT: exec.kernel @kernel_1
// CHECK: exec.func @eval_step
// CHECK: exec.launch @kernel_0
// Each product has scratch memory, which is no tensor.
// CHECK: %[[SCRATCH:.*]] = exec.scratch at {{[0-9]+}} : <[[BYTES:[0-9]+]]>
// CHECK: exec.gemm %{{.*}} transposed, %{{.*}} -> %{{.*}} [2048, 16, 8, 2048, 16, 16, 1, 0, 0, 0] scratch %[[SCRATCH]] : !exec.scratch<[[BYTES]]>
// CHECK: exec.launch @kernel_0
func.func @eval_step(%p: !p {nd.name = "p", nd.role = "parameter", nd.order = ["i", "j"]}, %x: !x {nd.name = "x", nd.role = "input", nd.order = ["i", "k"]}, %q: !h {nd.name = "q", nd.role = "input", nd.order = ["k", "j"]})
    -> (!h {nd.name = "y", nd.role = "metric", nd.order = ["k", "j"]}, !h {nd.name = "z", nd.role = "metric", nd.order = ["k", "j"]}) {
  %0 = nd.einsum %x, %p {reduced = ["i"]} : (!x, !p) -> !h
  %1 = nd.exp %0 {nd.name = "y"} : (!h) -> !h
  %2 = nd.exp %q {nd.name = "z"} : (!h) -> !h
  return %1, %2 : !h, !h
}

// -----

module attributes {nd.mesh = #nd.mesh<data = 2, tensor = 4>} {
// Which blocks of each tensor go where: outer and inner elements around the dim.
// CHECK: exec.collective reduce_scatter  sum over ["data"] [3, 8, 5, 3, 8, 5] "reduce_scatter of 'g' over data"
// CHECK: exec.collective all_gather  sum over ["data"] [3, 8, 5, 3, 8, 5] "all_gather over data"
// CHECK: exec.collective all_to_all  sum over ["tensor"] [1, 12, 2, 3, 8, 1] "all_to_all over tensor"
// CHECK: exec.collective permute  sum over ["data", "tensor"] from ["tensor", "data"] to ["data", "tensor"] [1, 10, 1, 1, 10, 1] "permute of 'p' over data, tensor"
// CHECK: exec.collective permute  sum over ["data", "tensor"] from ["data", "tensor"] to ["data", "tensor"] shift 5 [1, 10, 1, 1, 10, 1] "permute of 'q' over data, tensor"
func.func @eval_step(%a: !nd.tensor<f32, [i = 3, j = 8, k = 5], sum {data}> {nd.name = "a", nd.role = "input", nd.order = ["i", "j", "k"]},
                     %b: !nd.tensor<f32, [s = 12, t = 8 on {tensor}]> {nd.name = "b", nd.role = "input", nd.order = ["s", "t"]},
                     %c: !nd.tensor<f32, [u = 5, v = 16 on {tensor, data}]> {nd.name = "c", nd.role = "input", nd.order = ["u", "v"]})
    -> (!nd.tensor<f32, [i = 3, j = 8 on {data}, k = 5]> {nd.name = "u", nd.role = "metric", nd.order = ["i", "j", "k"]},
        !nd.tensor<f32, [i = 3, j = 8, k = 5]> {nd.name = "v", nd.role = "metric", nd.order = ["i", "j", "k"]},
        !nd.tensor<f32, [s = 12 on {tensor}, t = 8]> {nd.name = "w", nd.role = "metric", nd.order = ["s", "t"]},
        !nd.tensor<f32, [u = 5, v = 16 on {data, tensor}]> {nd.name = "x", nd.role = "metric", nd.order = ["u", "v"]}) {
  %0 = spmd.reduce_scatter sum ["data"] to ["j"] %a {nd.name = "g"} : (!nd.tensor<f32, [i = 3, j = 8, k = 5], sum {data}>) -> !nd.tensor<f32, [i = 3, j = 8 on {data}, k = 5]>
  %1 = spmd.all_gather ["data"] from ["j"] %0 : (!nd.tensor<f32, [i = 3, j = 8 on {data}, k = 5]>) -> !nd.tensor<f32, [i = 3, j = 8, k = 5]>
  %2 = spmd.all_to_all ["tensor"] from ["t"] to ["s"] %b : (!nd.tensor<f32, [s = 12, t = 8 on {tensor}]>) -> !nd.tensor<f32, [s = 12 on {tensor}, t = 8]>
  %3 = spmd.permute ["tensor", "data"] to ["data", "tensor"] %c {nd.name = "p"} : (!nd.tensor<f32, [u = 5, v = 16 on {tensor, data}]>) -> !nd.tensor<f32, [u = 5, v = 16 on {data, tensor}]>
  %4 = spmd.permute ["data", "tensor"] to ["data", "tensor"] shift 5 %3 {nd.name = "q"} : (!nd.tensor<f32, [u = 5, v = 16 on {data, tensor}]>) -> !nd.tensor<f32, [u = 5, v = 16 on {data, tensor}]>
  return %0, %1, %2, %4 : !nd.tensor<f32, [i = 3, j = 8 on {data}, k = 5]>, !nd.tensor<f32, [i = 3, j = 8, k = 5]>, !nd.tensor<f32, [s = 12 on {tensor}, t = 8]>, !nd.tensor<f32, [u = 5, v = 16 on {data, tensor}]>
}
}
