//===- StepTimeTest.cpp - overlap, loops and caches of a step -------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Cost/StepTime.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace meshc;

namespace {

/// A launch of @neg moves 128 bytes, which takes 1 s. An all_reduce over two
/// ranks takes 3 s, an all_gather 1.5 s.
cost::Machine makeMachine(double overlap) {
  cost::Machine machine;
  machine.nodeRanks = 2;
  machine.products = {{"f32", 1e12}};
  machine.kernels = {{"f32", 1e12}};
  machine.functions = 1e12;
  machine.memory = 128;
  machine.node = {1.5, 1e12};
  machine.network = {1000, 1};
  machine.overlap = overlap;
  return machine;
}

struct StepTimeTest : ::testing::Test {
  StepTimeTest() {
    context.loadDialect<nd::NdDialect, spmd::SpmdDialect, exec::ExecDialect>();
  }

  cost::StepTime predict(StringRef body, const cost::Machine &machine) {
    std::string text = R"(
      !m = !nd.tensor<f32, [a = 4, b = 4]>
      !t = !exec.buffer<!m, ["a", "b"]>
      !c = !exec.buffer<!nd.tensor<f32, [a = 4 on {d}, b = 4]>, ["a", "b"]>
      module attributes {nd.mesh = #nd.mesh<d = 2>, exec.arena_bytes = 4096 : i64} {
        exec.kernel @neg <parallel = ["a", "b"], reduce = [], lanes = "b", sizes = [4, 4]> in [["a", "b"]] out [["a", "b"]] {
        ^bb0(%x: !m):
          %0 = nd.neg %x : (!m) -> !m
          exec.yield %0 : !m
        }
        exec.func @train_step {
          %0 = exec.buffer at 0 : !t
          %1 = exec.buffer at 64 : !t
          %2 = exec.buffer at 128 : !t
          %3 = exec.buffer at 192 : !t
          %4 = exec.buffer at 256 : !t
          )" + body.str() +
                       "}\n}";
    module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(module);
    if (!module)
      return {};
    cost::StepTime time =
        cost::predictStep(*module->getOps<exec::FuncOp>().begin(), machine);
    EXPECT_NEAR(time.seconds, time.products + time.kernels + time.exposed,
                1e-6);
    double exposed = 0;
    for (const cost::CollectiveTime &collective : time.collectives)
      exposed += collective.exposed;
    EXPECT_NEAR(exposed, time.exposed, 1e-6);
    return time;
  }

  static std::string sum(const std::string &token, const char *from,
                         const char *to) {
    return "%" + token +
           " = exec.collective all_reduce sum over [\"d\"] [1, 16, 1, 1, 16, "
           "1] \"all_reduce over d\" (" +
           from + ") -> (" + to + ") : (!t) -> !t\n";
  }
  static constexpr const char *launch =
      "exec.launch @neg(%3) -> (%4) : (!t) -> !t\n";

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

constexpr double epsilon = 1e-6;

TEST_F(StepTimeTest, Overlap) {
  std::string body = sum("t", "%0", "%1") + launch + "exec.wait %t\n";
  // The launch hides a second of three.
  cost::StepTime time = predict(body, makeMachine(1));
  EXPECT_NEAR(time.seconds, 3, epsilon);
  EXPECT_NEAR(time.kernels, 1, epsilon);
  ASSERT_EQ(time.collectives.size(), 1u);
  EXPECT_NEAR(time.collectives[0].seconds, 3, epsilon);
  EXPECT_NEAR(time.collectives[0].exposed, 2, epsilon);
  // Nothing is hidden.
  time = predict(body, makeMachine(0));
  EXPECT_NEAR(time.seconds, 4, epsilon);
  EXPECT_NEAR(time.exposed, 3, epsilon);
  // The device is occupied for 1.5 s, and waits from 2.5 s to 3 s.
  time = predict(body, makeMachine(0.5));
  EXPECT_NEAR(time.seconds, 3, epsilon);
  EXPECT_NEAR(time.exposed, 2, epsilon);
}

TEST_F(StepTimeTest, CollectivesFollowEachOther) {
  cost::StepTime time =
      predict(sum("t", "%0", "%1") + sum("u", "%2", "%2") + launch + launch +
                  "exec.wait %t\n" + launch + "exec.wait %u\n",
              makeMachine(1));
  EXPECT_NEAR(time.seconds, 6, epsilon);
  ASSERT_EQ(time.collectives.size(), 2u);
  EXPECT_NEAR(time.collectives[0].exposed, 1, epsilon); // from 2 to 3
  EXPECT_NEAR(time.collectives[1].exposed, 2, epsilon); // from 4 to 6
}

/// Each iteration awaits the collective of the one before.
TEST_F(StepTimeTest, CollectiveGoesOnInLoop) {
  std::string body =
      R"(exec.loop "i" 10 {
           %5 = exec.buffer at 192 : !t
           %6 = exec.buffer at 256 : !t
           exec.wait %t
           exec.launch @neg(%5) -> (%6) : (!t) -> !t
           )" +
      sum("t", "%5", "%6") + "}\n";
  cost::StepTime time = predict(body, makeMachine(1));
  EXPECT_NEAR(time.seconds, 40, epsilon);
  EXPECT_NEAR(time.kernels, 10, epsilon);
  ASSERT_EQ(time.collectives.size(), 1u);
  EXPECT_NEAR(time.collectives[0].seconds, 30, epsilon);
  EXPECT_NEAR(time.collectives[0].exposed, 30, epsilon);
}

/// The collective of the next iteration runs beside this one's launches.
TEST_F(StepTimeTest, CollectiveBegunAhead) {
  std::string body =
      R"(exec.loop "i" 10 {
           %5 = exec.buffer at 512 strides [32] : !c
           %6 = exec.buffer at 256 alternates [256] : !t
           %7 = exec.buffer at 192 : !t
           exec.wait %t
           %t = exec.collective all_gather ahead sum over ["d"] [1, 16, 1, 1, 16, 1] "all_gather over d" (%5) -> (%6) : (!c) -> !t
           exec.launch @neg(%6) -> (%7) : (!t) -> !t
         })";
  cost::StepTime time = predict(body, makeMachine(1));
  // The first is waited for from 0 to 1.5, the others for half a second.
  EXPECT_NEAR(time.collectives[0].seconds, 15, epsilon);
  EXPECT_NEAR(time.collectives[0].exposed, 1.5 + 9 * 0.5, epsilon);
  EXPECT_NEAR(time.seconds, 10 + 1.5 + 9 * 0.5, epsilon);
  time = predict(body, makeMachine(0));
  EXPECT_NEAR(time.seconds, 10 + 15, epsilon);
}

