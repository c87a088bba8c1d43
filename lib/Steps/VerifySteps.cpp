//===- VerifySteps.cpp - what the phase promises --------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Ops/ModelOps.h"
#include "dialects/Nd/StepNames.h"
#include "dialects/Nd/TensorAttributes.h"
#include "lib/Steps/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace meshc::steps {

#define GEN_PASS_DEF_VERIFYSTEPS
#include "lib/Steps/Passes.h.inc"

namespace {
struct VerifySteps : impl::VerifyStepsBase<VerifySteps> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    bool ok = true;
    module.walk([&](Operation *op) {
      if (isa<nd::ParameterOp, nd::TrainOp, nd::GenerateOp>(op)) {
        op->emitError() << "'" << op->getName()
                        << "' remains after phase 'steps'";
        ok = false;
      }
    });
    auto initialize = nd::findStep(module, nd::Step::Initialize);
    auto evaluate = nd::findStep(module, nd::Step::Eval);
    if (!initialize || !evaluate) {
      module.emitError("phase 'steps' made no 'initialize' or no 'eval_step'");
      return signalPassFailure();
    }
    unsigned state = initialize.getNumResults(), parameters = 0;
    while (parameters < state &&
           nd::TensorAttributes::ofResult(initialize, parameters)
               .hasRole(nd::TensorRole::Parameter))
      ++parameters;
    ok &= checkState(initialize, evaluate, Side::Argument, parameters);
    if (auto average = nd::findStep(module, nd::Step::EvalAverages))
      ok &= checkAverages(initialize, average);
    if (auto train = nd::findStep(module, nd::Step::Train))
      ok &= checkState(initialize, train, Side::Argument, state) &&
            checkState(initialize, train, Side::Result, state);
    for (nd::Step derived : {nd::Step::Generate, nd::Step::Prefill})
      if (auto step = nd::findStep(module, derived))
        ok &= checkState(initialize, step, Side::Argument, parameters) &&
              checkCaches(step);
    for (auto function : module.getOps<func::FuncOp>())
      ok &= nd::isStep(function, nd::Step::Train) || checkResults(function);
    if (!ok)
      signalPassFailure();
  }

  /// No function but `train_step` has results of training.
  static bool checkResults(func::FuncOp function) {
    for (unsigned i = 0; i < function.getNumResults(); ++i) {
      std::optional<nd::TensorRole> role =
          nd::TensorAttributes::ofResult(function, i).getRole();
      if (!nd::isOfTraining(role))
        continue;
      function.emitError() << "result " << i << " of '" << function.getName()
                           << "' is a " << nd::stringifyTensorRole(*role)
                           << ", which 'train_step' alone has";
      return false;
    }
    return true;
  }

  enum class Side { Argument, Result };

  static bool isSameTensor(const nd::TensorAttributes &a,
                           const nd::TensorAttributes &b) {
    return a.getName() == b.getName() && a.getRole() == b.getRole() &&
           a.getOrder() == b.getOrder();
  }

  /// Each cache comes in and goes out.
  static bool checkCaches(func::FuncOp step) {
    auto list = [](auto getAttributes, unsigned count) {
      SmallVector<StringAttr> names;
      for (unsigned i = 0; i < count; ++i)
        if (nd::TensorAttributes tensor = getAttributes(i);
            tensor.hasRole(nd::TensorRole::Cache))
          names.push_back(tensor.getName());
      return names;
    };
    auto in = list(
        [&](unsigned i) { return nd::TensorAttributes::ofArgument(step, i); },
        step.getNumArguments());
    auto out = list(
        [&](unsigned i) { return nd::TensorAttributes::ofResult(step, i); },
        step.getNumResults());
    if (in == out)
      return true;
    step.emitError() << "the caches that '" << step.getName()
                     << "' takes and returns differ";
    return false;
  }

  /// `step` takes all averages that `initialize` makes.
  static bool checkAverages(func::FuncOp initialize, func::FuncOp step) {
    using Average = std::pair<StringAttr, Type>;
    llvm::SmallDenseSet<Average> taken;
    for (auto [index, type] : llvm::enumerate(step.getArgumentTypes()))
      if (auto tensor = nd::TensorAttributes::ofArgument(step, index);
          tensor.hasRole(nd::TensorRole::Average))
        taken.insert({tensor.getName(), type});
    for (auto [index, type] : llvm::enumerate(initialize.getResultTypes())) {
      auto tensor = nd::TensorAttributes::ofResult(initialize, index);
      if (!tensor.hasRole(nd::TensorRole::Average) ||
          taken.contains({tensor.getName(), type}))
        continue;
      step.emitError() << "'" << step.getName() << "' must take average '"
                       << tensor.getName().getValue()
                       << "', as 'initialize' makes it";
      return false;
    }
    return true;
  }

  /// The first `count` arguments or results of `step` must be those that
  /// `initialize` makes, in that order.
  bool checkState(func::FuncOp initialize, func::FuncOp step, Side side,
                  unsigned count) {
    auto types = side == Side::Argument ? step.getArgumentTypes()
                                        : step.getResultTypes();
    for (unsigned i = 0; i < count; ++i) {
      auto wanted = nd::TensorAttributes::ofResult(initialize, i);
      if (i < types.size() && types[i] == initialize.getResultTypes()[i] &&
          isSameTensor(side == Side::Argument
                           ? nd::TensorAttributes::ofArgument(step, i)
                           : nd::TensorAttributes::ofResult(step, i),
                       wanted))
        continue;
      InFlightDiagnostic error = step.emitError();
      error << (side == Side::Argument ? "argument " : "result ") << i
            << " of '" << step.getName() << "' must be result " << i
            << " of 'initialize', with its type, name, role and order";
      error.attachNote(initialize.getLoc()) << "'initialize' is here";
      return false;
    }
    return true;
  }
};
} // namespace

} // namespace meshc::steps
