//===- StartLines.cpp - what a run says at its start ----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Commands/StartLines.h"

#include "runtime/Base/Counted.h"
#include "runtime/Base/Parallel.h"
#include "runtime/Base/StandardStreams.h"
#include "runtime/Data/Dataset.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <unistd.h>

using namespace meshc::runtime;

/// A number that mpirun put into the environment; 0 if it did not.
static int readNumber(const char *variable) {
  const char *text = std::getenv(variable);
  return text ? std::atoi(text) : 0;
}

std::string meshc::runtime::describeMesh(const MeshcProgram &program) {
  if (program.axisCount == 0)
    return "one rank";
  std::string text = "mesh ";
  for (uint32_t i = 0; i < program.axisCount; ++i)
    text += std::string(i ? " x " : "") + program.axes[i].name + "=" +
            std::to_string(program.axes[i].size);
  return text;
}

/// The cores of all ranks on this host, if mpirun or Slurm bound each process
/// to some of them; else 0: then each has those of this process.
static int coresOfBoundRanks(bool asThreads, const MpiLaunch &launch) {
  if (!asThreads && launch.coresOfJob)
    return launch.coresOfJob;
  if (!asThreads && readNumber("OMPI_MCA_orte_bound_at_launch"))
    return static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  return 0;
}

int meshc::runtime::defaultThreads(bool asThreads, int ranks,
                                   const MpiLaunch &launch) {
  int cores = availableCores(), all = coresOfBoundRanks(asThreads, launch);
  if (!asThreads && launch.localSize > 0)
    ranks = launch.localSize;
  return std::max(1, all ? std::min(cores, all / ranks) : cores / ranks);
}

int64_t meshc::runtime::countRanksOnHost(const World &world,
                                         const MpiLaunch &launch) {
  return std::string(world.kind()) == "mpi" ? std::max(1, launch.localSize)
                                            : world.size();
}

/// A clause if the ranks on this host have less than a core each; else empty.
static std::string describeSharing(const MeshcProgram &program,
                                   const World &world,
                                   const MpiLaunch &launch) {
  const bool asThreads = std::string(world.kind()) == "threads";
  const int64_t ranks = countRanksOnHost(world, launch);
  int64_t cores = coresOfBoundRanks(asThreads, launch);
  if (!cores)
    cores = availableCores();
  if (program.target != MESHC_HOST || ranks <= cores)
    return "";
  return "; " + std::to_string(ranks) + " ranks share " +
         counted(cores, "core") +
         ": 'comm' and the times of collectives include waiting for a core";
}

/// How a corpus is read, and what of it is not, as a line; empty if there is no
/// corpus.
static std::string describeWindows(const char *option, const Dataset &data) {
  const Corpus *corpus = data.corpus();
  if (!corpus)
    return "";
  std::ostringstream out;
  out << option << ": " << counted(corpus->count, "token") << " in "
      << counted(corpus->windows(), "window") << " of " << corpus->window
      << ", one every " << corpus->stride;
  const bool within = !corpus->windowsBefore.empty();
  if (within)
    out << " in each of " << counted(corpus->documents, "document");
  if (int64_t left = corpus->leftOut())
    out << (within ? "; " : "; the last ") << left
        << (left == 1 ? " fills no window and is left out"
                      : " fill no window and are left out");
  out << '\n';
  return out.str();
}

void meshc::runtime::printStart(const MeshcProgram &program, const World &world,
                                const MpiLaunch &launch, const RunFiles &files,
                                int threads, bool timesSteps) {
  std::ostringstream out;
  out << program.name << ": " << describeMesh(program);
  if (world.size() > 1)
    out << ", " << world.size() << " ranks ("
        << (std::string(world.kind()) == "threads" ? "threads of this process"
                                                   : world.kind())
        << ")";
  out << ", " << counted(threads, "thread") << (world.size() > 1 ? " each" : "")
      << "; " << counted(files.data->examples(), "example") << ", batch "
      << files.data->batch()
      << (timesSteps ? describeSharing(program, world, launch) : "") << '\n'
      << describeWindows("--data", *files.data);
  if (files.evalData)
    out << describeWindows("--eval-data", *files.evalData);
  printOut(out.str());
}
