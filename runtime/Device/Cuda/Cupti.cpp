//===- Cupti.cpp - when the GPU did what, by CUPTI ------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// CUPTI's activity API gives a record of each kernel, copy and set, including
/// those that a graph runs. CUPTI's callbacks tell which call of the step a
/// record belongs to:
///
/// - outside of graphs, a record has the correlation id of the API call that
///   ordered it;
/// - a graph's records have the id of a node, which a callback tells when the
///   node is captured, and another one when instantiation clones it; their
///   correlation id is that of the graph's launch.
///
//===----------------------------------------------------------------------===//
#include "runtime/Device/Cuda/Gpu.h"

#include <atomic>
#include <cstdlib>
#include <cupti.h>
#include <dlfcn.h>
#include <mutex>
#include <set>
#include <unordered_map>

using namespace meshc::cuda;

/// CUPTI's information about one rank.
struct meshc::cuda::Trace {
  std::atomic<uint32_t> call{0}, run{0};
  // Under the mutex of `tracing`.
  bool keeps = false;
  uint64_t since = 0; ///< ns: earlier activities are not kept
  std::vector<MeshcCudaActivity> activities;
  std::set<std::string> names;
  uint64_t lost = 0;
};

namespace {

/// CUPTI's functions, with the names that the library uses.
struct Library {
  decltype(&::cuptiSubscribe) subscribe = nullptr;
  decltype(&::cuptiUnsubscribe) unsubscribe = nullptr;
  decltype(&::cuptiEnableDomain) enableDomain = nullptr;
  decltype(&::cuptiEnableCallback) enableCallback = nullptr;
  decltype(&::cuptiActivityEnable) activityEnable = nullptr;
  decltype(&::cuptiActivityDisable) activityDisable = nullptr;
  decltype(&::cuptiActivityRegisterCallbacks) registerCallbacks = nullptr;
  decltype(&::cuptiActivityGetNextRecord) getNextRecord = nullptr;
  decltype(&::cuptiActivityGetNumDroppedRecords) getDropped = nullptr;
  decltype(&::cuptiActivityFlushAll) flushAll = nullptr;
  decltype(&::cuptiGetGraphNodeId) getGraphNodeId = nullptr;
  decltype(&::cuptiGetStreamIdEx) getStreamId = nullptr;
  decltype(&::cuptiGetTimestamp) getTimestamp = nullptr;
  decltype(&::cuptiGetResultString) getResultString = nullptr;

  std::string problem; ///< why it cannot be used; empty if it can

  Library() {
    const std::string name =
        "libcupti.so." + std::to_string(CUDART_VERSION / 1000);
    void *library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) {
      problem = dlerror();
      return;
    }
    auto find = [&](auto &function, const char *symbol) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(
          dlsym(library, symbol));
      if (!function)
        problem = name + " lacks '" + symbol + "'";
    };
    find(subscribe, "cuptiSubscribe");
    find(unsubscribe, "cuptiUnsubscribe");
    find(enableDomain, "cuptiEnableDomain");
    find(enableCallback, "cuptiEnableCallback");
    find(activityEnable, "cuptiActivityEnable");
    find(activityDisable, "cuptiActivityDisable");
    find(registerCallbacks, "cuptiActivityRegisterCallbacks");
    find(getNextRecord, "cuptiActivityGetNextRecord");
    find(getDropped, "cuptiActivityGetNumDroppedRecords");
    find(flushAll, "cuptiActivityFlushAll");
    find(getGraphNodeId, "cuptiGetGraphNodeId");
    find(getStreamId, "cuptiGetStreamIdEx");
    find(getTimestamp, "cuptiGetTimestamp");
    find(getResultString, "cuptiGetResultString");
  }
};

const Library &cupti() {
  static const Library library;
  return library;
}

const char *report(CUptiResult result) {
  if (result == CUPTI_SUCCESS)
    return nullptr;
  const char *text = nullptr;
  cupti().getResultString(result, &text);
  return say(std::string("CUPTI: ") + (text ? text : "unknown error"));
}

/// The first error of several calls.
struct FirstError {
  const char *text = nullptr;
  void operator()(CUptiResult result) {
    if (!text)
      text = report(result);
  }
};

