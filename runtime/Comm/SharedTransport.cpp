//===- SharedTransport.cpp - messages through shared memory ---------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Comm/SharedTransport.h"

#include "runtime/Comm/WatchTimes.h"

#include <algorithm>
#include <cstring>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace meshc::runtime;

namespace {

/// A sleeper polls this often, whether woken or not.
constexpr auto longestSleep = std::chrono::milliseconds(20);
/// The interval while another transport must be called to progress.
constexpr auto shortestSleep = std::chrono::microseconds(50);

/// A stall is reported after this many seconds, or earlier if it ends the run
/// soon.
double reportSeconds(double limit) {
  constexpr double usual = 10;
  return limit > 0 ? std::min(usual, limit / 2) : usual;
}

} // namespace

Transport::~Transport() = default;

WaitPolicy WaitPolicy::forRanks(int ranks, int threads, double timeoutSeconds) {
  // For this rank; mpirun may have given each of the others its own.
  cpu_set_t set;
  int allowed =
      sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : threads;
  long processors = sysconf(_SC_NPROCESSORS_ONLN);
  WaitPolicy policy;
  policy.timeoutSeconds = timeoutSeconds;
  if (threads > allowed || static_cast<int64_t>(ranks) * threads > processors)
    policy.spins = {0, 20};
  return policy;
}

SharedTransport::SharedTransport(SharedSegment memory, std::vector<int> all,
                                 int self, WaitPolicy policy, bool processes)
    : segment(std::move(memory)), ranks(std::move(all)), self(self),
      policy(policy), processes(processes),
      watch(ranks[self], [this](int rank) { return observe(rank); }),
      postedTo(ranks.size()), takenFrom(ranks.size()) {
  members.assign(*std::max_element(ranks.begin(), ranks.end()) + 1, -1);
  for (size_t m = 0; m < ranks.size(); ++m)
    members[ranks[m]] = static_cast<int>(m);
  MemberState &own = segment.member(self);
  uint32_t id = static_cast<uint32_t>(getpid());
  own.startTime = processStart(id);
  own.processId.store(id, std::memory_order_release);
  if (processes) // by the rank's thread
    attachThread();
}

SharedTransport::~SharedTransport() {
  if (progressCounter() == &segment.member(self).progress)
    setProgressCounter(nullptr);
  segment.member(self).left.store(1, std::memory_order_release);
}

void SharedTransport::attachThread() {
  MemberState &own = segment.member(self);
  own.threadId.store(static_cast<uint32_t>(syscall(SYS_gettid)));
  setProgressCounter(&own.progress);
}

char *SharedTransport::acquire() {
  current = (current + 1) % SharedSegment::slotCount;
  for (const Use &use : uses[current])
    waitReleased(use);
  uses[current].clear();
  return segment.slots(self) + current * segment.slotBytes();
}

void SharedTransport::post(int peer, size_t offset, size_t bytes) {
  int to = memberOf(peer);
  MessageQueue &queue = segment.queue(self, to);
  uint32_t number = postedTo[to];
  queue.entries[number % MessageQueue::depth] = {
      static_cast<uint32_t>((current * segment.slotBytes() + offset) /
                            slotAlignment),
      static_cast<uint32_t>(bytes)};
  postedTo[to] = ++number;
  uses[current].push_back({to, number});
  queue.posted.store(number, std::memory_order_release);
  wake(to);
}

Message SharedTransport::await(int peer) {
  int from = memberOf(peer);
  const MessageQueue &queue = segment.queue(from, self);
  uint32_t taken = takenFrom[from];
  waitFor(peer, [&] {
    return queue.posted.load(std::memory_order_acquire) != taken;
  });
  const MessageQueue::Entry &entry = queue.entries[taken % MessageQueue::depth];
  return {segment.slots(from) +
              static_cast<size_t>(entry.offset) * slotAlignment,
          entry.bytes};
}

void SharedTransport::release(int peer) {
  int from = memberOf(peer);
  segment.queue(from, self)
      .released.store(++takenFrom[from], std::memory_order_release);
  wake(from);
}

void SharedTransport::waitReleased(const Use &use) {
  const std::atomic<uint32_t> &released =
      segment.queue(self, use.member).released;
  waitFor(ranks[use.member], [&] {
    return static_cast<int32_t>(released.load(std::memory_order_acquire) -
                                use.count) >= 0;
  });
}

void SharedTransport::awaitFailure() {
  waitFor(ranks[self], [] { return false; });
}

