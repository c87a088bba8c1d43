//===- SharedCollectives.cpp - ranks that share a GPU ---------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Base/TensorBlock.h"
#include "runtime/Device/CudaCollectives.h"
#include "runtime/Device/CudaLibrary.h"
#include "runtime/Device/EventWait.h"

#include <algorithm>
#include <vector>

using namespace meshc;
using namespace meshc::runtime;

namespace {

/// The ranks meet on the host, exchange the addresses of their buffers, and
/// each reads its peers' buffers: values are reduced in the order of the group.
class SharedCollectives final : public CudaCollectives {
public:
  SharedCollectives(const MeshcCuda &cuda, MeshcCudaRank *gpu, const Rank &rank,
                    double timeoutSeconds)
      : cuda(cuda), gpu(gpu), rank(rank), timeoutSeconds(timeoutSeconds) {
    checkCuda(cuda.newEvent(gpu, &event), "make an event");
  }
  ~SharedCollectives() override { cuda.dropEvent(gpu, event); }

  void begin(const MeshcCollective &collective, const Group &group,
             void *const *send, void *const *recv) override;
  /// A collective is done once it has been started.
  void wait(const MeshcCollective &) override {}
  void waitForAll() override {}
  bool canBeCaptured() const override { return false; }
  void check(bool) override {}
  int64_t scratchBytes() const override { return 0; }

private:
  void finishStream(uint32_t site);
  void meet(const MeshcCollective &collective, const Group &group,
            const std::vector<void *> &own, std::vector<void *> &all);
  void move(const MeshcCollective &collective, const Group &group,
            const MeshcCollectiveItem &item, void *const *sends,
            void *const *recvs, size_t step);
  void copy(void *from, const ElementBox &source, void *to,
            const ElementBox &destination, int64_t elementBytes);
  void combine(MeshcCudaCombine &order);