/// The order that a piece of work belongs to.
struct Tag {
  MeshcCudaRank *rank = nullptr;
  uint32_t call = 0, run = 0;
};

struct Place {
  MeshcCudaRank *rank;
  uint8_t stream;
};

/// Of this process.
struct Tracing {
  std::mutex mutex; ///< never held during CUPTI calls that deliver buffers
  int ranks = 0;
  CUpti_SubscriberHandle subscriber = nullptr;
  std::unordered_map<uint32_t, Tag> launches;            ///< by correlation id
  std::unordered_map<uint64_t, Tag> nodes;               ///< of graphs, by id
  std::unordered_map<CUgraph, MeshcCudaRank *> graphs;   ///< being captured
  std::map<std::pair<uint32_t, uint32_t>, Place> places; ///< by GPU and stream
};

Tracing &tracing() {
  static auto *all = new Tracing; // CUPTI's threads may outlive main
  return *all;
}

/// The rank of this thread.
thread_local MeshcCudaRank *ownRank = nullptr;

Tag tagOf(MeshcCudaRank *rank) {
  if (!rank || !rank->trace)
    return {};
  return {rank, rank->trace->call, rank->trace->run};
}

constexpr CUpti_ActivityKind kinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                        CUPTI_ACTIVITY_KIND_MEMCPY,
                                        CUPTI_ACTIVITY_KIND_MEMSET};
constexpr CUpti_CallbackId graphCallbacks[] = {
    CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED,
    CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED};

//===----------------------------------------------------------------------===//
// Who orders
//===----------------------------------------------------------------------===//

void onApiCall(CUpti_CallbackDomain domain, CUpti_CallbackId id,
               const CUpti_CallbackData &call) {
  // Events are queried repeatedly while the host waits.
  bool asks = domain == CUPTI_CB_DOMAIN_DRIVER_API
                  ? id == CUPTI_DRIVER_TRACE_CBID_cuEventQuery
                  : id == CUPTI_RUNTIME_TRACE_CBID_cudaEventQuery_v3020;
  if (asks || !ownRank || call.callbackSite != CUPTI_API_ENTER)
    return;
  std::lock_guard<std::mutex> lock(tracing().mutex);
  tracing().launches[call.correlationId] = tagOf(ownRank);
}

void onNodeCreated(const CUpti_GraphData &graph) {
  uint64_t id = 0;
  if (cupti().getGraphNodeId(graph.node, &id) != CUPTI_SUCCESS)
    return;
  std::lock_guard<std::mutex> lock(tracing().mutex);
  // NCCL captures on its own threads, in graphs that a rank has started.
  MeshcCudaRank *&rank = tracing().graphs[graph.graph];
  if (ownRank)
    rank = ownRank;
  tracing().nodes[id] = tagOf(rank);
}

void onNodeCloned(const CUpti_GraphData &graph) {
  uint64_t id = 0, original = 0;
  if (cupti().getGraphNodeId(graph.node, &id) != CUPTI_SUCCESS ||
      cupti().getGraphNodeId(graph.originalNode, &original) != CUPTI_SUCCESS)
    return;
  std::lock_guard<std::mutex> lock(tracing().mutex);
  auto known = tracing().nodes.find(original);
  if (known != tracing().nodes.end()) {
    Tag tag = known->second;
    tracing().nodes[id] = tag;
  }
}

void CUPTIAPI onCallback(void *, CUpti_CallbackDomain domain,
                         CUpti_CallbackId id, const void *data) {
  if (domain == CUPTI_CB_DOMAIN_DRIVER_API ||
      domain == CUPTI_CB_DOMAIN_RUNTIME_API)
    return onApiCall(domain, id,
                     *static_cast<const CUpti_CallbackData *>(data));
  if (domain != CUPTI_CB_DOMAIN_RESOURCE)
    return;
  const auto *resource = static_cast<const CUpti_ResourceData *>(data);
  const auto *graph =
      static_cast<const CUpti_GraphData *>(resource->resourceDescriptor);
  if (id == CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED)
    onNodeCreated(*graph);
  else if (id == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED)
    onNodeCloned(*graph);
}

//===----------------------------------------------------------------------===//
// What was done
//===----------------------------------------------------------------------===//

