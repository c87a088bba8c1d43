//===- World.cpp - the ranks of a run -------------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Comm/World.h"

#include "runtime/Comm/MpiWorld.h"
#include "runtime/Comm/ThreadWorld.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

using namespace meshc::runtime;

static Failure usage(const std::string &message) {
  return Failure(ExitCode::Usage, message);
}

World::~World() = default;

CommunicatorKind
meshc::runtime::parseCommunicatorKind(const std::string &name) {
  if (name == "auto")
    return CommunicatorKind::Auto;
  if (name == "threads")
    return CommunicatorKind::Threads;
  if (name == "shm")
    return CommunicatorKind::Shm;
  if (name == "mpi")
    return CommunicatorKind::Mpi;
  throw usage("'--comm' is '" + name +
              "'; expected 'auto', 'threads', 'shm' or 'mpi'");
}

WorldOptions meshc::runtime::withEnvironment(WorldOptions options) {
  const char *text = std::getenv("MESHC_TIMEOUT");
  if (!text)
    return options;
  char *end = nullptr;
  double seconds = std::strtod(text, &end);
  if (end == text || *end || !std::isfinite(seconds) || seconds < 0)
    throw usage(std::string("MESHC_TIMEOUT is '") + text +
                "'; expected a number of seconds, 0 for no limit");
  options.timeoutSeconds = seconds;
  return options;
}

std::unique_ptr<World> meshc::runtime::openWorld(const WorldOptions &options) {
  MpiLaunch launch = findMpiLaunch();
  if (!launch.obstacle.empty()) {
    if (options.kind != CommunicatorKind::Threads)
      throw CommunicationError(0, launch.obstacle, launch.rank != 0);
    launch = MpiLaunch(); // a run of its own
  }
  if (options.ranks < 0)
    throw usage("'--ranks' is " + std::to_string(options.ranks) +
                "; expected 1 or more");
  bool several = launch.launched && launch.size != 1;
  CommunicatorKind kind = options.kind;
  if (kind == CommunicatorKind::Auto)
    kind = several ? CommunicatorKind::Mpi : CommunicatorKind::Threads;
  if (kind == CommunicatorKind::Threads) {
    if (several)
      throw usage("'--comm threads' under mpirun: each of its processes would "
                  "run all ranks; leave out one of the two");
    return openThreadWorld(std::max(1, options.ranks), options.threadsPerRank,
                           options.timeoutSeconds, options.ranksPerHost);
  }
  const std::string name = kind == CommunicatorKind::Shm ? "shm" : "mpi";
  if (options.ranks && options.ranks != (launch.launched ? launch.size : 1))
    throw usage("'--ranks " + std::to_string(options.ranks) +
                "' starts threads, and '--comm " + name +
                "' uses the processes that mpirun started, which are " +
                std::to_string(launch.size) + "; start 'mpirun -n " +
                std::to_string(options.ranks) + "' instead");
  if (!launch.launched)
    throw usage("'--comm " + name +
                "' is for processes that mpirun started, and it did not start "
                "this one; start it with 'mpirun -n N' for a mesh of N ranks, "
                "or leave out '--comm'");
  return openMpiWorld(launch, kind == CommunicatorKind::Shm,
                      options.threadsPerRank, options.timeoutSeconds);
}
