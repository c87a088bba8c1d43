//===- EvaluationRun.h - evaluations in the interpreter ---------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_REFERENCE_EVALUATIONRUN_H
#define MESHC_LIB_REFERENCE_EVALUATIONRUN_H

#include "lib/Reference/Interpreter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringMap.h"

namespace meshc::reference {

/// The examples of an evaluation, by the names of inputs: a tensor for each
/// example, whose dim of examples has size 1.
using Examples = llvm::StringMap<std::vector<nd::HostTensor>>;

/// Appends the examples of a batch to those of the input `argument` of a step
/// function. Its first dim as declared counts them.
void appendExamples(mlir::func::FuncOp step, unsigned argument,
                    const nd::HostTensor &batch,
                    std::vector<nd::HostTensor> &examples);

/// How many examples a batch of the step has.
int64_t getBatchSize(mlir::func::FuncOp step);

/// Argument `index` of a step on one device over `count` examples from `first`
/// on: the tensor of its name in `state`; an input, whose entries behind these
/// examples are nd::getSpoiledValue; how many complete batches follow and how
/// many examples the rest has, for this batch alone; otherwise zeros.
nd::HostTensor makeArgument(mlir::func::FuncOp step, unsigned index,
                            const llvm::StringMap<nd::HostTensor> &state,
                            const Examples &examples, int64_t first,
                            int64_t count);

/// Runs `eval_step` (or `eval_average_step`) on one device over all examples,
/// `perBatch` at a time, from 1 to getBatchSize(): what a batch lacks is
/// padding, filled with nd::getSpoiledValue. A step that needs complete batches
/// takes getBatchSize(), which must divide the examples. `state` has the
/// parameters by name. Returns the metrics by name.
llvm::FailureOr<llvm::StringMap<nd::HostTensor>> runEvaluation(
    mlir::func::FuncOp step, const llvm::StringMap<nd::HostTensor> &state,
    const Examples &examples, int64_t perBatch, const RunOptions &options);

} // namespace meshc::reference

#endif // MESHC_LIB_REFERENCE_EVALUATIONRUN_H