/// A record of any of the kinds.
template <typename Record>
void keep(const Record &record, MeshcCudaActivityKind kind, const char *name) {
  Tracing &all = tracing();
  std::lock_guard<std::mutex> lock(all.mutex);
  Tag tag;
  auto launch = all.launches.find(record.correlationId);
  if (launch != all.launches.end())
    tag = launch->second;
  if (record.graphNodeId) {
    auto node = all.nodes.find(record.graphNodeId);
    uint32_t run = tag.run;
    if (node != all.nodes.end())
      tag = node->second;
    tag.run = run;
  }
  uint8_t stream = MESHC_CUDA_STREAMS;
  auto place = all.places.find({record.deviceId, record.streamId});
  if (place != all.places.end()) {
    if (!tag.rank)
      tag.rank = place->second.rank;
    if (!record.graphNodeId)
      stream = place->second.stream;
  }
  if (!tag.rank || !tag.rank->trace || !tag.rank->trace->keeps)
    return;
  Trace &trace = *tag.rank->trace;
  if (record.start == 0 || record.end < record.start) {
    ++trace.lost;
    return;
  }
  if (record.start < trace.since)
    return;
  // The library's text need not outlive the record's buffer.
  const char *kept = name ? trace.names.insert(name).first->c_str() : nullptr;
  trace.activities.push_back({static_cast<uint8_t>(kind), stream, 0, tag.call,
                              tag.run, 0, record.start, record.end, kept});
}

void keepRecord(const CUpti_Activity *record) {
  switch (record->kind) {
  // Newer records begin like these.
  case CUPTI_ACTIVITY_KIND_KERNEL:
  case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
    const auto *kernel =
        reinterpret_cast<const CUpti_ActivityKernel9 *>(record);
    return keep(*kernel, MESHC_CUDA_KERNEL, kernel->name);
  }
  case CUPTI_ACTIVITY_KIND_MEMCPY:
    return keep(*reinterpret_cast<const CUpti_ActivityMemcpy5 *>(record),
                MESHC_CUDA_COPY_MEMORY, nullptr);
  case CUPTI_ACTIVITY_KIND_MEMSET:
    return keep(*reinterpret_cast<const CUpti_ActivityMemset4 *>(record),
                MESHC_CUDA_SET_MEMORY, nullptr);
  default:
    return;
  }
}

void CUPTIAPI giveBuffer(uint8_t **buffer, size_t *size, size_t *maxRecords) {
  *size = size_t(1) << 20;
  *buffer = static_cast<uint8_t *>(std::malloc(*size)); // aligned to 16
  if (!*buffer)
    *size = 0;
  *maxRecords = 0; // as many as fit
}

void CUPTIAPI takeBuffer(CUcontext context, uint32_t stream, uint8_t *buffer,
                         size_t, size_t validBytes) {
  CUpti_Activity *record = nullptr;
  while (validBytes > 0 &&
         cupti().getNextRecord(buffer, validBytes, &record) == CUPTI_SUCCESS)
    keepRecord(record);
  std::free(buffer);
  size_t dropped = 0;
  if (cupti().getDropped(context, stream, &dropped) != CUPTI_SUCCESS ||
      !dropped)
    return;
  // The owner is lost, too.
  std::lock_guard<std::mutex> lock(tracing().mutex);
  for (const auto &place : tracing().places)
    if (place.second.stream == MESHC_CUDA_COMPUTE)
      place.second.rank->trace->lost += dropped;
}

//===----------------------------------------------------------------------===//
// The table's functions
//===----------------------------------------------------------------------===//

const char *load() {
  return cupti().problem.empty() ? nullptr : say(cupti().problem);
}

/// For the first rank of the process.
const char *begin() {
  FirstError check;
  check(cupti().subscribe(&tracing().subscriber, onCallback, nullptr));
  if (check.text)
    return check.text;
  CUpti_SubscriberHandle subscriber = tracing().subscriber;
  check(cupti().registerCallbacks(giveBuffer, takeBuffer));
  for (CUpti_ActivityKind kind : kinds)
    check(cupti().activityEnable(kind));
  for (CUpti_CallbackId id : graphCallbacks)
    check(cupti().enableCallback(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE, id));
  check(cupti().enableDomain(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API));
  check(cupti().enableDomain(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API));
  return check.text;
}

