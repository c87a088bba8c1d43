//===- ScheduleTest.cpp - kernels and schedules compute what ops say ------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Step functions before the kernels phase, after it, and scheduled, run on the
/// same data: by the interpreter, and on arenas.
///
//===----------------------------------------------------------------------===//

#include "dialects/Exec/ArenaAttributes.h"
#include "dialects/Spmd/SpmdOps.h"
#include "lib/Kernels/Passes.h"
#include "lib/Reference/ArenaMachine.h"
#include "lib/Reference/Blocks.h"
#include "lib/Schedule/Passes.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "test/Schedule/RandomStep.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace meshc;
using reference::RankTensors;

namespace {

struct ScheduleTest : ::testing::Test {
  ScheduleTest() {
    context.loadDialect<nd::NdDialect, spmd::SpmdDialect, exec::ExecDialect,
                        func::FuncDialect>();
  }

  bool run(ModuleOp module, void (*addPasses)(OpPassManager &)) {
    PassManager passes(&context);
    addPasses(passes);
    return succeeded(passes.run(module));
  }

  /// Random blocks of an argument; equal on ranks that hold the same. One of
  /// `nanEvery` floats is NaN, if it is not 0.
  RankTensors makeArgument(Type type, nd::MeshAttr mesh, std::mt19937 &random) {
    auto tensor = cast<nd::TensorType>(type);
    nd::HostTensor whole(tensor.getGlobal(), mesh);
    for (double &value : whole.data)
      if (!tensor.isFloat())
        value = double(random() % 6);
      else if (nanEvery && random() % nanEvery == 0)
        value = NAN;
      else
        value = std::normal_distribution<>()(random);
    return reference::cutTensor(whole, tensor, mesh);
  }

  void compare(const RankTensors &got, const RankTensors &wanted,
               const std::string &what, double relative = 1e-9) {
    ASSERT_EQ(got.size(), wanted.size());
    for (size_t rank = 0; rank < got.size(); ++rank) {
      ASSERT_EQ(got[rank].data.size(), wanted[rank].data.size());
      double scale = 0;
      for (double value : wanted[rank].data)
        scale = std::max(scale, std::abs(value));
      for (size_t i = 0; i < got[rank].data.size(); ++i) {
        double a = got[rank].data[i], b = wanted[rank].data[i];
        ASSERT_TRUE(a == b || (std::isnan(a) && std::isnan(b)) ||
                    std::abs(a - b) <= relative * scale + 1e-12)
            << what << ", rank " << rank << ", element " << i << ": got " << a
            << ", wanted " << b;
      }
    }
  }

  /// Lowers `module` (local ops) and compares each function.
  void check(ModuleOp module) {
    OwningOpRef<ModuleOp> fused = module.clone();
    ASSERT_TRUE(run(*fused, kernels::addKernelsPasses));
    OwningOpRef<ModuleOp> scheduled = fused->clone();
    ASSERT_TRUE(run(*scheduled, schedule::addSchedulePasses));
    nd::MeshAttr mesh = nd::MeshAttr::of(module);
    reference::RunOptions options{/*seed=*/7, /*step=*/3,
                                  /*roundToType=*/false};
    for (auto function : module.getOps<func::FuncOp>()) {
      std::mt19937 random(11);
      std::vector<RankTensors> arguments;
      for (Type type : function.getArgumentTypes())
        arguments.push_back(makeArgument(type, mesh, random));
      auto wanted = reference::interpret(function, mesh, arguments, options);
      ASSERT_TRUE(succeeded(wanted));
      auto kernels = fused->lookupSymbol<func::FuncOp>(function.getName());
      auto got = reference::interpret(kernels, mesh, arguments, options);
      ASSERT_TRUE(succeeded(got));
      for (auto [index, pair] : llvm::enumerate(llvm::zip(*got, *wanted)))
        compare(std::get<0>(pair), std::get<1>(pair),
                "result " + std::to_string(index) + " of the kernels");
      checkSchedule(function, *scheduled, arguments, *wanted, options);
    }
  }

  static exec::TensorOp find(ModuleOp module, DictionaryAttr attributes) {
    for (auto tensor : module.getOps<exec::TensorOp>())
      if (tensor.getTensorNameAttr() == attributes.get("nd.name") &&
          tensor.getRoleAttr() == attributes.get("nd.role"))
        return tensor;
    return {};
  }

  void checkSchedule(func::FuncOp function, ModuleOp scheduled,
                     const std::vector<RankTensors> &arguments,
                     const std::vector<RankTensors> &wanted,
                     const reference::RunOptions &options) {
    // Collectives may run at any time until they are waited for, and a library
    // may compute what follows a product.
    using Collectives = reference::ArenaMachine::Collectives;
    using Epilogues = reference::ArenaMachine::Epilogues;
    for (auto [when, how] :
         {std::pair(Collectives::AtTheirOp, Epilogues::ByKernel),
          std::pair(Collectives::AtTheirWait, Epilogues::ByTable)}) {
      reference::ArenaMachine machine(scheduled, options, when, how);
      for (auto [index, argument] : llvm::enumerate(arguments))
        machine.store(find(scheduled, function.getArgAttrDict(index)),
                      argument);
      machine.run(scheduled.lookupSymbol<exec::FuncOp>(function.getName()));
      // The program's constants are of f32, a library's own are not.
      double relative = how == Epilogues::ByTable ? 1e-6 : 1e-9;
      for (auto [index, result] : llvm::enumerate(wanted))
        compare(
            machine.load(find(scheduled, function.getResultAttrDict(index))),
            result, "result " + std::to_string(index) + " of the schedule",
            relative);
    }
  }