TEST_F(StepTimeTest, NestedLoops) {
  cost::StepTime time = predict(R"(
      exec.loop "i" 100 {
        exec.loop "j" 1000 {
          %5 = exec.buffer at 192 : !t
          %6 = exec.buffer at 256 : !t
          exec.launch @neg(%5) -> (%6) : (!t) -> !t
        }
        %5 = exec.buffer at 192 : !t
        %6 = exec.buffer at 256 : !t
        exec.launch @neg(%5) -> (%6) : (!t) -> !t
      })",
                                makeMachine(1));
  EXPECT_NEAR(time.seconds, 100 * 1001, 1e-3);
}

/// What the last calls have accessed comes from the cache.
TEST_F(StepTimeTest, Cache) {
  cost::Machine machine = makeMachine(1);
  machine.cacheMemory = 1280;
  machine.cacheBytes = 2 * 256; // of each of two ranks: 256
  // The second launch finds both buffers, the third only the last two.
  std::string other = "exec.launch @neg(%0) -> (%1) : (!t) -> !t\n";
  EXPECT_NEAR(predict(std::string(launch) + launch, machine).seconds, 1.1,
              epsilon);
  EXPECT_NEAR(predict(launch + other + other, machine).seconds, 2.1, epsilon);
  machine.cacheBytes = 2 * 64;
  EXPECT_NEAR(predict(std::string(launch) + launch, machine).seconds, 2,
              epsilon);
}

} // namespace
