//===- ExecOpsTest.cpp - every op of a step function is known -------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/Exec.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace meshc;

namespace {

/// Ops that never stand in a step function. All others have an interface, so
/// that passes, code generation and reports know them.
bool isOutside(mlir::RegisteredOperationName name) {
  return name.hasInterface<exec::LibraryOpInterface>() ||
         llvm::is_contained({"exec.kernel", "exec.fusion", "exec.yield",
                             "exec.func", "exec.tensor"},
                            name.getStringRef());
}

TEST(ExecOps, AllHaveAnInterface) {
  mlir::MLIRContext context;
  context.loadDialect<exec::ExecDialect>();
  int steps = 0;
  for (mlir::RegisteredOperationName name : context.getRegisteredOperations()) {
    if (name.getDialectNamespace() != "exec")
      continue;
    bool isStep = name.hasInterface<exec::StepOpInterface>();
    bool isPiece = name.hasInterface<exec::PieceOpInterface>();
    EXPECT_EQ(isStep + isPiece, isOutside(name) ? 0 : 1)
        << name.getStringRef().str();
    steps += isStep;
  }
  EXPECT_GE(steps, 4);
}

/// The module's only function, @f.
struct Program {
  explicit Program(llvm::StringRef body) {
    context.loadDialect<exec::ExecDialect>();
    std::string text = R"(
!m = !nd.tensor<f32, [a = 4, b = 4]>
!v = !nd.tensor<f32, [b = 4]>
!t = !exec.buffer<!m, ["a", "b"]>
!b = !exec.buffer<!v, ["b"]>
!h = !exec.buffer<!nd.tensor<f32, [a = 4 on {data}, b = 4]>, ["a", "b"]>
module attributes {nd.mesh = #nd.mesh<data = 2>, exec.arena_bytes = 1024 : i64} {
  exec.kernel @add <parallel = ["a", "b"], reduce = [], lanes = "b", sizes = [4, 4]>
      in [["a", "b"], ["b"]] out [["a", "b"]] {
  ^bb0(%x: !m, %y: !v):
    %0 = nd.add %x, %y : (!m, !v) -> !m
    exec.yield %0 : !m
  }
  exec.func @f {
    %p = exec.buffer at 0 : !t
    %q = exec.buffer at 64 : !t
    %c = exec.buffer at 128 : !t
    %v = exec.buffer at 192 : !b
    %s = exec.scratch at 256 : <64>
)" + body.str() + "\n}\n}";
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  }
  exec::StepOpInterface getStep(unsigned number) {
    auto function = *module->getOps<exec::FuncOp>().begin();
    return function.getSteps()[number];
  }
  /// As byte offsets.
  std::vector<int64_t> locate(llvm::ArrayRef<mlir::Value> values) {
    std::vector<int64_t> offsets;
    for (mlir::Value value : values)
      offsets.push_back(
          exec::ArenaPiece::of(value, nd::MeshAttr::of(*module)).begin);
    return offsets;
  }
  bool conflict(unsigned a, unsigned b) {
    nd::MeshAttr mesh = nd::MeshAttr::of(*module);
    auto meet = [&](mlir::Value one, mlir::Value other) {
      return exec::ArenaPiece::of(one, mesh).overlaps(
          exec::ArenaPiece::of(other, mesh));
    };
    bool forward =
        getStep(a).getAccesses().conflictsWith(getStep(b).getAccesses(), meet);
    EXPECT_EQ(forward, getStep(b).getAccesses().conflictsWith(
                           getStep(a).getAccesses(), meet));
    return forward;
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

using Offsets = std::vector<int64_t>;

TEST(ExecOps, LaunchOverItsInput) {
  Program program("exec.launch @add(%p, %v) -> (%p) : (!t, !b) -> !t");
  ASSERT_TRUE(program.module);
  exec::StepOpInterface launch = program.getStep(0);
  exec::Accesses accesses = launch.getAccesses();
  EXPECT_EQ(program.locate(accesses.reads), Offsets({0, 192}));
  EXPECT_EQ(program.locate(accesses.writes), Offsets({0}));
  EXPECT_FALSE(accesses.begun);
  EXPECT_TRUE(launch.mayWriteOver(0, 0));
  EXPECT_FALSE(launch.mayWriteOver(1, 0)); // each entry is read four times
  EXPECT_EQ(launch.getKernelUse().kernel.getValue(), "add");
}

TEST(ExecOps, ProductWithEpilogue) {
  Program program(R"(
    exec.gemm %p, %q -> %c [4, 4, 4, 4, 4, 4, 1, 0, 0, 0]
        scratch %s : !exec.scratch<64> then bias @add(%c, %v) -> (%c)
        : (!t, !b) -> !t : !t, !t -> !t
    exec.launch @add(%c, %v) -> (%p) : (!t, !b) -> !t)");
  ASSERT_TRUE(program.module);
  exec::StepOpInterface product = program.getStep(0);
  exec::Accesses accesses = product.getAccesses();
  EXPECT_EQ(program.locate(accesses.reads), Offsets({0, 64, 192}));
  EXPECT_EQ(program.locate(accesses.writes), Offsets({128}));
  EXPECT_EQ(program.locate(accesses.scratch), Offsets({256}));
  EXPECT_FALSE(product.mayWriteOver(0, 0));
  EXPECT_EQ(product.describe().product->epilogue, "bias");
  EXPECT_TRUE(program.conflict(0, 1));
}

TEST(ExecOps, CollectiveHoldsItsBuffers) {
  Program program(R"(
    %h = exec.buffer at 192 : !h
    %0 = exec.collective all_gather sum over ["data"] [1, 16, 1, 1, 16, 1]
        "all_gather of 'h'" (%h) -> (%q) : (!h) -> !t
    exec.launch @add(%p, %v) -> (%c) : (!t, !b) -> !t
    exec.launch @add(%q, %v) -> (%c) : (!t, !b) -> !t
    exec.launch @add(%p, %v) -> (%q) : (!t, !b) -> !t
    exec.wait %0)");
  ASSERT_TRUE(program.module);
  exec::StepOpInterface begin = program.getStep(0), wait = program.getStep(4);
  EXPECT_EQ(begin.getAccesses().begun, wait.getAccesses().awaited);
  EXPECT_TRUE(begin.getAccesses().begun);
  EXPECT_FALSE(begin.mayWriteOver(0, 0)); // of an all_reduce alone
  EXPECT_FALSE(program.conflict(0, 1));   // reads what is sent
  EXPECT_TRUE(program.conflict(0, 2));    // reads what is received
  EXPECT_TRUE(program.conflict(0, 3));    // writes what is received
  EXPECT_FALSE(program.conflict(0, 4));
}

/// A collective of a loop has the buffers of its own iteration, whenever it
/// takes effect.
TEST(ExecOps, CollectivesAcrossIterations) {
  for (std::string direction : {"", "backwards"}) {
    Program program(R"(
    exec.loop "d" 3 )" +
                    direction +
                    R"( {
      %x = exec.buffer at 256 strides [32] : !h
      %all = exec.buffer at 384 alternates [64] : !t
      %one = exec.buffer at 192 : !b
      %y = exec.buffer at 512 : !t
      %z = exec.buffer at 576 strides [64] : !t
      exec.wait %0
      %0 = exec.collective all_gather ahead sum over ["data"] [1, 16, 1, 1, 16, 1]
          "all_gather" (%x) -> (%all) : (!h) -> !t
      exec.wait %1
      exec.launch @add(%all, %one) -> (%y) : (!t, !b) -> !t
      %1 = exec.collective all_reduce sum over ["data"] [1, 16, 1, 1, 16, 1]
          "all_reduce" (%y) -> (%z) : (!t) -> !t
    })");
    ASSERT_TRUE(program.module);
    for (auto mode : {exec::Arenas::Collectives::AtTheirOp,
                      exec::Arenas::Collectives::AtTheirWait}) {
      exec::Arenas arenas(*program.module, {}, mode,
                          exec::Arenas::Epilogues::ByKernel);
      for (int64_t rank : {0, 1}) {
        for (int64_t i = 0; i < 24; ++i)
          arenas.getMemory(rank)[256 + 4 * i] =
              static_cast<double>(100 * rank + i);
        for (int64_t i = 0; i < 4; ++i)
          arenas.getMemory(rank)[192 + 4 * i] = 1;
      }
      for (exec::StepOpInterface step :
           (*program.module->getOps<exec::FuncOp>().begin()).getSteps())
        step.run(arenas);
      for (int64_t rank : {0, 1})
        for (int64_t i = 0; i < 48; ++i) {
          int64_t iteration = i / 16, from = i % 16 / 8;
          EXPECT_EQ(
              arenas.getMemory(rank)[576 + 4 * i],
              static_cast<double>(2 * (100 * from + 8 * iteration + i % 8 + 1)))
              << i << " of rank " << rank;
        }
    }
  }
}

} // namespace
