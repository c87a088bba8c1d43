//===- Nccl.cpp - NCCL, opened when it is needed --------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Device/Cuda/Gpu.h"

#include <atomic>
#include <chrono>
#include <cstring>
#include <dlfcn.h>
#include <nccl.h>
#include <thread>

using namespace meshc::cuda;

namespace {

static_assert(sizeof(ncclUniqueId) == MESHC_CUDA_NCCL_ID_BYTES);

/// NCCL's functions, with the names that the library uses.
struct Library {
  decltype(&::ncclGetVersion) getVersion = nullptr;
  decltype(&::ncclGetUniqueId) getUniqueId = nullptr;
  decltype(&::ncclCommInitRankConfig) commInitRankConfig = nullptr;
  decltype(&::ncclCommSplit) commSplit = nullptr;
  decltype(&::ncclCommGetAsyncError) commGetAsyncError = nullptr;
  decltype(&::ncclCommFinalize) commFinalize = nullptr;
  decltype(&::ncclCommDestroy) commDestroy = nullptr;
  decltype(&::ncclGetErrorString) getErrorString = nullptr;
  decltype(&::ncclGetLastError) getLastError = nullptr;
  decltype(&::ncclGroupStart) groupStart = nullptr;
  decltype(&::ncclGroupEnd) groupEnd = nullptr;
  decltype(&::ncclAllReduce) allReduce = nullptr;
  decltype(&::ncclReduceScatter) reduceScatter = nullptr;
  decltype(&::ncclAllGather) allGather = nullptr;
  decltype(&::ncclSend) send = nullptr;
  decltype(&::ncclRecv) receive = nullptr;
  decltype(&::ncclMemAlloc) memAlloc = nullptr;
  decltype(&::ncclMemFree) memFree = nullptr;
  decltype(&::ncclCommRegister) commRegister = nullptr;
  decltype(&::ncclCommDeregister) commDeregister = nullptr;

  std::string problem; ///< why it cannot be used; empty if it can
  int version = 0;

  Library() { open(); }

private:
  void open() {
    // Its own copies of names are its own: a process may hold another NCCL.
    void *library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
      problem = dlerror();
      return;
    }
    auto find = [&](auto &function, const char *name) {
      void *symbol = dlsym(library, name);
      function =
          reinterpret_cast<std::remove_reference_t<decltype(function)>>(symbol);
      if (!symbol)
        problem = std::string("libnccl.so.2 lacks '") + name +
                  "'; expected NCCL 2.19 or newer";
    };
    find(getVersion, "ncclGetVersion");
    find(getUniqueId, "ncclGetUniqueId");
    find(commInitRankConfig, "ncclCommInitRankConfig");
    find(commSplit, "ncclCommSplit");
    find(commGetAsyncError, "ncclCommGetAsyncError");
    find(commFinalize, "ncclCommFinalize");
    find(commDestroy, "ncclCommDestroy");
    find(getErrorString, "ncclGetErrorString");
    find(getLastError, "ncclGetLastError");
    find(groupStart, "ncclGroupStart");
    find(groupEnd, "ncclGroupEnd");
    find(allReduce, "ncclAllReduce");
    find(reduceScatter, "ncclReduceScatter");
    find(allGather, "ncclAllGather");
    find(send, "ncclSend");
    find(receive, "ncclRecv");
    find(memAlloc, "ncclMemAlloc");
    find(memFree, "ncclMemFree");
    find(commRegister, "ncclCommRegister");
    find(commDeregister, "ncclCommDeregister");
    if (problem.empty())
      getVersion(&version);
  }
};

const Library &nccl() {
  static const Library library;
  return library;
}

/// A call in progress is not an error: groups are polled.
const char *report(ncclResult_t result) {
  if (result == ncclSuccess || result == ncclInProgress)
    return nullptr;
  const char *detail = nccl().getLastError(nullptr);
  std::string text = nccl().getErrorString(result);
  if (detail && *detail)
    text += std::string(" (") + detail + ")";
  return say(text);
}

const char *ncclLoad(int *version) {
  *version = nccl().version;
  return nccl().problem.empty() ? nullptr : say(nccl().problem);
}

const char *makeId(void *id) {
  ncclUniqueId made;
  if (const char *error = report(nccl().getUniqueId(&made)))
    return error;
  std::memcpy(id, &made, sizeof(made));
  return nullptr;
}

/// The runtime's handle of a group. NCCL fills in the handle of a group that is
/// split from another some time after the call, on its own thread, so the
/// storage must stay valid.
struct NcclGroup {
  ncclComm_t comm = nullptr;
};

/// Null if NCCL has not created the group yet.
ncclComm_t handleOf(const void *group) {
  return __atomic_load_n(&static_cast<const NcclGroup *>(group)->comm,
                         __ATOMIC_ACQUIRE);
}

ncclConfig_t makeConfig() {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  return config;
}

// A group whose creation fails is never freed: NCCL may still write to it.

const char *openGroup(MeshcCudaRank *, const void *id, int size, int index,
                      void **group) {
  ncclUniqueId known;
  std::memcpy(&known, id, sizeof(known));
  ncclConfig_t config = makeConfig();
  auto *made = new NcclGroup;
  *group = made;
  return report(
      nccl().commInitRankConfig(&made->comm, size, known, index, &config));
}

const char *split(MeshcCudaRank *, void *group, int color, int key,
                  void **part) {
  ncclConfig_t config = makeConfig();
  auto *made = new NcclGroup;
  *part = made;
  return report(
      nccl().commSplit(handleOf(group), color, key, &made->comm, &config));
}

