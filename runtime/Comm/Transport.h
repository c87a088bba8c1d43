//===- Transport.h - messages between ranks ----------------------*- C++
//-*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What the algorithms of collectives stand on: a rank fills a slot of bounded
/// size and posts parts of it to peers; each peer takes its messages in order.
/// A slot is free again when all who were posted to have released it.
///
/// Ranks here are numbers of the world.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_COMM_TRANSPORT_H
#define MESHC_RUNTIME_COMM_TRANSPORT_H

#include "runtime/Comm/StallWatch.h"

#include <cstddef>
#include <exception>
#include <functional>
#include <string>
#include <vector>

namespace meshc::runtime {

/// A wait that will not end. The communicator turns it into an error that says
/// where and in which collective.
class WaitBroken : public std::exception {
public:
  enum class Cause {
    Stalled,   ///< `rank` holds the others up for longer than the limit:
               ///< `stall`
    Died,      ///< the process of `rank` has ended
    Transport, ///< the connection to `rank` broke: `message`
    RankFailed ///< `rank` says that it failed, and why: `message`
  };

  WaitBroken(Cause cause, int rank, std::string message = {})
      : cause(cause), rank(rank), message(std::move(message)) {}

  /// `silent`: all ranks that are known to make no progress.
  WaitBroken(Stall why, std::vector<int> silent)
      : cause(Cause::Stalled), rank(why.culprit()), stall(std::move(why)),
        silent(std::move(silent)) {}

  const char *what() const noexcept override { return message.c_str(); }

  Cause cause;
  int rank;
  std::string message;
  Stall stall;
  std::vector<int> silent;
};

/// Bytes of a peer, valid until they are released.
struct Message {
  const char *data;
  size_t bytes;
};

/// One rank's end. All functions that wait throw WaitBroken.
class Transport {
public:
  virtual ~Transport();

  /// Bytes of a slot; what is posted of it is to be aligned to slotAlignment.
  virtual size_t slotBytes() const = 0;
  static constexpr size_t slotAlignment = 64;

  /// Waits for a free slot and returns it, aligned to slotAlignment.
  virtual char *acquire() = 0;
  /// Gives `peer` the bytes [offset, offset + bytes) of the slot acquired last.
  /// At most one post to each peer from each acquired slot.
  virtual void post(int peer, size_t offset, size_t bytes) = 0;

  /// Says that await(peer) comes soon.
  virtual void expect(int peer) = 0;
  /// Waits for the next message of `peer`. Release it before the next await of
  /// the same peer.
  virtual Message await(int peer) = 0;
  virtual void release(int peer) = 0;

  /// Ends a collective: waits until what was posted reaches its peers without
  /// this rank's further help.
  virtual void settle() = 0;

  /// To be called by the rank's thread before it uses the transport: its
  /// progress (noteProgress) is then the rank's.
  virtual void attachThread() = 0;
  /// `report` is called once when a wait has stalled for a while and is not
  /// broken yet, on one of the ranks of a host that wait.
  virtual void setStallReport(
      std::function<void(const Stall &stall, const std::vector<int> &silent,
                         double limitSeconds)>
          report) = 0;

  /// Waits for the failure that another rank records. Does not return.
  virtual void awaitFailure() = 0;
  /// Records the first failure of all ranks that can be reached; true where it
  /// is this one.
  virtual bool fail(const std::string &message) noexcept = 0;
};

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_COMM_TRANSPORT_H