  const MeshcCuda &cuda;
  MeshcCudaRank *gpu;
  const Rank &rank;
  double timeoutSeconds;
  void *event = nullptr;
  MeshcCudaCombine order;
};

/// Waits for the rank's own work.
void SharedCollectives::finishStream(uint32_t site) {
  checkCuda(cuda.record(gpu, event, MESHC_CUDA_COMPUTE), "record an event");
  waitForEvent(cuda, gpu, event, timeoutSeconds,
               "what comes before " + rank.communicator->describeSite(site));
}

/// Every rank of the group gets every rank's pointers; no rank returns before
/// all have arrived.
void SharedCollectives::meet(const MeshcCollective &collective,
                             const Group &group, const std::vector<void *> &own,
                             std::vector<void *> &all) {
  all.resize(own.size() * group.ranks.size());
  rank.communicator->exchange(collective.axes, group, collective.site,
                              own.data(), own.size() * sizeof(void *),
                              all.data());
}

void SharedCollectives::combine(MeshcCudaCombine &order) {
  if (order.count > 0)
    checkCuda(cuda.combine(gpu, MESHC_CUDA_COMPUTE, &order),
              "run a collective");
}

/// Copies a box of one buffer to that of another one.
void SharedCollectives::copy(void *from, const ElementBox &source, void *to,
                             const ElementBox &destination,
                             int64_t elementBytes) {
  if (source.size() == 0)
    return;
  ElementBox read = source.flat(), written = destination.flat();
  int64_t copies = 1;
  if (read.outer > 1 || written.outer > 1) { // these have the same rows
    read = source;
    written = destination;
    std::swap(copies, read.outer);
    written.outer = 1;
  }
  order.count = read.size();
  for (int64_t i = 0; i < copies; ++i) {
    order.sources[0] = boxRuns(from, read, elementBytes);
    order.destinations[0] = boxRuns(to, written, elementBytes);
    combine(order);
    read.offset += read.outerStride;
    written.offset += written.outerStride;
  }
}

/// One item. Member p's buffers have index p · `step`.
void SharedCollectives::move(const MeshcCollective &collective,
                             const Group &group,
                             const MeshcCollectiveItem &item,
                             void *const *sends, void *const *recvs,
                             size_t step) {
  const int64_t size = group.size(), me = group.index;
  const int64_t bytes = sizeOf(static_cast<MeshcType>(collective.type));
  const ItemBlocks blocks(collective.kind, item, group.axes);
  auto sendOf = [&](int64_t p) { return sends[static_cast<size_t>(p) * step]; };
  auto recvOf = [&](int64_t p) { return recvs[static_cast<size_t>(p) * step]; };
  order.sourceCount = order.destinationCount = 1;
  switch (collective.kind) {
  case MESHC_ALL_REDUCE: { // a slice of whole vectors for each rank
    int64_t count = blocks.getSendSize(), vector = 16 / bytes;
    int64_t slice = ((count + size - 1) / size + vector - 1) / vector * vector;
    int64_t begin = std::min(count, me * slice);
    order.count = std::min(slice, count - begin);
    order.sourceCount = order.destinationCount = static_cast<uint32_t>(size);
    for (int64_t p = 0; p < size; ++p) {
      auto at = [&](void *base) {
        return plainRuns(static_cast<char *>(base) + begin * bytes);
      };
      order.sources[p] = at(sendOf(p));
      order.destinations[p] = at(recvOf(p));
    }
    return combine(order);
  }
  case MESHC_REDUCE_SCATTER:
    order.count = blocks.getSent(me, me).size();
    if (order.count == 0)
      return;
    order.sourceCount = static_cast<uint32_t>(size);
    for (int64_t p = 0; p < size; ++p)
      order.sources[p] =
          boxRuns(sendOf(p), blocks.getSent(p, me).flat(), bytes);
    order.destinations[0] =
        boxRuns(recvOf(me), blocks.getReceived(me, me).flat(), bytes);
    return combine(order);
  case MESHC_ALL_GATHER:
  case MESHC_ALL_TO_ALL:
    for (int64_t p = 0; p < size; ++p)
      copy(sendOf(p), blocks.getSent(p, me), recvOf(me),
           blocks.getReceived(p, me), bytes);
    return;
  case MESHC_PERMUTE: {
    int64_t p = getSender(*collective.permutation, group.axes, me);
    if (p == nobody)
      return;
    copy(sendOf(p), blocks.getSent(p, me), recvOf(me),
         blocks.getReceived(p, me), bytes);
  }
  }
}

void SharedCollectives::begin(const MeshcCollective &collective,
                              const Group &group, void *const *send,
                              void *const *recv) {
  if (group.size() > MESHC_CUDA_MAX_ARRAYS)
    throw Failure(ExitCode::Device,
                  std::to_string(group.size()) +
                      " ranks share a GPU in one collective, at " +
                      rank.communicator->describeSite(collective.site) +
                      "; at most " + std::to_string(MESHC_CUDA_MAX_ARRAYS) +
                      " can");
  if (collective.itemCount == 0)
    return;
  finishStream(collective.site);
  std::vector<void *> own(send, send + collective.itemCount), all;
  own.insert(own.end(), recv, recv + collective.itemCount);
  meet(collective, group, own, all);
  order.type = collective.type;
  order.partials = MESHC_CUDA_NO_PARTIALS;
  order.reduction = collective.reduction;
  for (uint32_t i = 0; i < collective.itemCount; ++i)
    move(collective, group, collective.items[i], all.data() + i,
         all.data() + collective.itemCount + i, own.size());
  // No rank may continue and change a buffer that a peer still reads.
  finishStream(collective.site);
  meet(collective, group, own, all);
}

} // namespace

std::unique_ptr<CudaCollectives>
meshc::runtime::makeSharedCollectives(const MeshcCuda &cuda, MeshcCudaRank *gpu,
                                      const Rank &rank, double timeoutSeconds) {
  return std::make_unique<SharedCollectives>(cuda, gpu, rank, timeoutSeconds);
}
