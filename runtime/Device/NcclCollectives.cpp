//===- NcclCollectives.cpp - collectives by NCCL --------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Base/TensorBlock.h"
#include "runtime/Device/BlockCopies.h"
#include "runtime/Device/CollectiveRooms.h"
#include "runtime/Device/CudaCollectives.h"
#include "runtime/Device/CudaLibrary.h"
#include "runtime/Device/HostSums.h"
#include "runtime/Device/NcclGroups.h"
#include "runtime/Device/NcclMemory.h"

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

using namespace meshc;
using namespace meshc::runtime;

namespace {

class NcclCollectives final : public CudaCollectives {
public:
  NcclCollectives(const MeshcCuda &cuda, MeshcCudaRank *gpu, const Rank &rank,
                  const NcclOptions &options)
      : cuda(cuda), gpu(gpu), groups(cuda, gpu, rank, options.timeoutSeconds),
        memory(cuda, gpu, groups, options.ncclMemory),
        hosts(rank.communicator->hosts()), ncclSums(options.ncclSums) {
    checkCuda(cuda.newEvent(gpu, &ready), "make an event");
  }
  ~NcclCollectives() override;

  void begin(const MeshcCollective &collective, const Group &group,
             void *const *send, void *const *recv) override;
  void wait(const MeshcCollective &collective) override;
  void waitForAll() override { orderBehind(begun.size()); }
  bool canBeCaptured() const override { return true; }
  void check(bool late) override { groups.check(late); }
  int64_t scratchBytes() const override { return memory.roomBytes(); }
  const char *allocateArena(uint64_t bytes, void **arena) override {
    return memory.allocateArena(bytes, arena);
  }

private:
  /// One item in transit, with the addresses at which NCCL reads and writes
  /// blocks of `block` elements, one for each member, one after the other.
  struct Move {
    BlockedBuffer sendBlocks, recvBlocks;
    void *send, *recv;
    char *packed,
        *arrived; ///< for send and recv: scratch, or the buffers themselves
    int64_t block, total; ///< elements of a block, or of an all-reduce
    /// For ranks that reduce within their hosts first; otherwise null.
    char *partials, *arrivedPartials;
  };
  /// A collective that the compute stream was not ordered after yet.
  struct Begun {
    const MeshcCollective *collective;
    void *done; ///< event
  };

  const Hierarchy *findHosts(uint32_t axes, const Group &group);
  bool reduces(const MeshcCollective &collective) const {
    return reducesInOrder(collective, ncclSums);
  }
  void planMoves(const MeshcCollective &collective, const Group &group,
                 void *const *send, void *const *recv);
  void carryOut(const MeshcCollective &collective, const Group &group,
                void *comm);
  void exchange(const MeshcCollective &collective, const Group &group,
                const std::vector<HostSum> &sums, const HostSums &onHosts,
                void *comm);
  void exchangeBlocks(const Move &move, const Group &group, void *comm);
  void permute(const MeshcPermutation &permutation, const Move &move,
               const Group &group, void *comm);
  void exchangeSlices(const Move &move, const Group &group, void *comm);
  void reduceArrived(const MeshcCollective &collective, const Group &group);
  void gatherSlices(const Group &group, const std::vector<HostSum> &sums,
                    const HostSums &onHosts, void *comm);
  std::vector<HostSum> planSums(const MeshcCollective &collective) const;
  void reduceInOrder(const MeshcCollective &collective, const Group &group,
                     const std::vector<HostSum> &sums, const HostSums &onHosts,
                     void *comm);
  std::pair<int64_t, int64_t> slice(const Move &move, int64_t size,
                                    int64_t index) const;
  void *spareEvent();
  void orderBehind(size_t count);

