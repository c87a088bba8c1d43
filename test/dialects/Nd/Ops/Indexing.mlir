// RUN: mesh-opt %s | mesh-opt | FileCheck %s

// CHECK-LABEL: func.func @indexing
func.func @indexing(%t: !nd.tensor<f32, [v = 16, d = 4]>, %i: !nd.tensor<i32, [b = 8]>) {
  // CHECK: nd.gather %{{.*}}, %{{.*}} {dim = "v"} : {{.*}} -> !nd.tensor<f32, [b = 8, d = 4]>
  %a = nd.gather %t, %i {dim = "v"} : (!nd.tensor<f32, [v = 16, d = 4]>, !nd.tensor<i32, [b = 8]>) -> !nd.tensor<f32, [b = 8, d = 4]>
  // CHECK: nd.scatter_add %{{.*}}, %{{.*}} {dim = "v"} : {{.*}} -> !nd.tensor<f32, [d = 4, v = 16]>
  %b = nd.scatter_add %a, %i {dim = "v"} : (!nd.tensor<f32, [b = 8, d = 4]>, !nd.tensor<i32, [b = 8]>) -> !nd.tensor<f32, [v = 16, d = 4]>
  // CHECK: nd.scatter_add %{{.*}}, %{{.*}} into %{{.*}} {dim = "v"} : {{.*}} -> !nd.tensor<f32, [d = 4, v = 16]>
  %e = nd.scatter_add %a, %i into %t {dim = "v"} : (!nd.tensor<f32, [b = 8, d = 4]>, !nd.tensor<i32, [b = 8]>, !nd.tensor<f32, [v = 16, d = 4]>) -> !nd.tensor<f32, [v = 16, d = 4]>
  // CHECK: nd.scatter_add %{{.*}}, %[[I:.*]] into %{{.*}} ordered %[[I]] {dim = "v"} : {{.*}} -> !nd.tensor<f32, [d = 4, v = 16]>
  %f = nd.scatter_add %a, %i into %t ordered %i {dim = "v"} : (!nd.tensor<f32, [b = 8, d = 4]>, !nd.tensor<i32, [b = 8]>, !nd.tensor<f32, [v = 16, d = 4]>, !nd.tensor<i32, [b = 8]>) -> !nd.tensor<f32, [v = 16, d = 4]>
  // CHECK: nd.gather %{{.*}}, %{{.*}} {along = "b", dim = "v"}
  %g = nd.gather %t, %i {along = "b", dim = "v"} : (!nd.tensor<f32, [v = 16, d = 4]>, !nd.tensor<i32, [b = 8]>) -> !nd.tensor<f32, [b = 8, d = 4]>
  // CHECK: nd.one_hot %{{.*}} {dim = "v"} : {{.*}} -> !nd.tensor<f32, [b = 8, v = 16]>
  %c = nd.one_hot %i {dim = "v"} : (!nd.tensor<i32, [b = 8]>) -> !nd.tensor<f32, [b = 8, v = 16]>
  // CHECK: nd.insert %{{.*}}, %{{.*}}, %{{.*}} {dim = "v"} : {{.*}} -> !nd.tensor<f32, [d = 4, v = 16]>
  %d = nd.insert %t, %a, %i {dim = "v"} : (!nd.tensor<f32, [v = 16, d = 4]>, !nd.tensor<f32, [b = 8, d = 4]>, !nd.tensor<i32, [b = 8]>) -> !nd.tensor<f32, [v = 16, d = 4]>
  return
}
