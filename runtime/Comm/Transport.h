//===- Transport.h - messages between ranks ---------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The base of the collective algorithms. A rank fills a slot of bounded size
/// and posts parts of it to peers; each peer takes its messages in order. A
/// slot is free again once all recipients have released it.
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

/// A wait that will not end. The communicator turns it into an error that names
/// the place and the collective.
class WaitBroken : public std::exception {
public:
  enum class Cause {
    Stalled,   ///< `rank` holds up the others for longer than the limit:
               ///< `stall`
    Died,      ///< the process of `rank` has ended
    Transport, ///< the connection to `rank` broke: `message`
    RankFailed ///< `rank` reports that it failed, and why: `message`
  };

  WaitBroken(Cause cause, int rank, std::string message = {})
      : cause(cause), rank(rank), message(std::move(message)) {}

  /// `silent`: all ranks known to make no progress.
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

/// One rank's endpoint. All functions that wait throw WaitBroken.
class Transport {
public:
  virtual ~Transport();

  /// Bytes of a slot. Align what is posted from it to slotAlignment.
  virtual size_t slotBytes() const = 0;
  static constexpr size_t slotAlignment = 64;

  /// Waits for a free slot and returns it, aligned to slotAlignment.
  virtual char *acquire() = 0;
  /// Posts the bytes [offset, offset + bytes) of the slot acquired last to
  /// `peer`. At most one post to each peer from each acquired slot.
  virtual void post(int peer, size_t offset, size_t bytes) = 0;

  /// Announces that await(peer) comes soon.
  virtual void expect(int peer) = 0;
  /// Waits for the next message of `peer`. Release it before the next await of
  /// the same peer.
  virtual Message await(int peer) = 0;
  virtual void release(int peer) = 0;

  /// Ends a collective: waits until the posted messages can reach the peers
  /// without this rank's further help.
  virtual void settle() = 0;

  /// Call it on the rank's thread before using the transport: that thread's
  /// progress (noteProgress) is then the rank's.
  virtual void attachThread() = 0;
  /// `report` is called once when a wait has stalled for a while and is not
  /// broken yet, on one of the waiting ranks of a host.
  virtual void setStallReport(
      std::function<void(const Stall &stall, const std::vector<int> &silent,
                         double limitSeconds)>
          report) = 0;

  /// Waits for the failure that another rank records. Does not return.
  virtual void awaitFailure() = 0;
  /// Records the first failure of all reachable ranks; returns true if it is
  /// this one.
  virtual bool fail(const std::string &message) noexcept = 0;
};

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_COMM_TRANSPORT_H
