//===- StartWatch.h - ranks that do not come to the start -------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Before MPI has started, ranks cannot communicate, and a stopped rank makes
/// the others wait inside MPI. Ranks on one host therefore first register on a
/// board in shared memory, whose name is derived from the environment that Open
/// MPI's launcher sets. A thread watches the board while the rank starts.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_COMM_STARTWATCH_H
#define MESHC_RUNTIME_COMM_STARTWATCH_H

#include "runtime/Comm/World.h"

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace meshc::runtime {

/// Lives as long as a rank starts. A rank on this host that is missing or
/// stopped is reported after 10 s (or half the limit) and ends the process with
/// code 6 after the limit, which ends the job. The same happens slightly after
/// the limit, or 30 s if that is later, if all ranks on this host are present:
/// then ranks on other hosts are missing, or MPI is stuck. Does nothing if
/// another launcher started the ranks, or if /dev/shm cannot be used.
class StartWatch {
public:
  /// `timeoutSeconds`: the limit, which is 10 s at least; 0: none.
  StartWatch(const MpiLaunch &launch, double timeoutSeconds);
  ~StartWatch();
  StartWatch(const StartWatch &) = delete;
  StartWatch &operator=(const StartWatch &) = delete;

private:
  using Clock = std::chrono::steady_clock;
  struct Entry;
  struct Seen {
    uint32_t turns = 0;
    Clock::time_point changed;
  };

  void watch();
  void look(Clock::time_point now);
  std::vector<int> findSilent(Clock::time_point now, double seconds) const;
  std::string describe(const std::vector<int> &silent, double seconds) const;
  std::string nameOf(int local) const;
  void report(const std::string &kind, const std::string &message) const;

  MpiLaunch launch;
  double limit;
  int local, locals; ///< this rank's number on its host; how many
  std::string name;
  std::shared_ptr<void> memory;
  Entry *entries = nullptr; ///< by number on this host
  std::vector<Seen> seen;   ///< likewise
  Clock::time_point begin, lastLook;
  bool reportedLong = false, reportedSilent = false;

  std::mutex mutex;
  std::condition_variable ended;
  bool ends = false;
  std::thread thread;
};

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_COMM_STARTWATCH_H
