//===- CollectiveRooms.cpp - memory that collectives by NCCL need ---------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Device/CollectiveRooms.h"

#include "runtime/Base/TensorBlock.h"
#include "runtime/Comm/Reduction.h"
#include "runtime/Comm/World.h"
#include "runtime/Device/Device.h"
#include "runtime/Device/Rank.h"

using namespace meshc::runtime;

/// Up to this many bytes, an ordered all-reduce gathers all values on every
/// rank.
static constexpr int64_t smallBytes = 64 * 1024;

static int64_t elementBytesOf(const MeshcCollective &collective) {
  return sizeOf(static_cast<MeshcType>(collective.type));
}

MeshcType meshc::runtime::partialTypeOf(const MeshcCollective &collective) {
  auto type = static_cast<MeshcType>(collective.type);
  bool isSum =
      collective.reduction == MESHC_SUM || collective.reduction == MESHC_PROD;
  return isSum ? partialType(type) : type;
}

bool meshc::runtime::reducesInOrder(const MeshcCollective &collective,
                                    bool ncclSums) {
  if (collective.kind != MESHC_ALL_REDUCE &&
      collective.kind != MESHC_REDUCE_SCATTER)
    return false;
  bool half = collective.type == MESHC_BF16 || collective.type == MESHC_F16;
  bool real = half || collective.type == MESHC_F32;
  bool extremum =
      collective.reduction == MESHC_MAX || collective.reduction == MESHC_MIN;
  return extremum ? real : half && !ncclSums;
}

int64_t meshc::runtime::sliceLength(int64_t total, int64_t size,
                                    int64_t elementBytes) {
  int64_t vector = 16 / elementBytes;
  return ((total + size - 1) / size + vector - 1) / vector * vector;
}

int64_t meshc::runtime::roomBytes(int64_t elements, int64_t elementBytes) {
  return (elements * elementBytes + 255) / 256 * 256;
}

ItemRooms meshc::runtime::planRooms(const MeshcCollective &collective,
                                    const MeshcCollectiveItem &item,
                                    const GroupAxes &axes, int64_t hosts,
                                    bool ncclSums) {
  const int64_t elementBytes = elementBytesOf(collective);
  const int64_t size = countRanks(axes);
  const bool inOrder = reducesInOrder(collective, ncclSums);
  const ItemBlocks blocks(collective.kind, item, axes);
  const bool packs = !blocks.getSend().isInOrder(axes);
  const bool unpacks = !blocks.getRecv().isInOrder(axes);
  ItemRooms rooms;
  rooms.block = blocks.getBlockSize();
  switch (collective.kind) {
  case MESHC_ALL_REDUCE:
    rooms.total = rooms.block;
    if (!inOrder)
      break;
    if (rooms.total * elementBytes > smallBytes) {
      rooms.block = sliceLength(rooms.total, size, elementBytes);
      rooms.partials = hosts > 1 ? hosts * rooms.block : 0;
    }
    rooms.arrived = size * rooms.block;
    break;
  case MESHC_REDUCE_SCATTER:
    rooms.total = rooms.block;
    rooms.packed = packs ? size * rooms.block : 0;
    rooms.arrived = inOrder ? size * rooms.block : 0;
    rooms.partials = inOrder && hosts > 1 ? hosts * rooms.block : 0;
    break;
  case MESHC_ALL_GATHER:
    rooms.arrived = unpacks ? size * rooms.block : 0;
    break;
  case MESHC_ALL_TO_ALL:
    rooms.packed = packs ? size * rooms.block : 0;
    rooms.arrived = unpacks ? size * rooms.block : 0;
    break;
  case MESHC_PERMUTE: // sent and received in place
    break;
  }
  return rooms;
}

namespace {

/// Receives a program's orders, and only adds up rooms.
class RoomCount final : public Device {
public:
  explicit RoomCount(Rank &rank) : Device(rank) {}
  int64_t bytes() const { return all; }

  void launch(const MeshcKernel &, void *const *) override {}
  void multiply(const MeshcGemm &, const void *, const void *,
                void *) override {}
  void multiplyWith(const MeshcEpilogue &, const MeshcGemm &, const void *,
                    const void *, void *, void *const *, void *) override {}
  void communicate(const MeshcCollective &collective, void *const *,
                   void *const *) override;
  void wait(const MeshcCollective &) override {}
  /// One iteration has all collectives of a loop.
  bool isTrue(const void *) override { return false; }
  void run(StepFunction function) override;

  // It has no memory to return.
  char *stage(const MeshcTensor &) override { return nullptr; }
  int runsAhead() const override { return 0; }
  void readMetrics(std::vector<float> &values) override { values.clear(); }
  const char *read(const MeshcTensor &) override { return nullptr; }
  void write(const MeshcTensor &,
             const std::function<void(char *)> &) override {}
  void synchronize() override {}
  std::vector<MemoryUse> memoryUse() const override { return {}; }

private:
  int64_t all = 0, last = 0;
};

} // namespace

void RoomCount::communicate(const MeshcCollective &collective, void *const *,
                            void *const *) {
  const Group &group = rank.mesh.group(collective.axes);
  const int64_t elementBytes = elementBytesOf(collective);
  int64_t bytes = 0;
  for (uint32_t i = 0; group.size() > 1 && i < collective.itemCount; ++i) {
    ItemRooms rooms = planRooms(collective, collective.items[i], group.axes,
                                /*hosts=*/1, /*ncclSums=*/false);
    bytes += roomBytes(rooms.packed, elementBytes) +
             roomBytes(rooms.arrived, elementBytes);
  }
  if (bytes <= last)
    return;
  last = bytes;
  all += bytes;
}

void RoomCount::run(StepFunction function) {
  if (auto code = codeOf(*rank.program, function).code)
    code(&ctx);
}

int64_t meshc::runtime::plannedRooms(const MeshcProgram &program) {
  std::vector<int64_t> sizes;
  for (uint32_t i = 0; i < program.axisCount; ++i)
    sizes.push_back(program.axes[i].size);
  WorldOptions options;
  options.ranks = 1;
  auto world = openWorld(options);
  int64_t bytes = 0;
  world->run([&](Communicator &communicator) {
    Rank rank(program, communicator, MeshView(sizes, 0), 1);
    RoomCount count(rank);
    for (StepFunction function : stepFunctions)
      count.run(function);
    bytes = count.bytes();
  });
  world->finish(0);
  return bytes;
}
