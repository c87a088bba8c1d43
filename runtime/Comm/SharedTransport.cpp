//===- SharedTransport.cpp - messages through shared memory ---------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Comm/SharedTransport.h"

#include <algorithm>
#include <climits>
#include <cstring>
#include <fstream>
#include <linux/futex.h>
#include <sched.h>
#include <sstream>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

using namespace meshc::runtime;

namespace {

/// A sleeper looks around this often, woken or not.
constexpr auto longestSleep = std::chrono::milliseconds(20);
/// While another transport must be called to move on.
constexpr auto shortestSleep = std::chrono::microseconds(50);
/// A processor given away that comes back this late is wanted by others: they
/// would get it for a whole slice each time, and who sleeps is woken sooner.
constexpr auto longestYielding = std::chrono::microseconds(200);
/// Lives of other processes are looked up after waiting this long.
constexpr auto graceBeforeProcessCheck = std::chrono::milliseconds(100);

void pauseProcessor() { __builtin_ia32_pause(); }

void futexWait(std::atomic<uint32_t> &word, uint32_t value,
               std::chrono::nanoseconds limit) {
  timespec time{0, static_cast<long>(limit.count())};
  syscall(SYS_futex, reinterpret_cast<uint32_t *>(&word), FUTEX_WAIT, value,
          &time, nullptr, 0);
}

void futexWake(std::atomic<uint32_t> &word) {
  syscall(SYS_futex, reinterpret_cast<uint32_t *>(&word), FUTEX_WAKE, INT_MAX,
          nullptr, nullptr, 0);
}

/// "600 s", "0.5 s".
std::string secondsText(double seconds) {
  std::ostringstream text;
  text << seconds << " s";
  return text.str();
}

/// When the process started, in the kernel's ticks; 0 where it is gone or only
/// its exit status is left of it.
uint64_t processStart(uint32_t id) {
  std::ifstream file("/proc/" + std::to_string(id) + "/stat");
  std::string text;
  if (!std::getline(file, text))
    return 0;
  size_t afterName = text.rfind(')'); // a name may hold blanks and brackets
  if (afterName == std::string::npos)
    return 0;
  std::istringstream fields(text.substr(afterName + 1));
  std::string state, field;
  fields >> state;
  if (state == "Z" || state == "X")
    return 0;
  constexpr int startTimeField = 22, firstField = 4;
  for (int i = firstField; i < startTimeField; ++i)
    fields >> field;
  uint64_t start = 0;
  fields >> start;
  return start;
}

} // namespace

Transport::~Transport() = default;

WaitPolicy WaitPolicy::forRanks(int ranks, int threads, double timeoutSeconds) {
  // Of this rank; mpirun may have given each of the others one of its own.
  cpu_set_t set;
  int allowed =
      sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : threads;
  long processors = sysconf(_SC_NPROCESSORS_ONLN);
  WaitPolicy policy;
  policy.timeoutSeconds = timeoutSeconds;
  if (threads > allowed || static_cast<int64_t>(ranks) * threads > processors) {
    policy.spins = 0;
    policy.yields = 20;
  }
  return policy;
}

SharedTransport::SharedTransport(SharedSegment memory, std::vector<int> all,
                                 int self, WaitPolicy policy, bool processes)
    : segment(std::move(memory)), ranks(std::move(all)), self(self),
      policy(policy), processes(processes), postedTo(ranks.size()),
      takenFrom(ranks.size()) {
  members.assign(*std::max_element(ranks.begin(), ranks.end()) + 1, -1);
  for (size_t m = 0; m < ranks.size(); ++m)
    members[ranks[m]] = static_cast<int>(m);
  MemberState &own = segment.member(self);
  uint32_t id = static_cast<uint32_t>(getpid());
  own.startTime = processStart(id);
  own.processId.store(id, std::memory_order_release);
}

