//===- MeshView.h - where a rank stands in the mesh -------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The mesh as one rank sees it: its coordinates, and for a set of axes the
/// group of ranks that differ from it on these axes only.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_COMM_MESHVIEW_H
#define MESHC_RUNTIME_COMM_MESHVIEW_H

#include <cstdint>
#include <map>
#include <vector>

namespace meshc::runtime {

/// The ranks that take part in a collective, in the order of the group, and
/// this rank's place among them: ranks[index] is this rank.
struct Group {
  std::vector<int> ranks;
  int index = 0;
  /// The sizes of the mesh axes over which the ranks differ, in the mesh's
  /// order; empty for ranks that were not chosen by axes.
  std::vector<int64_t> axes;

  int size() const { return static_cast<int>(ranks.size()); }
};

/// Calls `visit` with the place of each other member, starting after this
/// rank's: all ranks begin with different ones.
template <class Visit> void forOthers(const Group &group, Visit visit) {
  for (int d = 1; d < group.size(); ++d)
    visit((group.index + d) % group.size());
}

/// Ranks are numbered row-major over the axes, the last axis fastest.
class MeshView {
public:
  /// `axisSizes`: at most MESHC_MAX_AXES sizes, each ≥ 1; an empty list is the
  /// mesh of one rank. 0 ≤ `rank` < their product. Throws Failure (Mesh)
  /// otherwise.
  MeshView(std::vector<int64_t> axisSizes, int rank);

  int rank() const { return ownRank; }
  /// The number of ranks of the mesh.
  int size() const { return rankCount; }
  const std::vector<int64_t> &axisSizes() const { return sizes; }
  /// This rank's coordinate on each axis.
  const std::vector<int64_t> &coords() const { return ownCoords; }

  /// The group of this rank over `axes` (bit i = axis i), numbered row-major
  /// over these axes, the last axis fastest. Bits beyond the mesh's axes throw
  /// Failure (Internal). The reference stays valid; each axis set is computed
  /// once.
  const Group &group(uint32_t axes) const;

private:
  Group makeGroup(uint32_t axes) const;

  std::vector<int64_t> sizes, strides, ownCoords;
  int ownRank = 0, rankCount = 1;
  mutable std::map<uint32_t, Group> groups;
};

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_COMM_MESHVIEW_H
