//===- Sites.h - the numbers of collectives -------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_REPORT_SITES_H
#define MESHC_LIB_REPORT_SITES_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SetVector.h"

namespace meshc::report {

/// The collectives (exec.collective) of a module after the schedule phase. The
/// position of each is its site in MeshcProgram: code generation numbers
/// collectives in the order in which the code of the functions first names
/// them.
llvm::SetVector<mlir::Operation *> listSites(mlir::ModuleOp module);

} // namespace meshc::report

#endif // MESHC_LIB_REPORT_SITES_H