bool SharedTransport::fail(const std::string &message) noexcept {
  FailureRecord &record = segment.failure();
  uint32_t expected = FailureRecord::None;
  if (!record.state.compare_exchange_strong(expected, FailureRecord::Writing))
    return false;
  record.rank = ranks[self];
  size_t length = std::min(message.size(), sizeof(record.message) - 1);
  std::memcpy(record.message, message.data(), length);
  record.message[length] = 0;
  record.state.store(FailureRecord::Set, std::memory_order_release);
  for (size_t m = 0; m < ranks.size(); ++m)
    wake(static_cast<int>(m));
  return true;
}

void SharedTransport::checkFailure() {
  FailureRecord &record = segment.failure();
  if (record.state.load(std::memory_order_acquire) == FailureRecord::Set)
    throw WaitBroken(WaitBroken::Cause::RankFailed, record.rank,
                     record.message);
}

/// A member that left in an orderly way is no failure: its posts can still be
/// taken, and checkProgress() handles the posts that it will not make.
void SharedTransport::checkProcess(int rank) {
  if (!processes || !has(rank))
    return;
  const MemberState &peer = segment.member(memberOf(rank));
  uint32_t id = peer.processId.load(std::memory_order_acquire);
  if (id == 0 || peer.left.load(std::memory_order_acquire))
    return;
  if (processStart(id) != peer.startTime)
    throw WaitBroken(WaitBroken::Cause::Died, rank);
}

Pulse SharedTransport::pulseOf(int rank) const {
  Pulse pulse;
  if (!has(rank)) {
    if (rank >= segment.seenCount())
      return pulse;
    const SeenPulse &seen = segment.seen(rank);
    pulse.taken = seen.taken.load(std::memory_order_acquire);
    pulse.progress = seen.progress.load(std::memory_order_relaxed);
    pulse.turns = seen.turns.load(std::memory_order_relaxed);
    pulse.waitsFor = seen.waitsFor.load(std::memory_order_relaxed);
    pulse.runnable = seen.runnable.load(std::memory_order_relaxed);
    pulse.processorTime = seen.processorTime.load(std::memory_order_relaxed);
    return pulse;
  }
  const MemberState &member = segment.member(memberOf(rank));
  pulse.taken = std::chrono::duration_cast<std::chrono::microseconds>(
                    Clock::now().time_since_epoch())
                    .count();
  pulse.progress = member.progress.load(std::memory_order_relaxed);
  pulse.turns = member.turns.load(std::memory_order_relaxed);
  pulse.waitsFor = member.waitsFor.load(std::memory_order_relaxed);
  const ThreadState state =
      threadState(member.processId.load(std::memory_order_acquire),
                  member.threadId.load(std::memory_order_relaxed));
  pulse.runnable = state.runnable;
  // A waiting rank has none worth mentioning.
  if (pulse.waitsFor == 0)
    pulse.processorTime = state.processorTime;
  return pulse;
}

/// Two members may note at the same time and mix their pulses; the next answer
/// corrects that.
void SharedTransport::notePulse(int rank, const Pulse &pulse) {
  if (has(rank) || rank >= segment.seenCount())
    return;
  SeenPulse &seen = segment.seen(rank);
  if (pulse.taken <= seen.taken.load(std::memory_order_relaxed))
    return;
  seen.progress.store(pulse.progress, std::memory_order_relaxed);
  seen.turns.store(pulse.turns, std::memory_order_relaxed);
  seen.waitsFor.store(pulse.waitsFor, std::memory_order_relaxed);
  seen.runnable.store(pulse.runnable, std::memory_order_relaxed);
  seen.processorTime.store(pulse.processorTime, std::memory_order_relaxed);
  seen.taken.store(pulse.taken, std::memory_order_release);
}

Pulse SharedTransport::observe(int rank) {
  int awaited = static_cast<int>(segment.member(self).waitsFor.load()) - 1;
  if (!has(rank) && requestPulse)
    requestPulse(rank, awaited);
  return pulseOf(rank);
}

/// The members that make no progress, the culprit first. Excludes those that
/// have ended, and this rank.
std::vector<int> SharedTransport::findSilent(const Stall &stall,
                                             Clock::time_point now) {
  std::vector<int> silent{stall.culprit()};
  if (stall.isCircle)
    return silent;
  for (size_t m = 0; m < ranks.size(); ++m)
    if (ranks[m] != ranks[self] && ranks[m] != stall.culprit() &&
        !segment.member(static_cast<int>(m)).left.load() &&
        watch.silence(ranks[m], now) > stall.seconds / 3)
      silent.push_back(ranks[m]);
  return silent;
}

