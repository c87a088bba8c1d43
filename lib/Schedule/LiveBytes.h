//===- LiveBytes.h - the memory of a block in a given order -----*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_SCHEDULE_LIVEBYTES_H
#define MESHC_LIB_SCHEDULE_LIVEBYTES_H

#include "mlir/IR/Operation.h"

namespace meshc::schedule {

/// The bytes of results that live on a rank while each op of a block runs, in
/// this order, which does not contain the terminator. What the block returns or
/// yields does not count, since it has its place anyway. `inner` has the bytes
/// that live inside of a loop at its peak.
llvm::SmallVector<int64_t>
countLiveBytes(llvm::ArrayRef<mlir::Operation *> order,
               const llvm::DenseMap<mlir::Operation *, int64_t> &inner);

} // namespace meshc::schedule

#endif // MESHC_LIB_SCHEDULE_LIVEBYTES_H
