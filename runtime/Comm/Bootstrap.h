//===- Bootstrap.h - how processes find each other --------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Ranks that are separate processes first exchange data through a bootstrap
/// (MPI's); then those on one host connect through shared memory.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_COMM_BOOTSTRAP_H
#define MESHC_RUNTIME_COMM_BOOTSTRAP_H

#include "runtime/Comm/SharedTransport.h"
#include "runtime/Comm/TransportCommunicator.h"

#include <cstddef>
#include <memory>
#include <string>

namespace meshc::runtime {

/// The minimal communication that processes need to begin with.
class Bootstrap {
public:
  virtual ~Bootstrap();
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Fills `all` with `bytes` bytes of each rank, in rank order. All ranks call
  /// it. Throws CommunicationError.
  virtual void allGather(const void *own, size_t bytes, void *all) = 0;
};

/// Identifies this host for the purpose of shared memory: processes with equal
/// identities see the same /dev/shm and the same process numbers. The network
/// namespace is part of it, so a container with its own network counts as a
/// host.
std::string hostIdentity();

/// Bytes of a slot for a world of `ranks`. Equal on all ranks, since it
/// determines how collectives are split into pieces.
size_t slotBytesFor(int ranks);

/// The connected ranks of this host.
struct HostConnection {
  WorldShape shape;
  std::unique_ptr<SharedTransport> transport;
};

/// Connects the ranks of each host by one segment of shared memory, whose name
/// is already unlinked when this returns. All ranks call it. Throws
/// CommunicationError, on all ranks.
HostConnection connectHost(Bootstrap &bootstrap, int threadsPerRank,
                           double timeoutSeconds);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_COMM_BOOTSTRAP_H
