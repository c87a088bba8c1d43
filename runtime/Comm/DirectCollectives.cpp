//===- DirectCollectives.cpp - collectives in one address space -----------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Comm/DirectCollectives.h"

#include <algorithm>
#include <cstring>
#include <sched.h>

using namespace meshc::runtime;

namespace {

/// The arrays of a rank's buffers, one per item.
struct Buffers {
  void *const *send;
  void *const *recv;
};

/// Gives every rank every rank's `own`; returns when all have arrived.
std::vector<Buffers> meet(Exchange &exchange, const Group &group,
                          const Buffers &own) {
  std::vector<Buffers> all(group.size(), own);
  forOthers(group, [&](int p) { exchange.expect(group.ranks[p]); });
  exchange.begin();
  std::memcpy(exchange.content(0, 0), &own, sizeof(own));
  forOthers(group,
            [&](int p) { exchange.post(group.ranks[p], 0, 0, sizeof(own)); });
  forOthers(group, [&](int p) {
    std::memcpy(&all[p], exchange.await(group.ranks[p], sizeof(own)),
                sizeof(own));
    exchange.release(group.ranks[p]);
  });
  return all;
}

/// This rank's slice of `size` elements, in whole cache lines.
std::pair<int64_t, int64_t> sliceOf(const Group &group, int64_t size,
                                    MeshcType type) {
  auto line = static_cast<int64_t>(64 / elementBytes(type));
  int64_t lines = (size + line - 1) / line;
  int64_t slice = (lines + group.size() - 1) / group.size() * line;
  int64_t begin = std::min(size, group.index * slice);
  return {begin, std::min(slice, size - begin)};
}

/// This rank's share of the collective, on everyone's buffers.
void work(const Group &group, const MeshcCollective &collective,
          const std::vector<Buffers> &all) {
  std::vector<CollectiveStreams> streams;
  streams.reserve(group.size());
  for (int p = 0; p < group.size(); ++p)
    streams.push_back(
        makeStreams(collective, group, p, all[p].send, all[p].recv));
  auto reduction = static_cast<MeshcReduction>(collective.reduction);
  const std::vector<Stream> &own = streams[group.index].recv;
  std::vector<Stream> sources, destinations;

  switch (collective.kind) {
  case MESHC_ALL_REDUCE: {
    auto [begin, n] = sliceOf(group, own[0].size(), own[0].type());
    for (const CollectiveStreams &member : streams) {
      sources.push_back(member.send[0].slice(begin, n));
      destinations.push_back(member.recv[0].slice(begin, n));
    }
    reduceStreams(reduction, sources, destinations);
    break;
  }
  case MESHC_REDUCE_SCATTER:
    for (const CollectiveStreams &member : streams)
      sources.push_back(member.send[group.index]);
    reduceStreams(reduction, sources, own);
    break;
  case MESHC_ALL_GATHER:
    for (int d = 0; d < group.size(); ++d) {
      int p = (group.index + d) % group.size();
      copyStream(streams[p].send[0], own[p]);
    }
    break;
  case MESHC_ALL_TO_ALL:
    for (int d = 0; d < group.size(); ++d) {
      int p = (group.index + d) % group.size();
      copyStream(streams[p].send[group.index], own[p]);
    }
    break;
  case MESHC_PERMUTE:
    if (int sender = getSenderOf(collective, group); sender != meshc::nobody)
      copyStream(streams[sender].send[0], own[0]);
    break;
  }
}

} // namespace

void BufferUse::fail() {
  failed = true;
  while (users != 0)
    sched_yield();
}

void meshc::runtime::runDirectly(Exchange &exchange, BufferUse &use,
                                 const Group &group,
                                 const MeshcCollective &collective,
                                 void *const *send, void *const *recv) {
  struct Ended {
    BufferUse &use;
    ~Ended() { use.end(); }
  };
  try {
    std::vector<Buffers> all = meet(exchange, group, {send, recv});
    if (!use.begin())
      exchange.awaitFailure();
    {
      Ended ended{use};
      work(group, collective, all);
    }
    // No rank may continue and change a buffer that a peer still reads.
    meet(exchange, group, {send, recv});
  } catch (...) {
    use.fail();
    throw;
  }
}
