//===- ModelOps.h - the ops of the family Model -----------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_ND_OPS_MODELOPS_H
#define MESHC_DIALECTS_ND_OPS_MODELOPS_H

#include "dialects/Nd/NdInterfaces.h"

#define GET_OP_CLASSES
#include "dialects/Nd/Ops/Model.h.inc"

namespace meshc::nd {

/// Into how many equal blocks a composite op divides a dim of `size` entries,
/// so that each rank's entries are whole blocks whichever of the layout's rules
/// for the dim applies: the least common multiple of their ranks, as far as it
/// divides the size. 1 if no rule cuts the dim.
int64_t getBlocksOfRanks(mlir::Operation *op, llvm::StringRef dim,
                         int64_t size);

/// The number of the module's nd.run_setting of that name, from 0 in the order
/// of the module; nothing if there is none.
std::optional<unsigned> findRunSetting(mlir::ModuleOp module,
                                       mlir::StringAttr name);

} // namespace meshc::nd

#endif // MESHC_DIALECTS_ND_OPS_MODELOPS_H
