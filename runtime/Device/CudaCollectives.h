//===- CudaCollectives.h - collectives between GPUs -----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The collectives of RuntimeAbi.h on the memory of GPUs: by NCCL where each
/// rank has a GPU of its own, by the ranks' own copies and sums where they are
/// threads that share one.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_DEVICE_CUDACOLLECTIVES_H
#define MESHC_RUNTIME_DEVICE_CUDACOLLECTIVES_H

#include "runtime/Core/Rank.h"
#include "runtime/Device/CudaPlugin.h"

#include <memory>

namespace meshc::runtime {

/// The collectives of one rank.
class CudaCollectives {
public:
  virtual ~CudaCollectives() = default;

  /// Orders the collective behind what the compute stream got before. `group`
  /// has at least two ranks.
  virtual void begin(const MeshcCollective &collective, const Group &group,
                     void *const *send, void *const *recv) = 0;
  /// Orders what the compute stream gets from now on behind the collective and
  /// those begun before it. Nothing where it was not begun, or waited for.
  virtual void wait(const MeshcCollective &collective) = 0;
  /// The same, behind all that were begun.
  virtual void waitForAll() = 0;

  /// Whether a step with collectives can become a graph: false where they wait
  /// for the other ranks on the host.
  virtual bool canBeCaptured() const = 0;

  /// Called while the host waits for the GPU: throws CommunicationError where
  /// a collective has failed, or, with `late`, names the one that is waited
  /// for.
  virtual void check(bool late) = 0;

  /// Bytes of the GPU's memory beside those of the rank's own buffers, to order
  /// blocks; without those of NCCL.
  virtual int64_t scratchBytes() const = 0;
};

/// By NCCL. Its groups are made when a collective first needs them, by all
/// ranks, which reach the same collectives in the same order. Throws Failure
/// (Device) where NCCL is missing.
std::unique_ptr<CudaCollectives> makeNcclCollectives(const MeshcCuda &cuda,
                                                     MeshcCudaRank *gpu,
                                                     const Rank &rank,
                                                     double timeoutSeconds);

/// For ranks that are threads of this process, on one GPU.
std::unique_ptr<CudaCollectives> makeSharedCollectives(const MeshcCuda &cuda,
                                                       MeshcCudaRank *gpu,
                                                       const Rank &rank,
                                                       double timeoutSeconds);

/// A sequence of elements without gaps.
inline MeshcCudaRuns plainRuns(void *base) { return {base, INT64_MAX, 0}; }

/// Block `index` of `count` in a blocked buffer of (outer, `inner`).
inline MeshcCudaRuns blockRuns(void *base, int64_t index, int64_t count,
                               int64_t inner, int64_t elementBytes) {
  return {static_cast<char *>(base) + index * inner * elementBytes,
          inner > 0 ? inner : 1, count * inner};
}

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_DEVICE_CUDACOLLECTIVES_H
