//===- Schedule.cpp - the phase's pipeline --------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Schedule/Passes.h"
#include "mlir/Pass/PassManager.h"

namespace meshc::schedule {

void addSchedulePasses(mlir::OpPassManager &passes) {
  passes.addNestedPass<mlir::func::FuncOp>(createBoundSizes());
  passes.addNestedPass<mlir::func::FuncOp>(createPlaceResults());
  passes.addNestedPass<mlir::func::FuncOp>(createScheduleOps());
  passes.addPass(createRecomputeFusions());
  passes.addNestedPass<mlir::func::FuncOp>(createDelayGathers());
  // Before places are planned: what runs at the same time needs its memory at
  // the same time.
  passes.addNestedPass<mlir::func::FuncOp>(createMergeLaunches());
  passes.addPass(createPlanArena());
  passes.addPass(createBuildSchedule());
  passes.addNestedPass<exec::FuncOp>(createPlaceWaits());
  passes.addPass(createVerifySchedule());
}

} // namespace meshc::schedule
