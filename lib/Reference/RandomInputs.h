//===- RandomInputs.h - values to run a program on ------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_REFERENCE_RANDOMINPUTS_H
#define MESHC_LIB_REFERENCE_RANDOMINPUTS_H

#include "lib/Reference/CompareSteps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <random>

namespace meshc::reference {

/// CompareOptions::integerLimits for a model, by its inputs' names: the least
/// size of the dims that they index. Later phases take ops that index apart
/// (cross_entropy), and the unrolled program takes the inputs apart.
llvm::StringMap<int64_t> findIntegerLimits(mlir::ModuleOp model);

/// Random values for an argument of a step function, whole: i1 either, i32
/// below their limit (CompareOptions::integerLimits), floats normal. The state
/// of an optimizer is positive, because updates take its square root.
nd::HostTensor drawArgument(mlir::func::FuncOp function, unsigned index,
                            const CompareOptions &options,
                            std::mt19937_64 &random);

} // namespace meshc::reference

#endif // MESHC_LIB_REFERENCE_RANDOMINPUTS_H