/// Whether this rank is the first to report the stall, and has reported none in
/// the wait since `start`.
bool SharedTransport::claimReport(const Stall &stall, Clock::time_point start) {
  if (reportedWait == start)
    return false;
  reportedWait = start;
  int rank = stall.representative();
  uint32_t progress = has(rank) ? pulseOf(rank).progress : 0;
  uint32_t name = progress * 4096 + static_cast<uint32_t>(rank) + 1;
  return segment.failure().reportedStall.exchange(name) != name;
}

/// Waits for ranks on other hosts get more time: ranks there know more, and the
/// launcher takes a second or two to report their failure to all hosts. So do
/// waits for a member that waited for another host when it fell silent: if the
/// rank there has failed, MPI holds that member up or ends it.
void SharedTransport::checkProgress(int rank, Clock::time_point start,
                                    Clock::time_point now) {
  double limit = policy.timeoutSeconds, report = reportSeconds(limit);
  if (rank == ranks[self]) { // the failure of another rank is on its way
    if (limit > 0 && now - start > std::chrono::duration<double>(limit))
      throw WaitBroken(WaitBroken::Cause::RankFailed, rank,
                       "another rank failed and did not say why");
    return;
  }
  Stall stall = watch.look(rank, start, now);
  // From here on all members are checked now and then.
  if (stall.seconds < report / 2)
    return;
  std::vector<int> silent = findSilent(stall, now);
  if (!has(stall.representative()) ||
      (stall.awaited >= 0 && !has(stall.awaited))) {
    limit += limit > 0 ? std::min(15.0, 3 + 0.1 * limit) : 0;
    report += 1;
  }
  // Messages state the limit, not the time at which it was noticed.
  if (limit > 0 && stall.seconds >= limit) {
    stall.seconds = policy.timeoutSeconds;
    throw WaitBroken(stall, silent);
  }
  if (stall.seconds >= report && stallReport && claimReport(stall, start)) {
    stall.seconds = reportSeconds(policy.timeoutSeconds);
    stallReport(stall, silent, policy.timeoutSeconds);
  }
}

void SharedTransport::wait(int rank, const std::function<bool()> &ready) {
  waitFor(rank, [&] { return ready(); });
}

template <class Ready> void SharedTransport::waitFor(int rank, Ready ready) {
  if (ready())
    return;
  SpinWait spin(policy.spins);
  while (spin.spinOnce()) {
    if (progress)
      progress();
    if (ready())
      return;
    checkFailure();
  }
  sleepUntil(rank, ready, Clock::now());
}

/// Calls the other transport several times, since one message takes it several
/// steps; yields in between where spinOnce() does. Returns whether it has more
/// to move.
template <class Ready> bool SharedTransport::moveOn(Ready ready) {
  constexpr int steps = 20;
  SpinWait spin({0, steps});
  for (int i = 0; progress && i < steps; ++i) {
    if (!progress())
      return false;
    if (ready())
      return true;
    spin.spinOnce();
  }
  return progress != nullptr;
}

/// The sleeper announces that it sleeps, then checks once more; the rank that
/// makes `ready` true does so, then checks for sleepers. One of the two sees
/// the other.
template <class Ready>
void SharedTransport::sleepUntil(int rank, Ready ready,
                                 Clock::time_point start) {
  std::atomic<uint32_t> &sleeping = segment.member(self).sleeping;
  MemberState &own = segment.member(self);
  own.waitsFor.store(static_cast<uint32_t>(rank) + 1);
  Clock::time_point lastLook = start;
  while (true) {
    own.turns.fetch_add(1, std::memory_order_relaxed);
    bool moving = moveOn(ready);
    if (ready())
      break;
    sleeping.store(1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (ready())
      break;
    if (segment.failure().state.load() == FailureRecord::None)
      futexWait(sleeping, 1, Wakers::AllProcesses,
                moving ? std::chrono::nanoseconds(shortestSleep)
                       : std::chrono::nanoseconds(longestSleep));
    sleeping.store(0, std::memory_order_relaxed);
    if (ready())
      break;
    checkFailure();
    Clock::time_point now = Clock::now();
    if (now - lastLook > timeBetweenLooks) {
      lastLook = now;
      checkProcess(rank);
      checkProgress(rank, start, now);
    }
  }
  sleeping.store(0, std::memory_order_relaxed);
  own.waitsFor.store(0);
}

void SharedTransport::wake(int member) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  std::atomic<uint32_t> &sleeping = segment.member(member).sleeping;
  if (sleeping.load(std::memory_order_relaxed) == 0)
    return;
  sleeping.store(0, std::memory_order_relaxed);
  futexWake(sleeping, Wakers::AllProcesses);
}
