//===- HostSums.h - reductions on GPUs of several hosts ---------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Reductions in the order of the group whose ranks are on several hosts, as
/// many on each. What a rank reduces for the group is its *piece*. First the
/// ranks of a host reduce their values, each the pieces of all ranks with its
/// own number on their hosts; sums of 16 bits stay F32. Then each rank sends to
/// every other host one message with what its host has reduced for the rank of
/// the same number there, and reduces its own piece from all hosts. So a host
/// sends each element to another one once, instead of once for each of its
/// ranks (runtime/Comm/HierarchicalCollectives.h does the same on CPUs).
///
/// Of an all-reduce, the pieces then go to the ranks of the same number on the
/// other hosts, and from these to all ranks of their hosts.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_DEVICE_HOSTSUMS_H
#define MESHC_RUNTIME_DEVICE_HOSTSUMS_H

#include "runtime/Comm/HierarchicalCollectives.h"
#include "runtime/Device/CudaPlugin.h"
#include "runtime/Device/NcclGroups.h"

namespace meshc::runtime {

/// One item of such a reduction. Numbers are elements.
struct HostSum {
  const Hierarchy *hierarchy;
  bool
      scatters; ///< a reduce-scatter: the pieces are blocks of `piece` elements
  int64_t piece; ///< of one rank; of an all-reduce, the last ones are shorter
  int64_t total; ///< of an all-reduce
  const char *send; ///< all pieces: by place in the group, or (all-reduce) by
                    ///< the number on the host, then by host
  char *recv;       ///< this rank's piece, or all pieces
  char *arrived;    ///< room for the pieces of one number, from each rank
  char *partials, *arrivedPartials; ///< room for a piece of each host
};

/// The steps of such reductions, each of all ranks of the group. The moves
/// belong to one operation of NCCL (NcclOperation), which the caller begins and
/// ends; they and the kernels run on the communication stream.
class HostSums {
public:
  /// `type`, `reduction`: of the collective; `partialType` as partialTypeOf.
  HostSums(const MeshcCuda &cuda, MeshcCudaRank *gpu, NcclGroups &groups,
           MeshcType type, MeshcType partialType, MeshcReduction reduction);

  void exchangeWithin(const HostSum &sum, void *comm) const;
  void reduceWithin(const HostSum &sum) const;
  void exchangeAcross(const HostSum &sum, void *comm) const;
  void reduceAcross(const HostSum &sum) const;
  /// Of all-reduces.
  void gatherAcross(const HostSum &sum, void *comm) const;
  void gatherWithin(const HostSum &sum, void *comm) const;

private:
  /// Elements in sequence, of the send buffer and of the pieces of one number.
  struct Range {
    int64_t begin, count, among;
  };

  std::vector<Range> piecesOf(const HostSum &sum, int local) const;
  Range pieceOf(const HostSum &sum, int host, int local) const;
  void send(void *comm, const char *data, int64_t bytes, int to) const;
  void receive(void *comm, char *data, int64_t bytes, int from) const;
  void combine(const MeshcCudaCombine &order) const;

  const MeshcCuda &cuda;
  MeshcCudaRank *gpu;
  NcclGroups &groups;
  MeshcType type, partialType;
  MeshcReduction reduction;
  int64_t elementBytes, partialBytes;
};

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_DEVICE_HOSTSUMS_H
