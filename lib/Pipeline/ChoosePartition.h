//===- ChoosePartition.h - the least predicted time -------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_PIPELINE_CHOOSEPARTITION_H
#define MESHC_LIB_PIPELINE_CHOOSEPARTITION_H

#include "lib/Cost/Machine.h"
#include "lib/Pipeline/Compile.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace meshc {

/// Runs the phase partition on a program after the phase layout: with the best
/// plans that partition::searchPlans finds for `machine`. `plans` is set to
/// them, if it is not null. Where plans cannot be built, which is a defect, the
/// search goes on without them; with --verify, the result is then Internal.
ExitCode partitionProgram(mlir::OwningOpRef<mlir::ModuleOp> &program,
                          const CompileOptions &options,
                          const cost::Machine &machine,
                          mlir::DictionaryAttr *plans = nullptr);

} // namespace meshc

#endif // MESHC_LIB_PIPELINE_CHOOSEPARTITION_H
