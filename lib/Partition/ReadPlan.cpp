//===- ReadPlan.cpp - plans from a file -----------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Spmd/FunctionPlans.h"
#include "lib/Partition/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace meshc::partition {

#define GEN_PASS_DEF_READPLAN
#include "lib/Partition/Passes.h.inc"

namespace {
struct ReadPlan : impl::ReadPlanBase<ReadPlan> {
  using ReadPlanBase::ReadPlanBase;

  void runOnOperation() override {
    if (failed(spmd::readPlans(getOperation(), file)))
      signalPassFailure();
  }
};
} // namespace

} // namespace meshc::partition
