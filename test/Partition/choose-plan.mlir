// RUN: mesh-opt %s -meshc-assign-shardings -meshc-choose-plan | FileCheck %s

// A plan says how each op is cut and where sums are reduced. The program stays as it is.

!b = !nd.tensor<f32, [batch = 64, io = 32]>
!w = !nd.tensor<f32, [hidden = 16, io = 32]>
!h = !nd.tensor<f32, [batch = 64, hidden = 16]>
!s = !nd.tensor<f32, []>
!ws = !nd.tensor<f32, [hidden = 16, io = 32, layers = 4]>
module attributes {nd.mesh = #nd.mesh<data = 2, tensor = 2>} {
  nd.rule "batch" -> ["data"]
  nd.rule "hidden" -> ["tensor"]

  // CHECK-LABEL: func.func @sums
  // CHECK: spmd.plan = #spmd.plan<([batch {data}], [hidden {tensor}]) {
  // CHECK-NEXT: make op 0 nd.einsum [{data}, {tensor}, {}] ([batch {data}], [hidden {tensor}]) -> ([batch {data}, hidden {tensor}])
  // CHECK-NEXT: make op 1 nd.reduce_sum [{data}, {tensor}] ([batch {data}, hidden {tensor}]) -> ([] sum {data, tensor})
  // CHECK-NEXT: move op 1 [] sum {data, tensor} -> [] "loss"
  // CHECK-NEXT: } ([])>
  // CHECK: nd.einsum %{{.*}} : (!nd.tensor<f32, [batch = 64, io = 32]>, !nd.tensor<f32, [hidden = 16, io = 32]>)
  func.func @sums(%x: !b, %w: !w) -> !s {
    %h = nd.einsum %x, %w {reduced = ["io"]} : (!b, !w) -> !h
    %s = nd.reduce_sum %h {dims = ["batch", "hidden"], nd.name = "loss"} : (!h) -> !s
    return %s : !s
  }

  // The body of a loop has a plan of its own. What it has whole enters in the
  // forms that the block around it has.
  // CHECK-LABEL: func.func @loop
  // CHECK: loop op 0 nd.scan ([batch {data}], [hidden {tensor}]) {
  // CHECK: enter argument 2 [batch {data}]
  // CHECK: make op {{.*}} nd.add
  // CHECK: } ([batch {data}])
  // CHECK-NEXT: } ([batch {data}])>
  func.func @loop(%x: !b, %w: !ws, %a: !b) -> !b {
    %y = nd.scan "layers" 4 carried(%x : !b) stacked(%w : !ws) whole(%a : !b) -> !b {
    ^bb0(%c: !b, %e: !w, %k: !b):
      %h = nd.einsum %c, %e {reduced = ["io"]} : (!b, !w) -> !h
      %o = nd.einsum %h, %e {reduced = ["hidden"]} : (!h, !w) -> !b
      %r = nd.add %o, %k : (!b, !b) -> !b
      nd.yield %r : !b
    }
    return %y : !b
  }
}
