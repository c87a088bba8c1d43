//===- ReverseMode.cpp - gradients of one value ---------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Steps/Autodiff/ReverseMode.h"
#include "lib/Steps/Autodiff/BlockGradient.h"
#include "lib/Steps/Autodiff/StoreResiduals.h"

using namespace mlir;

namespace meshc::steps {

FailureOr<SmallVector<Value>> buildGradients(OpBuilder &builder, Value loss,
                                             ValueRange variables,
                                             Value factor) {
  Block *block = loss.getParentBlock();
  builder.setInsertionPoint(block->getTerminator());
  SmallVector<ScanPair> scans;
  FailureOr<SmallVector<Value>> gradients =
      differentiateBlock(builder, *block, Seed{loss, factor}, variables, scans);
  if (failed(gradients))
    return failure();
  for (ScanPair pair : scans)
    if (failed(storeResiduals(pair)))
      return failure();
  return gradients;
}

} // namespace meshc::steps
