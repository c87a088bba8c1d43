//===- BlockCopies.h - blocks of collectives in their rooms -----*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_DEVICE_BLOCKCOPIES_H
#define MESHC_RUNTIME_DEVICE_BLOCKCOPIES_H

#include "runtime/Device/CudaCollectives.h"

namespace meshc::runtime {

/// Copies between the buffers of a collective and its rooms
/// (CollectiveRooms.h), on the communication stream. A room has the blocks of
/// all members one after the other, each of full size.
class BlockCopies {
public:
  BlockCopies(const MeshcCuda &cuda, MeshcCudaRank *gpu, const Group &group,
              MeshcType type)
      : cuda(cuda), gpu(gpu), group(group), type(type) {}

  /// From the buffer at `from`, which has `blocks`, to the room.
  void pack(const BlockedBuffer &blocks, void *from, void *room) const;
  /// From the room to the buffer at `to`.
  void unpack(const BlockedBuffer &blocks, void *room, void *to) const;

private:
  void copyBlocks(const BlockedBuffer &blocks, void *buffer, void *room,
                  bool toRoom) const;
  int64_t stepBytes(const BlockedBuffer &blocks) const;

  const MeshcCuda &cuda;
  MeshcCudaRank *gpu;
  const Group &group;
  MeshcType type;
};

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_DEVICE_BLOCKCOPIES_H
