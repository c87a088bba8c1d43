//===- Launch.cpp - what a launcher says about a process ------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Launchers tell their processes about the job in environment variables. Open
/// MPI connects processes through PMIx, which its own mpirun and `srun
/// --mpi=pmix` offer, or through Flux's own interface. Processes that another
/// launcher started cannot find one another.
///
//===----------------------------------------------------------------------===//
#include "runtime/Comm/World.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>

using namespace meshc::runtime;

namespace {

/// The variables of a launcher. A launcher has started a process if it has set
/// both the rank and, unless `size` may be absent, the size.
struct Launcher {
  const char *name; ///< as one calls it
  const char *rank, *size;
  bool needsSize;
  /// How to start the processes so that Open MPI connects them; null: it does.
  const char *remedy;
};

/// The first one whose variables are set counts. Some of them set those of PMI,
/// too, and Slurm's remain set where mpirun starts processes in its jobs.
constexpr Launcher launchers[] = {
    {"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", false, nullptr},
    {"a launcher with PMIx", "PMIX_RANK", "PMIX_SIZE", false, nullptr},
    {"flux", "FLUX_TASK_RANK", "FLUX_JOB_SIZE", true, nullptr},
    // A batch script itself has a rank, and no step.
    {"srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", true, "srun --mpi=pmix"},
    {"PALS", "PALS_RANKID", "PMI_SIZE", true, "mpiexec --pmi=pmix"},
    {"MVAPICH's launcher", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", true,
     "mpirun.openmpi"},
    {"MPICH's launcher", "PMI_RANK", "PMI_SIZE", false, "mpirun.openmpi"}};

/// The number in an environment variable; `absent` if it is not set.
int environmentNumber(const char *name, int absent) {
  const char *text = std::getenv(name);
  if (!text)
    return absent;
  char *end = nullptr;
  long value = std::strtol(text, &end, 10);
  return end == text || *end || value < 0 ? absent : static_cast<int>(value);
}

/// The number of tasks on node `node` of a list such as "4(x2),1": two nodes
/// with four tasks and one with one (sbatch(1), SLURM_TASKS_PER_NODE). 0 if the
/// list does not say.
int tasksOnNode(const char *list, int node) {
  std::istringstream entries(list ? list : "");
  for (std::string entry; std::getline(entries, entry, ',');) {
    char *end = nullptr;
    long tasks = std::strtol(entry.c_str(), &end, 10), nodes = 1;
    if (std::string(end).rfind("(x", 0) == 0)
      nodes = std::strtol(end + 2, nullptr, 10);
    if (node < nodes)
      return static_cast<int>(std::max(tasks, 0L));
    node -= static_cast<int>(nodes);
  }
  return 0;
}

/// Adds what Slurm says about a process that srun started.
void addSlurm(MpiLaunch &launch) {
  launch.size =
      launch.size ? launch.size : environmentNumber("SLURM_STEP_NUM_TASKS", 0);
  launch.localRank = environmentNumber("SLURM_LOCALID", -1);
  launch.localSize = tasksOnNode(std::getenv("SLURM_STEP_TASKS_PER_NODE"),
                                 environmentNumber("SLURM_NODEID", 0));
  launch.coresOfJob = environmentNumber("SLURM_CPUS_ON_NODE", 0);
}

/// "srun started 4 processes without PMIx, …"
std::string describeObstacle(const Launcher &launcher, const MpiLaunch &launch,
                             const char *interface) {
  return std::string(launcher.name) + " started " +
         (launch.size ? std::to_string(launch.size) : "several") +
         " processes " + interface +
         ", through which Open MPI connects them: each would be a run of its "
         "own; start them with '" +
         launcher.remedy +
         "', or give '--comm threads' if each shall be a run of its own";
}

} // namespace

MpiLaunch meshc::runtime::findMpiLaunch() {
  MpiLaunch launch;
  for (const Launcher &launcher : launchers) {
    int rank = environmentNumber(launcher.rank, -1);
    int size = environmentNumber(launcher.size, 0);
    if (rank < 0 || (launcher.needsSize && size == 0))
      continue;
    if (launcher.remedy && size == 1)
      return {}; // a process that no other belongs to
    launch.launched = true;
    launch.rank = rank;
    launch.size = size;
    if (std::getenv("OMPI_COMM_WORLD_LOCAL_RANK")) {
      launch.localRank = environmentNumber("OMPI_COMM_WORLD_LOCAL_RANK", -1);
      launch.localSize = environmentNumber("OMPI_COMM_WORLD_LOCAL_SIZE", 0);
    } else if (std::getenv("SLURM_STEP_NUM_TASKS")) {
      addSlurm(launch);
      if (launch.size == 1)
        return {};
    }
    if (launcher.remedy)
      launch.obstacle =
          describeObstacle(launcher, launch,
                           std::getenv("PMI_RANK") ? "with PMI and without PMIx"
                                                   : "without PMIx");
    return launch;
  }
  return launch;
}
