//===- StoreResiduals.h - what the gradient of a loop reads -----*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_STEPS_AUTODIFF_STORERESIDUALS_H
#define MESHC_LIB_STEPS_AUTODIFF_STORERESIDUALS_H

#include "lib/Steps/Autodiff/BlockGradient.h"

namespace meshc::steps {

/// Turns the uses of values of the forward loop's body in that of the backward
/// loop into operands of the latter. Stacked and whole operands of the forward
/// loop are passed on. Ops without operands, such as constants, are repeated.
/// All other values become stacked results of the forward loop, which is
/// replaced. The pairs within the loops must be done before. Fails with an
/// error on a value that cannot be stacked, as it has the loop's dim.
llvm::LogicalResult storeResiduals(ScanPair pair);

} // namespace meshc::steps

#endif // MESHC_LIB_STEPS_AUTODIFF_STORERESIDUALS_H
