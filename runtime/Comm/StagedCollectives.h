//===- StagedCollectives.h - collectives by bounded messages ----*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The five collectives over any transport. Data of any size pass through the
/// transport's slots piece by piece; a rank fills the next slot while its peers
/// still read the previous one. Either one rank computes each result and the
/// others copy it, or all ranks compute it in the same order, so that all have
/// the same bits.
///
/// `among` are the ranks that take part in this step, in the order in which
/// values are reduced. Member p's stream has the same size on all of them,
/// except in allToAll, where what member p sends to q has the size that q
/// knows. Streams may be empty.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_COMM_STAGEDCOLLECTIVES_H
#define MESHC_RUNTIME_COMM_STAGEDCOLLECTIVES_H

#include "runtime/Comm/Exchange.h"
#include "runtime/Comm/Stream.h"

namespace meshc::runtime {

/// recv[p] becomes the `send` of member p. Moves (G-1)·n elements to each rank,
/// the least possible.
void allGather(Exchange &exchange, const Group &among, const Stream &send,
               const std::vector<Stream> &recv);

/// recv[p] becomes member p's send[own place]. Moves (G-1)·n elements to each
/// rank, the least possible. No member sends more than `longest` elements to
/// another one; all know the same number.
void allToAll(Exchange &exchange, const Group &among,
              const std::vector<Stream> &send, const std::vector<Stream> &recv,
              int64_t longest);

/// Sends `send` to member `receiver`, and `recv` becomes the `send` of member
/// `sender`; both may be this rank. All members' streams have the same size.
void permute(Exchange &exchange, const Group &among, int sender, int receiver,
             const Stream &send, const Stream &recv);

/// `recv` becomes the reduction of all members' send[own place]. Moves (G-1)·n
/// elements, the least possible. Types differ as in ReductionKind.
void reduceScatter(Exchange &exchange, const Group &among,
                   MeshcReduction reduction, const std::vector<Stream> &send,
                   const Stream &recv);

/// `recv` becomes the reduction of all members' `send`; the two are the same
/// memory or disjoint. Every rank reads and reduces short streams itself: one
/// step, (G-1)·n elements. Long streams are reduced in slices, one per rank,
/// which are then gathered: 2·(G-1)/G·n elements, the least possible.
void allReduce(Exchange &exchange, const Group &among, MeshcReduction reduction,
               const Stream &send, const Stream &recv);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_COMM_STAGEDCOLLECTIVES_H
