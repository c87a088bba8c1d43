//===- Communicator.cpp - how ranks speak with each other -----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Comm/Communicator.h"

#include <vector>

using namespace meshc::runtime;

Communicator::~Communicator() = default;

void Communicator::gather(
    const void *data, size_t bytes, int root,
    const std::function<void(int, const void *, size_t)> &take) {
  if (rank() != root) {
    uint64_t count = bytes;
    send(&count, sizeof(count), root);
    send(data, bytes, root);
    return;
  }
  std::vector<char> block;
  for (int from = 0; from < size(); ++from) {
    if (from == root) {
      take(from, data, bytes);
      continue;
    }
    uint64_t count = 0;
    receive(&count, sizeof(count), from);
    block.resize(count);
    receive(block.data(), count, from);
    take(from, block.data(), count);
  }
}

void Communicator::exchange(uint32_t axes, const Group &group, uint32_t site,
                            const void *own, size_t bytes, void *all) {
  auto words = static_cast<int64_t>(bytes / sizeof(int32_t));
  const int64_t ranks = group.size();
  const MeshcCollectiveItem item = {1, ranks, words, 1, ranks, words};
  MeshcCollective collective = {};
  collective.kind = MESHC_ALL_GATHER;
  collective.type = MESHC_I32;
  collective.axes = axes;
  collective.site = site;
  collective.itemCount = 1;
  collective.items = &item;
  void *from = const_cast<void *>(own);
  run(collective, group, &from, &all);
}

std::string Communicator::describeSite(uint32_t site) const {
  if (site == StopSite)
    return "the agreement on when to stop";
  if (site == SetupSite)
    return "the set-up of devices";
  if (!names || site >= names->siteCount)
    return "collective site " + std::to_string(site);
  const MeshcSite &known = names->sites[site];
  return std::string(known.location) + " (" + known.description + ")";
}
