// RUN: mesh-opt %s -split-input-file -meshc-verify-rules -meshc-assign-shardings -meshc-verify-layout | FileCheck %s

// Dims of intermediate values and gradients without a rule are open. 'dim -> ()'
// keeps a dim whole, and so does a rule whose axes have size 1.
module attributes {nd.mesh = #nd.mesh<data = 2, one = 1>} {
  nd.rule "batch" -> ["data"]
  nd.rule "key" -> []
  nd.rule "ffn" -> ["one"]
  nd.rule "seq" -> ["data"] weak
  // An input and a parameter are whole along dims without a rule.
  // CHECK-LABEL: func.func @f
  // CHECK-NOT: open_dims
  // CHECK: nd.exp %arg0 {nd.open_dims = {{\[}}["model"]], nd.sharding = [!nd.tensor<f32, [batch = 8 on {data}, ffn = 4, key = 2, model = 4]>]}
  func.func @f(%x: !nd.tensor<f32, [batch = 8, ffn = 4, key = 2, model = 4]> {nd.role = "input", nd.name = "x"},
               %w: !nd.tensor<f32, [model = 4]> {nd.role = "parameter", nd.name = "w"}) {
    %y = nd.exp %x : (!nd.tensor<f32, [batch = 8, ffn = 4, key = 2, model = 4]>) -> !nd.tensor<f32, [batch = 8, ffn = 4, key = 2, model = 4]>
    // CHECK: nd.neg {{.*}}nd.class = "gradient"{{.*}}nd.open_dims = {{\[}}["model"]]
    %g = nd.neg %w {nd.class = "gradient", nd.name = "gradient of w"} : (!nd.tensor<f32, [model = 4]>) -> !nd.tensor<f32, [model = 4]>
    // State that an op computes is whole, too.
    // CHECK: nd.abs {{.*}}nd.class = "optimizer"
    // CHECK-NOT: open_dims
    %m = nd.abs %w {nd.class = "optimizer", nd.of = "w"} : (!nd.tensor<f32, [model = 4]>) -> !nd.tensor<f32, [model = 4]>
    return
  }
  // A weak rule that gets no axis leaves its dim open.
  // CHECK-LABEL: func.func @weak
  // CHECK: nd.exp {{.*}}nd.open_dims = {{\[}}["seq"]], nd.sharding = [!nd.tensor<f32, [batch = 8 on {data}, seq = 4]>]
  // CHECK: nd.neg {{.*}} {nd.sharding = [!nd.tensor<f32, [seq = 4 on {data}]>]}
  func.func @weak(%x: !nd.tensor<f32, [batch = 8, seq = 4]>, %s: !nd.tensor<f32, [seq = 4]>) {
    %y = nd.exp %x : (!nd.tensor<f32, [batch = 8, seq = 4]>) -> !nd.tensor<f32, [batch = 8, seq = 4]>
    %z = nd.neg %s : (!nd.tensor<f32, [seq = 4]>) -> !nd.tensor<f32, [seq = 4]>
    return
  }
}
