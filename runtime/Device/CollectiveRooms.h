//===- CollectiveRooms.h - memory that collectives by NCCL need -*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Memory of the GPU beside a collective's own buffers: for blocks in another
/// order than NCCL takes and leaves them, and for values of all ranks that are
/// reduced in the order of the group.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_DEVICE_COLLECTIVEROOMS_H
#define MESHC_RUNTIME_DEVICE_COLLECTIVEROOMS_H

#include "meshc/RuntimeAbi.h"

#include <cstdint>

namespace meshc::runtime {

/// Whether NCCL moves the values and the runtime reduces them, in the order of
/// the group. NCCL would round 16-bit sums at every rank, and its MAX and MIN
/// drop NaNs.
bool reducesInOrder(const MeshcCollective &collective);

/// One item of a collective between `size` ranks, in elements.
struct ItemRooms {
  int64_t block = 0;  ///< that a rank sends to each other one; 0: nothing to do
  int64_t total = 0;  ///< of what is reduced
  int64_t packed = 0; ///< room for what is sent; 0: it is sent as it lies
  int64_t arrived = 0; ///< room for what arrives; 0: it arrives in its place
};
ItemRooms planRooms(const MeshcCollective &collective,
                    const MeshcCollectiveItem &item, int64_t size);

/// Elements of each rank's slice of a large all-reduce in order of `total`; the
/// last ranks' may be shorter.
int64_t sliceLength(int64_t total, int64_t size, int64_t elementBytes);

/// Bytes of a room, with those to the next one.
int64_t roomBytes(int64_t elements, int64_t elementBytes);

/// Bytes of rooms that a rank of the program will have allocated once each of
/// its functions ran: rooms are kept, and a larger one is added where the last
/// does not suffice.
int64_t plannedRooms(const MeshcProgram &program);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_DEVICE_COLLECTIVEROOMS_H
