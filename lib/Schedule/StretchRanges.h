//===- StretchRanges.h - more time for collectives ------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A collective runs while other ops compute, from its op on until something
/// needs its buffers. So its buffers live longer than the program requires, as
/// far as this does not raise the most bytes that live at the same time.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_SCHEDULE_STRETCHRANGES_H
#define MESHC_LIB_SCHEDULE_STRETCHRANGES_H

#include "lib/Schedule/Storage.h"
#include "llvm/ADT/SmallVector.h"

namespace meshc::schedule {

/// When a collective may run, by the numbers of the block's ops.
struct CollectiveRange {
  mlir::Operation *op;
  size_t time;
  /// It may begin before this op or a later one; `time` if it stays.
  size_t earliest;
  /// Its operands may stay untouched until this op; `time` if they die there.
  size_t latest;
  llvm::SmallVector<Storage *> received, sent;
  size_t begin; ///< out: it begins before this op
};

/// Stretches the live ranges in `storages` of what the collectives, in the
/// order of the block, receive (`received`) and send (`sent`). `count`: ops of
/// the block.
void stretchRanges(llvm::MutableArrayRef<CollectiveRange> collectives,
                   const std::deque<Storage> &storages, size_t count,
                   bool received, bool sent);

} // namespace meshc::schedule

#endif // MESHC_LIB_SCHEDULE_STRETCHRANGES_H
