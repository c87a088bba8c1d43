// RUN: mesh-opt %s | mesh-opt | FileCheck %s

// CHECK-LABEL: func.func @shapes
func.func @shapes(%a: !nd.tensor<f32, [x = 6, y = 4]>) {
  // CHECK: nd.broadcast %{{.*}} : (!nd.tensor<f32, [x = 6, y = 4]>) -> !nd.tensor<f32, [x = 6, y = 4, z = 2]>
  %b = nd.broadcast %a : (!nd.tensor<f32, [x = 6, y = 4]>) -> !nd.tensor<f32, [z = 2, y = 4, x = 6]>
  // CHECK: nd.rename %{{.*}} {from = ["x", "y"], to = ["y", "x"]} : {{.*}} -> !nd.tensor<f32, [x = 4, y = 6]>
  %c = nd.rename %a {from = ["x", "y"], to = ["y", "x"]} : (!nd.tensor<f32, [x = 6, y = 4]>) -> !nd.tensor<f32, [x = 4, y = 6]>
  // CHECK: nd.split_dim %{{.*}} {dim = "x", into = ["q", "r"], sizes = array<i64: 2, 3>}
  %d = nd.split_dim %a {dim = "x", into = ["q", "r"], sizes = array<i64: 2, 3>} : (!nd.tensor<f32, [x = 6, y = 4]>) -> !nd.tensor<f32, [q = 2, r = 3, y = 4]>
  // CHECK: nd.merge_dims %{{.*}} {dims = ["r", "y"], into = "m"}
  %e = nd.merge_dims %d {dims = ["r", "y"], into = "m"} : (!nd.tensor<f32, [q = 2, r = 3, y = 4]>) -> !nd.tensor<f32, [m = 12, q = 2]>
  return
}

// Types may be cut; the op is then the ranks' local computation.
// CHECK-LABEL: func.func @cut
func.func @cut(%a: !nd.tensor<f32, [x = 6 on {data}], sum {"a b"}>) {
  // CHECK: -> !nd.tensor<f32, [y = 6 on {data}], sum {"a b"}>
  %b = nd.rename %a {from = ["x"], to = ["y"]} : (!nd.tensor<f32, [x = 6 on {data}], sum {"a b"}>) -> !nd.tensor<f32, [y = 6 on {data}], sum {"a b"}>
  return
}
