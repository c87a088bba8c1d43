//===- HierarchicalCollectives.h - hosts of several ranks -------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// If a group has equally many ranks on each of its hosts, a collective runs in
/// two levels, and each element crosses between two hosts once per host instead
/// of once per rank. Between hosts, ranks with the same position on their hosts
/// communicate, so that all of them share the network.
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
  /// places[h][l]: the place in the group of the l-th rank on the group's host
  /// h.
  std::vector<std::vector<int>> places;
  Group within; ///< the ranks on this rank's host, by l
  Group across; ///< the ranks with this rank's l on each host, by h
};

/// The hierarchy of `group`; `hosts[rank]` identifies each rank's host. Returns
/// nothing if two levels do not help: one host, one rank per host, or uneven
/// numbers.
std::optional<Hierarchy> findHierarchy(const Group &group,
                                       const std::vector<int> &hosts);

/// Runs a collective in two levels. Does not accept ALL_TO_ALL and PERMUTE,
/// which gain nothing.
void runHierarchically(Exchange &exchange, const Hierarchy &hierarchy,
                       const MeshcCollective &collective,
                       const CollectiveStreams &streams);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_COMM_HIERARCHICALCOLLECTIVES_H
