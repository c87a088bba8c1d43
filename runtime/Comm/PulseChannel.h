//===- PulseChannel.h - pulses of ranks on other hosts ----------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_COMM_PULSECHANNEL_H
#define MESHC_RUNTIME_COMM_PULSECHANNEL_H

#include "runtime/Comm/MpiPlugin.h"
#include "runtime/Comm/SharedTransport.h"

#include <chrono>
#include <condition_variable>
#include <list>
#include <map>
#include <mutex>
#include <thread>

namespace meshc::runtime {

/// Ranks on several hosts request pulses of one another. A thread of each
/// process answers, also while the rank computes; a stopped process does not.
/// Nothing is sent unless a rank has waited for long.
///
/// A rank sends its questions to the rank that it waits for, also those about
/// the rank that this one waits for, and so on: each knows whom it waits for,
/// by shared memory or by its own questions. So messages go only where data
/// goes. MPI would have to connect other ranks first, and Open MPI ends a rank
/// if it cannot, for example because the network between the hosts has failed.
class PulseChannel {
public:
  /// `mpi` is already started. It and `local`, which has the known pulses and
  /// receives new ones, outlive the channel.
  PulseChannel(const MeshcMpi &mpi, SharedTransport &local);
  ~PulseChannel();
  PulseChannel(const PulseChannel &) = delete;
  PulseChannel &operator=(const PulseChannel &) = delete;

  /// Requests a newer pulse of `rank` from `awaited`, a rank of another host.
  /// Does not wait.
  void request(int rank, int awaited);

private:
  using Clock = std::chrono::steady_clock;
  struct Message {
    uint32_t isAnswer = 0;
    int32_t rank = 0; ///< whose pulse
    Pulse pulse{};
  };
  struct Sending {
    Message message;
    uint64_t request = 0;
  };
  struct Question {
    int awaited = 0; ///< whom to ask
    Clock::time_point wanted, asked;
  };

  void serve();
  void takeMessages();
  void askWanted();
  void send(int to, const Message &message);

  const MeshcMpi &mpi;
  SharedTransport &local;
  std::mutex mutex; ///< of the two below
  std::condition_variable stopped;
  bool stops = false;
  std::map<int, Question> questions; ///< by rank
  std::list<Sending> sending;        ///< of the channel's thread
  std::thread thread;
};

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_COMM_PULSECHANNEL_H
