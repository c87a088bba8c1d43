//===- MpiWorld.h - ranks as processes that mpirun started ------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_COMM_MPIWORLD_H
#define MESHC_RUNTIME_COMM_MPIWORLD_H

#include "runtime/Comm/World.h"

namespace meshc::runtime {

/// Opens MPI. Ranks on one host communicate through shared memory; `oneHost`
/// refuses a second host. `launch`: the launcher's information, for comparison.
std::unique_ptr<World> openMpiWorld(const MpiLaunch &launch, bool oneHost,
                                    int threadsPerRank, double timeoutSeconds);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_COMM_MPIWORLD_H
