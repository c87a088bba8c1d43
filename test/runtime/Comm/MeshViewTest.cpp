//===- MeshViewTest.cpp - groups of ranks ---------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Comm/MeshView.h"

#include "runtime/Base/Failure.h"

#include <gtest/gtest.h>

using namespace meshc::runtime;

namespace {

using Ranks = std::vector<int>;

TEST(MeshView, NumbersRowMajor) {
  MeshView mesh({2, 3, 4}, 17);
  EXPECT_EQ(mesh.size(), 24);
  EXPECT_EQ(mesh.coords(), (std::vector<int64_t>{1, 1, 1}));
}

TEST(MeshView, GroupsDifferOnTheirAxesOnly) {
  MeshView mesh({2, 3, 4}, 17);
  EXPECT_EQ(mesh.group(0b001).ranks, (Ranks{5, 17}));
  EXPECT_EQ(mesh.group(0b010).ranks, (Ranks{13, 17, 21}));
  EXPECT_EQ(mesh.group(0b100).ranks, (Ranks{16, 17, 18, 19}));
  EXPECT_EQ(mesh.group(0b101).ranks, (Ranks{4, 5, 6, 7, 16, 17, 18, 19}));
  EXPECT_EQ(mesh.group(0b101).index, 5);
  EXPECT_EQ(mesh.group(0b111).size(), 24);
  EXPECT_EQ(mesh.group(0).ranks, (Ranks{17}));
}

TEST(MeshView, EveryMemberSeesTheSameGroup) {
  for (uint32_t axes = 0; axes < 8; ++axes)
    for (int rank = 0; rank < 12; ++rank) {
      MeshView mesh({2, 3, 2}, rank);
      const Group &own = mesh.group(axes);
      EXPECT_EQ(own.ranks[own.index], rank);
      for (int other : own.ranks)
        EXPECT_EQ(MeshView({2, 3, 2}, other).group(axes).ranks, own.ranks);
    }
}

TEST(MeshView, NoAxesIsOneRank) {
  MeshView mesh({}, 0);
  EXPECT_EQ(mesh.size(), 1);
  EXPECT_EQ(mesh.group(0).ranks, (Ranks{0}));
}

TEST(MeshView, RefusesWhatNoMeshIs) {
  EXPECT_THROW(MeshView({2, 0}, 0), Failure);
  EXPECT_THROW(MeshView({2, 2}, 4), Failure);
  EXPECT_THROW(MeshView({2, 2}, -1), Failure);
  EXPECT_THROW(MeshView({int64_t(1) << 40, int64_t(1) << 40}, 0), Failure);
  EXPECT_THROW(MeshView(std::vector<int64_t>(33, 1), 0), Failure);
  EXPECT_THROW(MeshView({2, 2}, 0).group(0b100), Failure);
}

} // namespace
