//===- StretchRanges.cpp - more time for collectives ----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Schedule/StretchRanges.h"

using namespace mlir;

namespace meshc::schedule {

namespace {
/// The bytes that live at each op, and the most of all.
class LiveBytes {
public:
  LiveBytes(const std::deque<Storage> &storages, size_t count)
      : bytes(count + 1, 0) {
    for (const Storage &storage : storages)
      add(storage, storage.begin, storage.end + 1);
    most = *llvm::max_element(bytes);
  }

  /// Counts the storage from op `begin` on, before op `end`.
  void add(const Storage &storage, size_t begin, size_t end) {
    for (size_t time = begin; time < end && time < bytes.size(); ++time)
      bytes[time] += alignInArena(storage.bytes);
  }
  bool hasRoom(size_t time, int64_t more) const {
    return bytes[time] + more <= most;
  }

private:
  llvm::SmallVector<int64_t> bytes;
  int64_t most;
};
} // namespace

static int64_t getBytes(llvm::ArrayRef<Storage *> storages) {
  int64_t bytes = 0;
  for (const Storage *storage : storages)
    bytes += alignInArena(storage->bytes);
  return bytes;
}

static void beginEarly(CollectiveRange &collective, LiveBytes &live) {
  int64_t bytes = getBytes(collective.received);
  size_t begin = collective.time;
  while (begin > collective.earliest && live.hasRoom(begin - 1, bytes))
    --begin;
  for (Storage *storage : collective.received) {
    live.add(*storage, begin, collective.time);
    storage->begin = begin;
  }
  collective.begin = begin;
}

static void keepSent(CollectiveRange &collective, LiveBytes &live) {
  // What others read later lives on in any case.
  llvm::SmallVector<Storage *> dying;
  for (Storage *storage : collective.sent)
    if (storage->end == collective.time)
      dying.push_back(storage);
  int64_t bytes = getBytes(dying);
  size_t end = collective.time;
  while (end < collective.latest && live.hasRoom(end + 1, bytes))
    ++end;
  for (Storage *storage : dying) {
    live.add(*storage, collective.time + 1, end + 1);
    storage->end = end;
  }
}

void stretchRanges(llvm::MutableArrayRef<CollectiveRange> collectives,
                   const std::deque<Storage> &storages, size_t count,
                   bool received, bool sent) {
  LiveBytes live(storages, count);
  for (CollectiveRange &collective : collectives) {
    collective.begin = collective.time;
    if (received)
      beginEarly(collective, live);
    if (sent)
      keepSent(collective, live);
  }
}

} // namespace meshc::schedule
