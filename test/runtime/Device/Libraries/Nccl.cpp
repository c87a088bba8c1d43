//===- Nccl.cpp - libnccl.so.2 without GPUs -------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Groups of ranks that are threads of one process. Like NCCL 2.28 with
/// `blocking = 0`, a group finishes a call late: only a later
/// ncclCommGetAsyncError reports success. Until then, the handle of a split
/// group is null and an operation is not in its stream. These end the process:
///
/// - a call for a group that still works on another call, or for no group;
/// - operations whose members make different calls, messages whose receive
///   is of another size, and sends without a receive;
/// - overlapping buffers, except those that NCCL's manual allows ("In-place
///   Operations": an all-reduce over its own buffer, a block at its place in
///   the whole for a gather and a reduce-scatter; sends and receives never);
/// - memory that a group knows (ncclCommRegister) in a part of an operation's
///   buffers only, or at other places of the members' memories;
/// - reductions that NCCL computes differently than RuntimeAbi.h requires: sums
///   in 16 bits, which it rounds at every rank, and extrema of floats, which
///   drop NaN. With FAKE_NCCL_HALF_SUMS=1, sums in 16 bits are allowed, and
///   rounded at every rank.
///
//===----------------------------------------------------------------------===//
#include "FakeCuda.h"
#include "NcclOperation.h"
#include "Numbers.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <nccl.h>
#include <set>

using namespace meshc;
using namespace meshc::fake;

namespace {

/// A group as all its members see it.
struct Members {
  int size = 0;
  int arrived = 0; ///< of its making
  int leaving = 0; ///< that finalize it
  std::map<int64_t, std::shared_ptr<GroupOperation>> operations;
  Mail mail;
};

/// Each member's part of a split: its color and key.
struct Split {
  std::map<int, std::pair<int, int>> wishes;     ///< by member
  std::map<int, std::shared_ptr<Members>> parts; ///< by color
};

} // namespace

/// A rank's handle.
struct ncclComm {
  std::shared_ptr<Members> members;
  int index = 0;
  int64_t next = 0;             ///< operation of all members
  int64_t nextMessages = 0;     ///< operation that only sends and receives
  int busy = 0;                 ///< polls until the last call is done
  std::function<void()> finish; ///< what the last of these polls does
  bool isFinal = false;
  /// Memory that the group's operations access directly: its bytes by address.
  std::map<const char *, size_t> registered;
  /// Shared with the graphs that use the group.
  std::shared_ptr<int> inGraphs = std::make_shared<int>(0);
};

