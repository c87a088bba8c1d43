//===- StartLines.h - what a run says at its start --------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The lines that a run prints before its first step: its ranks and threads,
/// and how it reads its data.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_COMMANDS_STARTLINES_H
#define MESHC_RUNTIME_COMMANDS_STARTLINES_H

#include "runtime/Comm/World.h"
#include "runtime/Commands/RunFiles.h"

#include <cstdint>
#include <string>

namespace meshc::runtime {

/// "mesh data=2 x tensor=2"; of a program without a mesh, "one rank"
std::string describeMesh(const MeshcProgram &program);

/// Threads of each rank if the command line does not say: the cores divided by
/// the ranks on this host. If mpirun or Slurm bound each process to cores,
/// those.
int defaultThreads(bool asThreads, int ranks, const MpiLaunch &launch);

int64_t countRanksOnHost(const World &world, const MpiLaunch &launch);

/// Prints the program's mesh and ranks, the threads of each and the data. Where
/// steps are timed, says so if the ranks of this host are more than their
/// cores.
void printStart(const MeshcProgram &program, const World &world,
                const MpiLaunch &launch, const RunFiles &files, int threads,
                bool timesSteps);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_COMMANDS_STARTLINES_H
