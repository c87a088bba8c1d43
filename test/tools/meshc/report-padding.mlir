// The report has the dims of results whose blocks have padding, and those of what
// collectives receive, by the numbers of their sites. The search for NaN needs them.
// RUN: meshc %s --report=json --emit=obj -o %t.o > %t.json
// RUN: FileCheck %s --input-file %t.json
// RUN: FileCheck %s --input-file %t.json --check-prefix=KERNEL

// CHECK-LABEL: "name": "eval_step"
// CHECK: "products": [
// CHECK: "m": 4,
// CHECK: "written": 64,
// CHECK-NEXT: "dims": [
// CHECK-NEXT: {
// CHECK-NEXT: "dim": "b",
// CHECK-NEXT: "size": 10,
// CHECK-NEXT: "axes": [
// CHECK-NEXT: "data"
// CHECK: "dim": "n",
// CHECK-NEXT: "size": 4,
// CHECK-NEXT: "axes": []

// KERNEL: "kernel": "kernel_2",
// KERNEL: "results": [
// KERNEL: "elements": 8,
// KERNEL-NEXT: "dims": [
// KERNEL-NEXT: {
// KERNEL-NEXT: "dim": "b",
// KERNEL: "kernel": "kernel_3",
// KERNEL: "elements": 8{{$}}

// The all_gather is begun ahead of the loop, so that its site is 0. The
// all_reduce of the loss has site 2.
// CHECK: "received": [
// CHECK-NEXT: {
// CHECK-NEXT: "site": 1,
// CHECK-NEXT: "results": [
// CHECK-NEXT: [
// CHECK-NEXT: {
// CHECK-NEXT: "dim": "b",
// CHECK-NOT: "site"
!x = !nd.tensor<f32, [b = 10 on {data}, m = 4]>
!p = !nd.tensor<f32, [b = 10 on {data}, m = 4 on {tensor}]>
!y = !nd.tensor<f32, [b = 10 on {data}, n = 4], sum {tensor}>
!z = !nd.tensor<f32, [b = 10 on {data}, n = 4]>
!ws = !nd.tensor<f32, [layers = 3, m = 4, n = 4 on {tensor}]>
!w = !nd.tensor<f32, [m = 4, n = 4 on {tensor}]>
!g = !nd.tensor<f32, [m = 4, n = 4]>
!h = !nd.tensor<f32, [m = 4 on {tensor}, n = 4]>
!q = !nd.tensor<f32, [], sum {data}>
!s = !nd.tensor<f32, []>
module attributes {nd.mesh = #nd.mesh<data = 3, tensor = 2>, nd.model = "deep", nd.phase = "collectives", nd.targets = "{}"} {
  func.func @initialize() -> (!ws {nd.name = "w", nd.role = "parameter", nd.order = ["layers", "m", "n"]}) {
    %0 = nd.random normal "w" : !ws
    return %0 : !ws
  }
  func.func @eval_step(%w: !ws {nd.name = "w", nd.role = "parameter", nd.order = ["layers", "m", "n"]},
                       %x: !x {nd.name = "x", nd.role = "input", nd.order = ["b", "m"]})
      -> (!s {nd.name = "loss", nd.role = "metric", nd.order = []}) {
    %h = nd.scan "layers" 3 carried(%x : !x) stacked(%w : !ws) -> !x {
    ^bb0(%a: !x, %wi: !w):
      %g = spmd.all_gather ["tensor"] from ["n"] %wi : (!w) -> !g
      %pa = spmd.slice "m" ["tensor"] %a : !x -> !p
      %pg = spmd.slice "m" ["tensor"] %g : !g -> !h
      %0 = nd.einsum %pa, %pg {reduced = ["m"]} : (!p, !h) -> !y
      %1 = spmd.all_reduce sum ["tensor"] %0 : (!y) -> !z
      %2 = nd.tanh %1 : (!z) -> !z
      %3 = nd.rename %2 {from = ["n"], to = ["m"]} : (!z) -> !x
      nd.yield %3 : !x
    }
    %l = nd.reduce_sum %h {dims = ["b", "m"]} : (!x) -> !q
    %t = spmd.all_reduce sum ["data"] %l : (!q) -> !s
    return %t : !s
  }
}
