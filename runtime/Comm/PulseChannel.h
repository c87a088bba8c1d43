//===- PulseChannel.h - pulses of ranks on other hosts ----------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_COMM_PULSECHANNEL_H
#define MESHC_RUNTIME_COMM_PULSECHANNEL_H

#include "runtime/Comm/MpiPlugin.h"
#include "runtime/Comm/Pulse.h"

#include <chrono>
#include <condition_variable>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <thread>

namespace meshc::runtime {

/// Ranks on several hosts request each other's pulses. A thread of each process
/// answers, also while the rank computes; a stopped process does not. Nothing
/// is sent unless a rank has waited for long.
class PulseChannel {
public:
  /// `mpi` is already started, and outlives the channel. `own` returns this
  /// rank's pulse; the channel's thread calls it.
  PulseChannel(const MeshcMpi &mpi, std::function<Pulse()> own);
  ~PulseChannel();
  PulseChannel(const PulseChannel &) = delete;
  PulseChannel &operator=(const PulseChannel &) = delete;

  /// Returns the last known pulse of `rank` (all zeros before the first one),
  /// and requests a newer one. Does not wait.
  Pulse ask(int rank);

private:
  using Clock = std::chrono::steady_clock;
  struct Message {
    uint32_t isAnswer = 0;
    uint32_t reserved = 0;
    Pulse pulse{};
  };
  struct Sending {
    Message message;
    uint64_t request = 0;
  };
  struct Peer {
    Pulse pulse;
    Clock::time_point wanted, asked;
  };

  void serve();
  void takeMessages();
  void askWanted();
  void send(int to, const Message &message);

  const MeshcMpi &mpi;
  std::function<Pulse()> own;
  std::mutex mutex; ///< of the two below
  std::condition_variable stopped;
  bool stops = false;
  std::map<int, Peer> peers;  ///< by rank
  std::list<Sending> sending; ///< of the channel's thread
  std::thread thread;
};

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_COMM_PULSECHANNEL_H
