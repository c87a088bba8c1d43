//===- PeerAllReduce.h - MPI's own all-reduce -------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_TEST_BENCH_COMM_PEERALLREDUCE_H
#define MESHC_TEST_BENCH_COMM_PEERALLREDUCE_H

#include <cstdint>

/// Whether this run has MPI for comparison.
bool peerIsThere();
/// MPI_Allreduce of n floats over all ranks.
void peerAllReduce(const float *send, float *recv, int64_t n);

#endif // MESHC_TEST_BENCH_COMM_PEERALLREDUCE_H
