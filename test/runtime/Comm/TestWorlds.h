//===- TestWorlds.h - ranks for tests -------------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Runs a body on N ranks of each kind: threads, forked processes over shared
/// memory, or the processes that mpirun started for this test program.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_TEST_RUNTIME_COMM_TESTWORLDS_H
#define MESHC_TEST_RUNTIME_COMM_TESTWORLDS_H

#include "runtime/Comm/Communicator.h"
#include "runtime/Comm/World.h"

#include <functional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace meshc::test {

using Body = std::function<void(runtime::Communicator &)>;

/// How each forked rank ended, as reported by waitpid().
using Statuses = std::vector<int>;

/// Runs `body` on `ranks` forked processes that connect through shared memory.
/// A rank returns 0, or 1 if `body` threw (it prints the message) or one of its
/// expectations failed.
Statuses runForked(int ranks, double timeoutSeconds, const Body &body);

/// The world of this program under mpirun; null if mpirun did not start it.
runtime::World *mpiWorld();
void setMpiWorld(runtime::World *world);

/// Runs `body` on `ranks` ranks of kind "threads", "shm" or "mpi" and expects
/// all of them to succeed.
void runRanks(const std::string &kind, int ranks, const Body &body);

} // namespace meshc::test

#endif // MESHC_TEST_RUNTIME_COMM_TESTWORLDS_H
