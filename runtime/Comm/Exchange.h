//===- Exchange.h - the messages of one collective --------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Every message starts with a header that identifies its collective. A rank
/// that receives a message of a different collective knows that the ranks'
/// programs diverged, and reports it instead of waiting or computing with the
/// data.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_COMM_EXCHANGE_H
#define MESHC_RUNTIME_COMM_EXCHANGE_H

#include "meshc/RuntimeAbi.h"
#include "runtime/Comm/MeshView.h"
#include "runtime/Comm/Transport.h"

#include <cstdint>

namespace meshc::runtime {

/// Identifies the collective of a message; equal on all ranks that take part.
struct MessageHeader {
  /// MeshcCollectiveKind, or one of these.
  enum : uint8_t { Barrier = 100, Broadcast = 101, PointToPoint = 102 };

  uint8_t kind = 0, type = 0, reduction = 0, reserved = 0;
  uint32_t axes = 0;
  uint32_t site = 0;
  uint32_t ranks = 0; ///< how many ranks take part
  uint64_t bytes = 0; ///< of the buffers of one rank, padding included
};

/// A message of another collective arrived.
class WrongCollective : public std::exception {
public:
  WrongCollective(int rank, const MessageHeader &got) : rank(rank), got(got) {}
  const char *what() const noexcept override {
    return "ranks are in different collectives";
  }

  int rank; ///< who sent it
  MessageHeader got;
};

/// One collective in progress on one rank.
class Exchange {
public:
  Exchange(Transport &transport, const MessageHeader &header)
      : transport(transport), header(header) {}

  /// Bytes of the header in front of a message's content.
  static constexpr size_t headerBytes = Transport::slotAlignment;
  /// Bytes of content that a message can carry if each slot holds `parts` of
  /// them.
  size_t capacity(size_t parts) const;

  /// Waits for a slot to fill.
  void begin() { slot = transport.acquire(); }
  /// The address for the content of message `part` of the slot, if each has at
  /// most `capacity` bytes.
  char *content(size_t part, size_t capacity) const {
    return slot + part * stride(capacity) + headerBytes;
  }
  /// Posts message `part` with `bytes` bytes of content to a rank. The same
  /// part may go to several ranks.
  void post(int rank, size_t part, size_t capacity, size_t bytes);

  /// Announces that await(rank) comes soon.
  void expect(int rank) { transport.expect(rank); }
  /// Waits for `rank`'s next message, which has `bytes` bytes of content.
  const char *await(int rank, size_t bytes);
  void release(int rank) {
    transport.release(rank);
    noteProgress();
  }

  /// Waits for the failure that another rank records. Does not return.
  void awaitFailure() { transport.awaitFailure(); }

private:
  static size_t stride(size_t capacity) {
    constexpr size_t unit = Transport::slotAlignment;
    return headerBytes + (capacity + unit - 1) / unit * unit;
  }

  Transport &transport;
  const MessageHeader &header;
  char *slot = nullptr;
};

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_COMM_EXCHANGE_H
