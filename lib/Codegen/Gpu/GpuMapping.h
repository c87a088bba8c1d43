//===- GpuMapping.h - which thread does what of a kernel ------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// How a kernel's nest is spread over the blocks and threads of a grid. The
/// parallel loops are one long list of *points* (vectors of them, where the
/// lanes run along them), the reduce loops one list of *steps*. The threads of
/// a block are *groups*, one for each point, of *members* that share its steps
/// round robin. Where there are few points, several blocks have the same ones
/// and share their steps too; the last of them to be done combines what all
/// have.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_CODEGEN_GPU_GPUMAPPING_H
#define MESHC_LIB_CODEGEN_GPU_GPUMAPPING_H

#include "lib/Codegen/KernelShape.h"

namespace meshc::codegen {

/// Threads that move as one.
inline constexpr int64_t kWarp = 32;
/// Threads of a block, at most.
inline constexpr int64_t kMaxThreads = 1024;

/// What the choice of a mapping depends on.
struct GpuOptions {
  /// Threads that keep the whole GPU busy: a kernel with fewer points lets more
  /// of them share a point. An H100 has 132 multiprocessors of 2048 threads, of
  /// which half suffice: each has several loads in flight, and 64 registers.
  int64_t threadsToFill = 132 * 1024;
  /// Steps that each thread keeps, at least, before more blocks share a point.
  int64_t leastSteps = 8;
};

struct GpuMapping {
  int64_t points = 1, steps = 1;
  int64_t members = 1;        ///< of a group, 2^n
  int64_t pointsPerBlock = 1; ///< 2^n
  /// The members of a group are neighbours (steps are contiguous in memory), or
  /// the threads of one member number are (points are).
  bool membersAreNeighbours = false;
  /// Blocks that have the same points, 2^n.
  int64_t sharers = 1;
  /// Steps that a thread has at hand at once: loads in flight.
  int64_t unroll = 1;

  int64_t getThreads() const { return members * pointsPerBlock; }
  /// Blocks among which no two have the same points.
  int64_t getTeams() const {
    return (points + pointsPerBlock - 1) / pointsPerBlock;
  }
  int64_t getBlocks() const { return getTeams() * sharers; }
  /// Threads that share a point's steps.
  int64_t getWorkers() const { return members * sharers; }
};

/// The mapping of a kernel whose vectors have `lanes` elements.
GpuMapping chooseMapping(exec::KernelOp kernel, const KernelShape &shape,
                         int64_t lanes, const GpuOptions &options);

/// Elements in 16 bytes of the type, of 16 or 32 bits, of which the kernel's
/// buffers have the most bytes.
int64_t getWidestLanes(exec::KernelOp kernel);

/// The shape that GPUs walk: without reductions, all loops are parallel.
KernelShape makeGpuShape(const KernelShape &shape);

} // namespace meshc::codegen

#endif // MESHC_LIB_CODEGEN_GPU_GPUMAPPING_H
