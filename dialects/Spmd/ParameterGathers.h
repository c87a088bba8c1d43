//===- ParameterGathers.h - what gathers cut parameters ---------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_SPMD_PARAMETERGATHERS_H
#define MESHC_DIALECTS_SPMD_PARAMETERGATHERS_H

#include "dialects/Nd/Ops/LoopOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace meshc::spmd {

/// Whether the value is a parameter, the average of one, or computed from such
/// values and constants alone, without a collective. So it, or what it is
/// computed from, is there during the whole step. In a loop, whole operands
/// count, but not entries.
bool isOfParameter(mlir::Value value);

/// Whether the op of a partitioned program, a reshard or an all_gather, gathers
/// a parameter for a micro-batch, in the loop over these or in a loop within.
/// Such a gather stays in the loop, so that the parameter is whole only while
/// it is used (stage 3 of ZeRO: Rajbhandari et al., arXiv 1910.02054).
bool gathersForMicroBatch(mlir::Operation *op);

/// Lets the phases partition and collectives gather parameters once for all
/// micro-batches, before their loop: sets the attribute `spmd.gather_once` of
/// the module.
void setGathersOnce(mlir::ModuleOp module);
bool gathersOnce(mlir::ModuleOp module);
/// Removes the attribute.
void clearGathersOnce(mlir::ModuleOp module);

} // namespace meshc::spmd

#endif // MESHC_DIALECTS_SPMD_PARAMETERGATHERS_H
