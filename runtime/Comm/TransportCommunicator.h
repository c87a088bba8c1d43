//===- TransportCommunicator.h - a communicator on messages -----*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_COMM_TRANSPORTCOMMUNICATOR_H
#define MESHC_RUNTIME_COMM_TRANSPORTCOMMUNICATOR_H

#include "runtime/Comm/Communicator.h"
#include "runtime/Comm/DirectCollectives.h"
#include "runtime/Comm/Exchange.h"
#include "runtime/Comm/HierarchicalCollectives.h"
#include "runtime/Comm/Transport.h"

#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace meshc::runtime {

/// What the ranks of a world know about each other before they communicate.
struct WorldShape {
  int rank = 0;
  /// By rank: a number for the host on which it runs.
  std::vector<int> hosts{0};
  /// The world's use of buffers, if all ranks are threads of this process and
  /// can reach each other's memory; null otherwise.
  std::shared_ptr<BufferUse> bufferUse;
};

/// Chooses the algorithm of each collective and words its failures.
class TransportCommunicator final : public Communicator {
public:
  TransportCommunicator(WorldShape shape, std::unique_ptr<Transport> transport);

  /// Call it on the thread that runs the rank, before all others. For a rank
  /// that is a process, it has already been called.
  void attachThread() { transport->attachThread(); }

  int rank() const override { return shape.rank; }
  int size() const override { return all.size(); }
  const std::vector<int> &hosts() const override { return shape.hosts; }
  void run(const MeshcCollective &collective, const Group &group,
           void *const *send, void *const *recv) override;
  void barrier() override;
  void broadcast(void *data, size_t bytes, int root) override;
  void send(const void *data, size_t bytes, int to) override;
  void receive(void *data, size_t bytes, int from) override;
  bool fail(const std::string &message) noexcept override;

private:
  /// Runs `work(exchange)` and turns WaitBroken into a CommunicationError.
  template <class Work> void inExchange(const MessageHeader &header, Work work);
  [[noreturn]] void throwBroken(const WaitBroken &broken,
                                const MessageHeader &header) const;
  std::string describe(const Stall &stall,
                       const std::vector<int> &silent) const;
  void reportStall(const Stall &stall, const std::vector<int> &silent,
                   double limitSeconds) const;
  std::string describe(const MessageHeader &header) const;
  const std::optional<Hierarchy> &hierarchyOf(const Group &group);

  WorldShape shape;
  std::unique_ptr<Transport> transport;
  Group all;                              ///< every rank
  const MessageHeader *current = nullptr; ///< of the collective in progress
  bool severalHosts;
  std::map<std::vector<int>, std::optional<Hierarchy>> hierarchies;
};

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_COMM_TRANSPORTCOMMUNICATOR_H
