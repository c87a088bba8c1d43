//===- RaceCheck.cpp - accesses of emulated threads that race -------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Device/RaceCheck.h"

#include <algorithm>

using namespace meshc::runtime;

static constexpr uintptr_t pageBytes = 4096;

void RaceCheck::beginLaunch() {
  ++launch;
  released.clear();
}

RaceCheck::Page &RaceCheck::findPage(uintptr_t address, bool needsBytes) {
  uintptr_t number = address / pageBytes;
  if (!lastPage || number != lastNumber) {
    std::unique_ptr<Page> &page = pages[number];
    if (!page) {
      page = std::make_unique<Page>();
      page->cells.resize(pageBytes / 4);
    }
    lastPage = page.get();
    lastNumber = number;
  }
  if (needsBytes && lastPage->cellBytes == 4) {
    std::vector<Cell> bytes;
    for (const Cell &word : lastPage->cells)
      bytes.insert(bytes.end(), 4, word);
    lastPage->cells = std::move(bytes);
    lastPage->cellBytes = 1;
  }
  return *lastPage;
}

void RaceCheck::forget(const void *address, int64_t bytes) {
  auto begin = reinterpret_cast<uintptr_t>(address), end = begin + bytes;
  while (begin < end) {
    uintptr_t pageEnd =
        std::min<uintptr_t>(end, (begin / pageBytes + 1) * pageBytes);
    Page &page = findPage(begin, false);
    for (; begin < pageEnd; begin += page.cellBytes)
      page.cells[begin % pageBytes / page.cellBytes].launch = 0;
    begin = pageEnd;
  }
}

bool RaceCheck::isOrdered(const Access &before, const BlockOrder &block,
                          uint32_t thread) {
  if (before.block == Access::none)
    return true;
  if (before.block == block.number)
    return before.thread == thread || before.epoch < block.epoch;
  auto found = block.acquired.find(before.block);
  if (found == block.acquired.end())
    return false;
  const auto &[release, acquire] = found->second;
  bool isReleased =
      before.epoch < release.epoch ||
      (before.epoch == release.epoch && before.thread == release.thread);
  return isReleased &&
         (block.epoch > acquire.epoch || thread == acquire.thread);
}

std::optional<std::string> RaceCheck::visit(Cell &cell, const BlockOrder &block,
                                            uint32_t thread, AccessKind kind,
                                            const char *place) {
  const bool writes = kind != AccessKind::Read;
  auto conflict = [&](const Access &other,
                      const char *did) -> std::optional<std::string> {
    if (isOrdered(other, block, thread) ||
        (other.isAtomic && kind == AccessKind::Atomic))
      return {};
    std::string who =
        other.block == Access::many ? "threads of several blocks"
        : other.thread == manyThreads
            ? "several threads of block " + std::to_string(other.block)
            : "thread " + std::to_string(other.thread) + " of block " +
                  std::to_string(other.block);
    return who + " " + did + " at " + other.place;
  };
  if (auto found = conflict(cell.write, "wrote"))
    return found;
  if (writes)
    if (auto found = conflict(cell.read, "read"))
      return found;
  Access now;
  now.block = block.number;
  now.thread = thread;
  now.epoch = block.epoch;
  now.isAtomic = kind == AccessKind::Atomic;
  now.place = place;
  if (writes) {
    cell.write = now;
    cell.read = Access();
    return {};
  }
  // Unordered readers are kept together: a later write must be ordered after
  // all of them.
  if (!isOrdered(cell.read, block, thread)) {
    if (cell.read.block != block.number)
      now.block = Access::many;
    now.thread = manyThreads;
  }
  cell.read = now;
  return {};
}

/// The order of atomic operations at an address: a thread releases what its
/// last fence covers, and may acquire what others released there.
void RaceCheck::orderByAtomic(BlockOrder &block, uint32_t thread,
                              uintptr_t address) {
  Releases &here = released[address];
  block.atomics[thread] = here;
  auto fence = block.fences.find(thread);
  if (fence != block.fences.end())
    here[block.number] = fence->second;
}

void RaceCheck::fence(BlockOrder &block, uint32_t thread) {
  Moment now = {block.number, thread, block.epoch};
  block.fences[thread] = now;
  auto found = block.atomics.find(thread);
  if (found == block.atomics.end())
    return;
  for (const auto &[other, release] : found->second)
    block.acquired[other] = {release, now};
  block.atomics.erase(found);
}

std::optional<std::string> RaceCheck::access(BlockOrder &block, uint32_t thread,
                                             const void *address, int64_t bytes,
                                             AccessKind kind,
                                             const char *place) {
  auto begin = reinterpret_cast<uintptr_t>(address), end = begin + bytes;
  const bool needsBytes = (begin | static_cast<uintptr_t>(bytes)) % 4 != 0;
  for (uintptr_t at = begin; at < end;) {
    Page &page = findPage(at, needsBytes);
    Cell &cell = page.cells[at % pageBytes / page.cellBytes];
    if (cell.launch != launch)
      cell = {launch, {}, {}};
    if (auto found = visit(cell, block, thread, kind, place))
      return found;
    at += page.cellBytes;
  }
  if (kind == AccessKind::Atomic)
    orderByAtomic(block, thread, begin);
  return {};
}
