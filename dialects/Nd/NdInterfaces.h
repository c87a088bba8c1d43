//===- NdInterfaces.h - types and interfaces of the nd dialect --*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The types, attributes and op interfaces of the nd dialect, without its ops.
/// A file that names ops also includes their families (dialects/Nd/Ops/*Ops.h),
/// so that a change to one family rebuilds only its users. The precompiled
/// header of the compiler contains this file.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_ND_NDINTERFACES_H
#define MESHC_DIALECTS_ND_NDINTERFACES_H

#include "dialects/Nd/Interfaces/AffineIndex.h"
#include "dialects/Nd/Interfaces/ElementEmitter.h"
#include "dialects/Nd/Interfaces/HostTensor.h"
#include "dialects/Nd/Interfaces/OpCost.h"
#include "dialects/Nd/Interfaces/OptimizerParts.h"
#include "dialects/Nd/Interfaces/PartitionRule.h"
#include "dialects/Nd/Interfaces/PositionBuilder.h"
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

namespace meshc::nd {

/// The trait Nd_ReadsPosition (NdOp.td).
template <typename Op>
class ReadsPosition : public mlir::OpTrait::TraitBase<Op, ReadsPosition> {};

} // namespace meshc::nd

#endif // MESHC_DIALECTS_ND_NDINTERFACES_H
