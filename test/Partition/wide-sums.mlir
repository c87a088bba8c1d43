// RUN: mesh-opt %s -split-input-file -meshc-choose-plan -meshc-partition-program -meshc-verify-partition | FileCheck %s

// Parts of sums of 16 bits are f32, and the sum is rounded once. [L2.7]
!x = !nd.tensor<bf16, [batch = 64, io = 4096]>
!w = !nd.tensor<bf16, [io = 4096, wide = 256]>
!h = !nd.tensor<bf16, [batch = 64, wide = 256]>
!b = !nd.tensor<bf16, [wide = 256]>
!n = !nd.tensor<bf16, [batch = 64]>
!xt = !nd.tensor<bf16, [batch = 64, io = 4096 on {t}]>
!wt = !nd.tensor<bf16, [io = 4096 on {t}, wide = 256]>
!ht = !nd.tensor<bf16, [batch = 64, wide = 256 on {t}]>
module attributes {nd.mesh = #nd.mesh<t = 4>} {
  // A product takes 16 bits and makes f32, which end as 16 bits.
  // CHECK-LABEL: func.func @product
  // CHECK: %[[P:.*]] = nd.einsum %arg0, %arg1 {{.*}} : (!nd.tensor<bf16, {{.*}}, !nd.tensor<bf16, {{.*}}) -> !nd.tensor<f32, [batch = 64, wide = 256], sum {t}>
  // CHECK-NEXT: spmd.reshard %[[P]] : <f32, [batch = 64, wide = 256], sum {t}> -> <bf16, [batch = 64, wide = 256 on {t}]>
  func.func @product(%x: !x {nd.sharding = !xt}, %w: !w {nd.sharding = !wt}) -> (!h {nd.sharding = !ht}) {
    %p = nd.einsum %x, %w {reduced = ["io"], nd.sharding = [!ht]} : (!x, !w) -> !h
    return %p : !h
  }

  // Where parts may be rounded, they are as large as the sum.
  // CHECK-LABEL: func.func @rounded
  // CHECK: %[[P:.*]] = nd.einsum {{.*}} -> !nd.tensor<bf16, [batch = 64, wide = 256], sum {t}>
  // CHECK-NOT: nd.rounded_parts
  // CHECK-NEXT: spmd.reshard %[[P]] : <bf16, {{.*}}, sum {t}> -> <bf16,
  func.func @rounded(%x: !x {nd.sharding = !xt}, %w: !w {nd.sharding = !wt}) -> (!h {nd.sharding = !ht}) {
    %p = nd.einsum %x, %w {reduced = ["io"], nd.rounded_parts, nd.sharding = [!ht]} : (!x, !w) -> !h
    return %p : !h
  }

  // Other ops take f32, too. What only one rank has is a part without a sum, until it is added to one.
  // CHECK-LABEL: func.func @joins
  // CHECK-DAG: %[[P:.*]] = nd.einsum %arg0, %arg1 {{.*}} -> !nd.tensor<f32, [batch = 64, wide = 256], sum {t}>
  // CHECK-DAG: %[[Q:.*]] = nd.einsum %arg0, %arg2 {{.*}} -> !nd.tensor<f32, [batch = 64, wide = 256], sum {t}>
  // CHECK-DAG: %[[B:.*]] = spmd.reshard %arg3 : <bf16, [wide = 256]> -> <bf16, [wide = 256], sum {t}>
  // CHECK: %[[C:.*]] = nd.cast %[[B]] : {{.*}} -> !nd.tensor<f32, [wide = 256], sum {t}>
  // CHECK: %[[S:.*]] = nd.add %[[P]], %[[C]] {{.*}} -> !nd.tensor<f32, [batch = 64, wide = 256], sum {t}>
  // CHECK: %[[T:.*]] = nd.add %[[S]], %[[Q]] {{.*}} -> !nd.tensor<f32, [batch = 64, wide = 256], sum {t}>
  // CHECK: spmd.reshard %[[T]] : <f32, {{.*}}, sum {t}> -> <bf16, [batch = 64, wide = 256]>
  // CHECK-NOT: spmd.reshard
  func.func @joins(%x: !x {nd.sharding = !xt}, %u: !w {nd.sharding = !wt}, %v: !w {nd.sharding = !wt}, %b: !b {nd.sharding = !b})
      -> (!h {nd.sharding = !h}) {
    %p = nd.einsum %x, %u {reduced = ["io"], nd.sharding = [!h]} : (!x, !w) -> !h
    %q = nd.add %p, %b {nd.sharding = [!h], nd.open_dims = [["batch", "wide"]]} : (!h, !b) -> !h
    %r = nd.einsum %x, %v {reduced = ["io"], nd.sharding = [!h]} : (!x, !w) -> !h
    %s = nd.add %q, %r {nd.sharding = [!h], nd.open_dims = [["batch", "wide"]]} : (!h, !h) -> !h
    return %s : !h
  }

