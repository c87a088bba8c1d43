//===- CollectiveCase.h - one collective and what it must give ------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_TEST_RUNTIME_COMM_COLLECTIVECASE_H
#define MESHC_TEST_RUNTIME_COMM_COLLECTIVECASE_H

#include "meshc/RuntimeAbi.h"
#include "runtime/Comm/Communicator.h"

#include <functional>
#include <string>
#include <vector>

namespace meshc::test {

inline constexpr MeshcCollectiveKind allKinds[] = {
    MESHC_ALL_REDUCE, MESHC_REDUCE_SCATTER, MESHC_ALL_GATHER, MESHC_ALL_TO_ALL,
    MESHC_PERMUTE};
inline constexpr MeshcReduction allReductions[] = {MESHC_SUM, MESHC_MAX,
                                                   MESHC_MIN, MESHC_PROD};
inline constexpr MeshcType allTypes[] = {MESHC_F32, MESHC_BF16, MESHC_F16,
                                         MESHC_I32, MESHC_I1};

/// A collective over one set of axes. Its values are integers, chosen so that
/// every partial result is exact in its type, whatever the order of reduction;
/// maxima and minima have some NaN among them.
struct CollectiveCase {
  MeshcCollectiveKind kind = MESHC_ALL_REDUCE;
  MeshcReduction reduction = MESHC_SUM;
  MeshcType type = MESHC_F32;
  uint32_t axes = 0;
  /// For each item the block: `outer` runs of `inner` elements. For an
  /// ALL_TO_ALL the receiver uses runs of `recvInner`, which divides the whole.
  struct Item {
    int64_t outer, inner, recvInner;
  };
  std::vector<Item> items;
  bool inPlace = false;
  /// Of a PERMUTE: the axes of the group in the order that numbers senders
  /// begin with the second, those for receivers are the mesh's in reverse.
  int64_t shift = 1; ///< modulo the ranks of the group
  /// Instead of the shift, if it is a round. Both orders are then the mesh's.
  MeshcRound round = {0, 0, 0, 0};

  /// For messages.
  std::string text() const;
  /// Runs it on this rank and expects every element of the result, and no write
  /// outside of it.
  void run(runtime::Communicator &communicator,
           const runtime::MeshView &mesh) const;

  /// The host's buffers of one item, with guards behind them; one buffer if the
  /// collective is in place.
  struct Buffers {
    std::vector<char> *send, *receive;
  };
  /// Makes `runner` run it on the buffers, and returns what is wrong with them
  /// afterwards, or nothing.
  using Runner = std::function<void(const MeshcCollective &collective,
                                    const runtime::Group &group,
                                    const std::vector<Buffers> &buffers)>;
  std::string check(const runtime::MeshView &mesh, const Runner &runner) const;
};

/// Rounds in which larger blocks go to smaller ones, smaller ones to larger
/// ones, and which some of two or three ranks do not take part in.
extern const std::vector<MeshcRound> someRounds;

/// Bytes of an element, and the value of element `index` of `data`.
size_t bytesOf(MeshcType type);
double valueAt(MeshcType type, const void *data, int64_t index);
void setValue(MeshcType type, void *data, int64_t index, double value);

} // namespace meshc::test

#endif // MESHC_TEST_RUNTIME_COMM_COLLECTIVECASE_H
