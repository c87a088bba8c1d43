//===- Leftovers.h - shared memory of killed runs ---------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_COMM_LEFTOVERS_H
#define MESHC_RUNTIME_COMM_LEFTOVERS_H

namespace meshc::runtime {

/// Removes what killed runs of this user left in /dev/shm, if it is at least a
/// minute old and no process has it open or maps it, in this container or
/// another one: segments of this runtime (meshc-*), and those of Open MPI's
/// transport inside a host (vader_segment.*, 4 MiB per rank), which Open MPI
/// never removes.
void removeLeftovers();

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_COMM_LEFTOVERS_H
