//===- HierarchicalCollectives.h - hosts of several ranks --------*- C++
//-*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Where a group has as many ranks on each of its hosts, a collective goes in
/// two levels, and each element crosses between two hosts once per host instead
/// of once per rank. Between hosts, ranks of the same place on their hosts
/// speak with each other, so that all of them share the network.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_COMM_HIERARCHICALCOLLECTIVES_H
#define MESHC_RUNTIME_COMM_HIERARCHICALCOLLECTIVES_H

#include "runtime/Comm/Exchange.h"
#include "runtime/Comm/Stream.h"

#include <optional>

namespace meshc::runtime {

/// A group as hosts × places.
struct Hierarchy {
  /// places[h][l]: the place in the group of the rank that is number l on the
  /// group's host h.
  std::vector<std::vector<int>> places;
  Group within; ///< the ranks of this rank's host, by l
  Group across; ///< the ranks that are this rank's number l on theirs, by h
};

/// The hierarchy of `group`, where `hosts[rank]` tells ranks' hosts apart.
/// Nothing where two levels are of no use: one host, one rank per host, or
/// uneven numbers.
std::optional<Hierarchy> findHierarchy(const Group &group,
                                       const std::vector<int> &hosts);

/// Runs a collective in two levels. ALL_TO_ALL, which gains nothing, is not
/// for it.
void runHierarchically(Exchange &exchange, const Hierarchy &hierarchy,
                       const MeshcCollective &collective,
                       const CollectiveStreams &streams);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_COMM_HIERARCHICALCOLLECTIVES_H