  // CHECK-LABEL: func.func @sum
  // CHECK: %[[X:.*]] = nd.cast %arg0 : {{.*}} -> !nd.tensor<f32, [batch = 64, io = 4096 on {t}]>
  // CHECK: nd.reduce_sum %[[X]] {{.*}} -> !nd.tensor<f32, [batch = 64], sum {t}>
  // CHECK: nd.reduce_prod {{.*}} -> !nd.tensor<f32, [batch = 64], prod {t}>
  // A maximum is one of the parts.
  // CHECK: nd.reduce_max %arg0 {{.*}} -> !nd.tensor<bf16, [batch = 64], max {t}>
  func.func @sum(%x: !x {nd.sharding = !xt}) -> (!n {nd.sharding = !n}, !n {nd.sharding = !n}, !n {nd.sharding = !n}) {
    %s = nd.reduce_sum %x {dims = ["io"], nd.sharding = [!n]} : (!x) -> !n
    %p = nd.reduce_prod %x {dims = ["io"], nd.sharding = [!n]} : (!x) -> !n
    %m = nd.reduce_max %x {dims = ["io"], nd.sharding = [!n]} : (!x) -> !n
    return %s, %p, %m : !n, !n, !n
  }

  // Of the parts of a looked-up entry, one is not zero: nothing is rounded.
  // CHECK-LABEL: func.func @lookup
  // CHECK: nd.gather {{.*}} -> !nd.tensor<bf16, [batch = 64, wide = 256], sum {t}>
  func.func @lookup(%w: !w {nd.sharding = !wt}, %i: !nd.tensor<i32, [batch = 64]> {nd.sharding = !nd.tensor<i32, [batch = 64]>}) -> (!h {nd.sharding = !h}) {
    %y = nd.gather %w, %i {dim = "io", nd.sharding = [!h]} : (!w, !nd.tensor<i32, [batch = 64]>) -> !h
    return %y : !h
  }

  // A loop carries the sum of parts in f32, from zero on.
  // CHECK-LABEL: func.func @loop
  // CHECK: %[[Z:.*]] = nd.constant 0.0{{0*}}e+00 : f32 -> !nd.tensor<f32, [batch = 64, wide = 256], sum {t}>
  // CHECK: %[[L:.*]] = nd.scan "n" 3 carried(%[[Z]] : !nd.tensor<f32, {{.*}} -> !nd.tensor<f32, [batch = 64, wide = 256], sum {t}>
  // CHECK: nd.add {{.*}} -> !nd.tensor<f32, [batch = 64, wide = 256], sum {t}>
  // CHECK: spmd.reshard %[[L]] : <f32, {{.*}}, sum {t}> -> <bf16, [batch = 64, wide = 256]>
  func.func @loop(%x: !x {nd.sharding = !xt}, %w: !w {nd.sharding = !wt}) -> (!h {nd.sharding = !h}) {
    %z = nd.constant 0.0 : bf16 {nd.sharding = [!h]} -> !h
    %y = nd.scan "n" 3 carried(%z : !h) whole(%x, %w : !x, !w) -> !h attributes {nd.sharding = [!h]} {
    ^bb0(%t: !h, %a: !x, %b: !w):
      %p = nd.einsum %a, %b {reduced = ["io"], nd.sharding = [!h]} : (!x, !w) -> !h
      %s = nd.add %t, %p {nd.sharding = [!h]} : (!h, !h) -> !h
      nd.yield %s : !h
    }
    return %y : !h
  }
}
