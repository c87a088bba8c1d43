//===- Cupti.cpp - libcupti.so.13 without a GPU ---------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Records and callbacks of CUPTI for the fake GPUs' activities. Times are
/// derived from the order of work alone, so that they are the same in every
/// run: each activity takes as long as its operation says, and begins `gap`
/// after what it waits for. Records arrive in any order, in buffers that the
/// plugin provides.
///
/// FAKE_CUDA_NO_CALLS=1: no callbacks, so the call of an activity is unknown.
///
//===----------------------------------------------------------------------===//
#include "FakeCuda.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <cupti.h>
#include <mutex>

using namespace meshc;
using namespace meshc::fake;

namespace {

/// ns between an activity and one that waits for it.
constexpr uint64_t gap = 2000;

struct Record {
  int gpu;
  Part part;
  uint64_t begin, end, graphNode;
  uint32_t correlation, stream;
};

class Listener final : public Observer {
public:
  void onCall(uint32_t correlation, bool asks) override;
  void onNodeMade(cudaGraph_t graph, uint64_t node) override;
  void onNodeCloned(cudaGraph_t graph, uint64_t node,
                    uint64_t original) override;
  void onDone(int gpu, Node &node) override;
  /// Later work begins after it.
  uint64_t takeTime();
  void flush();

  CUpti_CallbackFunc callback = nullptr;
  CUpti_BuffersCallbackRequestFunc giveBuffer = nullptr;
  CUpti_BuffersCallbackCompleteFunc takeBuffer = nullptr;
  std::set<int> kinds;
  bool tellsNodes = false, tellsCalls = false;

private:
  void tellGraph(CUpti_CallbackId id, cudaGraph_t graph, uint64_t node,
                 uint64_t original);

  std::mutex mutex;
  std::vector<Record> records;
  uint64_t earliest = static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(
          std::chrono::system_clock::now().time_since_epoch())
          .count());
  uint64_t latest = earliest; ///< end of all so far
};

Listener *listener = nullptr;

bool isSilent() { return setting("FAKE_CUDA_NO_CALLS", 0) != 0; }

CUgraphNode asNode(uint64_t id) { return reinterpret_cast<CUgraphNode>(id); }

void Listener::onCall(uint32_t correlation, bool asks) {
  if (!tellsCalls || isSilent())
    return;
  CUpti_CallbackData data = {};
  data.correlationId = correlation;
  for (CUpti_ApiCallbackSite site : {CUPTI_API_ENTER, CUPTI_API_EXIT}) {
    data.callbackSite = site;
    callback(nullptr, CUPTI_CB_DOMAIN_RUNTIME_API,
             asks ? CUPTI_RUNTIME_TRACE_CBID_cudaEventQuery_v3020
                  : CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_v11060,
             &data);
  }
}

void Listener::tellGraph(CUpti_CallbackId id, cudaGraph_t graph, uint64_t node,
                         uint64_t original) {
  if (!tellsNodes || isSilent())
    return;
  CUpti_GraphData data = {};
  data.graph = graph;
  data.node = asNode(node);
  data.originalNode = asNode(original);
  CUpti_ResourceData resource = {};
  resource.resourceDescriptor = &data;
  callback(nullptr, CUPTI_CB_DOMAIN_RESOURCE, id, &resource);
}

void Listener::onNodeMade(cudaGraph_t graph, uint64_t node) {
  tellGraph(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, graph, node, 0);
}

void Listener::onNodeCloned(cudaGraph_t graph, uint64_t node,
                            uint64_t original) {
  tellGraph(CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, graph, node, original);
}

void Listener::onDone(int gpu, Node &node) {
  std::lock_guard<std::mutex> lock(mutex);
  node.end = earliest;
  for (const std::shared_ptr<Node> &before : node.before)
    if (before)
      node.end = std::max(node.end, before->end);
  for (const Part &part : node.parts) {
    uint64_t begin = node.end + gap;
    node.end = begin + part.duration;
    records.push_back({gpu, part, begin, node.end, node.graphNode,
                       node.correlation, node.stream});
  }
  latest = std::max(latest, node.end);
}

uint64_t Listener::takeTime() {
  std::lock_guard<std::mutex> lock(mutex);
  return earliest = latest;
}

/// The fields common to all kinds of records.
template <class Activity>
size_t write(uint8_t *place, const Record &from, CUpti_ActivityKind kind) {
  Activity record = {};
  record.kind = kind;
  record.start = from.begin;
  record.end = from.end;
  record.deviceId = static_cast<uint32_t>(from.gpu);
  record.streamId = from.stream;
  record.correlationId = from.correlation;
  record.graphNodeId = from.graphNode;
  if constexpr (std::is_same_v<Activity, CUpti_ActivityKernel9>)
    record.name = from.part.name;
  std::memcpy(place, &record, sizeof(record));
  return sizeof(record);
}