namespace {

std::mutex mutex;
std::map<std::string, std::shared_ptr<Members>> worlds; ///< by identity
std::map<std::pair<Members *, int64_t>, std::shared_ptr<Split>> splits;

thread_local bool inOperation = false;
thread_local std::vector<Call> calls;
thread_local ncclComm_t caller = nullptr;
thread_local cudaStream_t callersStream = nullptr;

void expectNoOperation(const char *what) {
  forbidInCapture(what);
  if (operationsUnderWay > 0)
    violate(std::string(what) + " while a collective is under way");
}

bool isBusy(ncclComm_t comm) {
  return comm->busy > 0 || comm->members->arrived < comm->members->size;
}

/// Under the mutex.
void expectIdle(ncclComm_t comm) {
  expectAlive(comm, "an NCCL group");
  if (isBusy(comm))
    violate("NCCL is called while an earlier call goes on");
}

/// Whether the member's next operation is never done: the first ones are.
bool stallsAt(ncclComm_t comm) {
  return comm->next + comm->nextMessages > 10 &&
         (setting("FAKE_CUDA_NCCL_HANGS", 0) ||
          setting("FAKE_CUDA_NCCL_FAILS", 0));
}

/// The operation waits until the members that it sends to and receives from
/// have reached theirs.
Work exchange(ncclComm_t comm, const std::vector<Call> &brought, int gpu) {
  auto members = comm->members;
  const bool isStalled = stallsAt(comm);
  ++comm->nextMessages;
  ++operationsUnderWay;
  auto operation =
      std::make_shared<MessageOperation>(brought, comm->index, gpu);
  return [=] {
    std::lock_guard<std::mutex> lock(mutex);
    bool isDone = !isStalled && operation->run(members->mail);
    operationsUnderWay -= isDone;
    return isDone;
  };
}

/// The operation waits until all members have reached it.
Work arrive(ncclComm_t comm, const std::vector<Call> &brought, int gpu) {
  auto members = comm->members;
  int index = comm->index;
  const bool isStalled = stallsAt(comm);
  int64_t number = comm->next++;
  ++operationsUnderWay;
  auto joined = std::make_shared<std::shared_ptr<GroupOperation>>();
  return [=] {
    std::lock_guard<std::mutex> lock(mutex);
    if (!*joined) {
      auto &operation = members->operations[number];
      if (!operation)
        operation = std::make_shared<GroupOperation>();
      operation->calls[index] = brought;
      operation->gpus[index] = gpu;
      *joined = operation;
      if (static_cast<int>(operation->calls.size()) == members->size &&
          !isStalled) {
        auto complete = operation;
        members->operations.erase(number);
        runOperation(*complete, members->size);
        complete->done = true;
      }
    }
    operationsUnderWay -= (*joined)->done;
    return (*joined)->done;
  };
}

MeshcType typeOf(ncclDataType_t type) {
  switch (type) {
  case ncclFloat32:
    return MESHC_F32;
  case ncclBfloat16:
    return MESHC_BF16;
  case ncclFloat16:
    return MESHC_F16;
  case ncclInt32:
    return MESHC_I32;
  case ncclUint8:
    return MESHC_I1;
  default:
    violate("a type of NCCL that the fake does not know");
  }
}

MeshcReduction reductionOf(ncclRedOp_t reduction, MeshcType type) {
  const bool isHalf = type == MESHC_BF16 || type == MESHC_F16;
  const bool isSum = reduction == ncclSum || reduction == ncclProd;
  if (isHalf && !(isSum && setting("FAKE_NCCL_HALF_SUMS", 0)))
    violate("NCCL rounds 16 bits at every rank");
  switch (reduction) {
  case ncclSum:
    return MESHC_SUM;
  case ncclProd:
    return MESHC_PROD;
  case ncclMax:
  case ncclMin:
    if (type == MESHC_F32 || isHalf)
      violate("NCCL's extrema drop NaN");
    return reduction == ncclMax ? MESHC_MAX : MESHC_MIN;
  default:
    violate("a reduction of NCCL that the fake does not know");
  }
}

/// Where the buffer is in memory that the group knows.
int64_t placeOf(ncclComm_t comm, const void *memory, int64_t bytes) {
  const auto *begin = static_cast<const char *>(memory);
  auto after = comm->registered.upper_bound(begin);
  if (after == comm->registered.begin())
    return Call::unregistered;
  const auto &[known, size] = *std::prev(after);
  return begin - known + bytes <= static_cast<int64_t>(size)
             ? begin - known
             : Call::unregistered;
}

/// The groups of all ranks that know memory at this address.
std::multiset<const void *> registrations;

ncclResult_t add(ncclComm_t comm, cudaStream_t stream, const Call &call) {
  if (!comm)
    return ncclInvalidArgument;
  if (!inOperation || (caller && caller != comm))
    violate("an NCCL call is outside of an operation of its group");
  if (callersStream && callersStream != stream)
    violate("an NCCL operation in two streams");
  std::lock_guard<std::mutex> lock(mutex);
  expectIdle(comm);
  caller = comm;
  callersStream = stream;
  calls.push_back(call);
  return ncclSuccess;
}

} // namespace

//===----------------------------------------------------------------------===//
// NCCL's functions
//===----------------------------------------------------------------------===//

extern "C" {

ncclResult_t ncclGetVersion(int *version) {
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId *id) {
  static int next = 0;
  std::lock_guard<std::mutex> lock(mutex);
  std::memset(id, 0, sizeof(*id));
  std::snprintf(id->internal, sizeof(id->internal), "world %d", ++next);
  return ncclSuccess;
}

const char *ncclGetErrorString(ncclResult_t result) {
  return result == ncclInvalidArgument ? "invalid argument"
         : result == ncclRemoteError   ? "remote process exited"
                                       : "error";
}

const char *ncclGetLastError(ncclComm_t) { return ""; }

ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int size, ncclUniqueId id,
                                    int index, ncclConfig_t *config) {
  note("ncclCommInitRankConfig(size=%d, rank=%d)", size, index);
  if (config->blocking != 0)
    violate("a group is made so that its calls block");
  std::lock_guard<std::mutex> lock(mutex);
  expectNoOperation("a group is made");
  auto &members = worlds[id.internal];
  if (!members)
    members = std::make_shared<Members>();
  members->size = size;
  ++members->arrived;
  *comm = new ncclComm;
  noteBorn(*comm);
  (*comm)->members = members;
  (*comm)->index = index;
  (*comm)->busy = 2;
  return ncclInProgress;
}

