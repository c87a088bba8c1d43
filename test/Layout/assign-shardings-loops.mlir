// RUN: mesh-opt %s -meshc-assign-shardings -meshc-verify-layout | FileCheck %s

!x = !nd.tensor<f32, [batch = 8, model = 4]>
!xs = !nd.tensor<f32, [batch = 8, layers = 3, model = 4]>
!w = !nd.tensor<f32, [model = 4]>
!ws = !nd.tensor<f32, [layers = 3, model = 4]>
module attributes {nd.mesh = #nd.mesh<data = 2, tensor = 2, stage = 1>} {
  nd.rule "batch" -> ["data"]
  nd.rule "model" -> ["tensor"] in "parameter"
  nd.rule "model" -> ["tensor"] in "h"
  nd.rule "layers" -> ["stage"]

  // Ops in a body have shardings by their names, and each result of a loop by
  // its own. An axis of one rank cuts nothing, so the loop may run over it.
  // CHECK-LABEL: func.func @loop
  // CHECK: nd.scan "layers" 3 carried(%arg0
  // CHECK-SAME: nd.sharding = [!nd.tensor<f32, [batch = 8 on {data}, model = 4]>, !nd.tensor<f32, [batch = 8 on {data}, layers = 3, model = 4 on {tensor}]>]
  // CHECK-SAME: res_attrs = [{}, {nd.name = "h"}]
  // CHECK: nd.mul {{.*}} {nd.name = "h", nd.sharding = [!nd.tensor<f32, [batch = 8 on {data}, model = 4 on {tensor}]>]}
  // CHECK: nd.exp {{.*}}nd.sharding = [!nd.tensor<f32, [batch = 8 on {data}, model = 4]>]}
  func.func @loop(%x: !x {nd.name = "x", nd.role = "input"}, %w: !ws {nd.name = "w", nd.role = "parameter"}) -> (!x, !xs) {
    %y:2 = nd.scan "layers" 3 carried(%x : !x) stacked(%w : !ws) -> !x, !xs attributes {res_attrs = [{}, {nd.name = "h"}]} {
    ^bb0(%c: !x, %v: !w):
      %h = nd.mul %c, %v {nd.name = "h"} : (!x, !w) -> !x
      %e = nd.exp %h : (!x) -> !x
      nd.yield %e, %h : !x, !x
    }
    return %y#0, %y#1 : !x, !xs
  }

  // What only becomes state lies like that state, in bodies too.
  // CHECK-LABEL: func.func @initialize
  // CHECK: %[[S:.*]] = nd.constant {{.*}} {nd.sharding = [!nd.tensor<f32, [model = 4 on {tensor}]>]}
  // CHECK: nd.scan
  // CHECK-SAME: nd.sharding = [!nd.tensor<f32, [model = 4 on {tensor}]>, !nd.tensor<f32, [layers = 3, model = 4 on {tensor}]>]
  // CHECK: nd.exp {{.*}} {nd.sharding = [!nd.tensor<f32, [model = 4 on {tensor}]>]}
  // CHECK: nd.neg {{.*}} {nd.sharding = [!nd.tensor<f32, [model = 4 on {tensor}]>]}
  func.func @initialize() -> (!w {nd.name = "v", nd.role = "parameter"}, !ws {nd.name = "w", nd.role = "parameter"}) {
    %s = nd.constant 1.0 : f32 -> !w
    %y:2 = nd.scan "layers" 3 carried(%s : !w) -> !w, !ws {
    ^bb0(%c: !w):
      %e = nd.exp %c : (!w) -> !w
      %n = nd.neg %c : (!w) -> !w
      nd.yield %e, %n : !w, !w
    }
    return %y#0, %y#1 : !w, !ws
  }
}