CUpti_ActivityKind kindOf(const Record &record) {
  switch (record.part.activity) {
  case Activity::Kernel:
    return CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  case Activity::Copy:
    return CUPTI_ACTIVITY_KIND_MEMCPY;
  case Activity::Set:
    break;
  }
  return CUPTI_ACTIVITY_KIND_MEMSET;
}

size_t bytesOf(CUpti_ActivityKind kind) {
  return kind == CUPTI_ACTIVITY_KIND_MEMCPY   ? sizeof(CUpti_ActivityMemcpy5)
         : kind == CUPTI_ACTIVITY_KIND_MEMSET ? sizeof(CUpti_ActivityMemset4)
                                              : sizeof(CUpti_ActivityKernel9);
}

void Listener::flush() {
  std::vector<Record> all;
  {
    std::lock_guard<std::mutex> lock(mutex);
    all.swap(records);
  }
  std::shuffle(all.begin(), all.end(), self().random);
  while (!all.empty()) {
    uint8_t *buffer = nullptr;
    size_t size = 0, most = 0, used = 0;
    giveBuffer(&buffer, &size, &most);
    for (; !all.empty(); all.pop_back()) {
      CUpti_ActivityKind kind = kindOf(all.back());
      if (!kinds.count(kind))
        continue;
      if (used + bytesOf(kind) > size)
        break;
      uint8_t *place = buffer + used;
      if (kind == CUPTI_ACTIVITY_KIND_MEMCPY)
        used += write<CUpti_ActivityMemcpy5>(place, all.back(), kind);
      else if (kind == CUPTI_ACTIVITY_KIND_MEMSET)
        used += write<CUpti_ActivityMemset4>(place, all.back(), kind);
      else
        used += write<CUpti_ActivityKernel9>(place, all.back(), kind);
    }
    takeBuffer(nullptr, 0, buffer, size, used);
  }
}

} // namespace

extern "C" {

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle *subscriber,
                           CUpti_CallbackFunc callback, void *) {
  note("cuptiSubscribe()");
  if (observer)
    return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  // It stays: another thread may be in it.
  static auto *all = new std::vector<std::unique_ptr<Listener>>;
  all->push_back(std::make_unique<Listener>());
  listener = all->back().get();
  listener->callback = callback;
  observer = listener;
  *subscriber = reinterpret_cast<CUpti_SubscriberHandle>(listener);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle) {
  note("cuptiUnsubscribe()");
  observer = nullptr;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle,
                              CUpti_CallbackDomain domain) {
  if (domain == CUPTI_CB_DOMAIN_RUNTIME_API)
    listener->tellsCalls = enable;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle,
                                CUpti_CallbackDomain domain, CUpti_CallbackId) {
  if (domain == CUPTI_CB_DOMAIN_RESOURCE)
    listener->tellsNodes = enable;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
  listener->kinds.insert(kind);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) {
  listener->kinds.erase(kind);
  return CUPTI_SUCCESS;
}

CUptiResult
cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc give,
                               CUpti_BuffersCallbackCompleteFunc take) {
  listener->giveBuffer = give;
  listener->takeBuffer = take;
  return CUPTI_SUCCESS;
}

/// `record` is the one before, or null.
CUptiResult cuptiActivityGetNextRecord(uint8_t *buffer, size_t validBytes,
                                       CUpti_Activity **record) {
  auto *next = buffer;
  if (*record)
    next = reinterpret_cast<uint8_t *>(*record) + bytesOf((*record)->kind);
  if (next >= buffer + validBytes)
    return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity *>(next);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, uint32_t,
                                              size_t *dropped) {
  *dropped = 0;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityFlushAll(uint32_t) {
  forbidInCapture("cuptiActivityFlushAll");
  if (listener)
    listener->flush();
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetGraphNodeId(CUgraphNode node, uint64_t *id) {
  *id = reinterpret_cast<uint64_t>(node);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetStreamIdEx(CUcontext, CUstream stream, uint8_t,
                               uint32_t *id) {
  expectAlive(stream, "a stream");
  *id = stream->number;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetTimestamp(uint64_t *time) {
  *time = listener->takeTime();
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetResultString(CUptiResult, const char **text) {
  *text = "error";
  return CUPTI_SUCCESS;
}
}
