//===- StartWatch.cpp - ranks that do not come to the start ---------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Comm/StartWatch.h"

#include "runtime/Base/StandardStreams.h"
#include "runtime/Comm/SharedSegment.h"
#include "runtime/Comm/WatchTimes.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <sstream>
#include <unistd.h>

extern char **environ;

using namespace meshc::runtime;

/// One rank of this host on the board, which starts as zeros.
struct alignas(64) StartWatch::Entry {
  std::atomic<uint32_t> turns; ///< 0 until it has registered
  std::atomic<uint32_t> rank;
};

namespace {

/// Before the ranks run, only time can tell whether one of them is stuck, and
/// on a busy machine they take seconds to load their libraries and to meet. A
/// shorter limit of the run is not that of its start: a missing rank has so
/// many seconds, and hosts have so many to wait for each other.
constexpr double leastLimit = 10, leastMeeting = 30;

/// The part of the environment that is specific to this job on this host: the
/// job's number, and where its launcher listens.
std::string jobName() {
  std::vector<std::string> parts;
  for (char **variable = environ; *variable; ++variable)
    for (const char *prefix :
         {"PMIX_NAMESPACE=", "PMIX_SERVER_TMPDIR=", "PMIX_SERVER_URI"})
      if (std::strncmp(*variable, prefix, std::strlen(prefix)) == 0)
        parts.emplace_back(*variable);
  std::sort(parts.begin(), parts.end());
  std::string all;
  for (const std::string &part : parts)
    all += part + '\n';
  return std::to_string(std::hash<std::string>()(all));
}

} // namespace

StartWatch::StartWatch(const MpiLaunch &launch, double timeoutSeconds)
    : launch(launch),
      limit(timeoutSeconds > 0 ? std::max(timeoutSeconds, leastLimit) : 0),
      local(launch.localRank), locals(launch.localSize), begin(Clock::now()),
      lastLook(begin) {
  if (local < 0 || local >= locals || launch.size < 2)
    return;
  name = "/meshc-start-" + std::to_string(getuid()) + "-" + jobName();
  memory = SharedSegment::openBoard(name, locals * sizeof(Entry));
  if (!memory)
    return;
  entries = static_cast<Entry *>(memory.get());
  seen.assign(locals, {0, begin});
  entries[local].rank.store(static_cast<uint32_t>(launch.rank));
  entries[local].turns.store(1);
  thread = std::thread([this] { watch(); });
}

/// Once one rank has started, all have been on the board.
StartWatch::~StartWatch() {
  if (!thread.joinable())
    return;
  {
    std::lock_guard<std::mutex> lock(mutex);
    ends = true;
  }
  ended.notify_all();
  thread.join();
  SharedSegment::unlink(name);
}

void StartWatch::watch() {
  std::unique_lock<std::mutex> lock(mutex);
  while (!ended.wait_for(lock, timeBetweenLooks, [&] { return ends; }))
    look(Clock::now());
}

/// The ranks of this host that have shown no life for this long.
std::vector<int> StartWatch::findSilent(Clock::time_point now,
                                        double seconds) const {
  std::vector<int> silent;
  for (int other = 0; other < locals; ++other)
    if (other != local && secondsSince(seen[other].changed, now) >= seconds)
      silent.push_back(other);
  return silent;
}

std::string StartWatch::nameOf(int other) const {
  if (entries[other].turns.load())
    return std::to_string(entries[other].rank.load());
  // Its rank is known if all ranks are on this host.
  return locals == launch.size
             ? std::to_string(other)
             : "number " + std::to_string(other) + " of this host";
}

/// "rank 1 has shown no life for 10 s at the start of the run: it is stopped"
std::string StartWatch::describe(const std::vector<int> &silent,
                                 double seconds) const {
  std::ostringstream text;
  if (silent.empty()) {
    text << "the run has not started for " << seconds << " s: ";
    for (int i = 0; i < locals; ++i)
      text << (i ? ", " : locals == 1 ? "rank " : "ranks ") << nameOf(i);
    text << (locals == 1 ? " waits" : " wait")
         << " in the exchange of addresses"
         << (locals < launch.size ? " for ranks of other hosts" : "");
    return text.str();
  }
  text << (silent.size() == 1 ? "rank " : "ranks ");
  bool absent = true;
  for (size_t i = 0; i < silent.size(); ++i) {
    text << (i ? ", " : "") << nameOf(silent[i]);
    absent = absent && entries[silent[i]].turns.load() == 0;
  }
  text << (silent.size() == 1 ? " has" : " have")
       << (absent ? " not come to" : " made no progress in")
       << " the start of the run for " << seconds << " s: rank " << launch.rank
       << " waits in the exchange of addresses";
  return text.str();
}

void StartWatch::report(const std::string &kind,
                        const std::string &message) const {
  printError(std::string(program_invocation_short_name) + ": " + kind + ": " +
             message + '\n');
}

void StartWatch::look(Clock::time_point now) {
  entries[local].turns.fetch_add(1);
  bool paused = now - lastLook > longestPause;
  if (paused)
    begin += now - lastLook;
  for (int other = 0; other < locals; ++other) {
    uint32_t turns = entries[other].turns.load();
    if (turns != seen[other].turns || paused)
      seen[other] = {turns, now};
  }
  lastLook = now;

  // The first living rank reports; the others only if it does not.
  double patience = 0;
  for (int other = 0; other < local; ++other)
    if (secondsSince(seen[other].changed, now) < 1)
      patience = 3;
  constexpr double usual = 10;
  double early = limit > 0 ? std::min(usual, limit / 2) : usual;
  std::vector<int> silent = findSilent(now, early);
  // Nobody is to blame only if all show life.
  constexpr double longestTurn = 2;
  bool isLong = findSilent(now, std::min(longestTurn, early)).empty() &&
                secondsSince(begin, now) >= early + 1;
  if (silent.empty() && !isLong)
    return;
  // A start that was only slow may come to wait for a stopped rank.
  bool &reported = silent.empty() ? reportedLong : reportedSilent;
  if (!reported && patience == 0) {
    reported = reportedLong = true;
    report("warning", describe(silent, early));
  }
  // Ranks of this host that hold up the others are named first.
  std::vector<int> late = findSilent(now, limit + patience);
  double grace = std::min(15.0, 3 + 0.1 * limit) + patience;
  double forMeeting = std::max(limit, leastMeeting);
  if (limit > 0 &&
      (!late.empty() || (silent.empty() && isLong &&
                         secondsSince(begin, now) >= forMeeting + grace))) {
    report("error", describe(late, late.empty() ? forMeeting : limit));
    SharedSegment::unlink(name);
    std::fflush(nullptr);
    std::_Exit(static_cast<int>(ExitCode::Communication));
  }
}
