//===- RecomputeBlock.cpp - what gradients compute again ------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/RecomputeBlock.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;

namespace meshc::nd {

std::optional<int64_t> getRecomputeBlock(Operation *op) {
  auto number =
      dyn_cast_or_null<IntegerAttr>(op->getDiscardableAttr(recomputeAttrName));
  return number ? std::optional(number.getInt()) : std::nullopt;
}

void setRecomputeBlock(Operation *op, int64_t number) {
  auto type = IntegerType::get(op->getContext(), 64);
  op->setDiscardableAttr(recomputeAttrName, IntegerAttr::get(type, number));
}

void removeRecomputeBlock(Operation *op) {
  op->removeDiscardableAttr(recomputeAttrName);
}

} // namespace meshc::nd
