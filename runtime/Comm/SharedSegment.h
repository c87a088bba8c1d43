//===- SharedSegment.h - memory that the ranks of a host share --*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The layout of the shared memory. It starts as zeros. Members are numbers of
/// ranks within the segment, from 0. All fields that several ranks touch are
/// atomics of 32 or 64 bits, which are lock-free and have the same layout in
/// every process.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_COMM_SHAREDSEGMENT_H
#define MESHC_RUNTIME_COMM_SHAREDSEGMENT_H

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace meshc::runtime {

/// The first failure among the members.
struct FailureRecord {
  enum : uint32_t { None = 0, Writing = 1, Set = 2 };
  std::atomic<uint32_t> state;
  int32_t rank;
  char message[1016];
  /// Identifies the stall that was reported last, so that only one member
  /// reports it.
  std::atomic<uint32_t> reportedStall;
};

/// One member as others see it.
struct alignas(64) MemberState {
  std::atomic<uint32_t> sleeping;  ///< 1 while it sleeps on this word
  std::atomic<uint32_t> processId; ///< 0 until it has attached
  std::atomic<uint32_t> left;      ///< 1 once it has ended in an orderly way
  std::atomic<uint32_t> threadId;  ///< of the thread that runs it; 0: not yet
  std::atomic<uint32_t> progress, turns, waitsFor; ///< as in Pulse
  uint64_t startTime; ///< start time of the process, in the kernel's ticks
};

/// The pulse of a rank of another host, as one of the members saw it last. The
/// fields are as in Pulse.
struct SeenPulse {
  std::atomic<uint32_t> progress, turns, waitsFor, runnable;
  std::atomic<uint64_t> processorTime, taken;
};

/// The messages from one member (the sender) to another. Counters only grow,
/// and wrap around.
struct MessageQueue {
  static constexpr uint32_t depth = 4;
  struct Entry {
    uint32_t offset; ///< from the sender's first slot, in units of 64 bytes
    uint32_t bytes;
  };
  alignas(64) std::atomic<uint32_t> posted; ///< written by the sender
  Entry entries[depth];
  alignas(64) std::atomic<uint32_t> released; ///< written by the receiver
};

/// A view of a segment; copies see the same memory.
class SharedSegment {
public:
  /// A member can have this many slots in use at once.
  static constexpr uint32_t slotCount = MessageQueue::depth;

  /// Bytes of memory for this many members with slots of `slotBytes`, which is
  /// a multiple of 64. `seenCount`: the number of ranks if other hosts have
  /// some of them, else 0.
  static size_t bytes(int memberCount, size_t slotBytes, int seenCount);

  /// `memory`: at least bytes(…) zeros, or what other members already wrote
  /// there, aligned to 64 bytes. It is released with its last copy.
  SharedSegment(std::shared_ptr<void> memory, int memberCount, size_t slotBytes,
                int seenCount);

  /// Memory for ranks that are threads of this process.
  static SharedSegment inProcess(int memberCount, size_t slotBytes);
  /// The first creates a named segment on the host (`/dev/shm`) and reserves
  /// its memory immediately; the second opens an existing one. Both throw
  /// CommunicationError.
  static SharedSegment create(const std::string &name, int memberCount,
                              size_t slotBytes, int seenCount);
  static SharedSegment open(const std::string &name, int memberCount,
                            size_t slotBytes, int seenCount);
  /// `size` bytes of zeros shared by all processes that use the name; the first
  /// one creates them. Null on failure.
  static std::shared_ptr<void> openBoard(const std::string &name, size_t size);
  /// Unlinks the name: the memory lives on as long as a member maps it.
  static void unlink(const std::string &name);
  /// A name that no other run uses.
  static std::string uniqueName();

  int memberCount() const { return count; }
  size_t slotBytes() const { return bytesOfSlot; }
  int seenCount() const { return countSeen; }

  FailureRecord &failure() const;
  MemberState &member(int m) const;
  MessageQueue &queue(int from, int to) const;
  /// Of any rank of the world below `seenCount`, by its number there.
  SeenPulse &seen(int rank) const;
  /// The first slot of a member; the others follow it.
  char *slots(int m) const;

private:
  std::shared_ptr<void> memory;
  int count;
  size_t bytesOfSlot;
  int countSeen;
};

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_COMM_SHAREDSEGMENT_H
