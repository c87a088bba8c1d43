// RUN: mesh-opt %s -split-input-file -meshc-verify-rules -meshc-assign-shardings -meshc-verify-layout | FileCheck %s
// RUN: mesh-opt %s -split-input-file | FileCheck %s --check-prefix=TEXT

// A weak rule gets those of its axes that no other rule takes in the tensor.
module attributes {nd.mesh = #nd.mesh<data = 2, tensor = 2>} {
  // TEXT: nd.rule "heads" -> ["tensor"]{{$}}
  nd.rule "heads" -> ["tensor"]
  // TEXT: nd.rule "seq" -> ["data", "tensor"] weak{{$}}
  nd.rule "seq" -> ["data", "tensor"] weak
  // TEXT: nd.rule "model" -> ["tensor"] optional weak{{$}}
  nd.rule "model" -> ["tensor"] optional weak
  nd.rule "batch" -> ["data"]
  // CHECK-LABEL: func.func @f
  // CHECK-SAME: nd.name = "heads", nd.sharding = !nd.tensor<f32, [heads = 4 on {tensor}, seq = 8 on {data}]>
  // CHECK-SAME: nd.name = "both", nd.sharding = !nd.tensor<f32, [batch = 6 on {data}, heads = 4 on {tensor}, seq = 8]>
  // The first weak rule of the layout comes first.
  // CHECK-SAME: nd.name = "weak", nd.sharding = !nd.tensor<f32, [batch = 6 on {data}, model = 4, seq = 8 on {tensor}]>
  // CHECK-SAME: nd.name = "alone", nd.sharding = !nd.tensor<f32, [batch = 6 on {data}, model = 4 on {tensor}]>
  func.func @f(%a: !nd.tensor<f32, [heads = 4, seq = 8]> {nd.name = "heads"},
               %b: !nd.tensor<f32, [batch = 6, heads = 4, seq = 8]> {nd.name = "both"},
               %c: !nd.tensor<f32, [batch = 6, model = 4, seq = 8]> {nd.name = "weak"},
               %d: !nd.tensor<f32, [batch = 6, model = 4]> {nd.name = "alone"}) {
    return
  }
}

// -----

// A rule for the tensor's name comes before one without scope, weak or not.
module attributes {nd.mesh = #nd.mesh<tensor = 2>} {
  nd.rule "seq" -> ["tensor"]
  nd.rule "seq" -> ["tensor"] in "x" weak
  nd.rule "model" -> ["tensor"] in "x"
  // CHECK-LABEL: func.func @g
  // CHECK-SAME: nd.sharding = !nd.tensor<f32, [model = 4 on {tensor}, seq = 8]>
  func.func @g(%x: !nd.tensor<f32, [model = 4, seq = 8]> {nd.name = "x"}) {
    return
  }
}
