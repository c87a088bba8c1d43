//===- CollectiveRooms.h - memory that collectives by NCCL need -*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// GPU memory beside a collective's own buffers: for blocks in an order that
/// NCCL does not accept or produce, and for values of all ranks that are
/// reduced in the order of the group. Between GPUs all blocks of an item have
/// one size: padding is sent, too, and a room has a whole block where a buffer
/// has a short one.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_DEVICE_COLLECTIVEROOMS_H
#define MESHC_RUNTIME_DEVICE_COLLECTIVEROOMS_H

#include "meshc/CollectiveBlocks.h"

#include <cstdint>

namespace meshc::runtime {

/// Whether NCCL moves the values and the runtime reduces them, in the order of
/// the group. NCCL would round 16-bit sums on every rank, which `ncclSums`
/// permits, and its MAX and MIN drop NaNs.
bool reducesInOrder(const MeshcCollective &collective, bool ncclSums);

/// The type of what a host's ranks have reduced, before it is reduced with that
/// of other hosts: F32 for sums and products of 16 bits, otherwise the
/// collective's. An extremum is exact in any type.
MeshcType partialTypeOf(const MeshcCollective &collective);

/// One item of a collective in a group over `axes`, in elements.
struct ItemRooms {
  int64_t block = 0;   ///< that a rank sends to each other rank, padding
                       ///< included; 0: nothing to do
  int64_t total = 0;   ///< of the values to reduce
  int64_t packed = 0;  ///< room to send from; 0: sent in place
  int64_t arrived = 0; ///< room to receive in; 0: received in place
  /// Of partialTypeOf: what this rank's host reduced for all hosts, and as much
  /// that arrives from them; 0: the ranks of all hosts reduce together.
  int64_t partials = 0;
};
/// `hosts`: how many the group has, if its ranks reduce within each of them
/// first (HostSums.h), otherwise 1.
ItemRooms planRooms(const MeshcCollective &collective,
                    const MeshcCollectiveItem &item, const GroupAxes &axes,
                    int64_t hosts, bool ncclSums);

/// Elements of each rank's slice of a large ordered all-reduce of `total`
/// elements; the last ranks' slices may be shorter.
int64_t sliceLength(int64_t total, int64_t size, int64_t elementBytes);

/// Bytes of a room, including the alignment of the next one.
int64_t roomBytes(int64_t elements, int64_t elementBytes);

/// Bytes of rooms that a rank of the program will have allocated once each of
/// its functions has run on one host, without NCCL's own sums. Rooms are kept,
/// and a larger one is added if the last does not suffice.
int64_t plannedRooms(const MeshcProgram &program);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_DEVICE_COLLECTIVEROOMS_H
