//===- CollectiveCall.h - the calls that collectives become -----*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The ops of spmd that are collectives have ScheduledOpInterface, as fusions
/// and library ops do. Its definition for them is here, since spmd knows
/// nothing of memory orders and buffers. A new collective must be added to it.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_EXEC_COLLECTIVECALL_H
#define MESHC_DIALECTS_EXEC_COLLECTIVECALL_H

#include "mlir/IR/MLIRContext.h"

namespace meshc::exec {

/// Gives the collectives of spmd, which the context has loaded, the interface.
/// For the initialization of the exec dialect.
void attachCollectiveCalls(mlir::MLIRContext &context);

} // namespace meshc::exec

#endif // MESHC_DIALECTS_EXEC_COLLECTIVECALL_H