ncclResult_t ncclCommSplit(ncclComm_t parent, int color, int key,
                           ncclComm_t *part, ncclConfig_t *config) {
  note("ncclCommSplit(color=%d, key=%d)", color, key);
  if (!parent)
    return ncclInvalidArgument;
  if (config->blocking != 0)
    violate("a group is made so that its calls block");
  std::lock_guard<std::mutex> lock(mutex);
  expectIdle(parent);
  expectNoOperation("a group is split");
  auto &meeting = splits[{parent->members.get(), parent->next++}];
  if (!meeting)
    meeting = std::make_shared<Split>();
  auto &members = meeting->parts[color];
  if (!members) { // its size is not known before all have come
    members = std::make_shared<Members>();
    members->size = INT32_MAX;
  }
  ++members->arrived;
  meeting->wishes[parent->index] = {color, key};
  if (static_cast<int>(meeting->wishes.size()) == parent->members->size)
    for (auto &entry : meeting->parts)
      entry.second->size = entry.second->arrived;
  *part = nullptr;
  parent->busy = 2;
  parent->finish = [part, members, key] {
    auto *made = new ncclComm;
    noteBorn(made);
    made->members = members;
    made->index = key;
    made->busy = 1;
    __atomic_store_n(part, made, __ATOMIC_RELEASE);
  };
  return ncclInProgress;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *state) {
  if (!comm)
    return ncclInvalidArgument;
  std::function<void()> finish;
  {
    std::lock_guard<std::mutex> lock(mutex);
    expectAlive(comm, "an NCCL group");
    if (setting("FAKE_CUDA_NCCL_FAILS", 0) &&
        comm->next + comm->nextMessages > 10) {
      *state = ncclRemoteError;
      return ncclSuccess;
    }
    const bool isLast = comm->busy == 1;
    comm->busy = std::max(0, comm->busy - 1);
    if (isLast)
      std::swap(finish, comm->finish);
  }
  if (finish)
    finish();
  std::lock_guard<std::mutex> lock(mutex);
  const bool isLeaving =
      comm->isFinal && (comm->members->leaving < comm->members->size ||
                        setting("FAKE_NCCL_NO_END", 0));
  *state = isBusy(comm) || isLeaving ? ncclInProgress : ncclSuccess;
  return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  note("ncclCommFinalize(%p)", static_cast<void *>(comm));
  if (!comm)
    return ncclInvalidArgument;
  forbidInCapture("ncclCommFinalize");
  std::lock_guard<std::mutex> lock(mutex);
  expectIdle(comm);
  if (!comm->registered.empty())
    violate("a group is closed that still has registered memory");
  if (comm->inGraphs.use_count() > 1)
    violate("a group is closed before the graphs that use it");
  comm->isFinal = true;
  if (++comm->members->leaving == comm->members->size)
    for (const auto &box : comm->members->mail)
      if (!box.second.empty())
        violate("an NCCL send has no receive");
  return ncclInProgress;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  note("ncclCommDestroy(%p)", static_cast<void *>(comm));
  if (!comm->isFinal)
    violate("a group is destroyed that was not finalized");
  noteDead(comm, "an NCCL group");
  delete comm;
  return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t) {
  violate("a group is aborted, which may block for ever");
}

ncclResult_t ncclMemAlloc(void **memory, size_t bytes) {
  note("ncclMemAlloc(bytes=%zu)", bytes);
  forbidInCapture("ncclMemAlloc");
  constexpr size_t page = 2 << 20; // CUDA's granularity of mapped memory
  return allocateHere(memory, (bytes + page - 1) / page * page, Memory::Nccl) ==
                 cudaSuccess
             ? ncclSuccess
             : ncclUnhandledCudaError;
}

ncclResult_t ncclMemFree(void *memory) {
  note("ncclMemFree(%p)", memory);
  forbidInCapture("ncclMemFree");
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (registrations.count(memory))
      violate("memory is released that a group still knows");
  }
  --self().held;
  releaseMemory(memory, Memory::Nccl);
  return ncclSuccess;
}

ncclResult_t ncclCommRegister(const ncclComm_t comm, void *memory, size_t bytes,
                              void **handle) {
  note("ncclCommRegister(%p, bytes=%zu)", memory, bytes);
  if (!comm)
    return ncclInvalidArgument;
  resolveDevice(memory, bytes, self().gpu);
  std::lock_guard<std::mutex> lock(mutex);
  expectIdle(comm);
  expectNoOperation("memory is registered");
  if (!comm->registered.emplace(static_cast<const char *>(memory), bytes)
           .second)
    violate("a group is told of the same memory twice");
  registrations.insert(memory);
  *handle = memory;
  return ncclSuccess;
}

