//===- HostSums.cpp - reductions on GPUs of several hosts -----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Device/HostSums.h"

#include "runtime/Base/TensorBlock.h"
#include "runtime/Device/CudaCollectives.h"
#include "runtime/Device/CudaLibrary.h"

#include <algorithm>

using namespace meshc;
using namespace meshc::runtime;

HostSums::HostSums(const MeshcCuda &cuda, MeshcCudaRank *gpu,
                   NcclGroups &groups, MeshcType type, MeshcType partialType,
                   MeshcReduction reduction)
    : cuda(cuda), gpu(gpu), groups(groups), type(type),
      partialType(partialType), reduction(reduction),
      elementBytes(sizeOf(type)), partialBytes(sizeOf(partialType)) {}

/// The piece of the rank with number `local` on host `host`.
HostSums::Range HostSums::pieceOf(const HostSum &sum, int host,
                                  int local) const {
  const auto &places = sum.hierarchy->places;
  const int64_t among = host * sum.piece;
  if (sum.scatters)
    return {places[host][local] * sum.piece, sum.piece, among};
  auto hosts = static_cast<int64_t>(places.size());
  int64_t begin = std::min(sum.total, (local * hosts + host) * sum.piece);
  return {begin, std::min(sum.piece, sum.total - begin), among};
}

/// The pieces of all ranks with number `local`, as few ranges.
std::vector<HostSums::Range> HostSums::piecesOf(const HostSum &sum,
                                                int local) const {
  std::vector<Range> ranges;
  for (int host = 0; host < sum.hierarchy->across.size(); ++host) {
    Range piece = pieceOf(sum, host, local);
    if (piece.count == 0)
      continue;
    if (!ranges.empty() &&
        ranges.back().begin + ranges.back().count == piece.begin)
      ranges.back().count += piece.count;
    else
      ranges.push_back(piece);
  }
  return ranges;
}

void HostSums::send(void *comm, const char *data, int64_t bytes, int to) const {
  if (bytes > 0)
    groups.expect(cuda.ncclSend(gpu, comm, data, bytes, to));
}

void HostSums::receive(void *comm, char *data, int64_t bytes, int from) const {
  if (bytes > 0)
    groups.expect(cuda.ncclReceive(gpu, comm, data, bytes, from));
}

void HostSums::combine(const MeshcCudaCombine &order) const {
  if (order.count > 0)
    checkCuda(cuda.combine(gpu, MESHC_CUDA_COMMUNICATION, &order),
              "reduce the values of a collective");
}

void HostSums::exchangeWithin(const HostSum &sum, void *comm) const {
  const Hierarchy &hierarchy = *sum.hierarchy;
  const std::vector<int> &ranks = hierarchy.places[hierarchy.across.index];
  const int64_t all = hierarchy.across.size() * sum.piece;
  for (int local = 0; local < hierarchy.within.size(); ++local) {
    for (const Range &range : piecesOf(sum, local))
      send(comm, sum.send + range.begin * elementBytes,
           range.count * elementBytes, ranks[local]);
    for (const Range &range : piecesOf(sum, hierarchy.within.index))
      receive(comm, sum.arrived + (local * all + range.among) * elementBytes,
              range.count * elementBytes, ranks[local]);
  }
}

void HostSums::reduceWithin(const HostSum &sum) const {
  const Hierarchy &hierarchy = *sum.hierarchy;
  const int64_t all = hierarchy.across.size() * sum.piece;
  MeshcCudaCombine order = {};
  order.type = type;
  order.reduction = reduction;
  order.partials =
      type == partialType ? MESHC_CUDA_NO_PARTIALS : MESHC_CUDA_WRITES_PARTIALS;
  order.sourceCount = static_cast<uint32_t>(hierarchy.within.size());
  order.destinationCount = 1;
  for (const Range &range : piecesOf(sum, hierarchy.within.index))
    order.count = std::max(order.count, range.among + range.count);
  for (int local = 0; local < hierarchy.within.size(); ++local)
    order.sources[local] = plainRuns(sum.arrived + local * all * elementBytes);
  order.destinations[0] = plainRuns(sum.partials);
  combine(order);
}

void HostSums::exchangeAcross(const HostSum &sum, void *comm) const {
  const Hierarchy &hierarchy = *sum.hierarchy;
  const int local = hierarchy.within.index;
  const int64_t own = pieceOf(sum, hierarchy.across.index, local).count;
  for (int host = 0; host < hierarchy.across.size(); ++host) {
    Range piece = pieceOf(sum, host, local);
    int peer = hierarchy.places[host][local];
    send(comm, sum.partials + piece.among * partialBytes,
         piece.count * partialBytes, peer);
    receive(comm, sum.arrivedPartials + piece.among * partialBytes,
            own * partialBytes, peer);
  }
}

/// More hosts than one kernel reduces take several: the result so far is the
/// next one's first source, still a partial result.
void HostSums::reduceAcross(const HostSum &sum) const {
  const Hierarchy &hierarchy = *sum.hierarchy;
  const Range piece =
      pieceOf(sum, hierarchy.across.index, hierarchy.within.index);
  MeshcCudaCombine order = {};
  order.reduction = reduction;
  order.destinationCount = 1;
  order.count = piece.count;
  char *result = sum.recv + (sum.scatters ? 0 : piece.begin * elementBytes);
  for (int next = 0; next < hierarchy.across.size();) {
    order.sourceCount = 0;
    if (next > 0)
      order.sources[order.sourceCount++] = order.destinations[0];
    while (next < hierarchy.across.size() &&
           order.sourceCount < MESHC_CUDA_MAX_ARRAYS)
      order.sources[order.sourceCount++] =
          plainRuns(sum.arrivedPartials + next++ * sum.piece * partialBytes);
    const bool isLast = next == hierarchy.across.size();
    order.type = isLast ? type : partialType;
    order.partials = isLast && type != partialType ? MESHC_CUDA_READS_PARTIALS
                                                   : MESHC_CUDA_NO_PARTIALS;
    order.destinations[0] = plainRuns(isLast ? result : sum.arrivedPartials);
    combine(order);
  }
}

void HostSums::gatherAcross(const HostSum &sum, void *comm) const {
  const Hierarchy &hierarchy = *sum.hierarchy;
  const int local = hierarchy.within.index;
  const Range own = pieceOf(sum, hierarchy.across.index, local);
  for (int host = 0; host < hierarchy.across.size(); ++host) {
    if (host == hierarchy.across.index)
      continue;
    Range piece = pieceOf(sum, host, local);
    int peer = hierarchy.places[host][local];
    send(comm, sum.recv + own.begin * elementBytes, own.count * elementBytes,
         peer);
    receive(comm, sum.recv + piece.begin * elementBytes,
            piece.count * elementBytes, peer);
  }
}

void HostSums::gatherWithin(const HostSum &sum, void *comm) const {
  const Hierarchy &hierarchy = *sum.hierarchy;
  const std::vector<int> &ranks = hierarchy.places[hierarchy.across.index];
  for (int local = 0; local < hierarchy.within.size(); ++local) {
    if (local == hierarchy.within.index)
      continue;
    for (const Range &range : piecesOf(sum, hierarchy.within.index))
      send(comm, sum.recv + range.begin * elementBytes,
           range.count * elementBytes, ranks[local]);
    for (const Range &range : piecesOf(sum, local))
      receive(comm, sum.recv + range.begin * elementBytes,
              range.count * elementBytes, ranks[local]);
  }
}
