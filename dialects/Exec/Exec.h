//===- Exec.h - buffers, launches and library calls -----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_EXEC_EXEC_H
#define MESHC_DIALECTS_EXEC_EXEC_H

#include "dialects/Exec/Interfaces/Accesses.h"
#include "dialects/Exec/Interfaces/Arenas.h"
#include "dialects/Exec/Interfaces/CallDescription.h"
#include "dialects/Exec/Interfaces/CallEmitter.h"
#include "dialects/Exec/Interfaces/LibraryOps.h"
#include "dialects/Nd/Ops/ContractionOps.h"
#include "dialects/Spmd/SpmdOps.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/RegionKindInterface.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/Exec/ExecDialect.h.inc"

#include "dialects/Exec/ExecEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Exec/ExecAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/Exec/ExecTypes.h.inc"

#include "dialects/Exec/Interfaces/ExecInterfaces.h.inc"

#define GET_OP_CLASSES
#include "dialects/Exec/ExecOps.h.inc"

namespace meshc::exec {

/// The loops around an op of a step function, the outermost first.
llvm::SmallVector<LoopOp> getLoopsAround(mlir::Operation *op);
/// Their numbers of iterations.
llvm::SmallVector<int64_t> getLoopSizes(mlir::Operation *op);

/// The ops of a function or loop that do something, in order.
llvm::SmallVector<StepOpInterface> getSteps(mlir::Block &body);
/// Whether each op of the body belongs in a step function, and the body has no
/// arguments; an error if not.
llvm::LogicalResult verifySteps(mlir::Operation *parent);

/// Reference semantics of the body of a kernel, fusion or product on one rank's
/// blocks: one tensor for each output.
llvm::SmallVector<nd::HostTensor>
evaluate(mlir::Block &block, llvm::ArrayRef<const nd::HostTensor *> operands,
         const nd::EvaluationContext &context);

} // namespace meshc::exec

#endif // MESHC_DIALECTS_EXEC_EXEC_H
