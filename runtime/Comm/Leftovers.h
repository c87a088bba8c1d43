//===- Leftovers.h - shared memory of killed runs ----------------*- C++-*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_COMM_LEFTOVERS_H
#define MESHC_RUNTIME_COMM_LEFTOVERS_H

namespace meshc::runtime {

/// Removes from /dev/shm what killed runs of this user left there, once it is a
/// minute old: segments of this runtime that no process has locked
/// (SharedSegment.h), and the segments of Open MPI's transport inside a host
/// (vader_segment.*, 4 MiB per rank), which Open MPI never removes, that no
/// process maps.
void removeLeftovers();

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_COMM_LEFTOVERS_H