ncclResult_t ncclCommDeregister(const ncclComm_t comm, void *handle) {
  note("ncclCommDeregister(%p)", handle);
  if (!comm)
    return ncclInvalidArgument;
  forbidInCapture("ncclCommDeregister");
  std::lock_guard<std::mutex> lock(mutex);
  expectIdle(comm);
  if (comm->inGraphs.use_count() > 1)
    violate("a group forgets memory that graphs use");
  if (!comm->registered.erase(static_cast<const char *>(handle)))
    violate("a group is to forget memory that it does not know");
  registrations.erase(registrations.find(handle));
  return ncclSuccess;
}

ncclResult_t ncclGroupStart(void) {
  if (inOperation)
    violate("an NCCL operation begins within another");
  inOperation = true;
  calls.clear();
  caller = nullptr;
  callersStream = nullptr;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd(void) {
  if (!inOperation)
    violate("an NCCL operation ends that was not begun");
  inOperation = false;
  if (!caller)
    return ncclSuccess;
  ncclComm_t comm = caller;
  checkBuffers(calls, comm->members->size, comm->index,
               [&](const void *memory, int64_t bytes) {
                 return placeOf(comm, memory, bytes);
               });
  useFirst(comm, groupBytes, "an NCCL group");
  std::lock_guard<std::mutex> lock(mutex);
  comm->busy = 1 + static_cast<int>(self().random() % 3);
  comm->finish = [comm, brought = calls, stream = callersStream] {
    isOtherThread = true;
    enqueue(stream,
            [=, gpu = self().gpu, user = comm->inGraphs] {
              return std::any_of(brought.begin(), brought.end(), isCollective)
                         ? arrive(comm, brought, gpu)
                         : exchange(comm, brought, gpu);
            },
            {{Activity::Kernel, "ncclDevKernel_Fake", 40000}});
    isOtherThread = false;
  };
  return ncclInProgress;
}

ncclResult_t ncclAllReduce(const void *send, void *receive, size_t count,
                           ncclDataType_t type, ncclRedOp_t reduction,
                           ncclComm_t comm, cudaStream_t stream) {
  note("ncclAllReduce(%p, %p, count=%zu, type=%d, op=%d)", send, receive, count,
       type, reduction);
  MeshcType known = typeOf(type);
  return add(comm, stream,
             {Kind::AllReduce, send, receive,
              static_cast<int64_t>(count) * bytesOf(known), -1, known,
              reductionOf(reduction, known)});
}

ncclResult_t ncclReduceScatter(const void *send, void *receive, size_t count,
                               ncclDataType_t type, ncclRedOp_t reduction,
                               ncclComm_t comm, cudaStream_t stream) {
  note("ncclReduceScatter(%p, %p, count=%zu, type=%d, op=%d)", send, receive,
       count, type, reduction);
  MeshcType known = typeOf(type);
  return add(comm, stream,
             {Kind::ReduceScatter, send, receive,
              static_cast<int64_t>(count) * bytesOf(known), -1, known,
              reductionOf(reduction, known)});
}

ncclResult_t ncclAllGather(const void *send, void *receive, size_t count,
                           ncclDataType_t type, ncclComm_t comm,
                           cudaStream_t stream) {
  note("ncclAllGather(%p, %p, count=%zu, type=%d)", send, receive, count, type);
  MeshcType known = typeOf(type);
  return add(comm, stream,
             {Kind::AllGather, send, receive,
              static_cast<int64_t>(count) * bytesOf(known), -1, MESHC_I1,
              MESHC_SUM});
}

ncclResult_t ncclSend(const void *data, size_t count, ncclDataType_t type,
                      int peer, ncclComm_t comm, cudaStream_t stream) {
  note("ncclSend(%p, count=%zu, peer=%d, from=%d)", data, count, peer,
       comm ? comm->index : -1);
  return add(comm, stream,
             {Kind::Send, data, nullptr,
              static_cast<int64_t>(count) * bytesOf(typeOf(type)), peer,
              MESHC_I1, MESHC_SUM});
}

ncclResult_t ncclRecv(void *data, size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, cudaStream_t stream) {
  note("ncclRecv(%p, count=%zu, peer=%d)", data, count, peer);
  return add(comm, stream,
             {Kind::Receive, nullptr, data,
              static_cast<int64_t>(count) * bytesOf(typeOf(type)), peer,
              MESHC_I1, MESHC_SUM});
}
}