SharedTransport::~SharedTransport() {
  segment.member(self).left.store(1, std::memory_order_release);
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

bool SharedTransport::pending(int peer) {
  int from = memberOf(peer);
  return segment.queue(from, self).posted.load(std::memory_order_acquire) !=
         takenFrom[from];
}

bool SharedTransport::isWaiting(int peer) const {
  return has(peer) && segment.member(memberOf(peer)).waitsFor.load() != 0;
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

/// A member that left in order is no failure: what it posted can still be
/// taken, and what it will not post is the watchdog's matter.
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

/// Waits for ranks of other hosts get some more time: what these wait for
/// cannot be seen from here, and is theirs to report, which takes the launcher
/// a second or two to bring to all hosts.
void SharedTransport::checkTime(int rank, Clock::time_point start) {
  if (policy.timeoutSeconds <= 0)
    return;
  double limit = policy.timeoutSeconds;
  if (!has(rank))
    limit += std::min(15.0, 3 + 0.1 * limit);
  std::chrono::duration<double> waited = Clock::now() - start;
  if (waited.count() >= limit)
    throw WaitBroken(WaitBroken::Cause::Timeout, findCulprit(rank),
                     secondsText(policy.timeoutSeconds));
}

/// The rank at the end of the chain of those who wait for one another.
int SharedTransport::findCulprit(int rank) const {
  int culprit = rank;
  for (size_t steps = 0; steps < ranks.size(); ++steps) {
    if (!has(culprit))
      return culprit;
    uint32_t next = segment.member(memberOf(culprit)).waitsFor.load();
    if (next == 0)
      return culprit;
    culprit = static_cast<int>(next) - 1;
  }
  return rank; // they wait in a circle
}

void SharedTransport::wait(int rank, const std::function<bool()> &ready) {
  waitFor(rank, [&] { return ready(); });
}

template <class Ready> void SharedTransport::waitFor(int rank, Ready ready) {
  if (ready())
    return;
  for (int i = 0; i < policy.spins; ++i) {
    pauseProcessor();
    if (ready())
      return;
  }
  Clock::time_point start = Clock::now();
  for (int i = 0; i < policy.yields; ++i) {
    if (progress)
      progress();
    sched_yield();
    if (ready())
      return;
    checkFailure();
    if (Clock::now() - start > longestYielding)
      break;
  }
  sleepUntil(rank, ready, start);
}

/// Calls the other transport some times, since one message takes it several
/// steps. Returns whether it has more to move.
template <class Ready> bool SharedTransport::moveOn(Ready ready) {
  constexpr int steps = 20;
  for (int i = 0; progress && i < steps; ++i) {
    if (!progress())
      return false;
    if (ready())
      return true;
    sched_yield();
  }
  return progress != nullptr;
}

/// The sleeper says that it sleeps, then looks once more; who makes `ready`
/// true does so, then looks for sleepers. One of the two sees the other.
template <class Ready>
void SharedTransport::sleepUntil(int rank, Ready ready,
                                 Clock::time_point start) {
  std::atomic<uint32_t> &sleeping = segment.member(self).sleeping;
  MemberState &own = segment.member(self);
  own.waitsFor.store(static_cast<uint32_t>(rank) + 1);
  Clock::time_point lastProcessCheck = start;
  while (true) {
    bool moving = moveOn(ready);
    if (ready())
      break;
    sleeping.store(1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (ready())
      break;
    if (segment.failure().state.load() == FailureRecord::None)
      futexWait(sleeping, 1,
                moving ? std::chrono::nanoseconds(shortestSleep)
                       : std::chrono::nanoseconds(longestSleep));
    sleeping.store(0, std::memory_order_relaxed);
    if (ready())
      break;
    checkFailure();
    Clock::time_point now = Clock::now();
    if (now - lastProcessCheck > graceBeforeProcessCheck) {
      lastProcessCheck = now;
      checkProcess(rank);
    }
    checkTime(rank, start);
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
  futexWake(sleeping);
}
