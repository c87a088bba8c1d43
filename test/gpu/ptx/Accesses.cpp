//===- Accesses.cpp - who accessed memory, and what races -----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/gpu/ptx/Accesses.h"

#include <algorithm>

namespace meshc::ptx {

/// What the thread's last atomic operation read is visible from now on.
void BlockOrder::fence(Moment now) {
  fences[now.thread] = now;
  auto pending = atomics.find(now.thread);
  if (pending == atomics.end())
    return;
  for (const auto &[block, released] : pending->second) {
    auto &known = acquired[block];
    if (known.first.epoch <= released.epoch)
      known = {released, now};
  }
  atomics.erase(pending);
}

bool BlockOrder::isBefore(Stamp access, Moment now) const {
  if (access.isOfManyBlocks())
    return false;
  auto found = acquired.find(access.getBlock());
  if (found == acquired.end())
    return false;
  const auto &[released, fence] = found->second;
  bool wasReleased = access.getEpoch() < released.epoch ||
                     (access.getThread() == released.thread &&
                      access.getEpoch() == released.epoch);
  return wasReleased && (now.thread == fence.thread || now.epoch > fence.epoch);
}

void ReleasedMemory::onAtomic(uint64_t address, uint64_t block,
                              BlockOrder &order, Moment now) {
  auto fence = order.fences.find(now.thread);
  bool releases = fence != order.fences.end();
  if (!releases && !released.count(address))
    return;
  Releases &here = released[address];
  // What it reads is released by others.
  Releases &pending = order.atomics[now.thread];
  for (const auto &[other, moment] : here)
    if (other != block)
      pending[other] = moment;
  if (!releases)
    return;
  Moment before = fence->second;
  here[block] = before;
  for (const auto &[other, known] : order.acquired)
    if (known.second.thread == before.thread ||
        known.second.epoch < before.epoch)
      here.emplace(other, known.first);
}

void CellPage::clear(uint64_t ofLaunch, uint64_t size) {
  launch = ofLaunch;
  cells.assign((size + (1u << shift) - 1) >> shift, Cell());
}

void CellPage::divide() {
  std::vector<Cell> finer;
  finer.reserve(cells.size() << shift);
  for (const Cell &cell : cells)
    finer.insert(finer.end(), size_t(1) << shift, cell);
  cells = std::move(finer);
  shift = 0;
}

} // namespace meshc::ptx
