//===- Padding.cpp - what each rank has and does for nothing --------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Report/Padding.h"
#include <algorithm>

namespace meshc::report {

/// The number of blocks of the dim.
static int64_t countBlocks(const CutDim &dim,
                           const std::vector<int64_t> &meshSizes) {
  int64_t blocks = 1;
  for (size_t axis : dim.axes)
    blocks *= meshSizes[axis];
  return blocks;
}

void Padding::add(double amount, const std::vector<CutDim> &dims) {
  if (amount == 0)
    return;
  std::vector<CutDim> uneven;
  for (const CutDim &dim : dims)
    if (dim.size % countBlocks(dim, meshSizes) != 0)
      uneven.push_back(dim);
  if (uneven.empty())
    return;
  std::sort(uneven.begin(), uneven.end());
  amounts[uneven] += amount;
}

/// The share of the entries of a rank's block that exist. Blocks of blocks: the
/// major axis divides the dim, the next one each of its blocks
/// (docs/rationale/uneven-blocks.md).
static double getExistingShare(const CutDim &dim,
                               const std::vector<int64_t> &meshSizes,
                               const std::vector<int64_t> &coordinates) {
  int64_t entries = dim.size, existing = dim.size;
  for (size_t axis : dim.axes) {
    entries = (entries + meshSizes[axis] - 1) / meshSizes[axis];
    existing =
        std::clamp(existing - coordinates[axis] * entries, int64_t(0), entries);
  }
  return double(existing) / double(entries);
}

std::vector<double> Padding::getOfRanks() const {
  if (amounts.empty())
    return {};
  int64_t ranks = 1;
  for (int64_t size : meshSizes)
    ranks *= size;
  std::vector<double> ofRanks(ranks, 0);
  std::vector<int64_t> coordinates(meshSizes.size(), 0);
  for (double &padding : ofRanks) {
    for (const auto &[dims, amount] : amounts) {
      double share = 1;
      for (const CutDim &dim : dims)
        share *= getExistingShare(dim, meshSizes, coordinates);
      padding += amount * (1 - share);
    }
    // The next rank: the last axis is the minor one.
    for (size_t axis = meshSizes.size(); axis-- > 0;) {
      if (++coordinates[axis] < meshSizes[axis])
        break;
      coordinates[axis] = 0;
    }
  }
  return ofRanks;
}

} // namespace meshc::report
