//===- VerifySteps.cpp - what the autodiff phase promises -----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Ops/ModelOps.h"
#include "lib/Autodiff/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace meshc::autodiff {

#define GEN_PASS_DEF_VERIFYSTEPS
#include "lib/Autodiff/Passes.h.inc"

namespace {
struct VerifySteps : impl::VerifyStepsBase<VerifySteps> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    bool ok = true;
    module.walk([&](Operation *op) {
      if (isa<nd::ParameterOp, nd::TrainOp>(op)) {
        op->emitError() << "'" << op->getName() << "' remains after autodiff";
        ok = false;
      }
    });
    auto initialize = module.lookupSymbol<func::FuncOp>("initialize");
    auto evaluate = module.lookupSymbol<func::FuncOp>("eval_step");
    if (!initialize || !evaluate) {
      module.emitError("autodiff made no 'initialize' or no 'eval_step'");
      return signalPassFailure();
    }
    auto train = module.lookupSymbol<func::FuncOp>("train_step");
    if (train)
      ok &= checkState(initialize, train);
    if (!ok)
      signalPassFailure();
  }

  /// train_step must take and give back what initialize makes, in that order.
  bool checkState(func::FuncOp initialize, func::FuncOp train) {
    unsigned state = initialize.getNumResults();
    if (train.getNumArguments() < state || train.getNumResults() < state) {
      train.emitError("does not carry the state that 'initialize' makes");
      return false;
    }
    for (unsigned i = 0; i < state; ++i) {
      Attribute name = initialize.getResultAttr(i, "nd.name");
      if (initialize.getResultTypes()[i] != train.getArgumentTypes()[i] ||
          initialize.getResultTypes()[i] != train.getResultTypes()[i] ||
          name != train.getArgAttr(i, "nd.name") ||
          name != train.getResultAttr(i, "nd.name")) {
        train.emitError() << "state " << i << " differs from 'initialize'";
        return false;
      }
    }
    return true;
  }
};
} // namespace

} // namespace meshc::autodiff