  const MeshcCuda &cuda;
  MeshcCudaRank *gpu;
  NcclGroups groups;
  NcclMemory memory;
  void *ready = nullptr; ///< event: a collective's send buffer is computed
  std::vector<Begun> begun;
  std::vector<void *> spareEvents;
  int64_t elementBytes = 4;
  std::vector<Move> moves;
  MeshcCudaCombine order = {};
  std::vector<int> hosts; ///< by rank
  bool ncclSums;
  std::map<uint32_t, std::optional<Hierarchy>> hierarchies; ///< by axes
  const Hierarchy *hierarchy = nullptr; ///< of the collective's group
};

NcclCollectives::~NcclCollectives() {
  groups.close();
  memory.release();
  for (const Begun &entry : begun)
    cuda.dropEvent(gpu, entry.done);
  for (void *event : spareEvents)
    cuda.dropEvent(gpu, event);
  if (ready)
    cuda.dropEvent(gpu, ready);
}

/// The hosts of the group over `axes`; null if its ranks reduce together.
const Hierarchy *NcclCollectives::findHosts(uint32_t axes, const Group &group) {
  auto [found, isNew] = hierarchies.try_emplace(axes);
  if (isNew) {
    found->second = findHierarchy(group, hosts);
    // One kernel reduces the values of a host.
    if (found->second && found->second->within.size() > MESHC_CUDA_MAX_ARRAYS)
      found->second.reset();
  }
  return found->second ? &*found->second : nullptr;
}

/// Plans the items into `moves`, with room for those that NCCL cannot access in
/// place.
void NcclCollectives::planMoves(const MeshcCollective &collective,
                                const Group &group, void *const *send,
                                void *const *recv) {
  std::vector<std::pair<char **, int64_t>> places;
  moves.clear();
  moves.reserve(collective.itemCount);
  hierarchy = findHosts(collective.axes, group);
  const int64_t hostCount = hierarchy ? hierarchy->across.size() : 1;
  const int64_t partialBytes = sizeOf(partialTypeOf(collective));
  int64_t bytes = 0;
  auto room = [&](char *&place, int64_t elements, int64_t bytesOfOne) {
    if (elements == 0)
      return;
    places.emplace_back(&place, bytes);
    bytes += roomBytes(elements, bytesOfOne);
  };
  for (uint32_t i = 0; i < collective.itemCount; ++i) {
    const MeshcCollectiveItem &item = collective.items[i];
    ItemBlocks blocks(collective.kind, item, group.axes);
    ItemRooms rooms =
        planRooms(collective, item, group.axes, hostCount, ncclSums);
    if (rooms.block == 0)
      continue;
    moves.push_back({blocks.getSend(), blocks.getRecv(), send[i], recv[i],
                     static_cast<char *>(send[i]), static_cast<char *>(recv[i]),
                     rooms.block, rooms.total, nullptr, nullptr});
    Move &move = moves.back();
    room(move.packed, rooms.packed, elementBytes);
    room(move.arrived, rooms.arrived, elementBytes);
    room(move.partials, rooms.partials, partialBytes);
    room(move.arrivedPartials, rooms.partials, partialBytes);
  }
  char *base = bytes ? memory.findRooms(bytes) : nullptr;
  for (auto &[place, offset] : places)
    *place = base + offset;
}

/// The items whose ranks reduce within their hosts first.
std::vector<HostSum>
NcclCollectives::planSums(const MeshcCollective &collective) const {
  std::vector<HostSum> sums;
  for (const Move &move : moves)
    if (move.partials)
      sums.push_back({hierarchy, collective.kind == MESHC_REDUCE_SCATTER,
                      move.block, move.total, move.packed,
                      static_cast<char *>(move.recv), move.arrived,
                      move.partials, move.arrivedPartials});
  return sums;
}

/// Member `index`'s slice of an all-reduce: its start and its elements.
std::pair<int64_t, int64_t>
NcclCollectives::slice(const Move &move, int64_t size, int64_t index) const {
  int64_t length = sliceLength(move.total, size, elementBytes);
  int64_t begin = std::min(move.total, index * length);
  return {begin, std::min(length, move.total - begin)};
}

/// Block p of the packed data goes to member p, whose block for this rank
/// arrives as block p.
void NcclCollectives::exchangeBlocks(const Move &move, const Group &group,
                                     void *comm) {
  int64_t bytes = move.block * elementBytes;
  for (int p = 0; p < group.size(); ++p) {
    groups.expect(cuda.ncclSend(gpu, comm, move.packed + p * bytes, bytes, p));
    groups.expect(
        cuda.ncclReceive(gpu, comm, move.arrived + p * bytes, bytes, p));
  }
}

/// Slice p of an all-reduce goes to member p, this rank's slice arrives from it
/// as block p.
void NcclCollectives::exchangeSlices(const Move &move, const Group &group,
                                     void *comm) {
  const int64_t own = slice(move, group.size(), group.index).second;
  for (int p = 0; p < group.size(); ++p) {
    auto [begin, count] = slice(move, group.size(), p);
    if (count > 0)
      groups.expect(cuda.ncclSend(gpu, comm, move.packed + begin * elementBytes,
                                  count * elementBytes, p));
    if (own > 0)
      groups.expect(cuda.ncclReceive(
          gpu, comm, move.arrived + p * move.block * elementBytes,
          own * elementBytes, p));
  }
}

/// All of `send` goes to one member or none, all of `recv` comes from one or
/// none.
void NcclCollectives::permute(const MeshcPermutation &permutation,
                              const Move &move, const Group &group,
                              void *comm) {
  auto to = getReceiver(permutation, group.axes, group.index);
  auto from = getSender(permutation, group.axes, group.index);
  int64_t bytes = move.block * elementBytes;
  if (to != nobody)
    groups.expect(
        cuda.ncclSend(gpu, comm, move.send, bytes, static_cast<int>(to)));
  if (from != nobody)
    groups.expect(
        cuda.ncclReceive(gpu, comm, move.recv, bytes, static_cast<int>(from)));
}

/// What NCCL moves first, as one operation.
void NcclCollectives::exchange(const MeshcCollective &collective,
                               const Group &group,
                               const std::vector<HostSum> &sums,
                               const HostSums &onHosts, void *comm) {
  const auto type = static_cast<MeshcType>(collective.type);
  const auto reduction = static_cast<MeshcReduction>(collective.reduction);
  const bool ordered = reduces(collective);
  NcclOperation operation(cuda, groups);
  for (const HostSum &sum : sums)
    onHosts.exchangeWithin(sum, comm);
  for (const Move &move : moves) {
    if (move.partials)
      continue;
    int64_t bytes = move.block * elementBytes;
    switch (collective.kind) {
    case MESHC_ALL_REDUCE:
      if (!ordered)
        groups.expect(cuda.ncclAllReduce(gpu, comm, move.send, move.recv,
                                         move.total, type, reduction));
      else if (move.block == move.total)
        groups.expect(
            cuda.ncclAllGather(gpu, comm, move.send, move.arrived, bytes));
      else
        exchangeSlices(move, group, comm);
      break;
    case MESHC_REDUCE_SCATTER:
      if (ordered)
        exchangeBlocks(move, group, comm);
      else
        groups.expect(cuda.ncclReduceScatter(gpu, comm, move.packed, move.recv,
                                             move.block, type, reduction));
      break;
    case MESHC_ALL_GATHER:
      groups.expect(
          cuda.ncclAllGather(gpu, comm, move.send, move.arrived, bytes));
      break;
    case MESHC_ALL_TO_ALL:
      exchangeBlocks(move, group, comm);
      break;
    case MESHC_PERMUTE:
      permute(*collective.permutation, move, group, comm);
      break;
    }
  }
  operation.end(comm);
}

/// Reduces the data that arrived from each member, in the order of the group.
void NcclCollectives::reduceArrived(const MeshcCollective &collective,
                                    const Group &group) {
  order.destinationCount = 1;
  for (const Move &move : moves) {
    bool isSlice =
        collective.kind == MESHC_ALL_REDUCE && move.block != move.total;
    auto [begin, count] = isSlice ? slice(move, group.size(), group.index)
                                  : std::pair<int64_t, int64_t>(0, move.block);
    if (count == 0 || move.partials)
      continue;
    order.count = count;
    order.destinations[0] =
        plainRuns(static_cast<char *>(move.recv) + begin * elementBytes);
    // With more ranks than one kernel supports, the sum so far is the next
    // kernel's first source, rounded to the type once more.
    int next = 0;
    while (next < group.size()) {
      uint32_t sources = 0;
      if (next > 0)
        order.sources[sources++] = order.destinations[0];
      while (next < group.size() && sources < MESHC_CUDA_MAX_ARRAYS)
        order.sources[sources++] =
            plainRuns(move.arrived + next++ * move.block * elementBytes);
      order.sourceCount = sources;
      checkCuda(cuda.combine(gpu, MESHC_CUDA_COMMUNICATION, &order),
                "reduce the values of a collective");
    }
  }
}

/// The slices of large ordered all-reduces, from each member to all; of those
/// on several hosts, to the other hosts.
void NcclCollectives::gatherSlices(const Group &group,
                                   const std::vector<HostSum> &sums,
                                   const HostSums &onHosts, void *comm) {
  auto isSliced = [](const Move &move) { return move.block != move.total; };
  if (std::none_of(moves.begin(), moves.end(), isSliced))
    return;
  NcclOperation operation(cuda, groups);
  for (const HostSum &sum : sums)
    onHosts.gatherAcross(sum, comm);
  for (const Move &move : moves) {
    if (!isSliced(move) || move.partials)
      continue;
    char *recv = static_cast<char *>(move.recv);
    auto [ownBegin, ownCount] = slice(move, group.size(), group.index);
    for (int p = 0; p < group.size(); ++p) {
      auto [begin, count] = slice(move, group.size(), p);
      if (p == group.index)
        continue;
      if (ownCount > 0)
        groups.expect(cuda.ncclSend(gpu, comm, recv + ownBegin * elementBytes,
                                    ownCount * elementBytes, p));
      if (count > 0)
        groups.expect(cuda.ncclReceive(gpu, comm, recv + begin * elementBytes,
                                       count * elementBytes, p));
    }
  }
  operation.end(comm);
}

/// What follows the first exchange if the runtime reduces.
void NcclCollectives::reduceInOrder(const MeshcCollective &collective,
                                    const Group &group,
                                    const std::vector<HostSum> &sums,
                                    const HostSums &onHosts, void *comm) {
  reduceArrived(collective, group);
  for (const HostSum &sum : sums)
    onHosts.reduceWithin(sum);
  auto exchangeAll = [&](void (HostSums::*step)(const HostSum &, void *)
                             const) {
    NcclOperation operation(cuda, groups);
    for (const HostSum &sum : sums)
      (onHosts.*step)(sum, comm);
    operation.end(comm);
  };
  if (!sums.empty())
    exchangeAll(&HostSums::exchangeAcross);
  for (const HostSum &sum : sums)
    onHosts.reduceAcross(sum);
  if (collective.kind != MESHC_ALL_REDUCE)
    return;
  gatherSlices(group, sums, onHosts, comm);
  if (!sums.empty())
    exchangeAll(&HostSums::gatherWithin);
}

void NcclCollectives::carryOut(const MeshcCollective &collective,
                               const Group &group, void *comm) {
  bool isReduction = collective.kind == MESHC_REDUCE_SCATTER ||
                     collective.kind == MESHC_ALL_REDUCE;
  const std::vector<HostSum> sums = planSums(collective);
  const HostSums onHosts(cuda, gpu, groups,
                         static_cast<MeshcType>(collective.type),
                         partialTypeOf(collective),
                         static_cast<MeshcReduction>(collective.reduction));
  const BlockCopies copies(cuda, gpu, group,
                           static_cast<MeshcType>(collective.type));
  groups.mark();
  order.type = collective.type;
  order.reduction = collective.reduction;
  for (const Move &move : moves)
    if (move.packed != move.send)
      copies.pack(move.sendBlocks, move.send, move.packed);
  exchange(collective, group, sums, onHosts, comm);
  if (isReduction && reduces(collective))
    reduceInOrder(collective, group, sums, onHosts, comm);
  for (const Move &move : moves)
    if (!isReduction && move.arrived != move.recv)
      copies.unpack(move.recvBlocks, move.arrived, move.recv);
}

void NcclCollectives::begin(const MeshcCollective &collective,
                            const Group &group, void *const *send,
                            void *const *recv) {
  groups.enter(collective.site);
  elementBytes = sizeOf(static_cast<MeshcType>(collective.type));
  void *comm = groups.find(collective.axes, group);
  checkCuda(cuda.record(gpu, ready, MESHC_CUDA_COMPUTE), "record an event");
  checkCuda(cuda.wait(gpu, MESHC_CUDA_COMMUNICATION, ready), "wait for work");
  planMoves(collective, group, send, recv);
  if (!moves.empty())
    carryOut(collective, group, comm);
  begun.push_back({&collective, spareEvent()});
  checkCuda(cuda.record(gpu, begun.back().done, MESHC_CUDA_COMMUNICATION),
            "record an event");
  groups.leave();
}

void *NcclCollectives::spareEvent() {
  void *event = nullptr;
  if (spareEvents.empty()) {
    checkCuda(cuda.newEvent(gpu, &event), "make an event");
  } else {
    event = spareEvents.back();
    spareEvents.pop_back();
  }
  return event;
}

/// The first `count` of those that were started: they run in order, so the last
/// one's event covers all.
void NcclCollectives::orderBehind(size_t count) {
  if (count == 0)
    return;
  checkCuda(cuda.wait(gpu, MESHC_CUDA_COMPUTE, begun[count - 1].done),
            "wait for a collective");
  for (size_t i = 0; i < count; ++i)
    spareEvents.push_back(begun[i].done);
  begun.erase(begun.begin(), begun.begin() + static_cast<ptrdiff_t>(count));
}

void NcclCollectives::wait(const MeshcCollective &collective) {
  for (size_t i = 0; i < begun.size(); ++i)
    if (begun[i].collective == &collective)
      return orderBehind(i + 1);
}

} // namespace

std::unique_ptr<CudaCollectives>
meshc::runtime::makeNcclCollectives(const MeshcCuda &cuda, MeshcCudaRank *gpu,
                                    const Rank &rank,
                                    const NcclOptions &options) {
  return std::make_unique<NcclCollectives>(cuda, gpu, rank, options);
}
