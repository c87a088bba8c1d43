//===- ThreadWorld.h - ranks as threads of one process ----------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_COMM_THREADWORLD_H
#define MESHC_RUNTIME_COMM_THREADWORLD_H

#include "runtime/Comm/World.h"

namespace meshc::runtime {

/// `ranks` ≥ 1; `ranksPerHost` as in WorldOptions. One rank runs on the calling
/// thread itself. If a rank does not return after another has failed, it is
/// abandoned after a few seconds; finish() then ends the process without it.
std::unique_ptr<World> openThreadWorld(int ranks, int threadsPerRank,
                                       double timeoutSeconds,
                                       int ranksPerHost = 0);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_COMM_THREADWORLD_H
