//===- GpuMapping.h - which thread does what of a kernel ------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// How a kernel's nest is mapped to the blocks and threads of a grid. The
/// parallel loops form one list of *points* (or of vectors of points, if the
/// lanes run along them), the reduce loops one list of *steps*. The threads of
/// a block form one *group* per point, whose *members* share the steps round
/// robin. If there are few points, several blocks have the same points and
/// share their steps, too; the last block to finish combines the values of all.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_CODEGEN_GPU_GPUMAPPING_H
#define MESHC_LIB_CODEGEN_GPU_GPUMAPPING_H

#include "lib/Codegen/LoopNest.h"

namespace meshc::codegen {

/// Threads per warp.
inline constexpr int64_t warpSize = 32;
/// Maximum number of threads in a block.
inline constexpr int64_t maxThreads = 1024;

/// Parameters of the choice of a mapping.
struct GpuOptions {
  /// Threads that keep the whole GPU busy: in a kernel with fewer points, more
  /// threads share a point. An H100 has 132 multiprocessors of 2048 threads.
  /// Half of them suffice: each has several loads in flight, and 64 registers.
  int64_t threadsToFill = 132 * 1024;
  /// Minimum number of steps per thread when several blocks share a point.
  int64_t leastSteps = 8;
};

struct GpuMapping {
  int64_t points = 1, steps = 1;
  int64_t members = 1;        ///< of a group, 2^n
  int64_t pointsPerBlock = 1; ///< 2^n
  /// Whether the members of a group are adjacent threads (steps are contiguous
  /// in memory). Otherwise threads with the same member number are adjacent
  /// (points are contiguous).
  bool membersAreNeighbours = false;
  /// Number of blocks with the same points, 2^n.
  int64_t sharers = 1;
  /// Steps that a thread processes at once: loads in flight.
  int64_t unroll = 1;

  int64_t getThreads() const { return members * pointsPerBlock; }
  /// Number of blocks with distinct points.
  int64_t getTeams() const {
    return (points + pointsPerBlock - 1) / pointsPerBlock;
  }
  int64_t getBlocks() const { return getTeams() * sharers; }
  /// Threads that share a point's steps.
  int64_t getWorkers() const { return members * sharers; }
};

/// Chooses the mapping of a kernel whose vectors have `lanes` elements.
GpuMapping chooseMapping(exec::KernelOp kernel, const LoopNest &nest,
                         int64_t lanes, const GpuOptions &options);

/// The mapping of so many points that take one thread each.
GpuMapping mapPoints(int64_t points, const GpuOptions &options);

/// Elements in 16 bytes of the 16- or 32-bit type with the most bytes in the
/// kernel's buffers.
int64_t getWidestLanes(exec::KernelOp kernel);

/// The kernel's loop nest on GPUs: without reductions, all loops are parallel.
LoopNest makeGpuNest(const LoopNest &nest);

} // namespace meshc::codegen

#endif // MESHC_LIB_CODEGEN_GPU_GPUMAPPING_H