/// One rank at a time.
std::mutex &opening() {
  static std::mutex mutex;
  return mutex;
}

const char *openTrace(MeshcCudaRank *rank) {
  std::lock_guard<std::mutex> guard(opening());
  if (tracing().ranks == 0)
    if (const char *error = begin())
      return error;
  ++tracing().ranks;
  ownRank = rank;
  uint32_t ids[MESHC_CUDA_STREAMS];
  FirstError check;
  for (int i = 0; i < MESHC_CUDA_STREAMS; ++i)
    check(cupti().getStreamId(nullptr, rank->streams[i], 0, &ids[i]));
  std::lock_guard<std::mutex> lock(tracing().mutex);
  rank->trace = new Trace;
  for (int i = 0; i < MESHC_CUDA_STREAMS && !check.text; ++i)
    tracing().places[{static_cast<uint32_t>(rank->gpu), ids[i]}] = {
        rank, static_cast<uint8_t>(i)};
  return check.text;
}

void setCall(MeshcCudaRank *rank, uint32_t call, uint32_t run) {
  rank->trace->call = call;
  rank->trace->run = run;
}

/// Makes CUPTI deliver its records of finished work. One rank at a time:
/// another rank's call may be delivering this rank's records.
const char *flush(MeshcCudaRank *rank) {
  static std::mutex flushing;
  for (cudaStream_t stream : rank->streams)
    if (const char *error = meshc::cuda::report(cudaStreamSynchronize(stream)))
      return error;
  std::lock_guard<std::mutex> lock(flushing);
  return report(cupti().flushAll(0));
}

const char *start(MeshcCudaRank *rank) {
  uint64_t now = 0;
  if (const char *error = flush(rank))
    return error;
  if (const char *error = report(cupti().getTimestamp(&now)))
    return error;
  std::lock_guard<std::mutex> lock(tracing().mutex);
  rank->trace->since = now;
  rank->trace->activities.clear();
  rank->trace->lost = 0;
  rank->trace->keeps = true;
  auto &launches = tracing().launches;
  for (auto launch = launches.begin(); launch != launches.end();)
    launch = launch->second.rank == rank ? launches.erase(launch)
                                         : std::next(launch);
  return nullptr;
}

const char *stop(MeshcCudaRank *rank, const MeshcCudaActivity **activities,
                 uint64_t *count, uint64_t *lost) {
  if (const char *error = flush(rank))
    return error;
  std::lock_guard<std::mutex> lock(tracing().mutex);
  Trace &trace = *rank->trace;
  trace.keeps = false;
  *activities = trace.activities.data();
  *count = trace.activities.size();
  *lost = trace.lost;
  return nullptr;
}

void forget(MeshcCudaRank *rank) {
  std::lock_guard<std::mutex> lock(tracing().mutex);
  Tracing &all = tracing();
  auto drop = [rank](auto &map, auto rankOf) {
    for (auto entry = map.begin(); entry != map.end();)
      entry =
          rankOf(entry->second) == rank ? map.erase(entry) : std::next(entry);
  };
  drop(all.launches, [](const Tag &tag) { return tag.rank; });
  drop(all.nodes, [](const Tag &tag) { return tag.rank; });
  drop(all.graphs, [](MeshcCudaRank *known) { return known; });
  drop(all.places, [](const Place &place) { return place.rank; });
  delete rank->trace;
  rank->trace = nullptr;
}

void closeTrace(MeshcCudaRank *rank) {
  std::lock_guard<std::mutex> guard(opening());
  ownRank = nullptr;
  if (!rank->trace)
    return;
  if (--tracing().ranks == 0) {
    for (CUpti_ActivityKind kind : kinds)
      cupti().activityDisable(kind);
    cupti().unsubscribe(tracing().subscriber);
    cupti().flushAll(0);
  }
  forget(rank);
}

} // namespace

void meshc::cuda::addTrace(MeshcCuda &table) {
  table.traceLoad = load;
  table.traceOpen = openTrace;
  table.traceCall = setCall;
  table.traceStart = start;
  table.traceStop = stop;
  table.traceClose = closeTrace;
}