  MLIRContext context;
  unsigned nanEvery = 0;
};

/// The functions of a test of the pass, for which it finds all epilogues.
TEST_F(ScheduleTest, Epilogues) {
  auto module = parseSourceFile<ModuleOp>(
      MESHC_SOURCE_DIR "/test/Kernels/fuse-epilogues.mlir", &context);
  ASSERT_TRUE(module);
  // Each alone: a schedule's tensors of one name are one.
  auto functions = llvm::to_vector((*module).getOps<func::FuncOp>());
  ASSERT_EQ(functions.size(), 12u);
  for (size_t kept = 0; kept < functions.size(); ++kept) {
    OwningOpRef<ModuleOp> one = (*module).clone();
    for (auto [index, function] :
         llvm::enumerate(llvm::to_vector((*one).getOps<func::FuncOp>())))
      if (index != kept)
        function.erase();
    check(*one);
  }
}

TEST_F(ScheduleTest, RandomSteps) {
  unsigned count = 600, first = 0;
  if (const char *text = std::getenv("MESHC_TEST_SEED"))
    first = std::stoul(text), count = 1;
  for (unsigned seed = first; seed < first + count; ++seed) {
    RandomStep step(context, seed);
    OwningOpRef<ModuleOp> module = step.build(4 + seed % 24);
    if (seed % 2)
      exec::setSupportsEpilogues(*module);
    check(*module);
    if (HasFailure()) {
      module->dump();
      FAIL() << "seed " << seed << " (MESHC_TEST_SEED)";
    }
  }
}

/// Collectives that take maxima and minima, of values with NaN among them.
TEST_F(ScheduleTest, ExtremaWithNaN) {
  nanEvery = 20;
  for (std::string kind : {"max", "min"}) {
    std::string reduction = " " + kind + R"( ["data"] )";
    std::string text = R"(
!x = !nd.tensor<f32, [i = 8 on {data}, j = 12]>
!p = !nd.tensor<f32, [j = 12], )" +
                       kind + R"( {data}>
!whole = !nd.tensor<f32, [j = 12]>
!cut = !nd.tensor<f32, [j = 12 on {data}]>
module attributes {nd.mesh = #nd.mesh<data = 4>} {
  func.func @eval_step(%x: !x {nd.name = "x", nd.role = "input", nd.order = ["i", "j"]})
      -> (!whole {nd.name = "a", nd.role = "metric", nd.order = ["j"]},
          !cut {nd.name = "b", nd.role = "metric", nd.order = ["j"]}) {
    %0 = nd.reduce_)" + kind +
                       R"( %x {dims = ["i"]} : (!x) -> !p
    %1 = spmd.all_reduce )" +
                       reduction + R"(%0 : (!p) -> !whole
    %2 = spmd.reduce_scatter )" +
                       reduction + R"(to ["j"] %0 : (!p) -> !cut
    return %1, %2 : !whole, !cut
  }
}
)";
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(module);
    check(*module);
  }
}

/// Every kind of collective between kernels, on eight ranks.
TEST_F(ScheduleTest, Collectives) {
  const char *text = R"(
!x = !nd.tensor<f32, [i = 8 on {data}, j = 12, k = 4]>
!p = !nd.tensor<f32, [j = 12, k = 4], sum {data}>
!whole = !nd.tensor<f32, [j = 12, k = 4]>
!cut = !nd.tensor<f32, [j = 12 on {data}, k = 4]>
!both = !nd.tensor<f32, [j = 12 on {data}, k = 4 on {tensor}]>
!other = !nd.tensor<f32, [j = 12, k = 4 on {data}]>
module attributes {nd.mesh = #nd.mesh<data = 2, tensor = 4>} {
  func.func @eval_step(%x: !x {nd.name = "x", nd.role = "input", nd.order = ["k", "i", "j"]})
      -> (!whole {nd.name = "a", nd.role = "metric", nd.order = ["k", "j"]},
          !whole {nd.name = "b", nd.role = "metric", nd.order = ["j", "k"]},
          !both {nd.name = "c", nd.role = "metric", nd.order = ["j", "k"]},
          !other {nd.name = "d", nd.role = "metric", nd.order = ["k", "j"]}) {
    %0 = nd.reduce_sum %x {dims = ["i"]} : (!x) -> !p
    %1 = spmd.all_reduce sum ["data"] %0 : (!p) -> !whole
    %2 = spmd.reduce_scatter sum ["data"] to ["j"] %0 : (!p) -> !cut
    %3 = nd.tanh %2 : (!cut) -> !cut
    %4 = spmd.all_gather ["data"] from ["j"] %3 : (!cut) -> !whole
    %5 = spmd.slice "k" ["tensor"] %3 : !cut -> !both
    %6 = nd.neg %5 : (!both) -> !both
    %7 = spmd.all_to_all ["data"] from ["j"] to ["k"] %2 : (!cut) -> !other
    return %1, %4, %6, %7 : !whole, !whole, !both, !other
  }
}
)";
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  ASSERT_TRUE(module);
  check(*module);
}

} // namespace
