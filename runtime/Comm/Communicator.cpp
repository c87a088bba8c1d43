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

std::string Communicator::describeSite(uint32_t site) const {
  if (!names || site >= names->siteCount)
    return "collective site " + std::to_string(site);
  const MeshcSite &known = names->sites[site];
  return std::string(known.location) + " (" + known.description + ")";
}
