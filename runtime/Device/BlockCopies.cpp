//===- BlockCopies.cpp - blocks of collectives in their rooms -------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Device/BlockCopies.h"

#include "runtime/Base/TensorBlock.h"
#include "runtime/Device/CudaLibrary.h"

#include <utility>

using namespace meshc;
using namespace meshc::runtime;

/// Copies the entries that exist from a blocked buffer to its room, where all
/// blocks are full, or back. What is in sequence in both is one copy.
void BlockCopies::copyBlocks(const BlockedBuffer &blocks, void *buffer,
                             void *room, bool toRoom) const {
  const int64_t size = blocks.getBlockSize(group.axes);
  const int64_t elementBytes = sizeOf(type);
  MeshcCudaCombine order = {};
  order.type = static_cast<uint8_t>(type);
  order.sourceCount = order.destinationCount = 1;
  for (int p = 0; p < group.size();) {
    ElementBox outside = blocks.getBox(group.axes, p).flat();
    ElementBox inside = blocks.getPlainBox(group.axes, p).flat();
    inside.offset = p * size;
    for (++p; blocks.outer == 1 && p < group.size(); ++p) {
      ElementBox next = blocks.getBox(group.axes, p).flat();
      if (next.offset != outside.offset + outside.length ||
          p * size != inside.offset + inside.length)
        break;
      outside.length += next.length;
      inside.length += next.length;
    }
    order.count = inside.size();
    if (order.count == 0)
      continue;
    order.sources[0] = boxRuns(buffer, outside, elementBytes);
    order.destinations[0] = boxRuns(room, inside, elementBytes);
    if (!toRoom)
      std::swap(order.sources[0], order.destinations[0]);
    checkCuda(cuda.combine(gpu, MESHC_CUDA_COMMUNICATION, &order),
              "order the blocks of a collective");
  }
}

/// Of one member's part of a row of the buffer.
int64_t BlockCopies::stepBytes(const BlockedBuffer &blocks) const {
  return getBlockStep(blocks.entries, group.axes) * blocks.inner * sizeOf(type);
}

void BlockCopies::pack(const BlockedBuffer &blocks, void *from,
                       void *room) const {
  if (!areBlocksFull(blocks.entries, group.axes))
    return copyBlocks(blocks, from, room, true);
  checkCuda(cuda.transpose(gpu, MESHC_CUDA_COMMUNICATION, room, from,
                           blocks.outer, group.size(), stepBytes(blocks)),
            "order the blocks of a collective");
}

void BlockCopies::unpack(const BlockedBuffer &blocks, void *room,
                         void *to) const {
  if (!areBlocksFull(blocks.entries, group.axes))
    return copyBlocks(blocks, to, room, false);
  checkCuda(cuda.transpose(gpu, MESHC_CUDA_COMMUNICATION, to, room,
                           group.size(), blocks.outer, stepBytes(blocks)),
            "order the blocks of a collective");
}
