//===- HierarchicalCollectives.cpp - hosts of several ranks ---------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Comm/HierarchicalCollectives.h"

#include "runtime/Comm/StagedCollectives.h"

#include <algorithm>
#include <map>

using namespace meshc::runtime;

namespace {

/// Elements in transit between the two levels at a time, on one rank.
constexpr int64_t partialElements = int64_t(1) << 18;

/// Memory for partial results, as one stream or cut into equal ones.
class Partials {
public:
  Partials(MeshcType type, int64_t size)
      : type(type), memory(size * elementBytes(type)) {}

  Stream stream(int64_t begin, int64_t n) {
    Stream part(type);
    part.append(memory.data() + begin * elementBytes(type), 1, n, n);
    return part;
  }

private:
  MeshcType type;
  std::vector<char> memory;
};

/// Slices are reduced within the host, then between hosts, then gathered within
/// the host.
void allReduceByHost(Exchange &exchange, const Hierarchy &hierarchy,
                     MeshcReduction reduction, const Stream &send,
                     const Stream &recv) {
  const Group &within = hierarchy.within;
  int64_t locals = within.size();
  MeshcType type = partialType(send.type());
  int64_t limit = std::min(partialElements * locals, send.size());
  Partials partials(type, (limit + locals - 1) / locals);
  forPieces(send.size(), limit, [&](int64_t begin, int64_t n) {
    int64_t slice = (n + locals - 1) / locals;
    std::vector<Stream> sendSlices, recvSlices;
    for (int64_t l = 0; l < locals; ++l) {
      int64_t from = std::min(n, l * slice), count = std::min(slice, n - from);
      sendSlices.push_back(send.slice(begin + from, count));
      recvSlices.push_back(recv.slice(begin + from, count));
    }
    const Stream &own = recvSlices[within.index];
    Stream partial = partials.stream(0, own.size());
    reduceScatter(exchange, within, reduction, sendSlices, partial);
    allReduce(exchange, hierarchy.across, reduction, partial, own);
    allGather(exchange, within, own, recvSlices);
  });
}

/// For each host, a host's ranks first reduce the block of the rank there with
/// the same number; then these blocks go between hosts.
void reduceScatterByHost(Exchange &exchange, const Hierarchy &hierarchy,
                         MeshcReduction reduction,
                         const std::vector<Stream> &send, const Stream &recv) {
  const auto &places = hierarchy.places;
  int64_t hosts = places.size(), locals = places[0].size();
  MeshcType type = partialType(recv.type());
  int64_t size = longestOf(send); // the same on all ranks
  int64_t limit = std::max<int64_t>(1, std::min(partialElements / hosts, size));
  Partials partials(type, limit * hosts);
  forPieces(size, limit, [&](int64_t begin, int64_t n) {
    auto pieceOf = [&](const Stream &stream) {
      return stream.slice(begin, countIn(stream, begin, n));
    };
    std::vector<Stream> toLocals, toHosts;
    for (int64_t l = 0; l < locals; ++l) {
      toLocals.emplace_back(recv.type());
      for (int64_t h = 0; h < hosts; ++h)
        toLocals[l].append(pieceOf(send[places[h][l]]));
    }
    int64_t reduced = 0;
    for (const std::vector<int> &host : places) {
      int64_t count = countIn(send[host[hierarchy.within.index]], begin, n);
      toHosts.push_back(partials.stream(reduced, count));
      reduced += count;
    }
    reduceScatter(exchange, hierarchy.within, reduction, toLocals,
                  partials.stream(0, reduced));
    reduceScatter(exchange, hierarchy.across, reduction, toHosts,
                  pieceOf(recv));
  });
}

/// Blocks first arrive from the other hosts at the rank with the same number;
/// then the host's ranks exchange what arrived.
void allGatherByHost(Exchange &exchange, const Hierarchy &hierarchy,
                     const Stream &send, const std::vector<Stream> &recv) {
  const auto &places = hierarchy.places;
  std::vector<Stream> fromHosts, fromLocals;
  for (const std::vector<int> &host : places)
    fromHosts.push_back(recv[host[hierarchy.within.index]]);
  for (size_t l = 0; l < places[0].size(); ++l) {
    fromLocals.emplace_back(send.type());
    for (const std::vector<int> &host : places)
      fromLocals[l].append(recv[host[l]]);
  }
  allGather(exchange, hierarchy.across, send, fromHosts);
  allGather(exchange, hierarchy.within, fromLocals[hierarchy.within.index],
            fromLocals);
}

} // namespace

std::optional<Hierarchy>
meshc::runtime::findHierarchy(const Group &group,
                              const std::vector<int> &hosts) {
  Hierarchy found;
  std::map<int, size_t> order;
  size_t ownHost = 0, ownPlace = 0;
  for (int p = 0; p < group.size(); ++p) {
    size_t h = order.emplace(hosts[group.ranks[p]], order.size()).first->second;
    if (h == found.places.size())
      found.places.emplace_back();
    if (p == group.index) {
      ownHost = h;
      ownPlace = found.places[h].size();
    }
    found.places[h].push_back(p);
  }
  size_t locals = found.places[0].size();
  if (found.places.size() < 2 || locals < 2)
    return std::nullopt;
  for (const std::vector<int> &host : found.places)
    if (host.size() != locals)
      return std::nullopt;
  for (int p : found.places[ownHost])
    found.within.ranks.push_back(group.ranks[p]);
  for (const std::vector<int> &host : found.places)
    found.across.ranks.push_back(group.ranks[host[ownPlace]]);
  found.within.index = static_cast<int>(ownPlace);
  found.across.index = static_cast<int>(ownHost);
  return found;
}

void meshc::runtime::runHierarchically(Exchange &exchange,
                                       const Hierarchy &hierarchy,
                                       const MeshcCollective &collective,
                                       const CollectiveStreams &streams) {
  auto reduction = static_cast<MeshcReduction>(collective.reduction);
  if (collective.kind == MESHC_ALL_REDUCE)
    allReduceByHost(exchange, hierarchy, reduction, streams.send[0],
                    streams.recv[0]);
  else if (collective.kind == MESHC_REDUCE_SCATTER)
    reduceScatterByHost(exchange, hierarchy, reduction, streams.send,
                        streams.recv[0]);
  else
    allGatherByHost(exchange, hierarchy, streams.send[0], streams.recv);
}
