//===- NdOps.h - all ops of the nd dialect - ---===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_ND_NDOPS_H
#define MESHC_DIALECTS_ND_NDOPS_H

#include "dialects/Nd/Interfaces/ElementEmitter.h"
#include "dialects/Nd/Interfaces/HostTensor.h"
#include "dialects/Nd/Interfaces/OpCost.h"
#include "dialects/Nd/Interfaces/PartitionRule.h"
#include "dialects/Nd/NdTypes.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/Nd/Interfaces/OpInterfaces.h.inc"

#define GET_OP_CLASSES
#undef GET_OP_CLASSES
#define GET_OP_CLASSES
#include "dialects/Nd/Ops/Contraction.h.inc"
#undef GET_OP_CLASSES
#define GET_OP_CLASSES
#include "dialects/Nd/Ops/Indexing.h.inc"
#undef GET_OP_CLASSES
#define GET_OP_CLASSES
#include "dialects/Nd/Ops/Model.h.inc"
#undef GET_OP_CLASSES
#define GET_OP_CLASSES
#include "dialects/Nd/Ops/Normalization.h.inc"
#undef GET_OP_CLASSES
#define GET_OP_CLASSES
#include "dialects/Nd/Ops/Optimizer.h.inc"
#undef GET_OP_CLASSES
#define GET_OP_CLASSES
#include "dialects/Nd/Ops/Pointwise.h.inc"
#undef GET_OP_CLASSES
#define GET_OP_CLASSES
#include "dialects/Nd/Ops/Reduction.h.inc"
#undef GET_OP_CLASSES
#define GET_OP_CLASSES
#include "dialects/Nd/Ops/Shape.h.inc"
#undef GET_OP_CLASSES
#define GET_OP_CLASSES
#include "dialects/Nd/Ops/Source.h.inc"
#undef GET_OP_CLASSES
#define GET_OP_CLASSES
#include "dialects/Nd/Ops/Window.h.inc"

#endif // MESHC_DIALECTS_ND_NDOPS_H
