//===- RoundedParts.cpp - partial sums of 16 bits -------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/RoundedParts.h"
#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;

namespace meshc::nd {

bool hasRoundedParts(Operation *op) {
  return op->hasAttr(roundedPartsAttrName);
}

void setRoundedParts(Operation *op) {
  op->setDiscardableAttr(roundedPartsAttrName, UnitAttr::get(op->getContext()));
}

void removeRoundedParts(Operation *op) {
  op->removeDiscardableAttr(roundedPartsAttrName);
}

void copyRoundedParts(Operation *from, Operation *to) {
  if (hasRoundedParts(from))
    setRoundedParts(to);
}

} // namespace meshc::nd
