//===- World.h - the ranks of a run -----------------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// How the ranks of a run are created: threads of this process (`--ranks N`),
/// processes that mpirun started, or a single one.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_COMM_WORLD_H
#define MESHC_RUNTIME_COMM_WORLD_H

#include "runtime/Comm/Communicator.h"

#include <functional>
#include <memory>
#include <string>

namespace meshc::runtime {

enum class CommunicatorKind {
  Auto,    ///< Mpi under mpirun, otherwise Threads
  Threads, ///< ranks are threads of this process
  Shm,     ///< like Mpi, but refuses more than one host
  Mpi      ///< processes: shared memory inside a host, MPI between hosts
};

/// The kind that `--comm NAME` names (auto, threads, shm, mpi). Throws Failure
/// (Usage) for any other.
CommunicatorKind parseCommunicatorKind(const std::string &name);

struct WorldOptions {
  CommunicatorKind kind = CommunicatorKind::Auto;
  /// Threads: how many ranks; 0 means one. Under mpirun, whose -n decides, it
  /// must be 0 or equal to that.
  int ranks = 0;
  /// Threads, for tests: consecutive ranks appear to be on hosts of so many
  /// ranks each; 0: all on one.
  int ranksPerHost = 0;
  /// Compute threads of each rank: waits yield earlier if ranks times threads
  /// exceed the cores.
  int threadsPerRank = 1;
  /// Seconds that a rank waits for another that makes no progress before it
  /// fails; 0: forever.
  double timeoutSeconds = 60;
};

/// What mpirun or another launcher says about this process; a single process
/// with rank 0 if no launcher started it, or if one other than mpirun started
/// it alone. For messages before a world is open, so that only one process
/// prints them.
struct MpiLaunch {
  bool launched = false; ///< by an MPI launcher
  int rank = 0;
  int size = 1; ///< 0 if the launcher does not say
  /// This process's number among those of its host, and how many they are; -1
  /// and 0 if the launcher does not say.
  int localRank = -1, localSize = 0;
  /// Cores of this host that Slurm gave to the job; 0: not started by Slurm.
  int coresOfJob = 0;
  /// Why the launched processes cannot find one another, and the remedy. Each
  /// would be a run of its own. Empty if they can.
  std::string obstacle;
};
MpiLaunch findMpiLaunch();

/// Returns `options` with MESHC_TIMEOUT (seconds) applied if it is set. Throws
/// Failure (Usage) if its value is not a number ≥ 0.
WorldOptions withEnvironment(WorldOptions options);

/// A rank failed: the first one that did, or one that others waited for in
/// vain. `cause` holds the exception if it was thrown in this process, and is
/// null otherwise.
class RankFailure : public CommunicationError {
public:
  RankFailure(int rank, const std::string &message, std::exception_ptr cause,
              bool second)
      : CommunicationError(rank, message, second), thrown(cause) {}

  std::exception_ptr cause() const { return thrown; }

private:
  std::exception_ptr thrown;
};

/// All ranks of the run. This process holds one of them or (Threads) all.
class World {
public:
  virtual ~World();

  /// The number of ranks of the run.
  virtual int size() const = 0;
  /// "threads", "shm" or "mpi".
  virtual const char *kind() const = 0;

  /// Runs `body` once for each rank of this process and returns when all have
  /// returned. An exception from `body` ends the run on all ranks; run() then
  /// throws RankFailure for the first rank that failed, with that rank's
  /// message, without the rank's number. If isSecond() is true, another process
  /// reports the failure.
  virtual void run(const std::function<void(Communicator &)> &body) = 0;

  /// Ends the process's part in the run before it exits with `code`: an orderly
  /// shutdown of all ranks if it is 0, and otherwise the end of the whole job,
  /// from which it may not return. Call it last, in any process that opened a
  /// world.
  virtual void finish(int code) = 0;
};

/// Opens the world that `options` and the environment (mpirun) ask for. Throws
/// Failure (Usage) for options that contradict each other, and Failure
/// (Communication) where MPI is needed and cannot be had, or cannot connect the
/// processes that a launcher started.
std::unique_ptr<World> openWorld(const WorldOptions &options);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_COMM_WORLD_H
