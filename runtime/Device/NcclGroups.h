//===- NcclGroups.h - NCCL's groups of ranks ------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_DEVICE_NCCLGROUPS_H
#define MESHC_RUNTIME_DEVICE_NCCLGROUPS_H

#include "runtime/Core/Rank.h"
#include "runtime/Device/CudaPlugin.h"

#include <chrono>
#include <functional>
#include <map>
#include <string>

namespace meshc::runtime {

/// A rank's part in NCCL's groups: one of all ranks, whose identity travels
/// over the host's communicator, and one for each set of axes, split from it.
/// They are made when they are first needed, by all ranks, which reach the same
/// collectives in the same order. NCCL's calls return before they are done and
/// are polled, so that what fails, or takes longer than MESHC_TIMEOUT, is told
/// with the collective's place in the source: by CommunicationError.
class NcclGroups {
public:
  /// Throws Failure (Device) where NCCL is missing.
  NcclGroups(const MeshcCuda &cuda, MeshcCudaRank *gpu, const Rank &rank,
             double timeoutSeconds);
  ~NcclGroups() { close(); }
  NcclGroups(const NcclGroups &) = delete;
  NcclGroups &operator=(const NcclGroups &) = delete;

  /// Leaves all groups; before the memory that collectives use is released.
  void close();

  /// Calls `action`, which takes memory of the GPU, while no rank has a
  /// collective under way. Where ranks are threads, CUDA may have it wait for
  /// the GPUs of all of them, on which a collective may wait for this rank. All
  /// ranks call it at the same place of the program.
  void whileIdle(const std::function<void()> &action);

  /// NCCL's handle of this rank's group over `axes`, which is `group`.
  void *find(uint32_t axes, const Group &group);

  /// Begins collective after collective: what fails is its fault.
  void enter(uint32_t site) { current = site; }
  /// Has the GPU tell that it came to the collective's place.
  void mark();
  void leave() { current = UINT32_MAX; }

  /// Throws where a call returned an error.
  void expect(const char *error) const;
  /// Waits until a call for a group is done on the host.
  void settle(void *group, const std::string &what);
  /// Throws where any group has failed, or where this is too late.
  void check(bool late) const;

private:
  using Clock = std::chrono::steady_clock;

  [[noreturn]] void fail(const std::string &what) const;
  bool isLate(Clock::time_point begin) const;
  void *openWorld();
  void *make(const Group &group);
  void drain();

  const MeshcCuda &cuda;
  MeshcCudaRank *gpu;
  const Rank &rank;
  double timeoutSeconds;
  void *world = nullptr;
  std::map<uint32_t, void *> groups; ///< by axes; `world` may be one of them
  void *drained = nullptr;           ///< event
  uint32_t *reached = nullptr;       ///< the site that the GPU came to, + 1
  uint32_t current = UINT32_MAX;     ///< the site that the host is at
};

/// Calls of NCCL that are one operation. Where one of them throws, the
/// operation is ended all the same.
class NcclOperation {
public:
  NcclOperation(const MeshcCuda &cuda, NcclGroups &groups)
      : cuda(cuda), groups(groups) {
    groups.expect(cuda.ncclBegin());
  }
  ~NcclOperation() {
    if (!ended)
      cuda.ncclEnd();
  }
  NcclOperation(const NcclOperation &) = delete;
  NcclOperation &operator=(const NcclOperation &) = delete;

  /// Returns when the operation, which is of `group`, is ordered.
  void end(void *group) {
    ended = true;
    groups.expect(cuda.ncclEnd());
    groups.settle(group, "a collective");
  }

private:
  const MeshcCuda &cuda;
  NcclGroups &groups;
  bool ended = false;
};

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_DEVICE_NCCLGROUPS_H
