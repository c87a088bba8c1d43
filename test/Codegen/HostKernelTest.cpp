//===- HostKernelTest.cpp - kernels against the reference semantics -------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Codegen/KernelRun.h"
#include <gtest/gtest.h>

using namespace meshc::codegen;

TEST(HostKernel, BiasAndRelu) {
  expectKernel(R"(
    exec.kernel @k #exec.plan<parallel = ["b", "h"], reduce = [], lanes = "h", sizes = [5, 19]>
        in [["b", "h"], ["h"]] out [["b", "h"]] {
    ^bb0(%x: !nd.tensor<f32, [b = 5, h = 19]>, %y: !nd.tensor<f32, [h = 19]>):
      %0 = nd.add %x, %y : (!nd.tensor<f32, [b = 5, h = 19]>, !nd.tensor<f32, [h = 19]>) -> !nd.tensor<f32, [b = 5, h = 19]>
      %1 = nd.relu %0 : (!nd.tensor<f32, [b = 5, h = 19]>) -> !nd.tensor<f32, [b = 5, h = 19]>
      exec.yield %1 : !nd.tensor<f32, [b = 5, h = 19]>
    })");
}

TEST(HostKernel, ColumnSum) {
  expectKernel(R"(
    exec.kernel @k #exec.plan<parallel = ["h"], reduce = ["b"], lanes = "h", sizes = [83, 11]>
        in [["b", "h"]] out [["h"]] {
    ^bb0(%x: !nd.tensor<f32, [b = 11, h = 83]>):
      %0 = nd.reduce_sum %x {dims = ["b"]} : (!nd.tensor<f32, [b = 11, h = 83]>) -> !nd.tensor<f32, [h = 83]>
      exec.yield %0 : !nd.tensor<f32, [h = 83]>
    })");
}

/// The maximum, the sum of exponentials, then the quotient: two stages and a
/// last walk.
TEST(HostKernel, Softmax) {
  expectKernel(R"(
    exec.kernel @k #exec.plan<parallel = ["b"], reduce = ["h"], lanes = "h", sizes = [7, 45]>
        in [["b", "h"]] out [["b", "h"], ["b"]] {
    ^bb0(%x: !nd.tensor<f32, [b = 7, h = 45]>):
      %m = nd.reduce_max %x {dims = ["h"]} : (!nd.tensor<f32, [b = 7, h = 45]>) -> !nd.tensor<f32, [b = 7]>
      %d = nd.sub %x, %m : (!nd.tensor<f32, [b = 7, h = 45]>, !nd.tensor<f32, [b = 7]>) -> !nd.tensor<f32, [b = 7, h = 45]>
      %e = nd.exp %d : (!nd.tensor<f32, [b = 7, h = 45]>) -> !nd.tensor<f32, [b = 7, h = 45]>
      %s = nd.reduce_sum %e {dims = ["h"]} : (!nd.tensor<f32, [b = 7, h = 45]>) -> !nd.tensor<f32, [b = 7]>
      %q = nd.div %e, %s : (!nd.tensor<f32, [b = 7, h = 45]>, !nd.tensor<f32, [b = 7]>) -> !nd.tensor<f32, [b = 7, h = 45]>
      %l = nd.log %s : (!nd.tensor<f32, [b = 7]>) -> !nd.tensor<f32, [b = 7]>
      exec.yield %q, %l : !nd.tensor<f32, [b = 7, h = 45]>, !nd.tensor<f32, [b = 7]>
    })");
}
