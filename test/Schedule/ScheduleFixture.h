//===- ScheduleFixture.h - step functions at all stages -------------------===//
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
#ifndef MESHC_TEST_SCHEDULE_SCHEDULEFIXTURE_H
#define MESHC_TEST_SCHEDULE_SCHEDULEFIXTURE_H

#include "dialects/Nd/TensorAttributes.h"
#include "dialects/Spmd/SpmdOps.h"
#include "lib/Kernels/Passes.h"
#include "lib/Reference/ArenaMachine.h"
#include "lib/Reference/Blocks.h"
#include "lib/Schedule/Passes.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include <gtest/gtest.h>
#include <random>

namespace meshc {

struct ScheduleFixture : ::testing::Test {
  ScheduleFixture() {
    context.loadDialect<nd::NdDialect, spmd::SpmdDialect, exec::ExecDialect,
                        mlir::func::FuncDialect>();
  }

  bool run(mlir::ModuleOp module, void (*addPasses)(mlir::OpPassManager &)) {
    mlir::PassManager passes(&context);
    addPasses(passes);
    return mlir::succeeded(passes.run(module));
  }

  /// Random blocks of an argument; equal on ranks that hold the same. One of
  /// `nanEvery` floats is NaN, if it is not 0.
  reference::RankTensors makeArgument(mlir::Type type, nd::MeshAttr mesh,
                                      std::mt19937 &random) {
    auto tensor = mlir::cast<nd::TensorType>(type);
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

  void compare(const reference::RankTensors &got,
               const reference::RankTensors &wanted, const std::string &what,
               double relative = 1e-9) {
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
  void check(mlir::ModuleOp module) {
    mlir::OwningOpRef<mlir::ModuleOp> fused = module.clone();
    ASSERT_TRUE(run(*fused, kernels::addKernelsPasses));
    mlir::OwningOpRef<mlir::ModuleOp> scheduled = fused->clone();
    ASSERT_TRUE(run(*scheduled, schedule::addSchedulePasses));
    nd::MeshAttr mesh = nd::MeshAttr::of(module);
    reference::RunOptions options{/*seed=*/7, /*step=*/3,
                                  /*roundToType=*/false};
    for (auto function : module.getOps<mlir::func::FuncOp>()) {
      std::mt19937 random(11);
      std::vector<reference::RankTensors> arguments;
      for (mlir::Type type : function.getArgumentTypes())
        arguments.push_back(makeArgument(type, mesh, random));
      auto wanted = reference::interpret(function, mesh, arguments, options);
      ASSERT_TRUE(mlir::succeeded(wanted));
      auto kernels =
          fused->lookupSymbol<mlir::func::FuncOp>(function.getName());
      auto got = reference::interpret(kernels, mesh, arguments, options);
      ASSERT_TRUE(mlir::succeeded(got));
      for (auto [index, pair] : llvm::enumerate(llvm::zip(*got, *wanted)))
        compare(std::get<0>(pair), std::get<1>(pair),
                "result " + std::to_string(index) + " of the kernels");
      checkSchedule(function, *scheduled, arguments, *wanted, options);
    }
  }

  static exec::TensorOp find(mlir::ModuleOp module,
                             mlir::DictionaryAttr attributes) {
    for (auto tensor : module.getOps<exec::TensorOp>())
      if (tensor.getTensorNameAttr() == attributes.get("nd.name") &&
          nd::TensorAttributes(attributes).hasRole(tensor.getRole()))
        return tensor;
    return {};
  }

  void checkSchedule(mlir::func::FuncOp function, mlir::ModuleOp scheduled,
                     const std::vector<reference::RankTensors> &arguments,
                     const std::vector<reference::RankTensors> &wanted,
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

  mlir::MLIRContext context;
  unsigned nanEvery = 0;
};

} // namespace meshc

#endif // MESHC_TEST_SCHEDULE_SCHEDULEFIXTURE_H
