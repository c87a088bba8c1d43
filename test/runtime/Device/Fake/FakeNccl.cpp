//===- FakeNccl.cpp - ranks of one process that meet ----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "FakeGpu.h"

#include "runtime/Comm/Reduction.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

using namespace meshc;
using namespace meshc::fake;

std::atomic<int> fake::operationsUnderWay{0};

namespace {

enum class Kind { AllReduce, ReduceScatter, AllGather, Send, Receive };

struct Call {
  Kind kind;
  const void *send;
  void *receive;
  int64_t bytes; ///< of a block
  int peer;
  MeshcType type;
  MeshcReduction reduction;
};

/// What the members of a group bring to one operation.
struct Operation {
  std::map<int, std::vector<Call>> calls; ///< by member
  std::map<int, int> gpus;
  bool done = false;
};

/// A group as all its members see it.
struct Members {
  int size = 0;
  int arrived = 0; ///< of its making
  std::map<int64_t, std::shared_ptr<Operation>> operations;
};

/// A rank's handle.
struct Communicator {
  std::shared_ptr<Members> members;
  int index = 0;
  int64_t next = 0; ///< operation
  int busy = 0;     ///< polls until the last call is done
  /// Shared with the graphs that use the group.
  std::shared_ptr<int> inGraphs = std::make_shared<int>(0);
};

/// What the members bring to a split: their color and key.
struct Split {
  std::map<int, std::pair<int, int>> wishes;     ///< by member
  std::map<int, std::shared_ptr<Members>> parts; ///< by color
};

std::mutex mutex;
std::map<std::string, std::shared_ptr<Members>> worlds; ///< by identity
std::map<std::pair<Members *, int64_t>, std::shared_ptr<Split>> splits;

thread_local bool inOperation = false;
thread_local std::vector<Call> calls;
thread_local Communicator *caller = nullptr;
thread_local MeshcCudaRank *callingRank = nullptr;

Communicator *known(void *group) { return static_cast<Communicator *>(group); }

void expectNoOperation(const char *what) {
  if (operationsUnderWay > 0)
    violate(std::string(what) + " while a collective is under way");
}

void expectIdle(Communicator *communicator) {
  if (communicator->busy ||
      communicator->members->arrived < communicator->members->size)
    violate("NCCL is called while an earlier call goes on");
}

const char *load(int *version) {
  *version = 22809;
  if (setting("FAKE_CUDA_NO_NCCL", 0))
    return say("libnccl.so.2: cannot open shared object file");
  return nullptr;
}

const char *makeId(void *id) {
  static int next = 0;
  std::lock_guard<std::mutex> lock(mutex);
  std::memset(id, 0, MESHC_CUDA_NCCL_ID_BYTES);
  std::snprintf(static_cast<char *>(id), MESHC_CUDA_NCCL_ID_BYTES, "world %d",
                ++next);
  return nullptr;
}

const char *openGroup(MeshcCudaRank *, const void *id, int size, int index,
                      void **group) {
  std::lock_guard<std::mutex> lock(mutex);
  expectNoOperation("a group is made");
  auto &members = worlds[static_cast<const char *>(id)];
  if (!members)
    members = std::make_shared<Members>();
  members->size = size;
  ++members->arrived;
  auto *made = new Communicator;
  made->members = members;
  made->index = index;
  made->busy = 2;
  *group = made;
  return nullptr;
}

const char *split(MeshcCudaRank *, void *group, int color, int key,
                  void **part) {
  Communicator *parent = known(group);
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
  auto *made = new Communicator;
  made->members = members;
  made->index = key;
  made->busy = 1;
  parent->busy = 2;
  *part = made;
  return nullptr;
}

const char *poll(void *group, int *busy) {
  Communicator *communicator = known(group);
  std::lock_guard<std::mutex> lock(mutex);
  if (setting("FAKE_CUDA_NCCL_FAILS", 0) && communicator->next > 10)
    return say("remote process exited");
  *busy = communicator->busy > 0 ||
          communicator->members->arrived < communicator->members->size;
  communicator->busy = std::max(0, communicator->busy - 1);
  return nullptr;
}

const char *closeGroup(void *group) {
  Communicator *communicator = known(group);
  if (communicator->inGraphs.use_count() > 1)
    violate("a group is closed before the graphs that use it");
  delete communicator;
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

int64_t bytesOf(MeshcType type) {
  return type == MESHC_I1 ? 1 : type == MESHC_F32 || type == MESHC_I32 ? 4 : 2;
}

std::vector<char> takeBytes(const void *from, int64_t bytes, int gpu) {
  std::vector<char> data(static_cast<size_t>(bytes));
  std::memcpy(data.data(), resolve(from, data.size(), gpu), data.size());
  return data;
}

void putBytes(void *to, const char *from, int64_t bytes, int gpu) {
  auto size = static_cast<size_t>(bytes);
  std::memcpy(resolve(to, size, gpu), from, size);
}

/// The `position`th collective of every member.
void runCollective(Operation &operation, size_t position, int size) {
  const Call first = operation.calls[0][position];
  const bool gathers = first.kind == Kind::AllGather;
  const bool scatters = first.kind == Kind::ReduceScatter;
  std::vector<std::vector<char>> sent;
  for (int p = 0; p < size; ++p) {
    const Call &call = operation.calls[p][position];
    if (call.kind != first.kind || call.bytes != first.bytes ||
        call.type != first.type || call.reduction != first.reduction)
      violate("the members of an NCCL group call for different things");
    sent.push_back(takeBytes(call.send,
                             scatters ? size * call.bytes : call.bytes,
                             operation.gpus[p]));
  }
  std::vector<char> result;
  for (int p = 0; p < size; ++p) {
    if (gathers)
      result.insert(result.end(), sent[p].begin(), sent[p].end());
  }
  if (!gathers) {
    std::vector<const void *> sources;
    for (const std::vector<char> &data : sent)
      sources.push_back(data.data());
    result.resize(sent[0].size());
    void *destination = result.data();
    runtime::reduce({first.reduction, first.type, first.type}, sources.data(),
                    size, &destination, 1,
                    static_cast<int64_t>(result.size()) / bytesOf(first.type));
  }
  for (int p = 0; p < size; ++p) {
    const Call &call = operation.calls[p][position];
    putBytes(call.receive, result.data() + (scatters ? p * call.bytes : 0),
             gathers ? size * call.bytes : call.bytes, operation.gpus[p]);
  }
}

/// All sends and receives: between two members, the first with the first.
void runMessages(Operation &operation) {
  std::map<std::pair<int, int>, std::list<std::vector<char>>> mail;
  for (auto &[member, list] : operation.calls)
    for (const Call &call : list)
      if (call.kind == Kind::Send)
        mail[{member, call.peer}].push_back(
            takeBytes(call.send, call.bytes, operation.gpus[member]));
  for (auto &[member, list] : operation.calls)
    for (const Call &call : list) {
      if (call.kind != Kind::Receive)
        continue;
      auto &box = mail[{call.peer, member}];
      if (box.empty() || static_cast<int64_t>(box.front().size()) != call.bytes)
        violate("an NCCL receive has no send of its size");
      putBytes(call.receive, box.front().data(), call.bytes,
               operation.gpus[member]);
      box.pop_front();
    }
  for (const auto &entry : mail)
    if (!entry.second.empty())
      violate("an NCCL send has no receive");
}

void runOperation(Operation &operation, int size) {
  size_t collectives = 0;
  auto isCollective = [](const Call &call) {
    return call.kind != Kind::Send && call.kind != Kind::Receive;
  };
  std::map<int, std::vector<Call>> all = operation.calls;
  for (auto &[member, list] : operation.calls) {
    list.erase(std::remove_if(list.begin(), list.end(), isCollective),
               list.end());
    auto count = all[member].size() - list.size();
    if (member > 0 && count != collectives)
      violate("the members of an NCCL group call for different things");
    collectives = count;
  }
  runMessages(operation);
  operation.calls = all;
  for (auto &entry : operation.calls)
    entry.second.erase(
        std::remove_if(entry.second.begin(), entry.second.end(),
                       [&](const Call &call) { return !isCollective(call); }),
        entry.second.end());
  for (size_t i = 0; i < collectives; ++i)
    runCollective(operation, i, size);
}

/// Whether no operation but the first ones is ever done.
bool stalls() {
  return setting("FAKE_CUDA_NCCL_HANGS", 0) ||
         setting("FAKE_CUDA_NCCL_FAILS", 0);
}

const char *begin() {
  if (inOperation)
    violate("an NCCL operation begins within another");
  inOperation = true;
  calls.clear();
  caller = nullptr;
  return nullptr;
}

/// The operation waits until all members have come to it.
Work arrive(Communicator *communicator, const std::vector<Call> &brought,
            int gpu) {
  auto members = communicator->members;
  int index = communicator->index;
  int64_t number = communicator->next++;
  ++operationsUnderWay;
  auto joined = std::make_shared<std::shared_ptr<Operation>>();
  return [=] {
    std::lock_guard<std::mutex> lock(mutex);
    if (!*joined) {
      auto &operation = members->operations[number];
      if (!operation)
        operation = std::make_shared<Operation>();
      operation->calls[index] = brought;
      operation->gpus[index] = gpu;
      *joined = operation;
      if (static_cast<int>(operation->calls.size()) == members->size &&
          !(stalls() && number > 10)) {
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

const char *end() {
  if (!inOperation)
    violate("an NCCL operation ends that was not begun");
  inOperation = false;
  if (!caller)
    return nullptr;
  auto brought = calls;
  Communicator *communicator = caller;
  int gpu = callingRank->gpu;
  {
    std::lock_guard<std::mutex> lock(mutex);
    expectIdle(communicator);
    communicator->busy = 1 + static_cast<int>(callingRank->random() % 3);
  }
  takeFor(callingRank, communicator, groupBytes);
  enqueue(callingRank, MESHC_CUDA_COMMUNICATION,
          [=, user = communicator->inGraphs] {
            return arrive(communicator, brought, gpu);
          },
          {{MESHC_CUDA_KERNEL, "ncclDevKernel_Fake", 40000}});
  return nullptr;
}

const char *add(MeshcCudaRank *rank, void *group, const Call &call) {
  if (!inOperation || (caller && caller != group))
    violate("an NCCL call is outside of an operation of its group");
  caller = known(group);
  callingRank = rank;
  calls.push_back(call);
  return nullptr;
}

const char *allReduce(MeshcCudaRank *rank, void *group, const void *send,
                      void *receive, int64_t count, MeshcType type,
                      MeshcReduction reduction) {
  return add(rank, group,
             {Kind::AllReduce, send, receive, count * bytesOf(type), -1, type,
              reduction});
}

const char *reduceScatter(MeshcCudaRank *rank, void *group, const void *send,
                          void *receive, int64_t count, MeshcType type,
                          MeshcReduction reduction) {
  return add(rank, group,
             {Kind::ReduceScatter, send, receive, count * bytesOf(type), -1,
              type, reduction});
}

const char *allGather(MeshcCudaRank *rank, void *group, const void *send,
                      void *receive, int64_t bytes) {
  return add(rank, group,
             {Kind::AllGather, send, receive, bytes, -1, MESHC_I1, MESHC_SUM});
}

const char *send(MeshcCudaRank *rank, void *group, const void *data,
                 int64_t bytes, int to) {
  return add(rank, group,
             {Kind::Send, data, nullptr, bytes, to, MESHC_I1, MESHC_SUM});
}

const char *receive(MeshcCudaRank *rank, void *group, void *data, int64_t bytes,
                    int from) {
  return add(rank, group,
             {Kind::Receive, nullptr, data, bytes, from, MESHC_I1, MESHC_SUM});
}

} // namespace

void fake::addNccl(MeshcCuda &table) {
  table.ncclLoad = load;
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
}
