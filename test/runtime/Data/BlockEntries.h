//===- BlockEntries.h - the entries of a rank's block -----------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_TEST_RUNTIME_DATA_BLOCKENTRIES_H
#define MESHC_TEST_RUNTIME_DATA_BLOCKENTRIES_H

#include "meshc/RuntimeAbi.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace meshc::runtime {

/// The global indices of the entries of `dim` that the rank at `coords` has, by
/// the definition of MeshcDim: each axis cuts the list that the axes before it
/// left. `axes` and `coords` are those of the mesh.
inline std::vector<int64_t>
entriesOf(const MeshcDim &dim, const MeshcAxis *axes, const int64_t *coords) {
  std::vector<int64_t> list(static_cast<size_t>(dim.size));
  std::iota(list.begin(), list.end(), 0);
  auto step = list.size();
  for (uint32_t i = 0; i < dim.axisCount; ++i) {
    const auto parts = static_cast<size_t>(axes[dim.axes[i]].size);
    step = (step + parts - 1) / parts;
    size_t begin = static_cast<size_t>(coords[dim.axes[i]]) * step;
    begin = std::min(begin, list.size());
    list.resize(std::min(begin + step, list.size()));
    list.erase(list.begin(), list.begin() + static_cast<int64_t>(begin));
  }
  return list;
}

} // namespace meshc::runtime

#endif // MESHC_TEST_RUNTIME_DATA_BLOCKENTRIES_H