const char *poll(void *group, int *busy) {
  ncclComm_t comm = handleOf(group);
  ncclResult_t state = ncclInProgress; // still being created
  *busy = 0;
  if (comm)
    if (const char *error = report(nccl().commGetAsyncError(comm, &state)))
      return error;
  *busy = state == ncclInProgress;
  return report(state);
}

/// Set if another rank did not arrive at a group's end, for example because it
/// failed: then no further group is waited for.
std::atomic<bool> othersAreGone{false};

/// Null once all ranks have arrived at the group's end.
const char *finalize(void *group) {
  constexpr auto patience = std::chrono::seconds(10);
  auto begin = std::chrono::steady_clock::now();
  if (const char *error = report(nccl().commFinalize(handleOf(group))))
    return error;
  for (int busy = 1;;) {
    if (const char *error = poll(group, &busy))
      return error;
    if (!busy)
      return nullptr;
    if (othersAreGone || std::chrono::steady_clock::now() - begin > patience)
      return say("another rank did not leave the group");
    std::this_thread::yield();
  }
}

/// A group that cannot be finalized is not aborted either: ncclCommAbort may
/// wait for the other ranks, too.
const char *closeGroup(void *group) {
  const char *error = othersAreGone ? say("another rank did not leave a group")
                                    : finalize(group);
  if (error) {
    othersAreGone = true;
    return error;
  }
  error = report(nccl().commDestroy(handleOf(group)));
  delete static_cast<NcclGroup *>(group);
  return error;
}

const char *begin() { return report(nccl().groupStart()); }
const char *end() { return report(nccl().groupEnd()); }

ncclDataType_t dataType(MeshcType type) {
  switch (type) {
  case MESHC_F32:
    return ncclFloat32;
  case MESHC_BF16:
    return ncclBfloat16;
  case MESHC_F16:
    return ncclFloat16;
  case MESHC_I32:
    return ncclInt32;
  case MESHC_I1:
    break;
  }
  return ncclUint8;
}

/// Truth values are 0 and 1: the maximum is their or, the minimum their and.
ncclRedOp_t operation(MeshcType type, MeshcReduction reduction) {
  bool logical = type == MESHC_I1;
  switch (reduction) {
  case MESHC_SUM:
    return logical ? ncclMax : ncclSum;
  case MESHC_MAX:
    return ncclMax;
  case MESHC_MIN:
    return ncclMin;
  case MESHC_PROD:
    break;
  }
  return logical ? ncclMin : ncclProd;
}

cudaStream_t streamOf(MeshcCudaRank *rank) {
  return rank->streams[MESHC_CUDA_COMMUNICATION];
}

const char *allReduce(MeshcCudaRank *rank, void *group, const void *send,
                      void *recv, int64_t count, MeshcType type,
                      MeshcReduction reduction) {
  return report(nccl().allReduce(send, recv, static_cast<size_t>(count),
                                 dataType(type), operation(type, reduction),
                                 handleOf(group), streamOf(rank)));
}

const char *reduceScatter(MeshcCudaRank *rank, void *group, const void *send,
                          void *recv, int64_t count, MeshcType type,
                          MeshcReduction reduction) {
  return report(nccl().reduceScatter(send, recv, static_cast<size_t>(count),
                                     dataType(type), operation(type, reduction),
                                     handleOf(group), streamOf(rank)));
}

const char *allGather(MeshcCudaRank *rank, void *group, const void *send,
                      void *recv, int64_t bytes) {
  return report(nccl().allGather(send, recv, static_cast<size_t>(bytes),
                                 ncclUint8, handleOf(group), streamOf(rank)));
}

const char *send(MeshcCudaRank *rank, void *group, const void *data,
                 int64_t bytes, int to) {
  return report(nccl().send(data, static_cast<size_t>(bytes), ncclUint8, to,
                            handleOf(group), streamOf(rank)));
}

const char *receive(MeshcCudaRank *rank, void *group, void *data, int64_t bytes,
                    int from) {
  return report(nccl().receive(data, static_cast<size_t>(bytes), ncclUint8,
                               from, handleOf(group), streamOf(rank)));
}

const char *allocate(MeshcCudaRank *, uint64_t bytes, void **memory) {
  return report(nccl().memAlloc(memory, bytes));
}

const char *release(MeshcCudaRank *, void *memory) {
  return report(nccl().memFree(memory));
}

const char *registerMemory(void *group, void *memory, uint64_t bytes,
                           void **registration) {
  return report(
      nccl().commRegister(handleOf(group), memory, bytes, registration));
}

const char *unregister(void *group, void *registration) {
  return report(nccl().commDeregister(handleOf(group), registration));
}

} // namespace

void meshc::cuda::addNccl(MeshcCuda &table) {
  table.ncclLoad = ncclLoad;
  table.ncclId = makeId;
  table.ncclOpen = openGroup;
  table.ncclSplit = split;
  table.ncclPoll = poll;
  table.ncclClose = closeGroup;
  table.ncclBegin = begin;
  table.ncclEnd = end;
  table.ncclAllReduce = allReduce;
  table.ncclReduceScatter = reduceScatter;
  table.ncclAllGather = allGather;
  table.ncclSend = send;
  table.ncclReceive = receive;
  table.ncclAllocate = allocate;
  table.ncclRelease = release;
  table.ncclRegister = registerMemory;
  table.ncclUnregister = unregister;
}
