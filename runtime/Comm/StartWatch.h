//===- StartWatch.h - ranks that do not come to the start --------*- C++-*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Until MPI has started, ranks cannot speak with each other, and a rank that
/// is stopped makes the others wait inside MPI. Ranks of one host therefore
/// first show themselves on a board in shared memory, whose name comes from
/// what Open MPI's launcher puts into the environment. A thread looks at it
/// while the rank starts.
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

/// Lasts as long as a rank starts. A rank of this host that is not there or is
/// stopped is reported after 10 s (or half the limit) and ends the process with
/// code 6 after the limit, which ends the job. So does a start that takes a
/// little longer than the limit although all ranks of this host are there:
/// those of other hosts are not, or MPI is stuck. Does nothing where another
/// launcher started the ranks, or /dev/shm cannot be used.
class StartWatch {
public:
  /// `timeoutSeconds`: the limit; 0: none.
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
  int local = 0, locals = 0; ///< this rank's number on its host; how many
  std::string name;
  std::shared_ptr<void> memory;
  Entry *entries = nullptr; ///< by number on this host
  std::vector<Seen> seen;   ///< likewise
  Clock::time_point begin, lastLook;
  bool reported = false;

  std::mutex mutex;
  std::condition_variable ended;
  bool ends = false;
  std::thread thread;
};

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_COMM_STARTWATCH_H
