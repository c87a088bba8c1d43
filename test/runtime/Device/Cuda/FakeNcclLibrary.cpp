//===- FakeNcclLibrary.cpp - libnccl.so.2 that acts late ------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The functions of NCCL that the CUDA plugin calls, for groups of one rank
/// without a GPU, as late as NCCL 2.28 does what a group of `blocking = 0` is
/// told: a thread does it some time after the call. So the handle of a split
/// group is null until then, when the thread fills in what the caller pointed
/// to. A null handle is an invalid argument; a call for a group that is at work
/// ends the process.
///
/// An all-reduce writes the group's color, as an int, to `recvbuff`, and to the
/// root of it (no color) -1. FAKE_NCCL_NO_END=1: no group is ever finalized.
///
//===----------------------------------------------------------------------===//
#include <nccl.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>

struct ncclComm {
  std::atomic<ncclResult_t> state{ncclInProgress};
  int color = -1;
};

namespace {

[[noreturn]] void violate(const char *rule) {
  std::fprintf(stderr, "fake NCCL: %s\n", rule);
  std::abort();
}

void later(const std::function<void()> &work) {
  std::thread([work] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    work();
  }).detach();
}

/// Null, or what is wrong with a call for the group.
ncclResult_t check(ncclComm_t comm) {
  if (!comm)
    return ncclInvalidArgument;
  if (comm->state == ncclInProgress)
    violate("a group is called while it is at work");
  return ncclSuccess;
}

std::atomic<int> left{0}; ///< groups that were destroyed or aborted
thread_local ncclComm_t caller = nullptr;

} // namespace

extern "C" {

/// Of the test: groups that are gone.
__attribute__((visibility("default"))) int fakeNcclGroupsLeft() { return left; }

ncclResult_t ncclGetVersion(int *version) {
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId *id) {
  std::memset(id, 0, sizeof(*id));
  return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int, ncclUniqueId, int,
                                    ncclConfig_t *config) {
  if (config->blocking != 0)
    violate("a group is made so that its calls block");
  ncclComm_t made = *comm = new ncclComm;
  later([made] { made->state = ncclSuccess; });
  return ncclInProgress;
}

ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int, ncclComm_t *part,
                           ncclConfig_t *config) {
  if (ncclResult_t error = check(comm))
    return error;
  if (config->blocking != 0)
    violate("a group is made so that its calls block");
  *part = nullptr;
  comm->state = ncclInProgress;
  later([=] {
    auto *made = new ncclComm;
    made->color = color;
    made->state = ncclSuccess;
    __atomic_store_n(part, made, __ATOMIC_RELEASE);
    comm->state = ncclSuccess;
  });
  return ncclInProgress;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *state) {
  if (!comm)
    return ncclInvalidArgument;
  *state = comm->state;
  return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  if (ncclResult_t error = check(comm))
    return error;
  comm->state = ncclInProgress;
  if (!std::getenv("FAKE_NCCL_NO_END"))
    later([comm] { comm->state = ncclSuccess; });
  return ncclInProgress;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  if (ncclResult_t error = check(comm))
    return error;
  ++left;
  delete comm;
  return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t) {
  violate("a group is aborted, which may block for ever");
}

const char *ncclGetErrorString(ncclResult_t result) {
  return result == ncclInvalidArgument ? "invalid argument" : "error";
}

const char *ncclGetLastError(ncclComm_t) { return ""; }

ncclResult_t ncclGroupStart() {
  caller = nullptr;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  if (!caller)
    return ncclSuccess;
  caller->state = ncclInProgress;
  later([comm = caller] { comm->state = ncclSuccess; });
  return ncclInProgress;
}

ncclResult_t ncclAllReduce(const void *, void *recvbuff, size_t, ncclDataType_t,
                           ncclRedOp_t, ncclComm_t comm, cudaStream_t) {
  if (ncclResult_t error = check(comm))
    return error;
  caller = comm;
  std::memcpy(recvbuff, &comm->color, sizeof(comm->color));
  return ncclSuccess;
}

ncclResult_t ncclReduceScatter(const void *, void *, size_t, ncclDataType_t,
                               ncclRedOp_t, ncclComm_t comm, cudaStream_t) {
  return check(comm);
}

ncclResult_t ncclAllGather(const void *, void *, size_t, ncclDataType_t,
                           ncclComm_t comm, cudaStream_t) {
  return check(comm);
}

ncclResult_t ncclSend(const void *, size_t, ncclDataType_t, int,
                      ncclComm_t comm, cudaStream_t) {
  return check(comm);
}

ncclResult_t ncclRecv(void *, size_t, ncclDataType_t, int, ncclComm_t comm,
                      cudaStream_t) {
  return check(comm);
}
}
