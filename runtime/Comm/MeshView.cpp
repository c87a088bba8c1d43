//===- MeshView.cpp - where a rank stands in the mesh ---------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Comm/MeshView.h"

#include "meshc/RuntimeAbi.h"
#include "runtime/Base/Failure.h"

#include <limits>

using namespace meshc::runtime;

MeshView::MeshView(std::vector<int64_t> axisSizes, int rank)
    : sizes(std::move(axisSizes)), ownRank(rank) {
  if (sizes.size() > MESHC_MAX_AXES)
    throw Failure(ExitCode::Mesh,
                  "the mesh has " + std::to_string(sizes.size()) +
                      " axes, more than the " + std::to_string(MESHC_MAX_AXES) +
                      " possible");
  int64_t count = 1;
  strides.resize(sizes.size());
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = count;
    if (sizes[i] < 1 || sizes[i] > std::numeric_limits<int>::max() / count)
      throw Failure(ExitCode::Mesh, "mesh axis " + std::to_string(i) +
                                        " has size " +
                                        std::to_string(sizes[i]) +
                                        ", which no mesh of ranks can have");
    count *= sizes[i];
  }
  rankCount = static_cast<int>(count);
  if (rank < 0 || rank >= rankCount)
    throw Failure(ExitCode::Mesh, "rank " + std::to_string(rank) +
                                      " is not one of the mesh's " +
                                      std::to_string(rankCount));
  for (size_t i = 0; i < sizes.size(); ++i)
    ownCoords.push_back(rank / strides[i] % sizes[i]);
}

const Group &MeshView::group(uint32_t axes) const {
  auto found = groups.find(axes);
  if (found == groups.end())
    found = groups.emplace(axes, makeGroup(axes)).first;
  return found->second;
}

Group MeshView::makeGroup(uint32_t axes) const {
  if (sizes.size() < 32 && (axes >> sizes.size()) != 0)
    throw Failure(ExitCode::Internal,
                  "a collective names mesh axes (mask " + std::to_string(axes) +
                      ") beyond the mesh's " + std::to_string(sizes.size()));
  Group group;
  int64_t base = ownRank;
  for (size_t i = 0; i < sizes.size(); ++i)
    if (axes >> i & 1)
      base -= ownCoords[i] * strides[i];
  group.ranks.push_back(static_cast<int>(base));
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (!(axes >> i & 1))
      continue;
    group.axes.push_back(sizes[i]);
    std::vector<int> wider;
    for (int first : group.ranks)
      for (int64_t c = 0; c < sizes[i]; ++c)
        wider.push_back(static_cast<int>(first + c * strides[i]));
    group.ranks = std::move(wider);
  }
  while (group.ranks[group.index] != ownRank)
    ++group.index;
  return group;
}
