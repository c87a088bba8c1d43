//===- MpiTransport.h - messages between hosts ------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_COMM_MPITRANSPORT_H
#define MESHC_RUNTIME_COMM_MPITRANSPORT_H

#include "runtime/Comm/MpiPlugin.h"
#include "runtime/Comm/PulseChannel.h"
#include "runtime/Comm/SharedTransport.h"

#include <map>
#include <memory>
#include <vector>

namespace meshc::runtime {

/// Sends messages for ranks on this host through shared memory, and those for
/// others through MPI, from the same slots.
class MpiTransport final : public Transport {
public:
  /// `mpi` is already started and outlives the transport.
  MpiTransport(const MeshcMpi &mpi, std::unique_ptr<SharedTransport> local);
  ~MpiTransport() override;

  size_t slotBytes() const override { return local->slotBytes(); }
  char *acquire() override;
  void post(int peer, size_t offset, size_t bytes) override;
  void expect(int peer) override;
  Message await(int peer) override;
  void release(int peer) override;
  void settle() override;
  void attachThread() override { local->attachThread(); }
  void setStallReport(
      std::function<void(const Stall &, const std::vector<int> &, double)> call)
      override {
    local->setStallReport(std::move(call));
  }
  void awaitFailure() override { local->awaitFailure(); }
  bool fail(const std::string &message) noexcept override {
    return local->fail(message);
  }

private:
  struct Sending {
    int peer;
    uint64_t request = 0;
    bool done = false;
  };
  /// The message of one peer that is expected, or has arrived.
  struct Receiving {
    std::unique_ptr<char[]> buffer; ///< slotBytes() bytes
    uint64_t request = 0;
    bool expected = false, done = false;
    size_t bytes = 0;
  };

  void check(int error, int peer) const;
  bool hasCome(int peer, Receiving &receiving);
  bool isSent(Sending &sending);
  void waitSent(std::vector<Sending> &slot);
  bool moveOn();

  const MeshcMpi &mpi;
  std::unique_ptr<SharedTransport> local;
  char *slot = nullptr; ///< acquired last
  std::vector<Sending> sendings[SharedSegment::slotCount];
  std::map<int, Receiving> receivings; ///< by rank
  PulseChannel pulses;
};

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_COMM_MPITRANSPORT_H
