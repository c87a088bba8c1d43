//===- UnevenCase.h - collectives of blocks that are not full -------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_TEST_RUNTIME_COMM_UNEVENCASE_H
#define MESHC_TEST_RUNTIME_COMM_UNEVENCASE_H

#include "CollectiveCase.h"

namespace meshc::test {

/// A collective of tensors with a dim that the group need not divide. Padding
/// of what is sent is NaN, or a large number: none of it may arrive where an
/// entry exists.
struct UnevenCase {
  MeshcCollectiveKind kind = MESHC_REDUCE_SCATTER; ///< no ALL_REDUCE
  MeshcReduction reduction = MESHC_SUM;            ///< or MESHC_MAX
  MeshcType type = MESHC_F32;
  uint32_t axes = 0;
  /// A tensor of five dims, the first one outermost in memory. A
  /// REDUCE_SCATTER cuts `first`, an ALL_GATHER joins it. An ALL_TO_ALL joins
  /// one of `first` and `second` and cuts the other one.
  struct Item {
    int64_t outer, first, middle, second, inner;
    bool joinsFirst = true;
  };
  std::vector<Item> items;

  /// For messages.
  std::string text() const;
  /// Makes `runner` run it, and returns what is wrong, or nothing.
  std::string check(const runtime::MeshView &mesh,
                    const CollectiveCase::Runner &runner) const;
  /// Runs it on this rank and expects every entry that exists, and no write
  /// outside of the result.
  void run(runtime::Communicator &communicator,
           const runtime::MeshView &mesh) const;
};

/// Cases of all kinds over `axes`: blocks that are short or empty, small and
/// large, alone and several in one call.
std::vector<UnevenCase> unevenCases(uint32_t axes);

} // namespace meshc::test

#endif // MESHC_TEST_RUNTIME_COMM_UNEVENCASE_H
