//===- PeerAllReduceMpi.cpp - MPI's own all-reduce ------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "PeerAllReduce.h"

#include <mpi.h>

/// The world has started MPI, through its plugin.
bool peerIsThere() {
  int started = 0;
  MPI_Initialized(&started);
  return started != 0;
}

void peerAllReduce(const float *send, float *recv, int64_t n) {
  MPI_Allreduce(send, recv, static_cast<int>(n), MPI_FLOAT, MPI_SUM,
                MPI_COMM_WORLD);
}
