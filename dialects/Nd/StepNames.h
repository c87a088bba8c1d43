//===- StepNames.h - the functions of a run ---------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The functions that the steps phase makes of a model, by which every later
/// phase knows them: func.func until the schedule, then exec.func. Their list
/// is meshc/StepFunctions.def.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_ND_STEPNAMES_H
#define MESHC_DIALECTS_ND_STEPNAMES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringRef.h"

namespace meshc::nd {

/// The functions of a run, in the order of the list.
enum class Step {
#define MESHC_STEP_FUNCTION(Kind, field, name) Kind,
#include "meshc/StepFunctions.def"
};

/// All functions that a program may have.
inline constexpr Step allSteps[] = {
#define MESHC_STEP_FUNCTION(Kind, field, name) Step::Kind,
#include "meshc/StepFunctions.def"
};

/// The name of the function in the IR and in reports: "train_step".
inline llvm::StringRef getStepName(Step step) {
  static constexpr llvm::StringLiteral names[] = {
#define MESHC_STEP_FUNCTION(Kind, field, name) #name,
#include "meshc/StepFunctions.def"
  };
  return names[unsigned(step)];
}

/// Whether the function, a func.func or an exec.func, is the step.
template <typename FunctionOp> bool isStep(FunctionOp function, Step step) {
  return function.getSymName() == getStepName(step);
}

/// The function of the module that is the step; null if there is none.
template <typename FunctionOp = mlir::func::FuncOp>
FunctionOp findStep(mlir::ModuleOp module, Step step) {
  return module.lookupSymbol<FunctionOp>(getStepName(step));
}

/// Programs are compared by the cost of one function: the training step, or the
/// last function if there is none. Returns its iterator in `functions`, which
/// are in the program's order; their end if there are none. `getName` is the
/// name of an element.
template <typename Functions, typename GetName>
auto findCompared(Functions &&functions, GetName getName) {
  auto compared = functions.begin();
  for (auto it = functions.begin(); it != functions.end(); ++it) {
    compared = it;
    if (getName(*it) == getStepName(Step::Train))
      break;
  }
  return compared;
}

/// The same of the functions of a module; null if there are none.
template <typename FunctionOp>
FunctionOp findComparedStep(mlir::ModuleOp module) {
  auto functions = module.getOps<FunctionOp>();
  auto compared = findCompared(
      functions, [](FunctionOp function) { return function.getSymName(); });
  return compared == functions.end() ? FunctionOp() : *compared;
}

} // namespace meshc::nd

#endif // MESHC_DIALECTS_ND_STEPNAMES_H
