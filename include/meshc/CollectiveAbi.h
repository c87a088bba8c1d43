//===- CollectiveAbi.h - collectives of a program ---------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The part of RuntimeAbi.h, which includes it, about collectives. C99 and
/// C++17.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_COLLECTIVEABI_H
#define MESHC_COLLECTIVEABI_H

#include "meshc/KernelAbi.h"
#include "meshc/TensorAbi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum MeshcCollectiveKind {
  MESHC_ALL_REDUCE = 0,
  MESHC_REDUCE_SCATTER = 1,
  MESHC_ALL_GATHER = 2,
  MESHC_ALL_TO_ALL = 3,
  MESHC_PERMUTE = 4
} MeshcCollectiveKind;

/// One tensor of a collective; several are combined into one call.
///
/// A *blocked* buffer (outer, entries, inner) has outer × entries × inner
/// elements. The group's axes cut the entries into a block for each of its
/// ranks, axis by axis in the mesh's order, as they cut a dim (MeshcDim). Block
/// p has s = ⌈entries / ranks of the group⌉ entries, and begins at start_p. Its
/// first count_p entries exist. For each o < outer, it has the `inner` elements
/// of each of its entries. If the ranks divide the entries, start_p = p · s,
/// count_p = s. A *plain* buffer has one block, padding included: outer × s ×
/// inner elements. CollectiveBlocks.h has the arithmetic.
///
/// Only entries that exist are defined in what is received; padding of a plain
/// buffer may be changed.
///
/// - ALL_REDUCE: send and recv are outer · entries · inner elements. Nothing
///   is cut.
/// - REDUCE_SCATTER: send is blocked (sendOuter, sendEntries, sendInner); recv
///   is the block of this rank, plain.
/// - ALL_GATHER: send is plain; recv is blocked (recvOuter, recvEntries,
///   recvInner), block p from rank p of the group.
/// - ALL_TO_ALL: send is blocked (sendOuter, sendEntries, sendInner), recv
///   blocked (recvOuter, recvEntries, recvInner). Block p of send goes to rank
///   p, block p of recv comes from rank p. Both are the same sequence of
///   elements, padding included; those that exist in both are moved. If some do
///   not exist, s · inner of one side divides `inner` of the other.
/// - PERMUTE: send and recv are outer · entries · inner elements, padding
///   included. Nothing is cut: each rank sends all of them to one rank and
///   receives as many from one rank, perhaps itself (MeshcPermutation). In a
///   round (MeshcRound) some ranks send to nobody, and some receive from
///   nobody: their recv then holds anything.
///
/// In the other kinds, send and recv have equal numbers.
/// send == recv is allowed for ALL_REDUCE only; otherwise they do not overlap.
typedef struct MeshcCollectiveItem {
  int64_t sendOuter, sendEntries, sendInner;
  int64_t recvOuter, recvEntries, recvInner;
} MeshcCollectiveItem;

/// One round of an exchange between blocks of two sizes. A dim is cut into
/// blocks of sendBlock entries, block p on the rank with number p. The rank
/// with number q needs recvBlock of the entries, from q · recvBlock + offset
/// on. Several rounds move them. In each, a rank sends to at most one rank and
/// receives from at most one. If sendBlock ≥ recvBlock, sender p sends to
/// receiver ⌊(p · sendBlock - offset) / recvBlock⌋ + number; otherwise receiver
/// q receives from sender ⌊(q · recvBlock + offset) / sendBlock⌋ + number. A
/// rank whose counterpart would not be one of 0 … n - 1 does not take part.
typedef struct MeshcRound {
  int64_t sendBlock, recvBlock; ///< both 0 if a permute is not a round
  int64_t offset, number;
} MeshcRound;

/// Who sends to whom in a PERMUTE. The ranks of the group are numbered twice,
/// row-major over the group's axes: as senders with the axes in one order, as
/// receivers with the axes in another. Sender p sends to receiver
/// (p + shift) mod n, of n ranks, or as the round says. An order is the first k
/// bytes of its array, for a group over k axes: the places of axes among the
/// group's axes in the mesh's order, each of 0 … k - 1 once. The size does not
/// depend on the number of ranks.
typedef struct MeshcPermutation {
  uint8_t senders[MESHC_MAX_AXES], receivers[MESHC_MAX_AXES];
  int64_t shift; ///< 0 ≤ shift < n; 0 in a round
  MeshcRound round;
} MeshcPermutation;

typedef struct MeshcCollective {
  uint8_t kind;      ///< MeshcCollectiveKind
  uint8_t reduction; ///< MeshcReduction; used by the two that reduce
  uint8_t type;      ///< MeshcType of every item
  uint8_t reserved;
  uint32_t axes; ///< the group: ranks that differ on these axes only; within it
                 ///< they are numbered row-major, the last axis fastest
  uint32_t site; ///< index into MeshcProgram::sites
  uint32_t itemCount;
  const MeshcCollectiveItem *items;
  const MeshcPermutation *permutation; ///< of a PERMUTE; otherwise null
} MeshcCollective;

/// Begins a collective. It may run until meshc_wait; until then, generated code
/// does not write `send` and does not touch `recv`. All ranks of a group call
/// the same collectives in the same order, and the collectives run in that
/// order. Every rank gets the same bits. BF16 and F16 sums are accumulated in
/// f32; between GPUs, in groups of more than 64 ranks, the sum is rounded after
/// the first 64 ranks and after every 63 more. On the host the collective has
/// finished when the call returns.
void meshc_collective(MeshcContext *ctx, const MeshcCollective *collective,
                      void *const *send, void *const *recv);

/// Makes all later calls wait for this collective and all earlier ones. If it
/// runs several times at once, the first one counts; if it does not run,
/// nothing happens: in a loop the first iteration has no collective of the
/// previous one to wait for.
void meshc_wait(MeshcContext *ctx, const MeshcCollective *collective);

#ifdef __cplusplus
} // extern "C"
#endif

#endif // MESHC_COLLECTIVEABI_H
