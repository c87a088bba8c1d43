//===- Storage.h - memory that values share in turn -----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_SCHEDULE_STORAGE_H
#define MESHC_LIB_SCHEDULE_STORAGE_H

#include "dialects/Exec/Exec.h"
#include <deque>

namespace meshc::schedule {

/// The next multiple of the arena's alignment.
inline int64_t alignInArena(int64_t bytes) {
  return llvm::alignTo(bytes, exec::arenaAlignment);
}

/// Memory that values share in turn, and their live range: the numbers of the
/// first op that writes and the last that reads, both included.
struct Storage {
  int64_t bytes = 0;
  size_t begin = 0, end = 0;
  size_t number = 0;  ///< in the order of the ops
  int64_t offset = 0; ///< in the block's memory, then in the arena

  bool meets(const Storage &other) const {
    return begin <= other.end && other.begin <= end;
  }
};

} // namespace meshc::schedule

#endif // MESHC_LIB_SCHEDULE_STORAGE_H
