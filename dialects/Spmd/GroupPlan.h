//===- GroupPlan.h - splits and merges of uneven blocks ---------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// An op that splits a dim, or merges several, has blocks of the one side that
/// are not blocks of the other if the axes do not divide the outer part: 12
/// heads of 64 over 8 ranks are blocks of 2 heads, but 768 features are blocks
/// of 96. The op then runs on padded dims, which the ranks divide: on 16 heads
/// and 1,024 features. One window before the op adds the padding, one behind it
/// takes the padding away. These windows move the entries that blocks lack.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_SPMD_GROUPPLAN_H
#define MESHC_DIALECTS_SPMD_GROUPPLAN_H

#include "dialects/Spmd/WindowPlan.h"

namespace meshc::spmd {

struct GroupPlan {
  /// The padded types of the op.
  nd::TensorType operand, result;
  double bytes = 0; ///< sent by each rank, padding of other dims included
};

/// The only segment of a window that changes the size of a dim from `a` to `b`:
/// its first min(a, b) entries.
nd::Segment getCommonSegment(int64_t a, int64_t b);

/// The plan for a factor that is grouped (nd::Factor::isGrouped) of an op with
/// these types, where some axis cuts the factor. Nothing where planWindow gives
/// none for one of the sides.
std::optional<GroupPlan> planGroups(const nd::Factor &factor,
                                    nd::TensorType operand,
                                    nd::TensorType result, nd::MeshAttr mesh);

} // namespace meshc::spmd

#endif // MESHC_DIALECTS_SPMD_GROUPPLAN_H
