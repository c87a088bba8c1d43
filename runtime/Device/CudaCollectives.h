//===- CudaCollectives.h - collectives between GPUs -----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The collectives of RuntimeAbi.h on GPU memory: with NCCL if each rank has
/// its own GPU, or with the ranks' own copies and sums if they are threads that
/// share one.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_DEVICE_CUDACOLLECTIVES_H
#define MESHC_RUNTIME_DEVICE_CUDACOLLECTIVES_H

#include "meshc/CollectiveBlocks.h"
#include "runtime/Device/CudaPlugin.h"
#include "runtime/Device/Rank.h"

#include <memory>

namespace meshc::runtime {

/// The collectives of one rank.
class CudaCollectives {
public:
  virtual ~CudaCollectives() = default;

  /// Orders the collective after all earlier work of the compute stream.
  /// `group` has at least two ranks.
  virtual void begin(const MeshcCollective &collective, const Group &group,
                     void *const *send, void *const *recv) = 0;
  /// Orders later work of the compute stream after the collective and those
  /// started before it. Does nothing if it was not started, or was already
  /// waited for.
  virtual void wait(const MeshcCollective &collective) = 0;
  /// The same, for all that were started.
  virtual void waitForAll() = 0;

  /// Whether a step with collectives can become a graph: false if they wait for
  /// the other ranks on the host.
  virtual bool canBeCaptured() const = 0;

  /// Called while the host waits for the GPU. Throws CommunicationError if a
  /// collective has failed, or, with `late`, names the one that is waited for.
  virtual void check(bool late) = 0;

  /// Allocates the rank's buffers in memory that collectives can access without
  /// copies, released with this object; null if they gain nothing from it.
  /// Returns null or the text of an error. Called once, before any collective.
  virtual const char *allocateArena(uint64_t /*bytes*/, void **memory) {
    *memory = nullptr;
    return nullptr;
  }

  /// Bytes of GPU memory beyond the rank's own buffers, used to reorder blocks;
  /// excludes NCCL's.
  virtual int64_t scratchBytes() const = 0;
};

struct NcclOptions {
  double timeoutSeconds = 600;
  /// NCCL sums bf16 and f16 itself, and rounds on each rank.
  bool ncclSums = false;
  /// Buffers are NCCL's memory, which all its groups know.
  bool ncclMemory = false;
};

/// Uses NCCL. Its groups are created when a collective first needs them, by all
/// ranks, which reach the same collectives in the same order. Throws Failure
/// (Device) if NCCL is missing.
std::unique_ptr<CudaCollectives>
makeNcclCollectives(const MeshcCuda &cuda, MeshcCudaRank *gpu, const Rank &rank,
                    const NcclOptions &options);

/// For ranks that are threads of this process, on one GPU.
std::unique_ptr<CudaCollectives> makeSharedCollectives(const MeshcCuda &cuda,
                                                       MeshcCudaRank *gpu,
                                                       const Rank &rank,
                                                       double timeoutSeconds);

/// A contiguous sequence of elements.
inline MeshcCudaRuns plainRuns(void *base) { return {base, INT64_MAX, 0}; }

/// The elements of a box with outer = 1, which has some, in the buffer at
/// `base`.
inline MeshcCudaRuns boxRuns(void *base, const ElementBox &box,
                             int64_t elementBytes) {
  void *first = static_cast<char *>(base) + box.offset * elementBytes;
  if (box.rows == 1)
    return plainRuns(first);
  return {first, box.length, box.rowStride};
}

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_DEVICE_CUDACOLLECTIVES_H
