//===- SharedTransport.h - messages through shared memory -------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_COMM_SHAREDTRANSPORT_H
#define MESHC_RUNTIME_COMM_SHAREDTRANSPORT_H

#include "runtime/Base/Waiting.h"
#include "runtime/Comm/SharedSegment.h"
#include "runtime/Comm/Transport.h"

#include <chrono>
#include <functional>
#include <vector>

namespace meshc::runtime {

/// How a rank waits.
struct WaitPolicy {
  /// Seconds that a wait tolerates without progress of the rank at fault; 0:
  /// forever.
  double timeoutSeconds = 0;
  /// Few polls before the first yield, a few microseconds, since the awaited
  /// rank may need this processor.
  SpinLimits spins = {60, 400};

  /// The policy for `ranks` ranks of `threads` threads each on this host.
  static WaitPolicy forRanks(int ranks, int threads, double timeoutSeconds);
};

/// One member's endpoint of a segment. Used by one thread.
class SharedTransport final : public Transport {
public:
  /// `ranks`: the world's number of each member, `self` this one. `processes`:
  /// each member is a process, which may die alone, and this is its rank's
  /// thread.
  SharedTransport(SharedSegment segment, std::vector<int> ranks, int self,
                  WaitPolicy policy, bool processes);
  ~SharedTransport() override;

  size_t slotBytes() const override { return segment.slotBytes(); }
  char *acquire() override;
  void post(int peer, size_t offset, size_t bytes) override;
  void expect(int) override {}
  Message await(int peer) override;
  void release(int peer) override;
  void settle() override {}
  void attachThread() override;
  void setStallReport(
      std::function<void(const Stall &, const std::vector<int> &, double)> call)
      override {
    stallReport = std::move(call);
  }
  void awaitFailure() override;
  bool fail(const std::string &message) noexcept override;

  /// Whether `rank` is a member.
  bool has(int rank) const {
    return rank >= 0 && rank < static_cast<int>(members.size()) &&
           members[rank] >= 0;
  }
  /// The number of the slot acquired last, below SharedSegment::slotCount.
  uint32_t currentSlot() const { return current; }

  /// Waits until `ready` returns true, on behalf of `rank`. Public for other
  /// transports, which have the same policy and see the same failures.
  void wait(int rank, const std::function<bool()> &ready);
  /// Polled while waiting, for transports that progress only when they are
  /// called. Returns whether work is left.
  void setProgress(std::function<bool()> call) { progress = std::move(call); }
  /// Sets how this rank requests newer pulses of ranks on other hosts. The call
  /// does not wait; `awaited` is the rank that this one waits for.
  void setPulseRequest(std::function<void(int rank, int awaited)> call) {
    requestPulse = std::move(call);
  }
  /// The pulse of any rank: of a member, the current one; of others, the one
  /// that was noted last on this host. Any thread may call these two.
  Pulse pulseOf(int rank) const;
  /// Shares the pulse of a rank on another host with all members, unless they
  /// have a newer one.
  void notePulse(int rank, const Pulse &pulse);

private:
  struct Use {
    int member;
    uint32_t count; ///< sequence number of the post from this slot
  };
  using Clock = std::chrono::steady_clock;

  template <class Ready> void waitFor(int rank, Ready ready);
  template <class Ready>
  void sleepUntil(int rank, Ready ready, Clock::time_point start);
  template <class Ready> bool moveOn(Ready ready);
  void checkFailure();
  void checkProcess(int rank);
  void checkProgress(int rank, Clock::time_point start, Clock::time_point now);
  std::vector<int> findSilent(const Stall &stall, Clock::time_point now);
  bool claimReport(const Stall &stall, Clock::time_point start);
  void wake(int member);
  void waitReleased(const Use &use);
  int memberOf(int rank) const { return members[rank]; }
  Pulse observe(int rank);

  SharedSegment segment;
  std::vector<int> ranks;   ///< by member
  std::vector<int> members; ///< by rank; -1: not in this segment
  int self;
  WaitPolicy policy;
  bool processes;
  std::function<bool()> progress;
  std::function<void(int rank, int awaited)> requestPulse;
  std::function<void(const Stall &, const std::vector<int> &, double)>
      stallReport;
  StallWatch watch;
  Clock::time_point reportedWait; ///< the start of the wait reported last

  std::vector<uint32_t> postedTo, takenFrom; ///< by member
  std::vector<Use> uses[SharedSegment::slotCount];
  uint32_t current = SharedSegment::slotCount - 1;
};

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_COMM_SHAREDTRANSPORT_H
