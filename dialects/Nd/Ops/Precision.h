//===- Precision.h - which ops run in 16 bits -------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_ND_OPS_PRECISION_H
#define MESHC_DIALECTS_ND_OPS_PRECISION_H

#include "mlir/IR/OpDefinition.h"

namespace meshc::nd {

/// The traits Nd_ShortProduct and Nd_KeepsShort (Precision.td).
template <typename Op>
class ShortProduct : public mlir::OpTrait::TraitBase<Op, ShortProduct> {};
template <typename Op>
class KeepsShort : public mlir::OpTrait::TraitBase<Op, KeepsShort> {};

} // namespace meshc::nd

#endif // MESHC_DIALECTS_ND_OPS_PRECISION_H
