//===- FunctionPlans.h - the plans of a program's functions -----*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_SPMD_FUNCTIONPLANS_H
#define MESHC_DIALECTS_SPMD_FUNCTIONPLANS_H

#include "dialects/Spmd/SpmdOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace meshc::spmd {

/// Gives the function its plan, as the attribute `spmd.plan`.
void setPlan(mlir::Operation *function, PlanAttr plan);
/// The function's plan; null if it has none.
PlanAttr getPlan(mlir::Operation *function);
/// The same, and removes it.
PlanAttr takePlan(mlir::Operation *function);

/// The plans of all functions of the module that have one: a dictionary by the
/// functions' names.
mlir::DictionaryAttr getPlans(mlir::ModuleOp module);
/// Gives each function its plan of the dictionary. Fails, with an error at the
/// function or the module, if a function has none in it, or one in it is for no
/// function.
mlir::LogicalResult setPlans(mlir::ModuleOp module, mlir::DictionaryAttr plans);

/// The dictionary as text, one step of a plan in a line.
std::string printPlans(mlir::DictionaryAttr plans);
/// setPlans of what a file has, as printPlans wrote it. Errors name the place
/// in the file.
mlir::LogicalResult readPlans(mlir::ModuleOp module, llvm::StringRef file);

} // namespace meshc::spmd

#endif // MESHC_DIALECTS_SPMD_FUNCTIONPLANS_H
