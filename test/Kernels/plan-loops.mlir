// RUN: mesh-opt %s --pass-pipeline='builtin.module(func.func(meshc-form-fusions,meshc-assign-orders,meshc-plan-loops,meshc-verify-kernels))' --split-input-file | FileCheck %s

!x = !nd.tensor<f32, [batch = 64, model = 32]>

// Rows: lanes along the reduced dim, which is contiguous.
// CHECK-LABEL: @rows
// CHECK: <parallel = ["batch"], reduce = ["model"], lanes = "model", sizes = [64, 32]>
func.func @rows(%x: !x {nd.order = ["batch", "model"]}) -> !nd.tensor<f32, [batch = 64]> {
  %0 = nd.reduce_sum %x {dims = ["model"]} : (!x) -> !nd.tensor<f32, [batch = 64]>
  return %0 : !nd.tensor<f32, [batch = 64]>
}

// Columns: along the kept one.
// CHECK-LABEL: @columns
// CHECK: <parallel = ["model"], reduce = ["batch"], lanes = "model", sizes = [32, 64]>
func.func @columns(%x: !x {nd.order = ["batch", "model"]}) -> !nd.tensor<f32, [model = 32]> {
  %0 = nd.reduce_sum %x {dims = ["batch"]} : (!x) -> !nd.tensor<f32, [model = 32]>
  return %0 : !nd.tensor<f32, [model = 32]>
}

// Loops follow memory, not names.
// CHECK-LABEL: @memory
// CHECK: <parallel = ["model", "batch"], reduce = [], lanes = "batch", sizes = [32, 64]>
func.func @memory(%x: !x {nd.order = ["model", "batch"]}) -> (!x {nd.order = ["model", "batch"]}) {
  %0 = nd.neg %x : (!x) -> !x
  return %0 : !x
}

// Read and written in different orders: contiguous where it is written as good
// as where it is read; one of them is.
// CHECK-LABEL: @transpose
// CHECK: lanes = "{{batch|model}}"
func.func @transpose(%x: !x {nd.order = ["model", "batch"]}) -> (!x {nd.order = ["batch", "model"]}) {
  %0 = nd.neg %x : (!x) -> !x
  return %0 : !x
}

// One entry: nothing to run lanes along.
// CHECK-LABEL: @scalar
// CHECK: <parallel = [], reduce = [], lanes = "", sizes = []>
func.func @scalar(%x: !nd.tensor<f32, []> {nd.order = []}) -> !nd.tensor<f32, []> {
  %0 = nd.neg %x : (!nd.tensor<f32, []>) -> !nd.tensor<f32, []>
  return %0 : !nd.tensor<f32, []>
}

// A loop of one entry gets no lanes, though it is contiguous.
// CHECK-LABEL: @one_entry
// CHECK: <parallel = ["a", "batch"], reduce = [], lanes = "batch", sizes = [1, 64]>
func.func @one_entry(%x: !nd.tensor<f32, [a = 1, batch = 64]> {nd.order = ["batch", "a"]}) -> !nd.tensor<f32, [a = 1, batch = 64]> {
  %0 = nd.neg %x : (!nd.tensor<f32, [a = 1, batch = 64]>) -> !nd.tensor<f32, [a = 1, batch = 64]>
  return %0 : !nd.tensor<f32, [a = 1, batch = 64]>
}

// A product has no loops to plan.
// CHECK-LABEL: @product
// CHECK-NEXT: exec.product(%arg0, %arg1)
// CHECK-NOT: exec.fusion
// CHECK: return
func.func @product(%x: !x {nd.order = ["batch", "model"]}, %w: !nd.tensor<f32, [model = 32, out = 8]> {nd.order = ["model", "out"]}) -> !nd.tensor<f32, [batch = 64, out = 8]> {
  %0 = nd.einsum %x, %w {reduced = ["model"]} : (!x, !nd.tensor<f32, [model = 32, out = 8]>) -> !nd.tensor<f32, [batch = 64, out = 8]>
  return %0 : !nd.tensor<f32, [batch = 64, out = 8]>
}

// An entry of a stacked tensor lies in memory as the tensor without the loop's dim.
// CHECK-LABEL: @entry
// CHECK: nd.scan
// CHECK: exec.fusion <parallel = ["model", "batch"], reduce = [], lanes = "batch", sizes = [32, 64]>
func.func @entry(%x: !nd.tensor<f32, [batch = 64, model = 32, n = 2]> {nd.order = ["n", "model", "batch"]}) -> (!nd.tensor<f32, [batch = 64, model = 32, n = 2]>) {
  %0 = nd.scan "n" 2 stacked(%x : !nd.tensor<f32, [batch = 64, model = 32, n = 2]>) -> !nd.tensor<f32, [batch = 64, model = 32, n = 2]> {
  ^bb0(%e: !x):
    %1 = nd.neg %e : (!x) -> !x
    nd.yield %1 : !x
  }
  return %0 : !nd.tensor<f32, [batch = 64, model = 32, n = 2]>
}
