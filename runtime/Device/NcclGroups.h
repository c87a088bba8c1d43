//===- NcclGroups.h - NCCL's groups of ranks ------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_DEVICE_NCCLGROUPS_H
#define MESHC_RUNTIME_DEVICE_NCCLGROUPS_H

#include "runtime/Device/CudaPlugin.h"
#include "runtime/Device/Rank.h"

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace meshc::runtime {

/// A rank's part in NCCL's groups: one of all ranks, whose identity travels
/// over the host's communicator, and one for each set of axes, split from it.
/// All ranks create them on first use; they reach the same collectives in the
/// same order. NCCL's calls return before they are done and are polled, so that
/// a CommunicationError reports what fails, or takes longer than MESHC_TIMEOUT,
/// with the collective's source location.
class NcclGroups {
public:
  /// Throws Failure (Device) if NCCL is missing.
  NcclGroups(const MeshcCuda &cuda, MeshcCudaRank *gpu, const Rank &rank,
             double timeoutSeconds);
  ~NcclGroups() { close(); }
  NcclGroups(const NcclGroups &) = delete;
  NcclGroups &operator=(const NcclGroups &) = delete;

  /// Leaves all groups; call it before releasing memory that collectives use.
  void close();

  /// Lets the collectives of all groups, also of those to come, access `bytes`
  /// bytes of ncclAllocate's memory directly, until `close`. All ranks call it
  /// at the same point of the program, while none has a collective in progress.
  void share(void *memory, uint64_t bytes);

  /// Calls `action`, which allocates GPU memory, while no rank has a collective
  /// in progress. If ranks are threads, CUDA may make the allocation wait for
  /// the GPUs of all of them, on which a collective may wait for this rank. All
  /// ranks call it at the same point of the program.
  void whileIdle(const std::function<void()> &action);

  /// NCCL's handle of this rank's group over `axes`; `group` lists its ranks.
  void *find(uint32_t axes, const Group &group);

  /// Marks the start of the collective at `site`: later failures are attributed
  /// to it.
  void enter(uint32_t site) { current = site; }
  /// Makes the GPU report that it reached the collective's place.
  void mark();
  void leave() { current = UINT32_MAX; }

  /// Throws if a call returned an error.
  void expect(const char *error) const;
  /// Waits until a call for a group is done on the host.
  void settle(void *group, const std::string &what);
  /// Throws if any group has failed, or if `late` is true.
  void check(bool late) const;

private:
  using Clock = std::chrono::steady_clock;

  [[noreturn]] void fail(const std::string &what) const;
  bool isLate(Clock::time_point begin) const;
  void registerMemory(void *group, void *memory, uint64_t bytes);
  void *openWorld();
  void *make(const Group &group);
  void drain();

  const MeshcCuda &cuda;
  MeshcCudaRank *gpu;
  const Rank &rank;
  double timeoutSeconds;
  void *world = nullptr;
  std::map<uint32_t, void *> groups; ///< by axes; `world` may be one of them
  std::vector<std::pair<void *, uint64_t>> shared; ///< memory and its bytes
  /// Of the shared memory, by group: those that carry collectives.
  std::map<void *, std::vector<void *>> registrations;
  void *drained = nullptr;       ///< event
  uint32_t *reached = nullptr;   ///< the site that the GPU reached, + 1
  uint32_t current = UINT32_MAX; ///< the site that the host is at
};

/// NCCL calls that form one operation. If one of them throws, the operation is
/// ended all the same.
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

  /// Returns when the operation, which belongs to `group`, is ordered.
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
